//! Partitions that tasks of a cluster compare, on this side or the other.

use std::{path::Path, sync::Arc, time::Duration};

use rand::CryptoRng;
use vesica_core::{
    error::{Error, Misuse, Result},
    observe::{Progress, Unit},
};
use vesica_keyset::{
    counts::RowCounts,
    partitions::{Commitments, Partitions},
    seed::Seed,
};
use vesica_net::{CancelToken, SessionId};
use vesica_table::pieces;
use vesica_task::interface::{Call, Gather, WantedRows};
use zeroize::Zeroizing;

use super::{Chosen, Computed, Opening, Session, watch};
use crate::{
    partitions::{self as work, Recorded},
    permits::{Dispatch, Slots, Step, Threads},
};

/// The longest time without progress in any partition that tasks compare.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// The parameters for tasks elsewhere.
pub struct Elsewhere<'a> {
    /// The call of the task.
    pub call: &'a Call,
    /// The method's name.
    pub method: &'static str,
    /// The seed of the run.
    pub seed: &'a Seed,
    /// The identifier of the session.
    pub session: SessionId,
    /// Partitions that are done.
    pub done: usize,
    /// The secret under which this side commits to partitions.
    pub commitments: Zeroizing<[u8; 32]>,
}

/// Partitions that threads of this process compare with tasks of the other side.
pub(super) struct Local<'a> {
    pub(super) gather: &'a dyn Gather,
    pub(super) partitions: &'a Partitions,
    pub(super) call: &'a Call,
    pub(super) seed: &'a Seed,
    /// Partitions that are done.
    pub(super) done: usize,
    /// Partitions that are compared at a time.
    pub(super) slots: usize,
    /// Threads of all slots together.
    pub(super) threads: usize,
}

impl Session<'_> {
    /// Compares partitions in threads of this process with a side that has tasks elsewhere.
    pub(super) fn compare_by_permits(
        &mut self,
        local: Local<'_>,
        mut recorded: Recorded,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<pieces::Pieces> {
        let Local { gather, partitions, call, seed, done, slots, threads: all } = local;
        if !self.channel.has_parallel() {
            let message = "the other side compares partitions by tasks on other machines, each over a connection of its \
                           own: let one side listen and the other connect";
            return Err(Error::usage(Misuse::Cluster, message));
        }
        if call.sides.both_learn() && self.standing.limits_results() {
            let message = "the other side compares partitions by tasks on other machines, which reveal their results one by one, \
                           and a rule limits results: let one side learn, or leave out min-result, max-result and \
                           max-result-total";
            return Err(Error::usage(Misuse::Policy, message));
        }
        let (secret, committed) = self.standing.commitments(seed)?;
        let (role, session) = (self.parties.role, self.channel.session());
        let threads = Threads {
            gather,
            partitions,
            role,
            session: session.as_bytes(),
            stall: self.channel.stall_timeout(),
            commitments: Commitments::new(*secret),
            standing: self.standing.clone(),
            cancel: CancelToken::default(),
        };
        let hub = Slots::new(done);
        let count = call.request.partitions;
        let dispatch = Dispatch::new(role, count, done, &committed, &hub, LONGEST_PAUSE);
        let channel = &mut *self.channel;
        let standing = self.standing.clone();
        let attempts = threads.serve(&hub, slots, all, rng, || {
            dispatch.run(channel, || standing.done(), |step| recorded.note(step))
        });
        self.channel.add_cost(&hub.cost());
        self.attempts = Some(attempts?);
        recorded.finish()
    }

    /// Compares partitions by tasks elsewhere: `start` starts them with these parameters. Otherwise as
    /// `Session::compute`.
    ///
    /// # Errors
    /// As `Session::compute`, and the errors of tasks.
    pub fn compute_elsewhere(
        &mut self,
        counts: RowCounts,
        spill: &Path,
        start: &mut dyn FnMut(Elsewhere<'_>, Arc<Slots>),
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Computed> {
        let (mut opening, committed) = self.open_sets(counts, WantedRows::default(), rng)?;
        let chosen = self.pick(&mut opening, committed, false, rng)?;
        let Opening { call, peer_items, done, .. } = opening;
        let (gathered, pieces) = self.begin_partitions(&chosen, &call, spill, done)?;
        let Chosen { method, seed, .. } = chosen;
        let done = done as usize;
        let count = call.request.partitions;
        self.phase(method.key());
        let slots = Arc::new(Slots::new(done));
        let (method_key, session) = (method.key(), self.channel.session());
        let (commitments, committed) = self.standing.commitments(&seed)?;
        let standing = self.standing.clone();
        let mut recorded = Recorded::new(done, pieces, standing.clone());
        let elsewhere =
            Elsewhere { call: &call, method: method_key, seed: &seed, session, done, commitments };
        start(elsewhere, slots.clone());
        let compared = work::agree(None, self.channel).and_then(|_| {
            watch(self.channel, &self.observer, None);
            let role = self.parties.role;
            let dispatch = Dispatch::new(role, count, done, &committed, &slots, LONGEST_PAUSE);
            let mut compared = done as u64;
            let on_disk = || standing.done();
            dispatch.run(self.channel, on_disk, |step| {
                if let Step::Done { .. } = step {
                    compared += 1;
                    self.observer.progress(Progress::of(compared, count as u64, Unit::Partitions));
                }
                recorded.note(step)
            })
        });
        slots.end();
        self.channel.add_cost(&slots.cost());
        let attempts = Some(compared?);
        let found = self.conclude(gathered, recorded.finish()?, None, &seed, rng)?;
        self.standing.reveal(found.outcome.counted())?;
        Ok(Computed { attempts, ..Computed::by(&*method, peer_items, count, found) })
    }
}
