//! The state of every partition, as both sides see it.
//!
//! Both sides keep the same board: in each turn they exchange their changes, and both apply the changes of the
//! connecting side first. So nobody needs to issue permits: each side computes the same ones.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use vesica_net::Fingerprint;

/// The maximum number of attempts at a partition in a session, regardless of the sides' settings. An honest side loses
/// an attempt with a machine or a connection.
pub const MOST_ATTEMPTS: u8 = 16;

/// The maximum number of a side's changes in a turn.
pub(crate) const MOST_CHANGES: usize = 64;

/// The maximum number of idle slots that count.
pub const MOST_IDLE: u32 = 1 << 12;

/// A side's preparation for a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// The fingerprint of the key that the side uses in this attempt, as text.
    #[serde(with = "text")]
    pub fingerprint: Fingerprint,
    /// A commitment to the keys of the partition.
    pub commitment: [u8; 32],
}

/// The text form of fingerprints on the wire, as people see them.
pub mod text {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use vesica_net::Fingerprint;

    /// Writes the fingerprint as text.
    pub fn serialize<S: Serializer>(of: &Fingerprint, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(of)
    }

    /// Reads the fingerprint from its text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Fingerprint, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// The commitments of the connecting and the listening side to partitions that were begun.
pub type Committed = BTreeMap<u32, [[u8; 32]; 2]>;

/// A change on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub(crate) enum Change {
    /// A slot has this partition from an earlier session.
    Held { partition: u32 },
    /// The slot that had it gave it up without a result that counts.
    Dropped { partition: u32 },
    /// A task is ready for this partition. An attempt that was under way is lost.
    Ready { partition: u32, task: Prepared },
    /// The result of this attempt is stored.
    Kept { partition: u32, attempt: u8 },
}

/// One side's message in a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Turn {
    /// The number of slots that could take a partition.
    pub(crate) idle: u32,
    /// The number of partitions on the side's disk, counted from the first.
    pub(crate) done: u64,
    pub(crate) changes: Vec<Change>,
}

/// The state of a partition on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// No slot has it.
    Open,
    /// A slot has it.
    Held,
    /// A task is ready for it.
    Ready(Prepared),
    /// It is being compared.
    Compared,
    /// The result is stored.
    Kept,
}

/// A consequence of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permit {
    /// A slot of this side takes the partition.
    Hold { side: usize, partition: u32 },
    /// Both sides are ready and begin.
    Begin { partition: u32, attempt: u8, tasks: [Prepared; 2] },
    /// Both sides have stored the result.
    Done { partition: u32 },
}

/// The reason why a turn is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This side's message is impossible.
    Impossible { side: usize },
    /// The keys of this side's partition differ from earlier ones.
    Changed { side: usize, partition: u32 },
    /// The partition was begun too often.
    TooOften { partition: u32 },
}

/// The board.
pub(crate) struct Board {
    /// The state of each partition on both sides.
    places: Vec<[Place; 2]>,
    commitments: Vec<[Option<[u8; 32]>; 2]>,
    attempts: Vec<u8>,
    /// Whether the last attempt is known to be lost.
    void: Vec<bool>,
    /// Partitions that are not done.
    open: BTreeSet<u32>,
}

impl Board {
    /// Creates a board of `partitions` partitions, the first `done` of them done; others may have been begun in an
    /// earlier session.
    pub(crate) fn new(partitions: u32, done: u32, committed: &Committed) -> Self {
        let count = partitions as usize;
        let mut places = vec![[Place::Open; 2]; count];
        places[..done as usize].fill([Place::Kept; 2]);
        let known = |partition| committed.get(&partition).map(|of| of.map(Some));
        Self {
            places,
            commitments: (0..partitions).map(|p| known(p).unwrap_or_default()).collect(),
            attempts: vec![0; count],
            void: vec![false; count],
            open: (done..partitions).collect(),
        }
    }

    /// Returns whether all partitions are done.
    pub(crate) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the number of attempts.
    pub(crate) fn attempts(&self) -> u64 {
        self.attempts.iter().map(|attempts| u64::from(*attempts)).sum()
    }

    /// Applies both sides' messages, and returns the permits that follow.
    ///
    /// # Errors
    /// An impossible message, changed keys, or a partition that was begun too often.
    pub(crate) fn turn(&mut self, said: &[Turn; 2]) -> Result<Vec<Permit>, Fault> {
        let mut permits = Vec::new();
        for (side, turn) in said.iter().enumerate() {
            if turn.changes.len() > MOST_CHANGES || turn.idle > MOST_IDLE {
                return Err(Fault::Impossible { side });
            }
            for change in &turn.changes {
                self.apply(side, change, &mut permits)?;
            }
        }
        let open: Vec<_> = self.open.iter().copied().collect();
        for partition in &open {
            self.begin(*partition, &mut permits)?;
        }
        self.hold(&open, said, &mut permits);
        Ok(permits)
    }

    fn apply(
        &mut self,
        side: usize,
        change: &Change,
        permits: &mut Vec<Permit>,
    ) -> Result<(), Fault> {
        let (Change::Held { partition }
        | Change::Dropped { partition }
        | Change::Ready { partition, .. }
        | Change::Kept { partition, .. }) = *change;
        let p = partition as usize;
        if p >= self.places.len() {
            return Err(Fault::Impossible { side });
        }
        if !self.open.contains(&partition) {
            // The partition was done before this side knew.
            return Ok(());
        }
        match *change {
            Change::Held { .. } => {
                if self.places[p][side] == Place::Open {
                    self.places[p][side] = Place::Held;
                }
            }
            Change::Dropped { .. } => {
                if matches!(self.places[p][side], Place::Compared | Place::Kept) {
                    self.lose(p, side);
                }
                self.places[p][side] = Place::Open;
            }
            Change::Ready { task, .. } => {
                if matches!(self.places[p][side], Place::Compared | Place::Kept) {
                    self.lose(p, side);
                }
                let known = self.commitments[p][side].get_or_insert(task.commitment);
                if *known != task.commitment {
                    return Err(Fault::Changed { side, partition });
                }
                self.places[p][side] = Place::Ready(task);
            }
            Change::Kept { attempt, .. } if attempt == 0 || attempt > self.attempts[p] => {
                return Err(Fault::Impossible { side });
            }
            Change::Kept { attempt, .. } => {
                let counts = attempt == self.attempts[p] && !self.void[p];
                match self.places[p][side] {
                    Place::Compared if counts => self.places[p][side] = Place::Kept,
                    Place::Kept if counts => {}
                    // The slot is free, and its result does not count: the partition starts over in any slot.
                    Place::Compared => {
                        self.void[p] = true;
                        self.places[p][side] = Place::Open;
                    }
                    _ => self.places[p][side] = Place::Open,
                }
                if self.places[p] == [Place::Kept; 2] {
                    self.open.remove(&partition);
                    permits.push(Permit::Done { partition });
                }
            }
        }
        Ok(())
    }

    /// Records that the last attempt is lost on this side, whose slot still has the partition.
    fn lose(&mut self, partition: usize, side: usize) {
        self.void[partition] = true;
        let places = &mut self.places[partition];
        places[side] = Place::Held;
        if places[1 - side] == Place::Kept {
            places[1 - side] = Place::Open;
        }
    }

    fn begin(&mut self, partition: u32, permits: &mut Vec<Permit>) -> Result<(), Fault> {
        let p = partition as usize;
        let [Place::Ready(a), Place::Ready(b)] = self.places[p] else { return Ok(()) };
        if self.attempts[p] >= MOST_ATTEMPTS {
            return Err(Fault::TooOften { partition });
        }
        self.attempts[p] += 1;
        self.void[p] = false;
        self.places[p] = [Place::Compared; 2];
        permits.push(Permit::Begin { partition, attempt: self.attempts[p], tasks: [a, b] });
        Ok(())
    }

    /// Assigns each side the partitions that the other side already has, and then the same partitions to both.
    fn hold(&mut self, open: &[u32], said: &[Turn; 2], permits: &mut Vec<Permit>) {
        let mut idle = [said[0].idle, said[1].idle];
        for partition in open {
            let places = &mut self.places[*partition as usize];
            for side in [0, 1] {
                let has = matches!(places[1 - side], Place::Held | Place::Ready(_));
                if places[side] == Place::Open && has && idle[side] > 0 {
                    idle[side] -= 1;
                    places[side] = Place::Held;
                    permits.push(Permit::Hold { side, partition: *partition });
                }
            }
        }
        for partition in open {
            let places = &mut self.places[*partition as usize];
            if *places == [Place::Open; 2] && idle[0] > 0 && idle[1] > 0 {
                *places = [Place::Held; 2];
                for side in [0, 1] {
                    idle[side] -= 1;
                    permits.push(Permit::Hold { side, partition: *partition });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use vesica_net::Identity;

    use super::*;

    fn task(commitment: u8) -> Prepared {
        let fingerprint = Identity::generate().unwrap().fingerprint();
        Prepared { fingerprint, commitment: [commitment; 32] }
    }

    fn new_board(partitions: u32, done: u32) -> Board {
        Board::new(partitions, done, &Committed::new())
    }

    fn turn(idle: u32, changes: &[Change]) -> Turn {
        Turn { idle, done: 0, changes: changes.to_vec() }
    }

    fn ready(partition: u32) -> Change {
        Change::Ready { partition, task: task(1) }
    }

    fn held(permits: &[Permit]) -> Vec<(usize, u32)> {
        let of = |permit: &Permit| match permit {
            Permit::Hold { side, partition } => Some((*side, *partition)),
            _ => None,
        };
        permits.iter().filter_map(of).collect()
    }

    #[test]
    fn a_partition_is_taken_where_both_sides_have_a_slot() {
        let mut board = new_board(3, 0);
        assert_eq!(board.turn(&[turn(2, &[]), turn(0, &[])]).unwrap(), []);
        let permits = board.turn(&[turn(2, &[]), turn(1, &[])]).unwrap();
        assert_eq!(held(&permits), [(0, 0), (1, 0)]);
        let permits = board.turn(&[turn(1, &[ready(0)]), turn(0, &[ready(0)])]).unwrap();
        assert!(matches!(permits[..], [Permit::Begin { partition: 0, attempt: 1, .. }]));
        let kept = Change::Kept { partition: 0, attempt: 1 };
        board.turn(&[turn(1, &[kept]), turn(0, &[])]).unwrap();
        let permits = board.turn(&[turn(0, &[]), turn(1, &[kept])]).unwrap();
        assert_eq!(permits[0], Permit::Done { partition: 0 });
        assert!(!board.is_done());
    }

    /// If either side loses an attempt, even after the other has stored its result, both start over.
    #[test]
    fn an_attempt_that_one_side_loses_is_repeated_by_both() {
        for (kept_first, loser) in [(true, 0), (true, 1), (false, 0), (false, 1)] {
            let mut board = new_board(1, 0);
            board.turn(&[turn(1, &[]), turn(1, &[])]).unwrap();
            board.turn(&[turn(0, &[ready(0)]), turn(0, &[ready(0)])]).unwrap();
            let kept = [Change::Kept { partition: 0, attempt: 1 }];
            let mut say = |side: usize, idle, changes: &[Change]| {
                let mut said = [Turn::default(), Turn::default()];
                said[side] = turn(idle, changes);
                board.turn(&said).unwrap()
            };
            if kept_first {
                say(1 - loser, 0, &kept);
                say(loser, 0, &[ready(0)]);
            } else {
                say(loser, 0, &[ready(0)]);
                say(1 - loser, 0, &kept);
            }
            assert_eq!(held(&say(1 - loser, 1, &[])), [(1 - loser, 0)]);
            let permits = say(1 - loser, 0, &[ready(0)]);
            assert!(matches!(permits[..], [Permit::Begin { attempt: 2, .. }]), "{permits:?}");
            let kept = [Change::Kept { partition: 0, attempt: 2 }];
            say(0, 0, &kept);
            assert_eq!(say(1, 0, &kept), [Permit::Done { partition: 0 }]);
            assert!(board.is_done());
            assert_eq!(board.attempts(), 2);
        }
    }

    #[test]
    fn a_partition_of_an_earlier_session_stays_with_its_slot_until_dropped() {
        let mut board = new_board(2, 0);
        let held = [Change::Held { partition: 0 }];
        let permits = board.turn(&[turn(1, &held), turn(2, &[])]).unwrap();
        assert_eq!(self::held(&permits), [(1, 0), (0, 1), (1, 1)]);
        let dropped = [Change::Dropped { partition: 0 }];
        let permits = board.turn(&[turn(1, &dropped), turn(0, &[])]).unwrap();
        assert_eq!(self::held(&permits), [(0, 0)]);
        // This also holds during an attempt, and after the other side has stored its result.
        board.turn(&[turn(0, &[ready(0)]), turn(0, &[ready(0)])]).unwrap();
        let kept = [Change::Kept { partition: 0, attempt: 1 }];
        let permits = board.turn(&[turn(0, &dropped), turn(0, &kept)]).unwrap();
        assert_eq!(permits, []);
        let permits = board.turn(&[turn(1, &[]), turn(1, &[])]).unwrap();
        assert_eq!(self::held(&permits), [(0, 0), (1, 0)]);
    }

    /// A slot from before a restart has a partition that the board does not know of.
    #[test]
    fn a_side_first_takes_partitions_that_the_other_has() {
        let mut board = new_board(4, 1);
        let permits = board.turn(&[turn(0, &[ready(3)]), turn(1, &[])]).unwrap();
        assert_eq!(held(&permits), [(1, 3)]);
    }

    #[test]
    fn changed_keys_and_too_many_attempts_are_refused() {
        let mut board = new_board(1, 0);
        let other = Change::Ready { partition: 0, task: task(2) };
        board.turn(&[turn(0, &[ready(0)]), turn(0, &[])]).unwrap();
        let fault = board.turn(&[turn(0, &[other]), turn(0, &[])]).unwrap_err();
        assert_eq!(fault, Fault::Changed { side: 0, partition: 0 });
        // This also holds if the partition was begun in an earlier session.
        let committed = Committed::from([(1, [[1; 32], [3; 32]])]);
        for (side, commitment) in [(0, 2), (1, 1)] {
            let mut board = Board::new(2, 0, &committed);
            let changed = Change::Ready { partition: 1, task: task(commitment) };
            let mut said = [turn(0, &[ready(0)]), turn(0, &[ready(0)])];
            said[side].changes.push(changed);
            assert_eq!(board.turn(&said).unwrap_err(), Fault::Changed { side, partition: 1 });
            let same = Change::Ready { partition: 1, task: task([1, 3][side]) };
            said[side] = turn(0, &[same]);
            Board::new(2, 0, &committed).turn(&said).unwrap();
        }
        let mut board = new_board(1, 0);
        let both = || [turn(0, &[ready(0)]), turn(0, &[ready(0)])];
        (0..MOST_ATTEMPTS).for_each(|_| drop(board.turn(&both()).unwrap()));
        assert_eq!(board.turn(&both()).unwrap_err(), Fault::TooOften { partition: 0 });
    }

    #[test]
    fn impossible_changes_are_refused() {
        for change in [
            ready(7),
            Change::Kept { partition: 2, attempt: 1 },
            Change::Kept { partition: 2, attempt: 0 },
        ] {
            let mut board = new_board(3, 2);
            let fault = board.turn(&[Turn::default(), turn(0, &[change])]);
            assert_eq!(fault.unwrap_err(), Fault::Impossible { side: 1 }, "{change:?}");
        }
        let many = vec![ready(0); MOST_CHANGES + 1];
        for said in [turn(MOST_IDLE + 1, &[]), turn(0, &many)] {
            let fault = new_board(3, 0).turn(&[said, Turn::default()]);
            assert_eq!(fault.unwrap_err(), Fault::Impossible { side: 0 });
        }
    }
}
