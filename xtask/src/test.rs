//! `cargo xtask test`: every check and every test, and one line that says how many.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Write},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{Failure, documents, repository::Repository, tidy};

/// One step, and what it does.
struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    /// A function of this program.
    Own(fn(&Repository) -> Result<(), Failure>),
    /// A cargo command with an environment variable; it checks or it fails.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// The same, and its output says how many tests passed and failed.
    Tests(&'static [&'static str], &'static [(&'static str, &'static str)]),
}

/// Cheap steps first, so that most mistakes are found soon.
const STEPS: [Step; 7] = [
    Step { name: "format", work: Work::Cargo(&["fmt", "--all", "--check"], &[]) },
    Step { name: "tidy", work: Work::Own(tidy::run) },
    Step {
        name: "clippy",
        work: Work::Cargo(
            &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
            &[],
        ),
    },
    Step {
        name: "rustdoc",
        work: Work::Cargo(
            &["doc", "--workspace", "--lib", "--no-deps", "--locked"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
    },
    Step {
        name: "tests",
        work: Work::Tests(&["test", "--workspace", "--locked", "--no-fail-fast"], &[]),
    },
    // The processor's backend hides the portable one from every test but the kernels' own.
    Step {
        name: "tests of what computes, on the portable backends",
        work: Work::Tests(
            &[
                "test",
                "--locked",
                "--no-fail-fast",
                "--package=vesica-primitives",
                "--package=vesica-ot",
                "--package=vesica-oprf",
                "--package=vesica-psi",
            ],
            &[("VESICA_PORTABLE", "1")],
        ),
    },
    Step { name: "generated documents", work: Work::Own(documents::check) },
];

/// How many tests passed and failed. A step that fails without a failed test, such as clippy, counts
/// as one failure, so that the last line never reads like success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// Runs every step, up to the first that fails.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    let mut tally = Tally::default();
    match STEPS.iter().try_for_each(|step| step.run(repository, &mut tally)) {
        Ok(()) => {
            println!("{tally}");
            Ok(())
        }
        Err(failure) => {
            tally.failed = tally.failed.max(1);
            Err(format!("{failure}; the steps after it did not run\n{tally}"))
        }
    }
}

impl Step {
    fn run(&self, repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
        println!("==> {}", self.name);
        let started = Instant::now();
        let done = match self.work {
            Work::Own(check) => check(repository),
            Work::Cargo(args, env) => {
                let mut command = repository.cargo(args);
                let status = command.envs(env.iter().copied()).status();
                ended(args, status)
            }
            Work::Tests(args, env) => {
                let mut command = repository.cargo(args);
                ended(args, tests(command.envs(env.iter().copied()), tally))
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        match &done {
            Ok(()) => println!("    {}: ok in {seconds:.1} s", self.name),
            Err(_) => println!("    {}: FAILED after {seconds:.1} s", self.name),
        }
        done.map_err(|failure| format!("step `{}` failed: {failure}", self.name))
    }
}

fn ended(args: &[&str], status: io::Result<std::process::ExitStatus>) -> Result<(), Failure> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`cargo {}` ended with {status}", args.join(" "))),
        Err(error) => Err(format!("cargo cannot be started: {error}")),
    }
}

/// Runs tests, passes what they print on as it comes, and adds up what they say.
fn tests(command: &mut Command, tally: &mut Tally) -> io::Result<std::process::ExitStatus> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    if let Some(stdout) = child.stdout.take() {
        let (mut lines, mut out, mut line) =
            (BufReader::new(stdout), io::stdout().lock(), Vec::new());
        while lines.read_until(b'\n', &mut line)? > 0 {
            out.write_all(&line)?;
            tally.add(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    child.wait()
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

impl Tally {
    /// Counts a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; ...`.
    fn add(&mut self, line: &str) {
        let Some((_, result)) = line.split_once("test result: ") else { return };
        let before = |word: &str| -> u64 {
            let count = result.split(';').find_map(|part| part.trim_end().strip_suffix(word));
            count.and_then(|c| c.split_whitespace().last()?.parse().ok()).unwrap_or(0)
        };
        self.passed += before("passed");
        self.failed += before("failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_runs_add_up() {
        let mut tally = Tally::default();
        for line in [
            "running 4 tests\n",
            "test tests::one_passed ... ok\n",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out\n",
            "\u{1b}[32mtest result: \u{1b}[31mFAILED\u{1b}[0m. 1 passed; 1 failed; 0 ignored\n",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 14, failed: 3 });
    }
}
