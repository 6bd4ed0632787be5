//! Readers of files without a public entry, for the fuzz targets (`crates/fuzz-targets`).
//!
//! As in `vesica::decoders`, each only passes on to a function that commands call.

use std::path::PathBuf;

use vesica::spec::{self, Options as _};

use crate::project::{FILE, JobEntry, Project};

/// A job of a project file.
#[derive(Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its keys in the file.
    pub keys: Vec<String>,
    /// Its options as `vesica run` gets them, or the error.
    pub flags: Result<Flags, String>,
}

/// The options of a job that are not at their default.
#[derive(Debug, PartialEq, Eq)]
pub struct Flags {
    /// Their names.
    pub names: Vec<String>,
    /// The columns of each identifier.
    pub key: Vec<Vec<String>>,
}

/// Returns the jobs of a project file with this text.
///
/// # Errors
/// The error of `vesica run` about the file.
pub fn jobs(text: &str) -> Result<Vec<Job>, String> {
    let project = read(text)?;
    let job = |name: String| {
        let keys = project.job(&name).map_err(|failure| failure.message)?.keys().cloned();
        Ok(Job { keys: keys.collect(), flags: flags(&project, &name), name })
    };
    project.jobs().into_iter().map(job).collect()
}

/// Adds a job with this name and key to the text of a project file.
///
/// # Errors
/// The error of `vesica accept` about the file.
pub fn with_job(text: &str, name: &str, key: Vec<Vec<String>>) -> Result<String, String> {
    let entry = JobEntry { name: name.to_owned(), key, ..JobEntry::default() };
    read(text)?.with(name, &entry.table()).map_err(|failure| failure.message)
}

fn read(text: &str) -> Result<Project, String> {
    Project::read(PathBuf::from(FILE), text.to_owned()).map_err(|failure| failure.message)
}

fn flags(project: &Project, name: &str) -> Result<Flags, String> {
    let job = project.read_job(name, Vec::new()).map_err(|failure| failure.message)?;
    let written = job.written();
    let names = spec::Job::described().into_iter().map(|known| known.name);
    let names = names.filter(|name| written.contains_key(*name)).map(str::to_owned).collect();
    Ok(Flags { names, key: job.table.key })
}
