//! Runs of two parties, each run in a separate process.

use vesica_lab::{Job, Record, Runner, Work};

use crate::itself;

/// Runs a job by starting this program again. In real use, a run has a fresh process too.
///
/// # Errors
/// If this program cannot be found.
pub fn runner() -> vesica_lab::Result<Runner> {
    itself::again().map_err(|error| format!("this program: {error}"))?;
    Ok(Box::new(move |job| {
        let ran = itself::again()?.args(arguments(job)).output()?;
        let failed = || {
            let said = String::from_utf8_lossy(&ran.stderr);
            format!("{}: {}", job.work, said.trim())
        };
        // A run with a wrong result prints a record that says so, and fails.
        serde_json::from_slice::<Record>(&ran.stdout).map_err(|_| failed().into())
    }))
}

fn arguments(job: &Job) -> Vec<String> {
    let flag = match job.work {
        Work::Protocol(_) => "--protocols",
        Work::Answer(_) => "--answers",
        Work::Joint(_) => "--parties",
        Work::Ot(_) => "--ot",
        Work::Structure(_) => "--structures",
        Work::Primitive(_) => "--primitives",
    };
    let key = job.work.key();
    let sizes = format!("{}x{}", job.sizes.receiver, job.sizes.sender);
    let (line, threads) = (job.line.to_string(), job.threads.to_string());
    ["bench", "--json", flag, &key, "--sizes", &sizes, "--link", &line, "--threads", &threads]
        .map(str::to_owned)
        .to_vec()
}
