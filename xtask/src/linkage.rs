//! Record linkage: the lists of rules on public sets in which it is known which records are of one person.

use crate::{
    Failure, environment::Environment, programs::Built, repository::Repository, step::ended,
};

/// The folder of the script.
const FOLDER: &str = "tests/linkage";

/// Downloads the sets from PyPI, and judges the lists of rules on them.
pub fn judge(repository: &Repository) -> Result<(), Failure> {
    let built = Built::here(repository, &[])?;
    let environment = Environment::new(repository.path("target/linkage"))?;
    let requirements = repository.path(FOLDER).join("requirements.txt");
    // Only the sets of the package are needed, not the packages that it imports.
    environment.install(&["--no-deps", "--requirement", &requirements.to_string_lossy()])?;
    let mut command = environment.command("python");
    command.arg(repository.path(FOLDER).join("febrl.py")).arg(built.binary("vesica")?);
    ended("febrl.py", command.status())
}
