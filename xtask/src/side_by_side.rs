//! Runs test programs in parallel.
//!
//! Cargo runs them one after the other, which leaves processors idle while the last test of a program runs, or while a
//! test waits.

use std::{
    io::Write,
    process::{Command, Stdio},
    sync::Mutex,
    thread,
};

use crate::{Failure, step::ended, tally::Tally};

/// A command that runs tests, and its name.
pub struct Job {
    pub name: String,
    pub command: Command,
}

/// Runs all jobs, in parallel on all processors, and writes each one's output when it has ended. A failure does not
/// stop the others.
///
/// # Errors
/// A list of the jobs that failed.
pub fn run(jobs: Vec<Job>, tally: &mut Tally, out: &mut (dyn Write + Send)) -> Result<(), Failure> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let (waiting, results) = (Mutex::new(jobs.into_iter()), Mutex::new((tally, out, Vec::new())));
    let next = || waiting.lock().ok()?.next();
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let (text, done) = job.run();
                    let Ok(mut results) = results.lock() else { return };
                    let (tally, out, failed) = &mut *results;
                    // The receiver may be gone.
                    let _ = out.write_all(&text);
                    tally.add_all(&text);
                    failed.extend(done.err());
                }
            });
        }
    });
    let (.., failed) = results.into_inner().map_err(|_| "a test program could not be followed")?;
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

impl Job {
    /// Returns its output and its outcome.
    fn run(self) -> (Vec<u8>, Result<(), Failure>) {
        let Self { name, mut command } = self;
        let title = format!("     Running {name}\n").into_bytes();
        match command.stdin(Stdio::null()).output() {
            Ok(output) => {
                let text = [title, output.stdout, output.stderr].concat();
                (text, ended(&name, Ok(output.status)))
            }
            Err(error) => (title, ended(&name, Err(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, script: &str) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Job { name: name.to_owned(), command }
    }

    #[test]
    fn results_add_up_and_every_failure_is_named() {
        let ok = "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'";
        let failed = "echo 'test result: FAILED. 1 passed; 3 failed; 0 ignored'; exit 101";
        let mut tally = Tally::default();
        let jobs = vec![job("a", ok), job("b", failed), job("c", ok), job("d", "kill -9 $$")];
        let mut out = Vec::new();
        let failure = run(jobs, &mut tally, &mut out).unwrap_err();
        assert!(failure.contains("`b`") && failure.contains("`d`"), "{failure}");
        assert!(!failure.contains("`a`") && !failure.contains("`c`"), "{failure}");
        assert_eq!(tally, Tally { passed: 5, failed: 3 });
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains("Running b\ntest result: FAILED. 1 passed; 3 failed"), "{out}");
        let alone = |job| run(vec![job], &mut Tally::default(), &mut std::io::sink());
        assert!(alone(job("a", ok)).is_ok());
        let missing = Job { name: "e".to_owned(), command: Command::new("/nowhere/e") };
        assert!(alone(missing).unwrap_err().contains("cannot be started"));
    }
}
