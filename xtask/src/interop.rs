//! The second implementation, written only from the specification: it verifies the test vectors, and runs with the
//! program as the other side.

use std::process::Command;

use crate::{
    Failure,
    environment::Environment,
    programs::Built,
    repository::Repository,
    step::{Step, StepWork, ended},
    tally::Tally,
};

/// Its folder.
const FOLDER: &str = "tests/interop";

/// The test vectors, which show with every change that the specification still says how a run goes.
pub const VECTORS: Step = Step {
    name: "vectors by the second implementation",
    minutes: 1,
    work: StepWork::Tests(vectors),
};

/// Verifies the test vectors.
fn vectors(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let mut command = pytest(repository, &format!("{FOLDER}/test_vectors.py"))?;
    ended("pytest", tally.count(&mut command))
}

/// Runs all of its tests, with the program as the other side.
pub fn test(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let built = Built::here(repository, &[])?;
    let mut command = pytest(repository, FOLDER)?;
    command.env("VESICA", built.binary("vesica")?);
    ended("pytest", tally.count(&mut command))
}

/// Returns the command that runs these tests, after installing their prerequisites into a separate environment.
fn pytest(repository: &Repository, tests: &str) -> Result<Command, Failure> {
    let environment = Environment::new(repository.path("target/interop"))?;
    let requirements = repository.path(FOLDER).join("requirements.txt");
    environment.install(&["--requirement", &requirements.to_string_lossy()])?;
    let mut command = environment.command("python");
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", tests]);
    command.current_dir(repository.path(""));
    Ok(command)
}
