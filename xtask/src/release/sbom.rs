//! A software bill of materials in CycloneDX 1.5: the list of everything that the program is built from.

use std::{fs, path::Path};

use super::{
    archive, folder,
    program::{FEATURES, TARGET},
    tool,
};
use crate::{Failure, repository::Repository, supply::audits::installed};

/// Writes the list for these sources, with `cargo cyclonedx`.
pub fn write(
    repository: &Repository,
    version: &str,
    sources: &Path,
    out: &Path,
) -> Result<(), Failure> {
    installed(repository, "cyclonedx")?;
    // It writes a list next to the manifest of every program in the workspace.
    let work = repository.path("target/release-work/sbom");
    folder::empty(&work)?;
    archive::unpack(sources, &work)?;
    let root = work.join(format!("vesica-{version}"));
    let package = root.join("crates/cli");
    let what = ["--format", "json", "--spec-version", "1.5", "--describe", "binaries"];
    let mut command = repository.cargo(&["cyclonedx", "--target", TARGET, "--features", FEATURES]);
    command.env("SOURCE_DATE_EPOCH", "0").args(what);
    command.arg("--manifest-path").arg(package.join("Cargo.toml"));
    tool::run(&mut command, "cargo-cyclonedx")?;
    let list = package.join("vesica_bin.cdx.json");
    let text = fs::read_to_string(&list).map_err(tool::at(&list))?;
    let list = out.join(format!("vesica-{version}.cdx.json"));
    folder::write(&list, without(&root, &text))
}

/// Removes the build folder from the text. Crates of the workspace are identified by their path.
fn without(root: &Path, text: &str) -> String {
    text.replace(&format!("file://{}", root.display()), "file://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_no_folder_of_this_machine() {
        let text = "path+file:///a/b/crates/net#vesica-net@0.1.0";
        let expected = "path+file:///crates/net#vesica-net@0.1.0";
        assert_eq!(without(Path::new("/a/b"), text), expected);
    }
}
