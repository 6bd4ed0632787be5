//! `cargo xtask supply`: what the program is built from, and whether it is built from that alone.
//!
//! Each part names what it needs and how to install it. What needs nothing runs with every change instead: [`permissive`],
//! and the rules of `cargo xtask tidy`.

mod audits;
mod least;
pub mod permissive;
mod repeated;

use crate::{Failure, repository::Repository};

/// What is checked, and how.
const PARTS: [(&str, fn(&Repository) -> Result<(), Failure>); 4] = [
    ("licences, sources and advisories", audits::deny),
    ("audits of dependencies", audits::vet),
    ("the least versions that manifests name", least::check),
    ("the program, built again elsewhere", repeated::check),
];

/// Runs every part, also after one that failed: they have nothing to do with each other.
pub fn check(repository: &Repository) -> Result<(), Failure> {
    let mut failures = Vec::new();
    for (name, part) in PARTS {
        println!("    {name}");
        if let Err(failure) = part(repository) {
            println!("    FAILED: {failure}");
            failures.push(format!("{name}: {failure}"));
        }
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("; ")),
    }
}
