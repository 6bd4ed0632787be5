//! Partitions that are compared one at a time, each over its own connection, when both sides have a slot for it.
//!
//! When tasks on other machines compare a side's partitions, these start and finish in an unpredictable order. So each
//! partition waits until both sides have a slot for it: opposite orders would otherwise keep both waiting. The two
//! sides keep the same board, from which they derive `Permit`s. Each attempt has a connection of the two parties, and
//! inside it TLS between the two tasks. The tasks' keys are generated for the attempt and announced over the connection
//! of the run.
//!
//! Partitions are compared by threads of this process (`threads`) or tasks elsewhere (`vesica_gateway`), which
//! communicate with the session through [`Slots`].

mod board;
mod slots;
mod threads;

use std::time::{Duration, Instant};

use rand::CryptoRng;
use vesica_core::{
    error::{Error, Result},
    parties::Role,
};
use vesica_keyset::partitions::Partition;
use vesica_net::{CancelToken, Channel, Fingerprint, Gate, Identity, connect::Connection};
use vesica_task::interface::{Gather, Reveal};
use zeroize::Zeroizing;

pub use self::{
    board::{Committed, MOST_ATTEMPTS, MOST_IDLE, Prepared, text},
    slots::{Begun, Slots, Waited},
    threads::Threads,
};

use self::board::{Board, Fault, MOST_CHANGES, Permit, Turn};

const TURN: &str = "vesica/turn";

/// The longest turn on the wire, in bytes.
const MAX_TURN: usize = 1 << 15;

/// The interval between two turns in which nothing changes on this side.
const TICK: Duration = Duration::from_millis(100);

/// The label to which a permit's connection is bound.
const TASK: &str = "vesica/task";

/// A step of a run that must be recorded.
pub(crate) enum Step {
    /// The comparison of a partition begins, with the connecting and the listening side's commitments to its keys.
    Begins { partition: u32, commitments: [[u8; 32]; 2] },
    /// Both sides have the result of a partition.
    Done { partition: usize, found: Zeroizing<Vec<u8>> },
    /// The other side has this number of partitions on its disk.
    PeerHas { done: u64 },
}

/// Turns with the other side until all partitions are done.
pub(crate) struct Dispatch<'a> {
    role: Role,
    board: Board,
    slots: &'a Slots,
    /// The maximum time during which no partition begins or ends.
    patience: Duration,
    /// The number of connections so far.
    connections: u64,
}

impl<'a> Dispatch<'a> {
    /// Creates a dispatch of `partitions` partitions, the first `done` of them done, with the sides' commitments to
    /// others.
    pub(crate) fn new(
        role: Role,
        partitions: usize,
        done: usize,
        committed: &Committed,
        slots: &'a Slots,
        patience: Duration,
    ) -> Self {
        let board = Board::new(partitions as u32, done as u32, committed);
        Self { role, board, slots, patience, connections: 0 }
    }

    /// Takes turns until all partitions are done, and passes each step to `note` before it is taken. Returns the number
    /// of attempts. `done` returns the number of partitions on this side's disk.
    ///
    /// # Errors
    /// An error of a slot that ends the run; a peer that sends an impossible turn or whose keys changed; a partition
    /// that may not begin again; and every error of an exchange.
    pub(crate) fn run(
        mut self,
        channel: &mut Channel,
        done: impl Fn() -> u64,
        mut note: impl FnMut(Step) -> Result<()>,
    ) -> Result<u64> {
        let mut moved = Instant::now();
        while !self.board.is_done() {
            let (idle, changes) = self.slots.changes(MOST_CHANGES, TICK)?;
            let mine = Turn { idle, done: done(), changes };
            let theirs = exchange(&mine, channel)?;
            note(Step::PeerHas { done: theirs.done })?;
            let said = match self.role {
                Role::A => [mine, theirs],
                Role::B => [theirs, mine],
            };
            let permits = self.board.turn(&said).map_err(|fault| self.fault(fault, channel))?;
            // Partitions that slots take do not count: a side could take and drop one forever.
            if permits.iter().any(|permit| !matches!(permit, Permit::Hold { .. })) {
                moved = Instant::now();
            }
            for permit in permits {
                match permit {
                    Permit::Hold { side, partition } if side == self.role as usize => {
                        self.slots.hold(partition);
                    }
                    Permit::Hold { .. } => {}
                    Permit::Begin { partition, attempt, tasks } => {
                        let commitments = tasks.map(|task| task.commitment);
                        note(Step::Begins { partition, commitments })?;
                        let connection = channel.another(self.connections as u8)?;
                        self.connections += 1;
                        let peer = tasks[1 - self.role as usize].fingerprint;
                        self.slots.begin(partition, Begun { attempt, peer, connection });
                    }
                    Permit::Done { partition } => {
                        let found = self.slots.done(partition)?;
                        note(Step::Done { partition: partition as usize, found })?;
                    }
                }
            }
            if moved.elapsed() > self.patience {
                let after = self.patience;
                return Err(vesica_net::Error::Stalled { phase: "partitions", after }.into());
            }
        }
        Ok(self.board.attempts())
    }

    fn fault(&self, fault: Fault, channel: &Channel) -> Error {
        let malformed = |what| channel.malformed(TURN, what).into();
        match fault {
            Fault::Changed { side, partition } if side == self.role as usize => {
                Error::KeysChanged { partition }
            }
            Fault::TooOften { partition } => {
                Error::TooManyAttempts { partition, attempts: MOST_ATTEMPTS.into() }
            }
            Fault::Changed { .. } => malformed("the keys of a partition changed between attempts"),
            Fault::Impossible { side } if side == self.role as usize => {
                Error::bug("a turn of this side is impossible")
            }
            Fault::Impossible { .. } => malformed("an impossible turn"),
        }
    }
}

fn exchange(mine: &Turn, channel: &mut Channel) -> Result<Turn> {
    let encoded = serde_json::to_vec(mine).map_err(|_| Error::bug("a turn has JSON"))?;
    channel.send(TURN, &encoded)?;
    let theirs = channel.recv_len(TURN, MAX_TURN)?;
    let theirs = serde_json::from_slice(&theirs);
    theirs.map_err(|_| channel.malformed(TURN, "not a turn of this version").into())
}

/// The facts about an attempt that both sides' tasks know.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// This side's role.
    pub role: Role,
    /// The identity of this side's task.
    pub me: &'a Identity,
    /// The fingerprint of the other side's task.
    pub peer: &'a Fingerprint,
    /// The session of the run.
    pub session: &'a [u8],
    /// The partition.
    pub partition: u32,
    /// The number of the attempt at it.
    pub attempt: u8,
}

/// Opens a channel between the two tasks of an attempt, over a connection that others in between may relay.
pub fn channel(
    connection: Connection,
    attempt: Attempt<'_>,
    stall: Duration,
    cancel: &CancelToken,
) -> Result<Channel> {
    let inside =
        connection.inside(attempt.me, attempt.peer, attempt.role == Role::A, stall, cancel)?;
    let channel = inside.into_channel()?;
    let mut channel = channel.with_stall_timeout(stall).with_cancel_token(cancel.clone());
    let of = [&attempt.partition.to_le_bytes()[..], &[attempt.attempt], attempt.session].concat();
    channel.bind(TASK, &of);
    channel.phase(TASK_PHASE);
    Ok(channel)
}

/// Compares a partition over an attempt's channel, until both sides have finished, and returns the result. The gate is
/// checked before this side reveals anything. On an error, the other side's task receives the reason.
///
/// # Errors
/// The errors of the method and of the gate, and every error of an exchange.
pub fn compare(
    gather: &dyn Gather,
    loaded: &Partition,
    gate: Gate,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Zeroizing<Vec<u8>>> {
    channel.set_gate(Some(gate));
    let party = gather.prepare(channel, rng);
    let ran = party.and_then(|party| party.run(loaded, Reveal::WithPartition, channel, rng));
    let ran = ran.map_err(|error| Error::of_protocol(error, channel));
    let ended = ran.and_then(|piece| Ok(channel.finish().map(|()| piece)?));
    if let Err(error) = &ended
        && let Some(reason) = error.abort_reason()
    {
        channel.abort(reason);
    }
    ended
}

/// The phase named in errors of an attempt.
pub const TASK_PHASE: &str = "partition";

/// Returns whether another attempt may succeed after this error.
pub fn may_pass(error: &Error) -> bool {
    use vesica_net::Error::{Aborted, Closed, Handshake, Io, Stalled};
    let Error::Net(error) = error else { return false };
    matches!(error, Closed { .. } | Stalled { .. } | Io { .. } | Handshake { .. } | Aborted { .. })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use vesica_core::error::Class;
    use vesica_net::transport::memory;

    use super::*;

    /// Returns the error with which a dispatch of the listening side answers a peer that sends this in each turn.
    fn answer(turn: &str, patience: Duration) -> Error {
        let (a, b) = memory::pair();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut channel = Channel::new(a);
                while channel.send(TURN, turn.as_bytes()).is_ok()
                    && channel.recv_len(TURN, MAX_TURN).is_ok()
                {}
            });
            let slots = Slots::new(0);
            let fingerprint = Identity::generate().unwrap().fingerprint();
            slots.ready(0, Prepared { fingerprint, commitment: [1; 32] });
            let mut channel = Channel::new(b).with_stall_timeout(Duration::from_secs(20));
            let dispatch = Dispatch::new(Role::B, 4, 0, &Committed::new(), &slots, patience);
            dispatch.run(&mut channel, || 0, |_| Ok(())).unwrap_err()
        })
    }

    #[test]
    fn turns_of_a_hostile_side_are_refused() {
        let long = Duration::from_secs(60);
        for turn in [
            "",
            "{}",
            "[1]",
            "{\"idle\":5000,\"done\":0,\"changes\":[]}",
            "{\"idle\":0,\"done\":0,\"changes\":[{\"kept\":{\"partition\":0,\"attempt\":1}}]}",
            "{\"idle\":0,\"done\":0,\"changes\":[{\"kept\":{\"partition\":4,\"attempt\":0}}]}",
            "{\"idle\":0,\"done\":0,\"changes\":[],\"more\":1}",
        ] {
            let error = answer(turn, long);
            assert_eq!(error.class(), Class::Peer, "{turn}: {error}");
        }
        let long_turn = format!("{{\"idle\":0,\"done\":0,\"changes\":[]{}}}", " ".repeat(MAX_TURN));
        assert_eq!(answer(&long_turn, long).class(), Class::Peer);
    }

    /// A side is given up if it never has a slot, or if its slots take a partition and drop it again and again.
    #[test]
    fn a_side_that_compares_nothing_is_given_up() {
        let flips = "{\"idle\":1,\"done\":0,\"changes\":[{\"held\":{\"partition\":0}},{\"dropped\":{\"partition\":0}}]}";
        for turn in ["{\"idle\":0,\"done\":0,\"changes\":[]}", flips] {
            let error = answer(turn, Duration::from_millis(300));
            assert!(matches!(error, Error::Net(vesica_net::Error::Stalled { .. })), "{error}");
        }
    }
}
