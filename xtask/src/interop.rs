//! The second implementation, written only from the specification: it verifies the test vectors, and runs with the
//! program as the other side.

use crate::{
    Failure, environment::Environment, programs::Built, repository::Repository, step::ended,
    tally::Tally,
};

/// Its folder.
const FOLDER: &str = "tests/interop";

/// Installs its prerequisites into a separate environment, and runs its tests with the program as the other side.
pub fn test(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let built = Built::here(repository, &[])?;
    let environment = Environment::new(repository.path("target/interop"))?;
    let requirements = repository.path(FOLDER).join("requirements.txt");
    environment.install(&["--requirement", &requirements.to_string_lossy()])?;
    let mut command = environment.command("python");
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", FOLDER]);
    command.current_dir(repository.path("")).env("VESICA", built.binary("vesica")?);
    ended("pytest", tally.count(&mut command))
}
