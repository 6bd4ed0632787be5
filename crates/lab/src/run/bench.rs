//! Runs jobs, and keeps their inputs until another job needs different ones.

use crate::catalogue::structures::Entry;
use serde::Serialize;
use vesica_psi::{DigestLength, Sizes};

use crate::{
    Job, Record, Result, Work,
    catalogue::primitives,
    record::results::Results,
    run::{
        answer, joint, ot,
        protocol::{self, Sets},
        structures::{Case, LeftOut},
    },
};

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BenchOutcome {
    /// It was run, now or earlier.
    Ran(Record),
    /// The catalogue has no structure of that size.
    LeftOut(LeftOut),
}

/// Runs a job in another process.
pub type Runner = Box<dyn FnMut(&Job) -> Result<Record>>;

/// A bench that does one job at a time.
pub struct Bench {
    results: Results,
    separate: Option<Runner>,
    sets: Option<(Sizes, DigestLength, Sets)>,
    case: Option<(&'static Entry, usize, std::result::Result<Case, LeftOut>)>,
}

impl Bench {
    /// Creates a bench that stores its records in `results`.
    pub fn new(results: Results) -> Self {
        Self { results, separate: None, sets: None, case: None }
    }

    /// Makes `runner` run the jobs of two parties. The first run of a process takes up to twice as long as later ones,
    /// which find its memory touched. To represent real use, each run needs a separate process.
    pub fn in_separate_processes(self, runner: Runner) -> Self {
        Self { separate: Some(runner), ..self }
    }

    /// Returns all records.
    pub fn records(&self) -> &[Record] {
        self.results.records()
    }

    /// Returns whether the nth run of a job, from 0, has been made.
    pub fn has(&self, job: &Job, nth: usize) -> bool {
        self.results.nth(job, nth).is_some()
    }

    /// Runs a job for the nth time, from 0, unless its record exists already.
    ///
    /// # Errors
    /// If a party fails or the record cannot be kept; the record says if a result is wrong.
    pub fn run(&mut self, job: &Job, nth: usize) -> Result<BenchOutcome> {
        if let Some(record) = self.results.nth(job, nth) {
            return Ok(BenchOutcome::Ran(record.clone()));
        }
        let record = match (job.work, &mut self.separate) {
            (Work::Protocol(_) | Work::Answer(_) | Work::Joint(_) | Work::Ot(_), Some(runner)) => {
                runner(job)?
            }
            _ => match self.here(job)? {
                BenchOutcome::Ran(record) => record,
                left_out @ BenchOutcome::LeftOut(_) => return Ok(left_out),
            },
        };
        self.results.add(record.clone())?;
        Ok(BenchOutcome::Ran(record))
    }

    /// Runs a job in this process.
    fn here(&mut self, job: &Job) -> Result<BenchOutcome> {
        Ok(BenchOutcome::Ran(match job.work {
            Work::Protocol(protocol) => {
                let sets = self.sets(job.sizes, protocol.digest);
                Record::Protocol(protocol::run(&protocol, sets, &job.line, job.threads)?)
            }
            Work::Answer(method) => {
                Record::Protocol(answer::run(method, job.sizes, &job.line, job.threads)?)
            }
            Work::Joint(parties) => {
                Record::Joint(joint::run(parties, job.sizes, &job.line, job.threads)?)
            }
            Work::Ot(entry) => {
                Record::Ot(ot::run(entry, job.sizes.sender, &job.line, job.threads)?)
            }
            Work::Structure(entry) => match self.case(entry, job.sizes.sender)? {
                Ok(case) => Record::Structure(case.run(job.threads)?),
                Err(left_out) => return Ok(BenchOutcome::LeftOut(left_out.clone())),
            },
            Work::Primitive(entry) => Record::Primitive(primitives::run(entry, job.sizes.sender)),
        }))
    }

    fn sets(&mut self, sizes: Sizes, digest: DigestLength) -> &Sets {
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
