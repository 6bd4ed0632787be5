//! The program, linked statically: it needs nothing of the system but its kernel.

use std::path::PathBuf;

use crate::{Failure, cross, repository::Repository, step::ended};

/// What it is built for.
pub const TARGET: &str = "x86_64-unknown-linux-musl";

/// What it has beside the default: nothing yet, so that it is small.
pub const FEATURES: &str = "";

/// Builds it.
///
/// # Errors
/// What to install, where the compiler of C or the standard library for the target is missing.
pub fn build(repository: &Repository) -> Result<PathBuf, Failure> {
    let compiler = "musl-gcc";
    let here = std::env::var_os("CC_x86_64_unknown_linux_musl").is_some() || on_path(compiler);
    if !here {
        return Err(format!(
            "`{compiler}` is missing: install musl-tools (Debian) or musl-gcc (Fedora)"
        ));
    }
    cross::installed(repository, TARGET)?;
    let package = ["-p", "vesica-cli", "--bin", "vesica", "--features", FEATURES];
    let args = ["build", "--release", "--locked", "--target", TARGET];
    let mut command = repository.cargo(&[&args[..], &package].concat());
    ended(&format!("cargo build --release --target {TARGET}"), command.status())?;
    Ok(repository.path("target").join(TARGET).join("release/vesica"))
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
