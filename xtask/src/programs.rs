//! The programs that cargo builds when it tests the workspace.
//!
//! All steps use these. A build of fewer packages or targets would select other features of shared dependencies, and so
//! compile most of the workspace again.

use std::process::{Command, Stdio};

use crate::{Failure, repository::Repository, step::ended};

/// The programs that cargo reported.
pub struct Built(String);

impl Built {
    /// Builds the tests, or only those that `narrowed` selects, for instance `--test NAME`.
    pub fn here(repository: &Repository, narrowed: &[&str]) -> Result<Self, Failure> {
        let mut args = vec!["test", "--workspace", "--locked", "--no-run"];
        args.extend(narrowed);
        args.push("--message-format=json-render-diagnostics");
        Self::by(repository, &args)
    }

    /// Builds with a cargo command that reports in JSON.
    pub fn by(repository: &Repository, args: &[&str]) -> Result<Self, Failure> {
        let built = repository.cargo(args).stderr(Stdio::inherit()).output();
        let built = built.map_err(|e| format!("cargo cannot be started: {e}"))?;
        ended(&format!("cargo {}", args.join(" ")), Ok(built.status))?;
        Ok(Self(String::from_utf8_lossy(&built.stdout).into_owned()))
    }

    /// Iterates over the test programs.
    pub fn tests(&self) -> impl Iterator<Item = Program<'_>> {
        self.programs().filter(|program| program.is_test)
    }

    /// Returns the program with this name.
    pub fn binary(&self, name: &str) -> Result<&str, Failure> {
        let of_name = |program: &Program<'_>| {
            !program.is_test && program.executable.rsplit(['/', '\\']).next() == Some(name)
        };
        let found = self.programs().find(of_name).map(|program| program.executable);
        found.ok_or_else(|| format!("cargo did not build the program `{name}`"))
    }

    fn programs(&self) -> impl Iterator<Item = Program<'_>> {
        self.0.lines().filter_map(Program::read)
    }
}

/// A program that cargo built.
#[derive(Debug, PartialEq, Eq)]
pub struct Program<'a> {
    /// The folder of its crate.
    folder: &'a str,
    pub executable: &'a str,
    is_test: bool,
}

impl<'a> Program<'a> {
    /// Parses one of cargo's JSON messages. Returns `None` if it is about something else.
    fn read(message: &'a str) -> Option<Self> {
        let field = |name: &str| -> Option<&'a str> {
            let (_, rest) = message.split_once(&format!("\"{name}\":\""))?;
            Some(rest.split_once('"')?.0)
        };
        let folder = field("manifest_path")?.strip_suffix("/Cargo.toml")?;
        let (_, profile) = message.split_once("\"profile\":{")?;
        let (profile, _) = profile.split_once('}')?;
        let executable = field("executable")?;
        Some(Self { folder, executable, is_test: profile.contains("\"test\":true") })
    }

    /// Returns the command that runs it like cargo.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.executable);
        command.current_dir(self.folder).env("CARGO_MANIFEST_DIR", self.folder);
        command
    }

    /// Returns the last part of the crate's folder.
    pub fn crate_name(&self) -> &'a str {
        self.folder.rsplit('/').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(test: &str, executable: &str) -> String {
        format!(
            "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/v/crates/ot/Cargo.toml\",\
             \"target\":{{\"test\":true}},\"profile\":{{\"opt_level\":\"2\",\"test\":{test}}},\
             \"executable\":{executable},\"fresh\":true}}"
        )
    }

    #[test]
    fn programs_are_told_from_other_messages() {
        let built = Built(
            [
                &message("true", "\"/v/target/debug/deps/ot-1\""),
                &message("true", "null"),
                &message("false", "\"/v/target/debug/ot\""),
                "{\"reason\":\"build-finished\",\"success\":true}",
            ]
            .join("\n"),
        );
        let tests: Vec<_> = built.tests().collect();
        assert_eq!(tests.len(), 1);
        assert_eq!(
            (tests[0].crate_name(), tests[0].executable),
            ("ot", "/v/target/debug/deps/ot-1")
        );
        assert_eq!(built.binary("ot").unwrap(), "/v/target/debug/ot");
        assert!(built.binary("ot-1").is_err());
    }
}
