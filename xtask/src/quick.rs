//! `cargo xtask quick`: format, rules, clippy and unit tests of changed crates and of crates that depend on them. The
//! goal is two minutes.
//!
//! Clippy and the tests are built for the whole workspace, because cargo only rebuilds changed crates and those that
//! depend on them. A build of fewer crates would select other features of their dependencies and compile these again.

mod crates;

use std::io;

use self::crates::Crates;
use crate::{
    Failure,
    programs::{Built, Program},
    repository::Repository,
    side_by_side::{self, Job},
    step::{self, Step, StepWork},
    tally::Tally,
    test::{CLIPPY, FORMAT, TIDY},
};

/// The main branch, in the repository that this one was cloned from, and in this one.
const MAIN: [&str; 2] = ["origin/main", "main"];

/// Checks the named crates and those that depend on them. Without names, these are the crates with a file that differs
/// from the commit at which this branch left the main one.
pub fn run(repository: &Repository, names: &[&str]) -> Result<(), Failure> {
    let workspace = Crates::of(repository)?;
    let chosen = match names {
        [] => workspace.owners(&changed(repository)?),
        names => workspace.named(names)?,
    };
    let crates = workspace.with_dependents(&chosen);
    let crates: Vec<&str> = crates.iter().map(|one| one.folder_name()).collect();
    println!("crates: {}", if crates.is_empty() { "none".to_owned() } else { crates.join(", ") });
    let unit_tests =
        Step { name: "unit tests", minutes: 1, work: StepWork::TestsOf(&crates, test) };
    match crates.is_empty() {
        true => step::run(&[FORMAT, TIDY], repository),
        false => step::run(&[FORMAT, TIDY, CLIPPY, unit_tests], repository),
    }
}

/// Runs the unit tests of some crates.
fn test(repository: &Repository, crates: &[&str], tally: &mut Tally) -> Result<(), Failure> {
    let built = Built::here(repository, &["--lib", "--bins"])?;
    let meant = built.tests().filter(|program| crates.contains(&program.crate_name()));
    let job = |program: Program<'_>| Job {
        name: program.executable.to_owned(),
        command: program.command(),
    };
    side_by_side::run(meant.map(job).collect(), tally, &mut io::stdout())
}

/// Lists the files that differ from the commit at which this branch left the main one, or that git does not track yet.
fn changed(repository: &Repository) -> Result<Vec<String>, Failure> {
    let left = MAIN.iter().find_map(|main| repository.git(&["merge-base", main, "HEAD"]).ok());
    let left = left.as_deref().map_or("HEAD", str::trim);
    let differ = repository.git(&["diff", "--name-only", "--no-renames", "-z", left])?;
    let unknown = repository.git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    let files = differ.split_terminator('\0').chain(unknown.split_terminator('\0'));
    Ok(files.map(str::to_owned).collect())
}
