//! Checks that everything compiles with the minimum versions that manifests name.
//!
//! This is the only check that notices a bound that is too low, because `Cargo.lock` contains newer versions.

use crate::{
    Failure,
    repository::{OPTIONAL, Repository},
    step::ended,
};

/// Resolves a copy of the workspace with the minimum version of each dependency that a manifest names, and checks it.
pub fn check(repository: &Repository) -> Result<(), Failure> {
    let copy = repository.copied_to("target/supply/least")?;
    let update = ["update", "--quiet", "-Z", "direct-minimal-versions"];
    let mut command = copy.cargo(&update);
    // Cargo's option is unstable. This lets the pinned cargo accept it, and nothing is compiled with it.
    command.env("RUSTC_BOOTSTRAP", "1");
    ended(&format!("cargo {}", update.join(" ")), command.status())?;
    let check = ["check", "--workspace", "--locked", "--features", OPTIONAL];
    let mut command = copy.cargo(&check);
    // The common part of both is compiled once.
    command.arg("--target-dir").arg(repository.path("target"));
    ended(&format!("cargo {} with the least versions", check.join(" ")), command.status())
}
