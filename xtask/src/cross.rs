//! Cross-compilation: checks that the workspace compiles for other systems.
//!
//! Some dependencies contain C code, which needs a compiler, headers and libraries for each system. Zig provides them,
//! and cargo-zigbuild makes cargo use it. Both come from PyPI.

use std::{path::Path, process::Command};

use crate::{
    Failure,
    environment::Environment,
    repository::{OPTIONAL, Repository},
    step::ended,
};

/// The packages to install from PyPI.
const PACKAGES: [&str; 2] = ["ziglang==0.13.0", "cargo-zigbuild==0.24.1"];

/// Systems for which nothing can be run here. The workspace, including its tests, compiles for them. Benchmarks are
/// left out, because Windows does not have the clock by which they measure processor time.
const CHECKED: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// `cargo xtask cross`: runs clippy for every system of [`CHECKED`], with warnings denied.
pub fn check(repository: &Repository) -> Result<(), Failure> {
    for target in CHECKED {
        if let Err(missing) = installed(repository, target) {
            println!("    NOT CHECKED: {missing}");
            continue;
        }
        let tools = tools(repository)?;
        let what = [
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--examples",
            "--locked",
            "--features",
            OPTIONAL,
        ];
        let mut command = command(&tools, "cargo-zigbuild");
        command.args(["clippy", "--target", target]).args(what).args(["--", "-D", "warnings"]);
        // It leaves an empty file in its working directory.
        command.current_dir(repository.path("target"));
        ended(&format!("cargo-zigbuild clippy --target {target}"), command.status())?;
        println!("    checked: {target}");
    }
    Ok(())
}

/// Checks that Rust's standard library for a target is installed.
///
/// # Errors
/// A message that says what to install.
pub fn installed(repository: &Repository, target: &str) -> Result<(), Failure> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target]).current_dir(repository.path(""));
    let printed = rustc.output().map_err(|error| format!("rustc cannot be started: {error}"))?;
    let folder = String::from_utf8_lossy(&printed.stdout);
    match printed.status.success() && Path::new(folder.trim()).is_dir() {
        true => Ok(()),
        false => Err(format!(
            "the standard library of Rust for {target} is missing: `rustup target add {target}`"
        )),
    }
}

/// Returns the environment with the cross-compiler.
pub fn tools(repository: &Repository) -> Result<Environment, Failure> {
    let tools = Environment::new(repository.path("target/python/cross"))?;
    tools.install(&PACKAGES)?;
    Ok(tools)
}

/// Returns a command of that environment, with Zig on its path.
pub fn command(tools: &Environment, name: &str) -> Command {
    let mut command = tools.command(name);
    command.env("PATH", tools.path());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_missing_is_told_with_what_to_install() {
        let repository = Repository::here().unwrap();
        let told = installed(&repository, "sparc64-unknown-linux-gnu").unwrap_err();
        assert!(told.ends_with("`rustup target add sparc64-unknown-linux-gnu`"), "{told}");
        let told = installed(&repository, "no-such-system").unwrap_err();
        assert!(told.contains("no-such-system"), "{told}");
        let said = Command::new("rustc").arg("-vV").output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        let host = said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        assert_eq!(installed(&repository, host), Ok(()));
    }
}
