//! The specification of a project: an identity and jobs.

use std::{ffi::OsString, path::Path};

use serde_json::{Map, Value, json};

use crate::{
    Fault, Given, Job, Options,
    form::{
        Form,
        basic::{File, Maybe, Text},
    },
    options::{options, schema, without_dates},
};

/// The default name of the identity's file.
pub const IDENTITY: &str = "vesica.identity";

options! {
    /// A project, as in `vesica.toml`. Its jobs are read one by one, so that a fault of one job does not affect the
    /// others.
    pub struct Project in "" {
        /// The file with this side's identity, relative to the project file.
        "FILE" identity: File = IDENTITY.into();
        /// This side's name for people, on pages.
        "NAME" name: Maybe<Text> = None;
        /// The jobs, by name.
        "" jobs: Jobs = Map::new();
    }
}

/// The form of the jobs of a project.
pub struct Jobs;

impl Form for Jobs {
    type Value = Map<String, Value>;

    fn schema() -> Value {
        json!({
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": false,
                "properties": Job::properties(),
            }
        })
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        let jobs = value.as_object().filter(|jobs| jobs.values().all(Value::is_object));
        let wanted = || "a table for each job, such as [jobs.example]".to_owned();
        let jobs = jobs.cloned().ok_or_else(wanted)?;
        Ok(jobs.into_iter().map(|(name, job)| (name, without_dates(job))).collect())
    }

    fn write(value: &Self::Value) -> Value {
        if value.is_empty() { Value::Null } else { value.clone().into() }
    }
}

impl Project {
    /// Creates the job with this name. Its paths are relative to `directory`, and paths of flags to the working
    /// directory.
    ///
    /// # Errors
    /// Any [`Fault`] of the job; [`Fault::Unknown`] also if the project does not have the job.
    pub fn job(
        &self,
        name: &str,
        directory: &Path,
        flags: Vec<(String, Vec<OsString>)>,
    ) -> Result<Job, Fault> {
        let unknown = || Fault::Unknown { option: format!("jobs.{name}") };
        let mut table = self.jobs.get(name).and_then(Value::as_object).ok_or_else(unknown)?.clone();
        if !table.contains_key("identity") {
            table.insert("identity".to_owned(), File::write(&self.identity));
        }
        Job::of(Given { table, base: Some(directory.to_owned()), flags })
    }

    /// Returns the JSON Schema of a project file.
    pub fn schema() -> Value {
        let about = "The contents of vesica.toml. Generated from crates/spec.";
        schema("A project of Vesica", about, Self::properties())
    }
}

impl Job {
    /// Returns the JSON Schema of a job.
    pub fn schema() -> Value {
        let about = "One side's part in a run. Generated from crates/spec.";
        schema("A job of Vesica", about, Self::properties())
    }
}

impl crate::List {
    /// Returns the JSON Schema of a published list.
    pub fn schema() -> Value {
        let about = "A list that others query. Generated from crates/spec.";
        schema("A published list of Vesica", about, Self::properties())
    }
}

impl crate::Service {
    /// Returns the JSON Schema of a service.
    pub fn schema() -> Value {
        let about = "A service that answers the partners of a project. Generated from crates/spec.";
        schema("A service of Vesica", about, Self::properties())
    }
}
