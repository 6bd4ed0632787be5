//! The container image, in the format of the Open Container Initiative (image specification 1.1): one layer with the
//! program and `/tmp`.
//!
//! packaging/Containerfile makes the same image from the same program. This code needs no container engine.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{archive, checksums, contents::LICENCES, folder, parts::Parts, tool::at};
use crate::{Failure, repository::Repository};

/// The media types of the documents and of the layer.
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// An unprivileged user, so that a volume need not belong to root.
const USER: &str = "65532:65532";

/// The path of the program in the image.
pub const PROGRAM: &str = "/usr/bin/vesica";

/// Writes the image, as an archive for `podman load` and `skopeo`.
pub fn build(parts: &Parts<'_>) -> Result<PathBuf, Failure> {
    let Parts { repository, version, program, contents, out } = *parts;
    let root = repository.path("target/release-work/layer");
    folder::empty(&root)?;
    folder::copy(program, &root.join(PROGRAM.trim_start_matches('/')))?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE", LICENCES] {
        folder::copy(&contents.join(name), &root.join("usr/share/doc/vesica").join(name))?;
    }
    let tmp = root.join("tmp");
    folder::empty(&tmp)?;
    fs::set_permissions(&tmp, fs::Permissions::from_mode(0o1777)).map_err(at(&tmp))?;
    let layer = repository.path("target/release-work/layer.tar");
    archive::pack(&layer, &root, ".")?;
    let layout = repository.path("target/release-work/image");
    let image = out.join(format!("vesica-{version}-image.tar"));
    write_layout(&layout, &fs::read(&layer).map_err(at(&layer))?, version)?;
    archive::pack(&image, &layout, ".")?;
    Ok(image)
}

/// Writes the folder of an image: `oci-layout`, `index.json`, and blobs named after their digests.
fn write_layout(layout: &Path, layer: &[u8], version: &str) -> Result<(), Failure> {
    folder::empty(layout)?;
    let blob = |kind: &str, bytes: &[u8]| -> Result<Value, Failure> {
        let digest = checksums::of(bytes);
        folder::write(&layout.join("blobs/sha256").join(&digest), bytes)?;
        Ok(json!({"mediaType": kind, "digest": format!("sha256:{digest}"), "size": bytes.len()}))
    };
    let layer = blob(LAYER, layer)?;
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": USER,
            "Entrypoint": [PROGRAM],
            "WorkingDir": "/tmp",
            "Labels": {
                "org.opencontainers.image.title": "vesica",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        // For an uncompressed layer, the digest is the same.
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    });
    let config = blob(CONFIG, config.to_string().as_bytes())?;
    let manifest =
        json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
    let mut manifest = blob(MANIFEST, manifest.to_string().as_bytes())?;
    manifest["annotations"] =
        json!({"org.opencontainers.image.ref.name": format!("localhost/vesica:{version}")});
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest]});
    folder::write(&layout.join("index.json"), index.to_string())?;
    folder::write(&layout.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string())
}

/// Reads an image back, checks all digests and lengths, and unpacks its layers into `root`.
///
/// # Errors
/// A mismatch between the image and its documents.
pub fn install(repository: &Repository, image: &Path, root: &Path) -> Result<(), Failure> {
    let layout = repository.path("target/release-work/image-read");
    folder::empty(&layout)?;
    archive::unpack(image, &layout)?;
    for layer in layers(&layout)? {
        archive::unpack(&layer, root)?;
    }
    Ok(())
}

/// Returns the layers of an image from the lowest, after all digests have been checked.
fn layers(layout: &Path) -> Result<Vec<PathBuf>, Failure> {
    let index = layout.join("index.json");
    let index = document(&fs::read(&index).map_err(at(&index))?)?;
    let manifest = document(&blob(layout, &index["manifests"][0])?.1)?;
    let config = document(&blob(layout, &manifest["config"])?.1)?;
    let layers = manifest["layers"].as_array().ok_or("the image's manifest has no layers")?;
    let unpacked: Vec<_> = layers.iter().map(|layer| layer["digest"].clone()).collect();
    if config["rootfs"]["diff_ids"] != Value::Array(unpacked) {
        return Err("the image's configuration has other layers than its manifest".to_owned());
    }
    layers.iter().map(|layer| blob(layout, layer).map(|(path, _)| path)).collect()
}

fn document(bytes: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(bytes).map_err(|error| format!("a document of the image: {error}"))
}

/// Reads the blob of a descriptor.
fn blob(layout: &Path, descriptor: &Value) -> Result<(PathBuf, Vec<u8>), Failure> {
    let digest = descriptor["digest"].as_str().and_then(|text| text.strip_prefix("sha256:"));
    let digest = digest.ok_or("a descriptor in the image has no digest")?;
    let path = layout.join("blobs/sha256").join(digest);
    let bytes = fs::read(&path).map_err(at(&path))?;
    let length = descriptor["size"].as_u64();
    if checksums::of(&bytes) != digest || length != Some(bytes.len() as u64) {
        return Err(format!("{} does not match its descriptor in the image", path.display()));
    }
    Ok((path, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::folder::Scratch;

    #[test]
    fn an_image_is_read_back_and_a_changed_layer_is_noticed() {
        let scratch = Scratch::new("image");
        let layout = scratch.path("layout");
        write_layout(&layout, b"a layer", "1.2.3").unwrap();
        let found = layers(&layout).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(fs::read(&found[0]).unwrap(), b"a layer");
        fs::write(&found[0], b"A layer").unwrap();
        assert!(
            layers(&layout).unwrap_err().contains("does not match its descriptor in the image")
        );
    }

    #[test]
    fn the_program_runs_as_nobody_in_particular() {
        let scratch = Scratch::new("user");
        write_layout(&scratch.path("layout"), b"", "1.2.3").unwrap();
        let index = document(&fs::read(scratch.path("layout/index.json")).unwrap()).unwrap();
        let layout = scratch.path("layout");
        let manifest = document(&blob(&layout, &index["manifests"][0]).unwrap().1).unwrap();
        let config = document(&blob(&layout, &manifest["config"]).unwrap().1).unwrap();
        assert_eq!(config["config"]["User"], USER);
        assert_eq!(config["config"]["Entrypoint"], json!([PROGRAM]));
    }
}
