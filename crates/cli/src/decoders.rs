//! What reads files and has no public entry, for the fuzz targets (`crates/fuzz-targets`).
//!
//! As in `vesica::decoders`, nothing here does more than pass on what commands call.

use std::path::PathBuf;

use clap::Args as _;

use crate::{
    columns::Names,
    project::{self, FILE, JobEntry, Project},
    run,
};

/// A job of a project file.
#[derive(Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its keys in the file.
    pub keys: Vec<String>,
    /// Its flags as `vesica run` gets them, or why it gets none.
    pub flags: Result<Flags, String>,
}

/// The flags of a job, as they are read from the command line that the job becomes.
#[derive(Debug, PartialEq, Eq)]
pub struct Flags {
    /// Their names.
    pub names: Vec<String>,
    /// The columns of each identifier.
    pub key: Vec<Vec<String>>,
}

/// The jobs of a project file with this text.
///
/// # Errors
/// As `vesica run` complains of the file.
pub fn jobs(text: &str) -> Result<Vec<Job>, String> {
    let project = read(text)?;
    let job = |name: String| {
        let keys = project.job(&name).map_err(|failure| failure.message)?.keys().cloned();
        Ok(Job { keys: keys.collect(), flags: flags(&project, &name), name })
    };
    project.jobs().into_iter().map(job).collect()
}

/// The text of a project file to which a job with this name and key was added.
///
/// # Errors
/// As `vesica accept` complains of the file.
pub fn with_job(text: &str, name: &str, key: Vec<Vec<String>>) -> Result<String, String> {
    let entry = JobEntry { name: name.to_owned(), key, ..JobEntry::default() };
    read(text)?.with(name, &entry.table()).map_err(|failure| failure.message)
}

fn read(text: &str) -> Result<Project, String> {
    Project::read(PathBuf::from(FILE), text.to_owned()).map_err(|failure| failure.message)
}

fn flags(project: &Project, name: &str) -> Result<Flags, String> {
    // What is required is another matter.
    let command = run::Args::augment_args(clap::Command::new("run"));
    let mut command = command.mut_args(|arg| arg.required(false));
    command.build();
    let flags = project.flags(name, &command, &[]).map_err(|failure| failure.message)?;
    let line = std::iter::once("run".into()).chain(flags);
    let given = command.clone().try_get_matches_from(line).map_err(|error| error.to_string())?;
    let key = given.get_many::<Names>("key").into_iter().flatten();
    let key = key.map(|Names(names)| names.clone()).collect();
    Ok(Flags { names: project::names(&given, &command), key })
}
