//! The least versions that manifests name: with each of them, everything compiles.
//!
//! A bound that is too low shows nowhere else, because `Cargo.lock` holds newer versions.

use crate::{
    Failure,
    repository::{OPTIONAL, Repository},
    step::ended,
};

/// Resolves a copy of the workspace with the least version of each dependency that a manifest names, and checks it.
pub fn check(repository: &Repository) -> Result<(), Failure> {
    let copy = repository.copied_to("target/supply/least")?;
    let update = ["update", "--quiet", "-Z", "direct-minimal-versions"];
    let mut command = copy.cargo(&update);
    // Cargo's option is unstable. This lets the pinned cargo take it; nothing is compiled here.
    command.env("RUSTC_BOOTSTRAP", "1");
    ended(&format!("cargo {}", update.join(" ")), command.status())?;
    let check = ["check", "--workspace", "--locked", "--features", OPTIONAL];
    let mut command = copy.cargo(&check);
    // What both have in common is compiled once.
    command.arg("--target-dir").arg(repository.path("target"));
    ended(&format!("cargo {} with the least versions", check.join(" ")), command.status())
}
