//! A run with defaults for everything.

use std::sync::Arc;

use vesica_core::{
    error::Result,
    observe::{NoObserver, Observer},
    parties::{Parties, Role},
    random::system_rng,
};
use vesica_net::Channel;
use vesica_run::{
    job::{Job, run},
    report::Report,
    shortfall::Shortfall,
};

/// One side of a run that has not begun.
///
/// By default nobody observes the run, and the sides are called by their roles in the report.
pub struct Runner {
    job: Job,
    parties: Parties,
    observer: Arc<dyn Observer>,
}

/// A completed run.
#[derive(Debug)]
pub struct Finished {
    /// The report.
    pub report: Report,
    /// The faults that occurred after the result was in place; normally none.
    pub shortfalls: Vec<Shortfall>,
}

impl Runner {
    /// Creates the side of a run with this job and this role: A connected to the other side, and B listened.
    pub fn new(job: Job, role: Role) -> Self {
        let [me, peer] = [role, role.other()].map(|role| format!("{role:?}"));
        Self { job, parties: Parties { role, me, peer }, observer: Arc::new(NoObserver) }
    }

    /// Sets the fingerprints of this side and of the other, which `vesica_net::connect` returns with a connection.
    #[must_use]
    pub fn between(mut self, me: impl Into<String>, peer: impl Into<String>) -> Self {
        (self.parties.me, self.parties.peer) = (me.into(), peer.into());
        self
    }

    /// Sets an observer for the progress and warnings of the run.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Carries out the run over a connection, with randomness of the operating system.
    ///
    /// # Errors
    /// As [`Job::prepare`] and [`run`].
    pub fn run(self, channel: &mut Channel) -> Result<Finished> {
        let mut report = Report::begin();
        let shortfalls = self.run_into(&mut report, channel)?;
        Ok(Finished { report, shortfalls })
    }

    /// Carries out the run and fills in a report, even if the run fails.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn run_into(self, report: &mut Report, channel: &mut Channel) -> Result<Vec<Shortfall>> {
        let mut rng = system_rng()?;
        let ready = self.job.prepare()?;
        run(ready, &self.parties, channel, self.observer, &mut rng, report)
    }
}
