//! Agreements in files, and what they come to in words.

use std::path::Path;

use vesica::partnership::{Agreement, Signed, Summary};

use crate::{
    document::{of_file, read},
    exit::Failure,
};

/// The agreement in a file. It must have this hash, where one is given.
pub fn agreement_of(file: &Path, hash: Option<&str>) -> Result<Signed<Agreement>, Failure> {
    let found = agreement(file)?;
    match hash.is_none_or(|hash| hash == found.hash()) {
        true => Ok(found),
        false => Err(Failure::input(format!(
            "{}: the job is for another agreement than the one in this file, which is between {} and {}; put the right one \
             back, or change `agreement-hash` of the job to {}",
            file.display(),
            found.document().proposal.inviter.fingerprint(),
            found.document().accepter.fingerprint(),
            found.hash()
        ))),
    }
}

/// The agreement in a file.
pub fn agreement(file: &Path) -> Result<Signed<Agreement>, Failure> {
    if !file.exists() {
        return Err(Failure::input(format!(
            "{}: there is no agreement yet; the other side's reply makes it: `vesica confirm REPLY`",
            file.display()
        )));
    }
    Signed::from_file(&read(file)?).map_err(|error| of_file(file, &error))
}

/// What runs disclose, and what binds the sides, in lines.
pub fn summary_as_text(summary: &Summary) -> String {
    let disclosed = summary.disclosed().into_iter().map(|sentence| format!("  - {sentence}\n"));
    let clauses = summary.clauses().into_iter().map(|clause| format!("  - {clause}\n"));
    let lines: String =
        disclosed.chain(["It is also agreed:\n".to_owned()]).chain(clauses).collect();
    lines.trim_end().to_owned()
}

/// The same as JSON, with the facts.
pub fn summary_as_json(summary: &Summary) -> Result<String, Failure> {
    serde_json::to_string_pretty(&summary.to_json()).map_err(|_| Failure::bug("a summary has JSON"))
}
