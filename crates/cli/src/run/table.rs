//! The table of a job, for a check before a run.

use vesica::{
    Normalize, Rules, Source,
    files::{Dialect, NullValues},
    spec,
};

use crate::{agreed, exit::Failure, keygen};

/// A table, and the keys that a run reads of it.
pub struct JobTable {
    pub input: Source,
    pub dialect: Dialect,
    /// The key columns of each identifier.
    pub key: Vec<Vec<String>>,
    /// The rules that make the keys, if they do.
    pub rules: Option<Rules>,
    /// The profile of each key column; `None` if it is in an agreement that does not exist yet.
    pub normalize: Option<Vec<Normalize>>,
    pub null_values: NullValues,
}

impl JobTable {
    /// Returns the table of a job, as its run would read it.
    ///
    /// # Errors
    /// An agreement that cannot be used, and terms that contradict themselves.
    pub fn of(job: &spec::Job) -> Result<Self, Failure> {
        let dialect = Dialect { most_bytes: job.resources.memory, ..job.table.dialect() };
        let columns = job.table.key.concat().len();
        let mut rules = None;
        let (normalize, null_values) = match (agreed::of_job(job)?, &job.parties) {
            (Some(agreement), parties) => {
                let me = parties.identity.as_deref().map(keygen::load).transpose()?;
                let me = me.ok_or(Failure::bug("a job has an identity"))?.fingerprint();
                let offer = agreement.offer_of(me)?;
                if let Some(terms) = &offer.rules {
                    let columns = job.table.key_columns(Some(terms))?;
                    rules = Some(terms.on(&columns, &offer.keys)?);
                }
                (Some(offer.keys), offer.null_values)
            }
            (None, parties) if parties.agreement.is_some() => (None, NullValues::default()),
            (None, _) if !job.terms.r#match.is_empty() => {
                rules = Some(job.table.rules(&job.terms.r#match)?);
                (Some(Vec::new()), job.terms.null_values.clone().unwrap_or_default())
            }
            (None, _) => {
                let normalize = spec::profiles(columns, &job.terms.normalize)?;
                (Some(normalize), job.terms.null_values.clone().unwrap_or_default())
            }
        };
        let input = job.table.source(None)?;
        Ok(Self { input, dialect, key: job.table.key.clone(), rules, normalize, null_values })
    }
}
