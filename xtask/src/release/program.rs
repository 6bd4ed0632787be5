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
/// What to install, where the standard library for the target is missing.
pub fn build(repository: &Repository) -> Result<PathBuf, Failure> {
    cross::installed(repository, TARGET)?;
    let package = ["-p", "vesica-cli", "--bin", "vesica", "--features", FEATURES];
    let mut command = cross::command(&cross::tools(repository)?, "cargo-zigbuild");
    command.args(["zigbuild", "--release", "--locked", "--target", TARGET]).args(package);
    command.current_dir(repository.path(""));
    ended(&format!("cargo-zigbuild zigbuild --release --target {TARGET}"), command.status())?;
    Ok(repository.path("target").join(TARGET).join("release/vesica"))
}
