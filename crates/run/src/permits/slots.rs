//! The exchange between this side's slots and its session.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use vesica_core::error::{Error, Result};
use vesica_net::{Fingerprint, Meter, connect::Connection};
use zeroize::Zeroizing;

use super::board::{Change, MOST_IDLE, Prepared};

/// An attempt that may begin.
pub struct Begun {
    /// The number of the attempt.
    pub attempt: u8,
    /// The key of the other side's task.
    pub peer: Fingerprint,
    /// The connection to it.
    pub connection: Connection,
}

/// The slots of this side in one session.
#[derive(Default)]
pub struct Slots {
    state: Mutex<SlotState>,
    changed: Condvar,
    /// The traffic of all attempts.
    cost: Mutex<Meter>,
}

#[derive(Default)]
struct SlotState {
    /// The number of slots that wait for a partition.
    idle: usize,
    /// Partitions assigned to them.
    held: VecDeque<u32>,
    changes: VecDeque<Change>,
    begun: BTreeMap<u32, Begun>,
    /// The results, each with the number of its attempt.
    found: BTreeMap<u32, (u8, Zeroizing<Vec<u8>>)>,
    /// Partitions that are done on both sides.
    done: BTreeSet<u32>,
    is_over: bool,
    error: Option<Error>,
}

/// The outcome of a wait of a slot or a task.
pub enum Waited<T> {
    /// It has arrived.
    Here(T),
    /// It has not arrived yet.
    NotYet,
    /// It will not arrive: the session is over, or the partition is done.
    Never,
}

impl Slots {
    /// Creates the slots of a session in which this many partitions are done.
    pub(crate) fn new(done: usize) -> Self {
        let slots = Self::default();
        slots.state().done = (0..done as u32).collect();
        slots
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        // A slot that panicked leaves its work undone, which ends the run.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the traffic of an attempt, or of a part of one.
    pub fn add_cost(&self, cost: &Meter) {
        self.cost.lock().unwrap_or_else(PoisonError::into_inner).add(cost);
    }

    /// Returns the traffic of all attempts so far.
    pub(crate) fn cost(&self) -> Meter {
        self.cost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, SlotState>,
        time: Duration,
    ) -> MutexGuard<'a, SlotState> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits for a change, for at most `time`. Returns the number of idle slots and the changes.
    ///
    /// # Errors
    /// The error that ends the run.
    pub(super) fn changes(&self, most: usize, time: Duration) -> Result<(u32, Vec<Change>)> {
        let until = Instant::now() + time;
        let mut state = self.state();
        loop {
            if let Some(error) = state.error.take() {
                return Err(error);
            }
            let left = until.saturating_duration_since(Instant::now());
            if !state.changes.is_empty() || left.is_zero() {
                let idle = state.idle.saturating_sub(state.held.len()).min(MOST_IDLE as usize);
                let most = most.min(state.changes.len());
                return Ok((idle as u32, state.changes.drain(..most).collect()));
            }
            state = self.wait(state, left);
        }
    }

    pub(super) fn hold(&self, partition: u32) {
        self.state().held.push_back(partition);
        self.changed.notify_all();
    }

    pub(super) fn begin(&self, partition: u32, begun: Begun) {
        self.state().begun.insert(partition, begun);
        self.changed.notify_all();
    }

    /// Removes and returns the result of a partition that both sides have done.
    ///
    /// # Errors
    /// [`Error::Bug`].
    pub(super) fn done(&self, partition: u32) -> Result<Zeroizing<Vec<u8>>> {
        let mut state = self.state();
        state.done.insert(partition);
        let found = state.found.remove(&partition);
        self.changed.notify_all();
        found.map(|(_, piece)| piece).ok_or(Error::bug("a partition that is done has a result"))
    }

    /// Ends all waits of slots and tasks.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// Ends the run with this error, unless another one came first.
    pub fn fail(&self, error: Error) {
        self.state().error.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Returns whether the partition is done on both sides.
    pub fn is_done(&self, partition: u32) -> bool {
        self.state().done.contains(&partition)
    }

    /// Waits for a partition for an idle slot, which calls this again if there is none yet.
    pub fn next(&self, time: Duration) -> Waited<u32> {
        let until = Instant::now() + time;
        let mut state = self.state();
        state.idle += 1;
        self.changed.notify_all();
        let waited = loop {
            if state.is_over {
                break Waited::Never;
            }
            if let Some(partition) = state.held.pop_front() {
                break Waited::Here(partition);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break Waited::NotYet;
            }
            state = self.wait(state, left);
        };
        state.idle -= 1;
        waited
    }

    /// Announces that a task is ready for the partition.
    pub fn ready(&self, partition: u32, task: Prepared) {
        let mut state = self.state();
        state.begun.remove(&partition);
        state.changes.push_back(Change::Ready { partition, task });
        self.changed.notify_all();
    }

    /// Waits until a task that is ready may begin.
    pub fn begun(&self, partition: u32, time: Duration) -> Waited<Begun> {
        let until = Instant::now() + time;
        let mut state = self.state();
        loop {
            if let Some(begun) = state.begun.remove(&partition) {
                return Waited::Here(begun);
            }
            if state.is_over || state.done.contains(&partition) {
                return Waited::Never;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Waited::NotYet;
            }
            state = self.wait(state, left);
        }
    }

    /// Stores the result of an attempt.
    pub fn found(&self, partition: u32, attempt: u8, piece: Zeroizing<Vec<u8>>) {
        self.state().found.insert(partition, (attempt, piece));
    }

    /// Announces that a slot has this partition from an earlier session.
    pub fn claim(&self, partition: u32) {
        self.change(partition, Change::Held { partition });
    }

    /// Announces that the slot's result has been stored. If it is from an earlier session, it does not count.
    pub fn kept(&self, partition: u32) {
        let attempt = self.state().found.get(&partition).map(|(attempt, _)| *attempt);
        let change = match attempt {
            Some(attempt) => Change::Kept { partition, attempt },
            None => Change::Dropped { partition },
        };
        self.change(partition, change);
    }

    fn change(&self, partition: u32, change: Change) {
        let mut state = self.state();
        if !state.done.contains(&partition) {
            state.changes.push_back(change);
            self.changed.notify_all();
        }
    }
}
