//! `cargo xtask aarch64`: the tests of crates with kernels for AArch64, and of crates that use them, under emulation.
//!
//! QEMU's user mode runs a program for another processor as a process of this system. It shows whether results are
//! right, but nothing about time.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{Failure, cross, repository::Repository, step::ended, tally::Tally};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Links programs for AArch64, and compiles the C code of dependencies.
const COMPILER: &str = "aarch64-linux-gnu-gcc";

/// Its names in two packages. Either is enough.
const EMULATORS: [&str; 2] = ["qemu-aarch64", "qemu-aarch64-static"];

/// The folder of that compiler's C library on Debian and Ubuntu.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// The crate of the kernels, and the crates that spend most of their time in them.
const CRATES: [&str; 3] = ["vesica-primitives", "vesica-ot", "vesica-oprf"];

/// The expected backend, which a test of the kernels checks. Otherwise all tests would pass on the portable one.
const BACKEND: (&str, &str) = ("VESICA_TESTED_BACKEND", "Neon");

/// The environment variable that names the emulator to a test that runs its own program again.
const RUNNER: &str = "VESICA_TEST_RUNNER";

/// Runs the tests, and fails if a prerequisite is missing.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    let mut tally = Tally::default();
    let done = emulator(repository).and_then(|emulator| tests(repository, emulator, &mut tally));
    println!("{tally}");
    done
}

/// Runs the tests as a step. If a prerequisite is missing, reports that nothing was checked.
pub fn step(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    match emulator(repository) {
        Ok(emulator) => tests(repository, emulator, tally),
        Err(missing) => {
            println!("    NOT CHECKED: AArch64: {missing}");
            Ok(())
        }
    }
}

/// Finds the installed emulator, and checks the other prerequisites.
///
/// # Errors
/// A message that says what to install.
fn emulator(repository: &Repository) -> Result<&'static str, Failure> {
    if !cfg!(target_os = "linux") {
        return Err("this takes Linux".to_owned());
    }
    cross::installed(repository, TARGET)?;
    if !is_here(COMPILER) || !Path::new(LIBRARIES).is_dir() {
        return Err(format!("`{COMPILER}` is missing, install it (gcc-aarch64-linux-gnu)"));
    }
    let found = EMULATORS.into_iter().find(|program| is_here(program));
    found.ok_or_else(|| format!("`{}` is missing, install it (qemu-user)", EMULATORS[0]))
}

fn is_here(program: &str) -> bool {
    let mut command = Command::new(program);
    let status = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs the tests of [`CRATES`] with the samples of every change, because emulation is slow. No test is left out.
fn tests(repository: &Repository, emulator: &str, tally: &mut Tally) -> Result<(), Failure> {
    let mut args = vec!["test", "--target", TARGET, "--locked", "--tests", "--no-fail-fast"];
    args.extend(CRATES.iter().flat_map(|name| ["--package", name]));
    // Enable every instruction that QEMU supports.
    let runner = format!("{emulator} -cpu max -L {LIBRARIES}");
    let mut command = repository.cargo(&args);
    command
        .env(of_target("LINKER"), COMPILER)
        .env(of_target("RUNNER"), &runner)
        .env(RUNNER, &runner)
        .env(BACKEND.0, BACKEND.1)
        .env_remove("VESICA_PORTABLE");
    ended(&format!("cargo {}", args.join(" ")), tally.count(&mut command))
}

/// Returns the environment variable that sets a cargo option for this target.
fn of_target(what: &str) -> String {
    format!("CARGO_TARGET_{}_{what}", TARGET.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a file of this repository.
    fn text_of(path: &str) -> String {
        let tree = Repository::here().unwrap().tree().unwrap();
        tree.text(path).unwrap().to_owned()
    }

    #[test]
    fn the_backend_is_the_one_that_the_kernels_tests_look_for() {
        let text = text_of("crates/primitives/src/arch/mod.rs");
        assert!(text.contains(&format!("env::var(\"{}\")", BACKEND.0)));
        assert!(text.contains(&format!("    {},\n", BACKEND.1)));
    }

    #[test]
    fn the_runner_is_the_one_that_tests_look_for() {
        let text = text_of("crates/testkit/src/transcript.rs");
        assert!(text.contains(&format!("\"{RUNNER}\";")));
    }

    #[test]
    fn cargo_is_told_by_the_names_that_it_knows() {
        assert_eq!(of_target("LINKER"), "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER");
    }

    #[test]
    fn a_program_that_is_missing_is_noticed() {
        assert!(is_here("rustc") && !is_here("no-such-program"));
    }
}
