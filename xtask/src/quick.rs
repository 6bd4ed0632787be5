//! `cargo xtask quick`: format, rules, clippy and unit tests of the crates that changed and of those that depend on them.
//! The goal is two minutes.

mod crates;

use self::crates::{Crates, Member};
use crate::{
    Failure,
    repository::Repository,
    step::{self, Step, Work},
    test::{FORMAT, TIDY},
};

/// The main branch, as the repository that this one was cloned from has it, and as this one does.
const MAIN: [&str; 2] = ["origin/main", "main"];

/// Checks the crates of these names and those that depend on them. Without a name, these are the crates with a file that
/// differs from the commit at which this branch left the main one.
pub fn run(repository: &Repository, names: &[&str]) -> Result<(), Failure> {
    let workspace = Crates::of(repository)?;
    let chosen = match names {
        [] => workspace.owners(&changed(repository)?),
        names => workspace.named(names)?,
    };
    let crates = workspace.with_dependents(&chosen);
    let names: Vec<&str> = crates.iter().map(|one| one.name.as_str()).collect();
    println!("crates: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") });

    let linted = packages(&crates, |_| true);
    let clippy =
        [&["clippy", "--all-targets", "--locked"], &linted[..], &["--", "-D", "warnings"]].concat();
    let tested = packages(&crates, |one| one.has_unit_tests);
    // Cargo refuses `--lib` if no crate has a library.
    let library: &[&str] = if crates.iter().any(|one| one.has_library) { &["--lib"] } else { &[] };
    let tests = [&["test"], library, &["--bins", "--locked", "--no-fail-fast"], &tested].concat();
    let mut steps = vec![FORMAT, TIDY];
    if !linted.is_empty() {
        steps.push(Step { name: "clippy", minutes: 1, work: Work::Cargo(&clippy, &[]) });
    }
    if !tested.is_empty() {
        steps.push(Step { name: "unit tests", minutes: 1, work: Work::CargoTest(&tests) });
    }
    step::run(&steps, repository)
}

/// Arguments that select some of these crates.
fn packages<'a>(crates: &[&'a Member], is_meant: fn(&Member) -> bool) -> Vec<&'a str> {
    let meant = crates.iter().filter(|one| is_meant(one));
    meant.flat_map(|one| ["--package", &one.name]).collect()
}

/// Lists the files that differ from the commit at which this branch left the main one, or that git does not know yet.
fn changed(repository: &Repository) -> Result<Vec<String>, Failure> {
    let left = MAIN.iter().find_map(|main| repository.git(&["merge-base", main, "HEAD"]).ok());
    let left = left.as_deref().map_or("HEAD", str::trim);
    let differ = repository.git(&["diff", "--name-only", "--no-renames", "-z", left])?;
    let unknown = repository.git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    let files = differ.split_terminator('\0').chain(unknown.split_terminator('\0'));
    Ok(files.map(str::to_owned).collect())
}
