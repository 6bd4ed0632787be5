//! Virtual environments of Python, each in a separate folder.

use std::{env, ffi::OsString, path::PathBuf, process::Command};

use crate::{Failure, repository::forget_this_package, step::ended};

/// A virtual environment.
pub struct Environment(PathBuf);

impl Environment {
    /// Creates one in this folder, if there is none yet.
    pub fn new(folder: PathBuf) -> Result<Self, Failure> {
        let made = Self(folder);
        if !made.program("python").exists() {
            let python = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
            let status = Command::new(python).args(["-m", "venv"]).arg(&made.0).status();
            ended("python3 -m venv", status)?;
        }
        Ok(made)
    }

    fn programs(&self) -> PathBuf {
        self.0.join(if cfg!(windows) { "Scripts" } else { "bin" })
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs().join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// Returns a `PATH` on which its programs come first.
    pub fn path(&self) -> OsString {
        let others = env::var_os("PATH").unwrap_or_default();
        let folders = [self.programs()].into_iter().chain(env::split_paths(&others));
        // Folders that were split from such a list can be joined again.
        env::join_paths(folders).unwrap_or(others)
    }

    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.program(name));
        command.env("VIRTUAL_ENV", &self.0).env_remove("PYTHONPATH").env_remove("PYTHONHOME");
        command.env_remove("PYTHONDONTWRITEBYTECODE");
        forget_this_package(&mut command);
        command
    }

    /// Installs packages. Compiling all of their modules takes as long as installing them; Python compiles a module
    /// when it is first imported.
    pub fn install(&self, what: &[&str]) -> Result<(), Failure> {
        let mut command = self.command("python");
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        command.arg("--no-compile").args(what);
        ended(&format!("pip install {}", what.join(" ")), command.status())
    }
}
