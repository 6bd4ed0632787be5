//! Where jobs are run, and what they need is kept until another job needs something else.

use serde::Serialize;
use vesica_psi::{Digest, Sizes};
use vesica_structures::catalogue::Entry;

use crate::{
    Job, Record, Result, Work, ot,
    protocol::{self, Sets},
    results::Results,
    structures::{Case, LeftOut},
};

/// What a job gives.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// It was run, now or at an earlier time.
    Ran(Record),
    /// The catalogue has no structure of that size.
    LeftOut(LeftOut),
}

/// A bench that does one job at a time.
pub struct Bench {
    results: Results,
    sets: Option<(Sizes, Digest, Sets)>,
    case: Option<(&'static Entry, usize, std::result::Result<Case, LeftOut>)>,
}

impl Bench {
    /// One that keeps its records there.
    pub fn new(results: Results) -> Self {
        Self { results, sets: None, case: None }
    }

    /// Does a job for the nth time, from 0; one whose record there is already is not done again.
    ///
    /// # Errors
    /// Where a party fails or the record cannot be kept; a wrong result is told by the record.
    pub fn run(&mut self, job: &Job, nth: usize) -> Result<Outcome> {
        if let Some(record) = self.results.nth(job, nth) {
            return Ok(Outcome::Ran(record.clone()));
        }
        let record = match job.work {
            Work::Protocol(protocol) => {
                let sets = self.sets(job.sizes, protocol.digest);
                Record::Protocol(protocol::run(&protocol, sets, &job.line, job.threads)?)
            }
            Work::Ot(entry) => {
                Record::Ot(ot::run(entry, job.sizes.sender, &job.line, job.threads)?)
            }
            Work::Structure(entry) => match self.case(entry, job.sizes.sender)? {
                Ok(case) => Record::Structure(case.run(job.threads)?),
                Err(left_out) => return Ok(Outcome::LeftOut(left_out.clone())),
            },
        };
        self.results.add(record.clone())?;
        Ok(Outcome::Ran(record))
    }

    fn sets(&mut self, sizes: Sizes, digest: Digest) -> &Sets {
        let kept = self.sets.take().filter(|(of, kind, _)| (*of, *kind) == (sizes, digest));
        let sets = kept.unwrap_or_else(|| (sizes, digest, Sets::generate(sizes, digest)));
        &self.sets.insert(sets).2
    }

    fn case(
        &mut self,
        entry: &'static Entry,
        items: usize,
    ) -> Result<&std::result::Result<Case, LeftOut>> {
        let kept = self.case.take().filter(|(of, size, _)| (of.key, *size) == (entry.key, items));
        let case = match kept {
            Some(case) => case,
            None => (entry, items, Case::new(entry, items)?),
        };
        Ok(&self.case.insert(case).2)
    }
}
