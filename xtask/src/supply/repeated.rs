//! Builds the program of a release twice, and checks that the bytes do not depend on the folder.

use crate::{Failure, repository::Repository};

/// Builds the program here, where a release has already built it, and in a copy, and compares the two.
#[cfg(unix)]
pub fn check(repository: &Repository) -> Result<(), Failure> {
    use crate::release::{checksums, program};

    let home = program::cargo_home()?;
    let here = checksums::of_file(&program::build(repository, &home)?)?;
    let copy = repository.copied_to("target/supply/elsewhere")?;
    // Another path to the same sources of packages.
    let other_home = copy.path("cargo-home");
    std::os::unix::fs::symlink(&home, &other_home)
        .map_err(|error| format!("{}: {error}", other_home.display()))?;
    let there = checksums::of_file(&program::build(&copy, &other_home)?)?;
    match here == there {
        true => {
            println!("    built twice: {here}");
            Ok(())
        }
        false => {
            Err(format!("the program is {here} here and {there} in {}", copy.path("").display()))
        }
    }
}

/// A release is built on Linux.
#[cfg(not(unix))]
pub fn check(_repository: &Repository) -> Result<(), Failure> {
    println!("    NOT CHECKED: a release is built on Linux");
    Ok(())
}
