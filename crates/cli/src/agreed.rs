//! Agreements in files, and their summaries in words.

use std::path::Path;

use vesica::{
    partnership::{AnyAgreement, Summary},
    spec,
};

use crate::exit::Failure;

/// Returns the agreement in a file.
pub fn agreement(file: &Path) -> Result<AnyAgreement, Failure> {
    Ok(spec::read_agreement(file, None)?)
}

/// Returns the agreement of a job, if there is one yet.
pub fn of_job(job: &spec::Job) -> Result<Option<AnyAgreement>, Failure> {
    let is_there = job.parties.agreement.as_ref().is_some_and(|file| file.exists());
    if is_there { Ok(job.agreement()?) } else { Ok(None) }
}

/// Returns lines about the disclosure of runs, and about the other terms.
pub fn summary_as_text(summary: &Summary) -> String {
    let disclosed = summary.disclosed().into_iter().map(|sentence| format!("  - {sentence}\n"));
    let clauses = summary.clauses().into_iter().map(|clause| format!("  - {clause}\n"));
    let lines: String =
        disclosed.chain(["It is also agreed:\n".to_owned()]).chain(clauses).collect();
    lines.trim_end().to_owned()
}

/// Returns the summary as JSON, with the facts.
pub fn summary_as_json(summary: &Summary) -> Result<String, Failure> {
    serde_json::to_string_pretty(&summary.to_json()).map_err(|_| Failure::bug("a summary has JSON"))
}
