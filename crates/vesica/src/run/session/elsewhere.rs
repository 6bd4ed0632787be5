//! Partitions that tasks of a cluster compare: this side's, or the other's.

use std::{path::Path, sync::Arc, time::Duration};

use rand::CryptoRng;
use vesica_net::{CancelToken, SessionId};

use super::{Admit, Computed, Opening, Resumed, Session, begin_partitions, watch};
use crate::{
    agree::seed::Seed,
    error::{Error, Result},
    keys::{
        counts::RowCounts,
        partitions::{Commitments, Partitions},
    },
    run::{
        journal::{Journal, Run},
        observe::{Progress, Unit},
        partitions::{self as work, Recorded},
        permits::{Dispatch, Slots, Step, Threads},
    },
    table::pieces,
    task::interface::{Call, Gather},
};

/// How long partitions that tasks compare may all stay where they are.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// What tasks elsewhere need to know.
pub(crate) struct Elsewhere<'a> {
    pub(crate) call: &'a Call,
    pub(crate) method: &'static str,
    pub(crate) seed: &'a Seed,
    pub(crate) session: SessionId,
    /// Partitions that are done.
    pub(crate) done: usize,
    /// The secret under which this side commits to partitions.
    pub(crate) commitments: [u8; 32],
}

impl Session<'_> {
    /// Compares partitions in threads of this process with a side that has tasks elsewhere.
    pub(super) fn compare_by_permits(
        &mut self,
        (gather, partitions): (&dyn Gather, &Partitions),
        (seed, count, done): (&Seed, usize, usize),
        slots: (usize, usize),
        mut recorded: Recorded<'_>,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<pieces::Pieces> {
        if !self.channel.has_parallel() {
            let message = "the other side compares partitions by tasks on other machines, each over a connection of its \
                           own: let one side listen and the other connect";
            return Err(Error::Usage(message.to_owned()));
        }
        let (secret, committed) = recorded.commitments(seed)?;
        let (role, session) = (self.parties.role, self.channel.session());
        let threads = Threads {
            gather,
            partitions,
            role,
            session: session.as_bytes(),
            stall: self.channel.stall_timeout(),
            commitments: Commitments::new(secret),
            cancel: CancelToken::default(),
        };
        let hub = Slots::new(done);
        let dispatch = Dispatch::new(role, (count, done), &committed, &hub, LONGEST_PAUSE);
        let channel = &mut *self.channel;
        let attempts = threads
            .serve(&hub, slots, rng, || dispatch.run(channel, |step| recorded.note(step)))?;
        self.attempts = Some(attempts);
        recorded.finish()
    }

    /// Compares partitions by tasks elsewhere, which `start` tells what they need. Otherwise as [`Session::compute`].
    ///
    /// # Errors
    /// As [`Session::compute`], and what tasks meet.
    pub(crate) fn compute_elsewhere(
        &mut self,
        counts: RowCounts,
        admit: Admit<'_>,
        spill: &Path,
        (journal, run): (&mut Journal, Run),
        start: &mut dyn FnMut(Elsewhere<'_>, Arc<Slots>),
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Computed> {
        let noted = Some((&*journal, &run));
        let (mut opening, committed) = self.open_sets(counts, false, noted, admit, rng)?;
        let (method, _, seed) = self.pick(&mut opening, committed, false)?;
        let Opening { call, peer_items, done, .. } = opening;
        let mut resumed = Some(Resumed { journal, run, done });
        let (gathered, pieces, done) =
            begin_partitions(&*method, &call, (spill, &seed), &mut resumed)?;
        let count = call.request.partitions;
        self.phase(method.key());
        let slots = Arc::new(Slots::new(done));
        let (method_key, session) = (method.key(), self.channel.session());
        let mut recorded = Recorded::new(done, pieces, resumed.map(|resumed| resumed.journal));
        let (commitments, committed) = recorded.commitments(&seed)?;
        let (call, seed) = (&call, &seed);
        let elsewhere = Elsewhere { call, method: method_key, seed, session, done, commitments };
        start(elsewhere, slots.clone());
        let compared = work::agree(None, self.channel).and_then(|_| {
            watch(self.channel, &self.observer, None);
            let all = (count, done);
            let dispatch = Dispatch::new(self.parties.role, all, &committed, &slots, LONGEST_PAUSE);
            let mut compared = done as u64;
            dispatch.run(self.channel, |step| {
                if let Step::Done { .. } = step {
                    compared += 1;
                    self.observer.progress(Progress::of(compared, count as u64, Unit::Partitions));
                }
                recorded.note(step)
            })
        });
        slots.end();
        let attempts = Some(compared?);
        let found = gathered.finish(recorded.finish()?, self.channel, rng)?;
        Ok(Computed { method, peer_items, partitions: count as u64, attempts, found })
    }
}
