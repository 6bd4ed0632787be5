//! `cargo xtask test`: every check, and the tests of every change. The goal is a quarter of an hour.

use std::{env, io, path::Path, process::Command, slice};

use crate::{
    Failure, assure, browser, constant_time, documents, interop, named,
    programs::{Built, Program},
    python,
    repository::Repository,
    side_by_side::{self, Job},
    step::{self, Step, StepWork, ended},
    supply,
    tally::Tally,
    tidy,
};

/// The check of the format.
pub const FORMAT: Step =
    Step { name: "format", minutes: 1, work: StepWork::Cargo(&["fmt", "--all", "--check"], &[]) };

/// The check of the rules.
pub const TIDY: Step = Step { name: "tidy", minutes: 1, work: StepWork::Check(tidy::run) };

/// The lints.
pub const CLIPPY: Step = Step {
    name: "clippy",
    minutes: 2,
    work: StepWork::Cargo(
        &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        &[],
    ),
};

/// Fast steps come first, so that most mistakes are found soon.
const STEPS: [Step; 9] = [
    FORMAT,
    TIDY,
    Step { name: "licences", minutes: 1, work: StepWork::Check(supply::permissive::check) },
    CLIPPY,
    Step { name: "rustdoc", minutes: 1, work: StepWork::Check(rustdoc) },
    Step { name: "tests", minutes: 12, work: StepWork::Tests(everything) },
    Step { name: "tests on the portable backends", minutes: 1, work: StepWork::Tests(portable) },
    Step { name: "what is built by itself", minutes: 8, work: StepWork::Tests(by_itself) },
    Step { name: "generated documents", minutes: 1, work: StepWork::Check(documents::check) },
];

/// Builds that differ from the workspace's tests, the longest first. While one of these downloads, links or waits,
/// others use the processors.
const BY_ITSELF: [Step; 4] = [
    Step { name: "constant time, a part", minutes: 6, work: StepWork::Tests(constant_time::quick) },
    python::STEP,
    browser::STEP,
    interop::VECTORS,
];

/// Runs every step, up to the first that fails.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    step::run(&STEPS, repository)
}

/// Runs one step.
pub fn run_step(repository: &Repository, name: &str) -> Result<(), Failure> {
    let step = named::find("step", name, STEPS.iter().chain(&BY_ITSELF), |step| step.name)?;
    step::run(slice::from_ref(step), repository)
}

/// Documents the libraries. With clippy's settings, cargo finds the checked crates of the step before. Were these
/// settings to change, it would check all crates again.
fn rustdoc(repository: &Repository) -> Result<(), Failure> {
    let args = ["doc", "--workspace", "--lib", "--no-deps", "--locked"];
    let mut command = repository.cargo(&args);
    command.env("RUSTDOCFLAGS", "-D warnings");
    let clippy = Path::new(command.get_program()).with_file_name("clippy-driver");
    if clippy.exists() {
        command.env("RUSTC_WORKSPACE_WRAPPER", clippy);
        command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    }
    ended(&format!("cargo {}", args.join(" ")), command.status())
}

/// Runs [`BY_ITSELF`] in parallel, each with this program.
fn by_itself(_: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let this =
        env::current_exe().map_err(|error| format!("this program's path is not known: {error}"))?;
    let job = |step: &Step| {
        let mut command = Command::new(&this);
        command.args(["test", step.name]);
        Job { name: step.name.to_owned(), command }
    };
    side_by_side::run(BY_ITSELF.iter().map(job).collect(), tally, &mut io::stdout())
}

/// Runs unit tests, conformance suites, examples in documentation, and end-to-end tests with two processes.
fn everything(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let built = Built::here(repository, &[])?;
    let args = ["test", "--workspace", "--locked", "--no-fail-fast", "--doc"];
    let examples =
        Job { name: format!("cargo {}", args.join(" ")), command: repository.cargo(&args) };
    let job = |program: &Program<'_>| Job {
        name: program.executable.to_owned(),
        command: program.command(),
    };
    let (waiting, computing): (Vec<_>, Vec<_>) =
        built.tests().partition(|program| program.crate_name() == WAITING);
    // These take longest, so they start first.
    let waiting = waiting.iter().map(|program| {
        let mut job = job(program);
        job.command.env("RUST_TEST_THREADS", "6");
        job
    });
    let jobs = waiting.chain([examples]).chain(computing.iter().map(job)).collect();
    side_by_side::run(jobs, tally, &mut io::stdout())
}

/// The crate whose tests start programs that mostly wait for each other, so that a processor can run more than one of
/// them at a time.
const WAITING: &str = "cli";

/// Repeats the tests of the kernels' crate without the processor's vector instructions, except those that would take
/// minutes. For the higher crates, the transcripts of the previous step show that both backends send the same bits.
fn portable(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    assure::portable(repository, &["primitives"], &["for_thousands"], tally)
}
