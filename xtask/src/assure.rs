//! `cargo xtask assure`: every test in full, for a release.
//!
//! `cargo xtask test` leaves two things to this task: tests marked `#[ignore = "assure: REASON"]`, and all cases of
//! tests that otherwise use a sample (`vesica_testkit::assurance`). [`tiers`] lists both.

use std::slice;

use crate::{
    Failure, aarch64, browser, constant_time, cross, fuzz, interop, linkage, named,
    programs::Built,
    python, release,
    repository::{OPTIONAL, Repository},
    step::{self, Step, StepWork, ended},
    supply,
    tally::Tally,
    tiers,
};

/// The steps, in order.
pub const STEPS: [Step; 12] = [
    Step { name: "every test in full", minutes: 180, work: StepWork::Tests(everything) },
    Step { name: "tests on the portable backends", minutes: 60, work: StepWork::Tests(computing) },
    Step { name: "AArch64, emulated", minutes: 90, work: StepWork::Tests(aarch64::step) },
    Step { name: "constant time", minutes: 45, work: StepWork::Tests(constant_time::step) },
    Step {
        name: "the package for Python",
        minutes: 20,
        work: StepWork::Tests(python::test_in_full),
    },
    Step {
        name: "the package for browsers",
        minutes: 15,
        work: StepWork::Tests(browser::test_in_full),
    },
    Step { name: "the second implementation", minutes: 20, work: StepWork::Tests(interop::test) },
    Step { name: "rules on public sets", minutes: 5, work: StepWork::Check(linkage::judge) },
    Step { name: "a minute of each fuzz target", minutes: 60, work: StepWork::Check(fuzz::run) },
    Step { name: "other systems", minutes: 30, work: StepWork::Check(cross::check) },
    Step {
        name: "a rehearsal of a release",
        minutes: 30,
        work: StepWork::Check(release::rehearse),
    },
    // After the rehearsal, which builds the program that it builds again.
    Step { name: "the supply chain", minutes: 60, work: StepWork::Check(supply::check) },
];

/// Runs the steps, up to the first that fails.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    step::run(&STEPS, repository)
}

/// Runs one step.
pub fn run_step(repository: &Repository, name: &str) -> Result<(), Failure> {
    step::run(
        slice::from_ref(named::find("step", name, STEPS.iter(), |step| step.name)?),
        repository,
    )
}

/// Runs all tests, including ignored ones and tests of optional features.
fn everything(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    let mut args =
        vec!["test", "--workspace", "--locked", "--no-fail-fast", "--features", OPTIONAL];
    args.extend(["--", "--include-ignored"]);
    let tree = repository.tree()?;
    // Other tests start these.
    let started: Vec<String> = tiers::started_by_others(&tree).collect();
    for name in &started {
        args.extend(["--skip", name]);
    }
    let status = tally.count(repository.cargo(&args).env(tiers::IN_FULL.0, tiers::IN_FULL.1));
    ended(&format!("cargo {}", args.join(" ")), status)
}

/// The crates whose work depends on the processor's backend, which hides the portable one from every test but the
/// kernels' own.
const COMPUTING: [&str; 5] = ["primitives", "ot", "oprf", "circuit", "psi"];

fn computing(repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
    portable(repository, &COMPUTING, &[], tally)
}

/// Runs the tests of some crates on the portable backends, without tests whose names contain one of the words
/// `left_out`.
pub fn portable(
    repository: &Repository,
    crates: &[&str],
    left_out: &[&str],
    tally: &mut Tally,
) -> Result<(), Failure> {
    let built = Built::here(repository, &[])?;
    let mut done = Ok(());
    for name in crates {
        let mut of_crate = built.tests().filter(|program| program.crate_name() == *name).peekable();
        if of_crate.peek().is_none() {
            return Err(format!(
                "`{name}` has no test program; is this still the form of cargo's messages?"
            ));
        }
        for program in of_crate {
            println!("     Running {}", program.executable);
            let mut command = program.command();
            command.env("VESICA_PORTABLE", "1");
            for word in left_out {
                command.args(["--skip", word]);
            }
            // Report the first failure, and run the others anyway.
            let ran = ended(program.executable, tally.count(&mut command));
            done = done.and(ran);
        }
    }
    done
}
