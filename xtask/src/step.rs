//! The steps of a task, run in order up to the first that fails.

use std::{
    io,
    process::ExitStatus,
    time::{Duration, Instant},
};

use crate::{Failure, repository::Repository, tally::Tally};

/// One step and its work.
pub struct Step<'a> {
    pub name: &'static str,
    /// Maximum number of minutes on two processors, including compilation. Exceeding it is reported but is not a
    /// failure, because no check may depend on a clock.
    pub minutes: u64,
    pub work: StepWork<'a>,
}

pub enum StepWork<'a> {
    /// A function of this program that checks something.
    Check(fn(&Repository) -> Result<(), Failure>),
    /// A cargo command with environment variables.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A function of this program that runs tests and counts them.
    Tests(fn(&Repository, &mut Tally) -> Result<(), Failure>),
    /// A function of this program that runs the tests of some crates and counts them.
    TestsOf(&'a [&'a str], fn(&Repository, &[&str], &mut Tally) -> Result<(), Failure>),
}

/// Runs all steps, up to the first that fails, and reports the number of tests.
pub fn run(steps: &[Step<'_>], repository: &Repository) -> Result<(), Failure> {
    let mut tally = Tally::default();
    match steps.iter().try_for_each(|step| step.run(repository, &mut tally)) {
        Ok(()) => {
            println!("{tally}");
            Ok(())
        }
        Err(failure) => {
            tally.failed = tally.failed.max(1);
            Err(format!("{failure}; later steps were not run\n{tally}"))
        }
    }
}

impl Step<'_> {
    fn run(&self, repository: &Repository, tally: &mut Tally) -> Result<(), Failure> {
        println!("==> {}", self.name);
        let started = Instant::now();
        let done = match self.work {
            StepWork::Check(check) => check(repository),
            StepWork::Cargo(args, env) => {
                let status = repository.cargo(args).envs(env.iter().copied()).status();
                ended(&format!("cargo {}", args.join(" ")), status)
            }
            StepWork::Tests(tests) => tests(repository, tally),
            StepWork::TestsOf(crates, tests) => tests(repository, crates, tally),
        };
        let taken = started.elapsed();
        let seconds = taken.as_secs_f64();
        match &done {
            Ok(()) if taken > Duration::from_secs(60 * self.minutes) => {
                println!(
                    "    {}: ok in {seconds:.1} s, beyond its {} min",
                    self.name, self.minutes
                );
            }
            Ok(()) => println!("    {}: ok in {seconds:.1} s", self.name),
            Err(_) => println!("    {}: FAILED after {seconds:.1} s", self.name),
        }
        done.map_err(|failure| format!("step `{}` failed: {failure}", self.name))
    }
}

/// Returns the outcome of a command.
pub fn ended(what: &str, status: io::Result<ExitStatus>) -> Result<(), Failure> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{what}` ended with {status}")),
        Err(error) => Err(format!("`{what}` cannot be started: {error}")),
    }
}
