//! `cargo xtask supply`: checks the dependencies of the program, and that it is built from nothing else.
//!
//! Each part names its prerequisites and how to install them. Checks without prerequisites run with every change:
//! [`permissive`], and the rules of `cargo xtask tidy`.

pub mod audits;
mod least;
pub mod permissive;
mod repeated;

use std::slice;

use crate::{Failure, named, repository::Repository};

/// The parts of the check.
struct Part {
    name: &'static str,
    check: fn(&Repository) -> Result<(), Failure>,
}

const PARTS: [Part; 4] = [
    Part { name: "sources and advisories", check: audits::deny },
    Part { name: "audits of dependencies", check: audits::vet },
    Part { name: "the least versions that manifests name", check: least::check },
    Part { name: "the program, built again elsewhere", check: repeated::check },
];

/// Runs every part, even after a failure, because they are independent.
pub fn check(repository: &Repository) -> Result<(), Failure> {
    run(&PARTS, repository)
}

/// Runs one part.
pub fn check_part(repository: &Repository, name: &str) -> Result<(), Failure> {
    let part = named::find("part", name, &PARTS, |part| part.name)?;
    run(slice::from_ref(part), repository)
}

fn run(parts: &[Part], repository: &Repository) -> Result<(), Failure> {
    let mut failures = Vec::new();
    for Part { name, check } in parts {
        println!("    {name}");
        if let Err(failure) = check(repository) {
            println!("    FAILED: {failure}");
            failures.push(format!("{name}: {failure}"));
        }
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("; ")),
    }
}
