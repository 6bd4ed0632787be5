//! The program, linked statically: it needs nothing of the system but its kernel.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::{Failure, cross, repository::Repository, step::ended};

/// What it is built for.
pub const TARGET: &str = "x86_64-unknown-linux-musl";

/// What it has beside the default: nothing yet, so that it is small.
pub const FEATURES: &str = "";

/// The folder where cargo keeps the sources of packages.
///
/// # Errors
/// Neither cargo nor the system says where.
pub fn cargo_home() -> Result<PathBuf, Failure> {
    let named = env::var_os("CARGO_HOME").map(PathBuf::from);
    let usual = || env::home_dir().map(|home| home.join(".cargo"));
    named.or_else(usual).ok_or_else(|| "set CARGO_HOME: this user has no home".to_owned())
}

/// Builds it, from sources of packages that are under `home`. The bytes depend on neither folder.
///
/// # Errors
/// What to install, where the compiler of C or the standard library for the target is missing.
pub fn build(repository: &Repository, home: &Path) -> Result<PathBuf, Failure> {
    let compiler = "musl-gcc";
    let here = env::var_os("CC_x86_64_unknown_linux_musl").is_some() || on_path(compiler);
    if !here {
        return Err(format!(
            "`{compiler}` is missing: install musl-tools (Debian) or musl-gcc (Fedora)"
        ));
    }
    cross::installed(repository, TARGET)?;
    let package = ["-p", "vesica-cli", "--bin", "vesica", "--features", FEATURES];
    let args = ["build", "--release", "--locked", "--target", TARGET];
    let mut command = repository.cargo(&[&args[..], &package].concat());
    command.env("CARGO_HOME", home);
    command.env("CARGO_ENCODED_RUSTFLAGS", remapped(&repository.path(""), home));
    ended(&format!("cargo build --release --target {TARGET}"), command.status())?;
    Ok(repository.path("target").join(TARGET).join("release/vesica"))
}

/// Flags for the compiler that name the two folders alike on every machine, in messages of panics above all. Where one
/// is in the other, the last flag that fits is the one that counts.
fn remapped(root: &Path, home: &Path) -> String {
    let mut flags = Vec::new();
    for (folder, name) in [(root, "/vesica"), (home, "/cargo")] {
        // `path("")` ends with a separator, and the compiler's paths go on behind the prefix.
        let folder = folder.components().as_path();
        let mut flag =
            |from: &Path| flags.push(format!("--remap-path-prefix={}={name}", from.display()));
        flag(folder);
        // The compiler also asks where it is, and is told where links lead.
        if let Some(real) = folder.canonicalize().ok().filter(|real| real != folder) {
            flag(&real);
        }
    }
    flags.join("\u{1f}")
}

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::folder::Scratch;

    #[test]
    fn both_folders_are_named_alike_everywhere() {
        let flags = remapped(Path::new("/a b/v/"), Path::new("/a b/v/c"));
        let wanted = "--remap-path-prefix=/a b/v=/vesica\u{1f}--remap-path-prefix=/a b/v/c=/cargo";
        assert_eq!(flags, wanted);
    }

    #[test]
    fn so_is_a_folder_behind_a_link() {
        let scratch = Scratch::new("remapped");
        let (real, link) = (scratch.path("real"), scratch.path("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let flags = remapped(Path::new("/v"), &link);
        let real = real.canonicalize().unwrap();
        for from in [&link, &real] {
            let wanted = format!("--remap-path-prefix={}=/cargo", from.display());
            assert!(flags.split('\u{1f}').any(|flag| flag == wanted), "{flags}");
        }
    }
}
