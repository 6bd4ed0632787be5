//! The cost of a computation of several parties.

use vesica_primitives::Block;

use super::{
    HoldersPlan,
    plan::{JointPlan, NAME_LEN, Place},
    rows::JointRows,
    zero_shares::POINT_LEN,
};
use crate::{
    Memory, Sizes,
    circuit_psi::{Opprf, OpprfSize, rs21::FromVole},
    memory::PerItem,
};

/// The predicted cost of a computation of several parties.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointCost {
    /// Payload bytes on all channels, in both directions.
    pub bytes: f64,
    /// The part of them that the leader sends or receives.
    pub of_leader: f64,
    /// Flights one after another, if the leader reads from all helpers at once.
    pub rounds: u32,
}

/// Flights of plan, keys, and the reading of a helper's shares: base OTs, VOLE, columns and hint.
const ROUNDS: u32 = 8;

impl JointPlan {
    /// The predicted cost of the fold, without the two-party run that follows.
    pub fn cost(&self) -> JointCost {
        let read = read(self.helpers().map(|helper| self.opprf(helper)));
        let names = 2.0 * NAME_LEN as f64;
        let keys = pairs(self.parties() - 1) * 2.0 * POINT_LEN as f64;
        JointCost {
            bytes: pairs(self.parties()) * names + keys + read,
            of_leader: (self.parties() - 1) as f64 * names + read,
            rounds: ROUNDS,
        }
    }

    /// The predicted peak memory of a party in the fold, in bytes, including its items. The leader reads from one
    /// helper after another; what it prepared for the others waits.
    pub fn memory(&self, party: usize) -> f64 {
        let (leader, size) = (self.sizes()[self.leader()], self.sizes()[party]);
        let sharing = Memory::linear(Sizes { sender: size, receiver: 0 }, SHARING).sender;
        match self.place(party) {
            Place::Leader => {
                sharing.max(reading(leader, self.helpers().map(|helper| self.sizes()[helper])))
            }
            Place::Pivot => sharing,
            Place::Helper => shown(leader, size),
        }
    }
}

impl HoldersPlan {
    /// The predicted cost.
    pub fn cost(&self) -> JointCost {
        let read = read(self.others().map(|party| self.opprf(party)));
        let others = self.others().count();
        let names = 2.0 * NAME_LEN as f64;
        let points = pairs(others) * 2.0 * POINT_LEN as f64;
        let of_set = |set: u16| (set.count_ones() - 1) as usize * size_of::<Block>();
        let keys: usize = self.keyed().map(of_set).sum();
        JointCost {
            bytes: pairs(others + 1) * names + points + keys as f64 + read,
            of_leader: others as f64 * names + read,
            // The sets' keys travel after the pairs' points.
            rounds: ROUNDS + 1,
        }
    }

    /// The predicted peak memory of a party, in bytes, including its items. The leader keeps what it reads from all
    /// others.
    pub fn memory(&self, party: usize) -> f64 {
        let leader = self.sizes()[self.leader()];
        if party != self.leader() {
            return shown(leader, self.sizes()[party]);
        }
        let kept = leader * (self.others().count() * self.share_len() + size_of::<u16>());
        kept as f64 + reading(leader, self.others().map(|other| self.sizes()[other]))
    }
}

/// The number of pairs of this number of parties.
fn pairs(parties: usize) -> f64 {
    (parties * parties.saturating_sub(1) / 2) as f64
}

/// Payload bytes of these OPPRFs, in both directions.
fn read(opprfs: impl Iterator<Item = OpprfSize>) -> f64 {
    let bytes = opprfs.map(FromVole::bytes);
    bytes.map(|bytes| bytes.to_sender + bytes.to_receiver).sum::<usize>() as f64
}

/// The memory of a leader of this size that reads from sets of these sizes, one after another.
fn reading(leader: usize, sizes: impl Iterator<Item = usize> + Clone) -> f64 {
    let waiting = WAITING * (leader * sizes.clone().count()) as f64;
    let one = |sender| Memory::linear(Sizes { sender, receiver: leader }, READING).receiver;
    waiting + sizes.map(one).fold(0.0, f64::max)
}

/// The memory of a party of this size from which a leader reads.
fn shown(leader: usize, size: usize) -> f64 {
    Memory::linear(Sizes { sender: size, receiver: leader }, READING).sender
}

/// The memory of an OPPRF, in which the helper sends and the leader receives: above the memory of processes with one
/// party of sets of 2^16 and 2^20 items, and below twice as much. No test repeats this measurement.
const READING: PerItem = PerItem::new([105.0, 50.0], [110.0, 10.0]);

/// The memory of a party that computes its shares and derives its items.
const SHARING: PerItem = PerItem::new([64.0, 0.0], [0.0, 0.0]);

/// Bytes per item of the leader for each helper from which it is ready to read.
const WAITING: f64 = 40.0;

impl JointRows<'_> {
    /// The predicted cost of all steps.
    pub fn cost(&self) -> JointCost {
        let fold = self.plan.cost();
        let rows = self.protocol.cost(self.plan.setting());
        JointCost {
            bytes: fold.bytes + rows.bytes(),
            of_leader: fold.of_leader + rows.bytes(),
            // The first of the flights of a run is the agreement on sizes, which the plan contains.
            rounds: fold.rounds + rows.rounds - 1,
        }
    }

    /// The predicted peak memory of a party, in bytes, including its items and the derived ones.
    pub fn memory(&self, party: usize) -> f64 {
        let folds = self.plan.memory(party);
        let receives = match self.plan.place(party) {
            Place::Helper => return folds,
            place => place == Place::Leader,
        };
        let items = self.plan.sizes()[party] as f64 * size_of::<Block>() as f64;
        folds.max(self.protocol.memory(self.plan.setting()).of(receives) + items)
    }
}
