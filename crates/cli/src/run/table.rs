//! The table of a job, for a look at it before a run.

use std::{iter, path::Path};

use clap::{Args as _, FromArgMatches as _};
use vesica::{
    Normalize, Source,
    files::{Dialect, NullValues},
};

use super::Args;
use crate::{columns::Names, exit::Failure, keygen, project::Project, terms};

/// A table, and the keys that a run reads of it.
pub struct JobTable {
    pub input: Source,
    pub dialect: Dialect,
    /// The key columns of each identifier.
    pub key: Vec<Names>,
    /// How each key column is made comparable; `None` where that is in an agreement that is not there yet.
    pub normalize: Option<Vec<Normalize>>,
    pub null_values: NullValues,
}

impl Args {
    /// A job of a project.
    pub fn of_job(project: &Project, name: &str) -> Result<Self, Failure> {
        let command = Self::augment_args(clap::Command::new("vesica run"));
        let (flags, origin) = project.flags_of(name, &command, Vec::new())?;
        let flags = iter::once("vesica run".into()).chain(flags);
        let failed = |error: clap::Error| origin.fault(&error);
        let matches = command.try_get_matches_from(flags).map_err(failed)?;
        Self::from_arg_matches(&matches).map_err(failed)
    }

    /// The file of the agreement, if the run is under one.
    pub fn agreement_file(&self) -> Option<&Path> {
        self.agreement.as_deref()
    }

    /// The input, if it is a file that is not there.
    pub fn missing_input(&self) -> Option<&Path> {
        let is_file = matches!(Source::from_path(&self.input), Source::File(_));
        Some(&*self.input).filter(|input| is_file && !input.exists())
    }

    /// Returns the table, as the run would read it.
    ///
    /// # Errors
    /// An agreement that cannot be used, and terms that contradict themselves.
    pub fn table(&self) -> Result<JobTable, Failure> {
        let delimiter = self.delimiter.of(&self.input);
        let (format, most_bytes) = (self.format, self.memory);
        let dialect = Dialect { format, delimiter, most_bytes, spill: None };
        let (normalize, null_values) = match (self.agreement()?, self.agreement_file()) {
            (Some(agreement), _) => {
                let me = keygen::load(&self.identity)?.fingerprint();
                let offer = agreement.document().offer_of(me)?;
                (Some(offer.keys), offer.null_values)
            }
            (None, Some(_)) => (None, NullValues::default()),
            (None, None) => {
                let columns = self.key.iter().map(|Names(names)| names.len()).sum();
                let normalize = terms::profiles(columns, &self.terms.normalize)?;
                (Some(normalize), self.terms.null_values()?)
            }
        };
        let (input, key) = (self.rows.source(&self.input)?, self.key.clone());
        Ok(JobTable { input, dialect, key, normalize, null_values })
    }
}
