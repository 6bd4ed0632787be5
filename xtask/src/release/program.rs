//! The statically linked program, which needs only the kernel of the system.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::{Failure, cross, repository::Repository, step::ended};

/// The target.
pub const TARGET: &str = "x86_64-unknown-linux-musl";

/// The features in addition to the default: none so far, so that the program is small.
pub const FEATURES: &str = "";

/// Returns the folder in which cargo stores the sources of packages.
///
/// # Errors
/// If neither cargo nor the system names it.
pub fn cargo_home() -> Result<PathBuf, Failure> {
    let named = env::var_os("CARGO_HOME").map(PathBuf::from);
    let usual = || env::home_dir().map(|home| home.join(".cargo"));
    named.or_else(usual).ok_or_else(|| "set CARGO_HOME: this user has no home directory".to_owned())
}

/// Builds it from sources of packages under `home`. The bytes depend on neither folder.
///
/// # Errors
/// A message that says what to install, if the C compiler or the standard library for the target is missing.
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

/// Returns compiler flags that give the two folders the same names on every machine, above all in panic messages. If
/// one is in the other, the last matching flag counts.
fn remapped(root: &Path, home: &Path) -> String {
    let mut flags = Vec::new();
    for (folder, name) in [(root, "/vesica"), (home, "/cargo")] {
        // `path("")` ends with a separator, but the rest of the compiler's paths begins with one.
        let folder = folder.components().as_path();
        let mut flag =
            |from: &Path| flags.push(format!("--remap-path-prefix={}={name}", from.display()));
        flag(folder);
        // The compiler also uses its real path, after resolving links.
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
