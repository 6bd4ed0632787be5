//! `cargo xtask constant-time`: checks that no branch and no address depends on a secret, in the code of a release.
//!
//! The program of `tests/constant-time` marks secrets as undefined, and valgrind's memcheck reports decisions that
//! depend on undefined values. Its cases run one by one, so that each report belongs to a case. Cases that begin with
//! `control/` leak on purpose and must be reported.

use std::{
    io::{self, Write},
    process::Command,
    sync::Mutex,
    thread,
    time::Instant,
};

use crate::{Failure, programs::Built, repository::Repository, step::ended, tally::Tally};

/// The cargo profile of a program.
const BUILD: [&str; 6] = [
    "build",
    "--profile=constant-time",
    "--locked",
    "--package=vesica-constant-time",
    "--features=memcheck",
    "--message-format=json-render-diagnostics",
];

/// The exit code by which memcheck signals a report. No case ends with it otherwise.
const REPORTED: i32 = 99;

/// The places where memcheck's reports are expected, each with its reason.
const EXCEPTIONS: &str = "tests/constant-time/exceptions.supp";

/// Cases that leak on purpose.
const CONTROL: &str = "control/";

/// The backends of a case. Valgrind does not support VAES and AVX-512, and hides them from programs.
const BACKENDS: [CheckedBackend; 2] = [
    CheckedBackend { name: "AVX2", portable: "0" },
    CheckedBackend { name: "portable", portable: "1" },
];

/// A backend on which cases run.
struct CheckedBackend {
    name: &'static str,
    /// The value of `VESICA_PORTABLE`.
    portable: &'static str,
}

/// Runs every case on every backend, and fails if valgrind is not installed.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    let mut tally = Tally::default();
    let done = valgrind_is_here().and_then(|()| cases(repository, &EVERY, &mut tally));
    println!("{tally}");
    done
}

/// Runs every case as a step. If valgrind is not installed, reports that nothing was checked.
pub fn step(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    if_valgrind_is_here(repository, &EVERY, tally)
}

/// Runs the cases of every change, as a step.
pub fn quick(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    if_valgrind_is_here(repository, &QUICK, tally)
}

/// A program with cases, and the cases of it that also run on the portable backend.
struct CaseSelection {
    program: &'static str,
    /// The beginnings of their names.
    portable: &'static [&'static str],
}

/// All cases.
const EVERY: CaseSelection = CaseSelection { program: "vesica-constant-time", portable: &[""] };

/// The cases of every change. The backends differ in the kernels, whose case takes seconds, so only `assure` repeats
/// whole protocols.
const QUICK: CaseSelection = CaseSelection {
    program: "vesica-constant-time-quick",
    portable: &["control/branch", "primitives/"],
};

impl CaseSelection {
    /// Returns whether a case runs on a backend.
    fn includes(&self, case: &str, backend: &CheckedBackend) -> bool {
        backend.portable == "0" || self.portable.iter().any(|start| case.starts_with(start))
    }
}

fn if_valgrind_is_here(
    repository: &Repository,
    selection: &CaseSelection,
    tally: &mut Tally,
) -> Result<(), Failure> {
    match valgrind_is_here() {
        Ok(()) => cases(repository, selection, tally),
        Err(missing) => {
            println!("    NOT CHECKED: constant time: {missing}");
            Ok(())
        }
    }
}

fn valgrind_is_here() -> Result<(), Failure> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("this requires Linux on x86-64".to_owned());
    }
    match Command::new("valgrind").arg("--version").output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err("valgrind is not installed (package `valgrind`)".to_owned()),
    }
}

/// Runs the cases of a program, in parallel on all processors. A failure does not stop the others.
fn cases(
    repository: &Repository,
    selection: &CaseSelection,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let built = Built::by(repository, &[&BUILD[..], &["--bin", selection.program]].concat())?;
    let program = built.binary(selection.program)?;
    let listed = Command::new(program).arg("list").output();
    let listed = listed.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    ended(&format!("{program} list"), Ok(listed.status))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let runs = BACKENDS.iter().flat_map(|backend| listed.lines().map(move |case| (backend, case)));
    let runs = runs.filter(|(backend, case)| selection.includes(case, backend));
    let (waiting, results) = (Mutex::new(runs), Mutex::new((Tally::default(), Vec::new())));
    let next = || waiting.lock().ok()?.next();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((backend, case)) = next() {
                    let ran = case_on(repository, program, case, backend);
                    let Ok(mut results) = results.lock() else { return };
                    let (tally, failed) = &mut *results;
                    match ran {
                        Ok(()) => tally.passed += 1,
                        Err(failure) => {
                            tally.failed += 1;
                            failed.push(failure);
                        }
                    }
                }
            });
        }
    });
    let (ran, failed) = results.into_inner().map_err(|_| "a case could not be followed")?;
    println!("test result: {} passed; {} failed", ran.passed, ran.failed);
    tally.passed += ran.passed;
    tally.failed += ran.failed;
    match failed[..] {
        [] => Ok(()),
        _ => Err(format!("not constant time, or failed: {}", failed.join(", "))),
    }
}

/// Runs a case on a backend, and returns its outcome. If it did not end as expected, the error is its name.
fn case_on(
    repository: &Repository,
    program: &str,
    case: &str,
    backend: &CheckedBackend,
) -> Result<(), Failure> {
    let started = Instant::now();
    let ran = valgrind(repository, program, case).env("VESICA_PORTABLE", backend.portable).output();
    let output = ran.map_err(|error| format!("{case}: valgrind cannot be started: {error}"))?;
    let verdict = verdict(case, output.status.code());
    let seconds = started.elapsed().as_secs_f64();
    let said = verdict.err().unwrap_or("ok");
    let mut text = format!("    {case}, {}: {said} in {seconds:.1} s\n", backend.name).into_bytes();
    if verdict.is_err() {
        text.extend([output.stdout, output.stderr].concat());
    }
    // The receiver may be gone.
    let _ = io::stdout().lock().write_all(&text);
    verdict.map_err(|_| format!("{case} ({})", backend.name))
}

fn valgrind(repository: &Repository, program: &str, case: &str) -> Command {
    let mut command = Command::new("valgrind");
    let suppressions = repository.path(EXCEPTIONS);
    command
        .args(["--tool=memcheck", "--quiet", "--leak-check=no", "--fair-sched=try"])
        .arg(format!("--error-exitcode={REPORTED}"))
        .args(["--num-callers=16", "--error-limit=no"])
        .arg(format!("--suppressions={}", suppressions.display()))
        .args([program, case])
        // Valgrind runs one thread at a time.
        .env("RAYON_NUM_THREADS", "1");
    command
}

/// Checks whether a case ended as expected, and describes the problem otherwise.
fn verdict(case: &str, code: Option<i32>) -> Result<(), &'static str> {
    match (case.starts_with(CONTROL), code) {
        (true, Some(REPORTED)) | (false, Some(0)) => Ok(()),
        (true, Some(0)) => Err("NOT REPORTED, though it leaks"),
        (false, Some(REPORTED)) => Err("DEPENDS ON A SECRET"),
        _ => Err("FAILED"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portable_kernels_are_checked_with_every_change() {
        let [avx2, portable] = &BACKENDS;
        for case in ["control/branch", "primitives/fields", "ot/softspoken"] {
            assert!(EVERY.includes(case, avx2) && EVERY.includes(case, portable));
            assert!(QUICK.includes(case, avx2));
            assert_eq!(QUICK.includes(case, portable), case != "ot/softspoken", "{case}");
        }
    }

    #[test]
    fn only_controls_may_and_must_be_reported() {
        assert!(verdict("ot/silent", Some(0)).is_ok());
        assert!(verdict("control/branch", Some(REPORTED)).is_ok());
        for (case, code) in [
            ("ot/silent", Some(REPORTED)),
            ("control/branch", Some(0)),
            ("ot/silent", Some(101)),
            ("control/branch", Some(101)),
            ("control/branch", None),
        ] {
            assert!(verdict(case, code).is_err(), "{case}: {code:?}");
        }
    }
}
