//! An empty system, in which a package must run.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{folder, tool};
use crate::Failure;

/// A folder that becomes the root of a program.
pub struct CleanRoot(PathBuf);

impl CleanRoot {
    /// Creates one at this place, with only `/tmp`, `/dev/null` and one link of `/proc`.
    pub fn new(at: &Path) -> Result<Self, Failure> {
        folder::empty(at)?;
        folder::empty(&at.join("tmp"))?;
        folder::empty(&at.join("dev"))?;
        let mut null = Command::new("mknod");
        null.args(["-m", "666"]).arg(at.join("dev/null")).args(["c", "1", "3"]);
        tool::run(&mut null, "coreutils").map_err(as_root)?;
        Ok(Self(at.to_owned()))
    }

    /// Returns the folder, for an installation.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Runs a program there, and returns its output.
    pub fn run(&self, program: &str, args: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new("chroot");
        command.arg(&self.0).arg(program).args(args).env_clear();
        // Only the path of `chroot` itself.
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        tool::run(&mut command, "coreutils").map_err(as_root)
    }

    /// Runs the demo there, and checks that it found what it should.
    pub fn demo(&self, program: &str) -> Result<(), Failure> {
        // The demo starts its own program again, which every real system names by this link.
        let itself = self.0.join("proc/self");
        folder::empty(&itself)?;
        std::os::unix::fs::symlink(program, itself.join("exe")).map_err(tool::at(&itself))?;
        let printed = self.run(program, &["demo", "--rows", "10000"])?;
        let sides = printed.matches("expected 3,000 matches = found 3,000").count();
        match sides == 2 && !printed.contains("NaN") {
            true => Ok(()),
            false => Err(format!("the demo of {program} printed:\n{printed}")),
        }
    }
}

fn as_root(failure: Failure) -> Failure {
    format!("{failure}; a clean root needs the rights of root (sudo, or a container)")
}
