//! `cargo xtask test`: every check and every test, and one line that says how many.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Write},
    process::{Command, ExitStatus, Stdio},
    time::Instant,
};

use crate::{Failure, documents, repository::Repository, tidy};

/// One step, and what it does.
struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    /// A function of this program; it checks or it fails.
    Check(fn(&Repository) -> Result<(), Failure>),
    /// A cargo command with environment variables, likewise.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A function of this program that runs tests and counts them.
    Tests(fn(&Repository, &mut Tally) -> Result<(), Failure>),
}

/// Cheap steps first, so that most mistakes are found soon.
const STEPS: [Step; 7] = [
    Step { name: "format", work: Work::Cargo(&["fmt", "--all", "--check"], &[]) },
    Step { name: "tidy", work: Work::Check(tidy::run) },
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
    Step { name: "tests", work: Work::Tests(everything) },
    Step { name: "tests on the portable backends", work: Work::Tests(portable) },
    Step { name: "generated documents", work: Work::Check(documents::check) },
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
            Work::Check(check) => check(repository),
            Work::Cargo(args, env) => {
                let status = repository.cargo(args).envs(env.iter().copied()).status();
                ended(&format!("cargo {}", args.join(" ")), status)
            }
            Work::Tests(tests) => tests(repository, tally),
        };
        let seconds = started.elapsed().as_secs_f64();
        match &done {
            Ok(()) => println!("    {}: ok in {seconds:.1} s", self.name),
            Err(_) => println!("    {}: FAILED after {seconds:.1} s", self.name),
        }
        done.map_err(|failure| format!("step `{}` failed: {failure}", self.name))
    }
}

fn ended(what: &str, status: io::Result<ExitStatus>) -> Result<(), Failure> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{what}` ended with {status}")),
        Err(error) => Err(format!("`{what}` cannot be started: {error}")),
    }
}

/// Unit tests, conformance suites, documentation's examples, and two processes end to end.
fn everything(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let args = ["test", "--workspace", "--locked", "--no-fail-fast"];
    let status = count(&mut repository.cargo(&args), tally);
    ended(&format!("cargo {}", args.join(" ")), status)
}

/// The rooms whose work depends on the processor's backend, which hides the portable one from every
/// test but the kernels' own.
const COMPUTING: [&str; 5] = ["primitives", "ot", "oprf", "circuit", "psi"];

/// Programs of a room whose tests say the same with any backend: those that wait for a peer which stalls,
/// and of protocols all but the unit tests and the transcripts, which are equal bit by bit.
const SAYING_THE_SAME: [(&str, &str); 7] = [
    ("ot", "deviating_peer-"),
    ("oprf", "deviating_peer-"),
    ("psi", "answers-"),
    ("psi", "confused_peer-"),
    ("psi", "conformance-"),
    ("psi", "deviating_peer-"),
    ("psi", "mutations-"),
];

/// The tests of these rooms once more, on the portable backends.
///
/// The programs are those that [`everything`] built. `cargo test --package` would build most of the
/// workspace again, since fewer packages ask for fewer features of what they share.
fn portable(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let args = ["test", "--workspace", "--locked", "--no-run", "--message-format=json"];
    let built = repository.cargo(&args).stderr(Stdio::null()).output();
    let built = built.map_err(|e| format!("cargo cannot be started: {e}"))?;
    let messages = String::from_utf8_lossy(&built.stdout);
    let programs: Vec<TestProgram<'_>> = messages.lines().filter_map(TestProgram::read).collect();
    let mut done = ended(&format!("cargo {}", args.join(" ")), Ok(built.status));
    for room in COMPUTING {
        let mut of_room = programs.iter().filter(|program| program.room() == room).peekable();
        if of_room.peek().is_none() {
            return Err(format!(
                "`{room}` has no test program; is this still the form of cargo's messages?"
            ));
        }
        let says_the_same = |program: &&TestProgram<'_>| {
            let same = SAYING_THE_SAME.iter().filter(|(of, _)| *of == room);
            same.into_iter().any(|(_, name)| program.executable.contains(name))
        };
        for program in of_room.filter(|program| !says_the_same(program)) {
            println!("     Running {}", program.executable);
            let mut command = Command::new(program.executable);
            command.current_dir(program.folder).env("VESICA_PORTABLE", "1");
            // What failed first is what is told; the others run all the same.
            let ran = ended(program.executable, count(&mut command, tally));
            done = done.and(ran);
        }
    }
    done
}

/// A program of tests that cargo built.
#[derive(Debug, PartialEq, Eq)]
struct TestProgram<'a> {
    /// The folder of its crate, where cargo would run it.
    folder: &'a str,
    executable: &'a str,
}

impl<'a> TestProgram<'a> {
    /// Reads one of cargo's JSON messages; nothing where it is about something else.
    fn read(message: &'a str) -> Option<Self> {
        let field = |name: &str| -> Option<&'a str> {
            let (_, rest) = message.split_once(&format!("\"{name}\":\""))?;
            Some(rest.split_once('"')?.0)
        };
        let folder = field("manifest_path")?.strip_suffix("/Cargo.toml")?;
        let (_, profile) = message.split_once("\"profile\":{")?;
        let (profile, _) = profile.split_once('}')?;
        let executable = field("executable")?;
        profile.contains("\"test\":true").then_some(Self { folder, executable })
    }

    fn room(&self) -> &'a str {
        self.folder.rsplit('/').next().unwrap_or_default()
    }
}

/// Runs tests, passes what they print on as it comes, and adds up what they say.
fn count(command: &mut Command, tally: &mut Tally) -> io::Result<ExitStatus> {
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

    #[test]
    fn test_programs_are_told_from_other_messages() {
        let message = |test: &str, executable: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/v/crates/ot/Cargo.toml\",\
                 \"target\":{{\"test\":true}},\"profile\":{{\"opt_level\":\"2\",\"test\":{test}}},\
                 \"executable\":{executable},\"fresh\":true}}"
            )
        };
        let program = message("true", "\"/v/target/debug/deps/ot-1\"");
        let wanted =
            TestProgram { folder: "/v/crates/ot", executable: "/v/target/debug/deps/ot-1" };
        assert_eq!(wanted.room(), "ot");
        assert_eq!(TestProgram::read(&program), Some(wanted));
        assert_eq!(TestProgram::read(&message("true", "null")), None);
        assert_eq!(TestProgram::read(&message("false", "\"/v/target/debug/ot\"")), None);
        assert_eq!(TestProgram::read("{\"reason\":\"build-finished\",\"success\":true}"), None);
    }
}
