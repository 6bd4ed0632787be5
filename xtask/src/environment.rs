//! Virtual environments of Python, each in a folder of its own.

use std::{env, path::PathBuf, process::Command};

use crate::{Failure, repository::forget_this_package, step::ended};

/// A virtual environment.
pub struct Environment(PathBuf);

impl Environment {
    /// Makes one in this folder, if there is none.
    pub fn new(folder: PathBuf) -> Result<Self, Failure> {
        let made = Self(folder);
        if !made.program("python").exists() {
            let python = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
            let status = Command::new(python).args(["-m", "venv"]).arg(&made.0).status();
            ended("python3 -m venv", status)?;
        }
        Ok(made)
    }

    fn program(&self, name: &str) -> PathBuf {
        match cfg!(windows) {
            true => self.0.join("Scripts").join(format!("{name}.exe")),
            false => self.0.join("bin").join(name),
        }
    }

    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.program(name));
        command.env("VIRTUAL_ENV", &self.0).env_remove("PYTHONPATH").env_remove("PYTHONHOME");
        forget_this_package(&mut command);
        command
    }

    pub fn install(&self, what: &[&str]) -> Result<(), Failure> {
        let mut command = self.command("python");
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(what);
        ended(&format!("pip install {}", what.join(" ")), command.status())
    }
}
