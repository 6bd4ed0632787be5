//! The cost of a computation of several parties.

use vesica_primitives::Block;

use super::{
    HoldersPlan,
    plan::{Folding, JointPlan, NAME_LEN, Place},
    rows::JointRows,
    zero_shares::POINT_LEN,
};
use crate::{Memory, Sizes, circuit_psi::OpprfSize, memory::PerItem};

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
        let read = read(self.folding(), self.helpers().map(|helper| self.opprf(helper)));
        let names = 2.0 * NAME_LEN as f64;
        let keys = pairs(self.parties() - 1) * 2.0 * POINT_LEN as f64;
        JointCost {
            bytes: pairs(self.parties()) * names + keys + read,
            of_leader: (self.parties() - 1) as f64 * names + read,
            // The VOLE is checked.
            rounds: match self.folding() {
                Folding::SemiHonest => ROUNDS,
                Folding::Malicious => ROUNDS + 2,
            },
        }
    }

    /// The predicted peak memory of a party in the fold, in bytes, including its items. The leader reads from one
    /// helper after another; what it prepared for the others waits.
    pub fn memory(&self, party: usize) -> f64 {
        let (leader, size) = (self.sizes()[self.leader()], self.sizes()[party]);
        let per_item = FoldMemory::of(self.folding());
        let sharing = Memory::linear(Sizes { sender: size, receiver: 0 }, per_item.sharing).sender;
        match self.place(party) {
            Place::Leader => {
                let helpers = self.helpers().map(|helper| self.sizes()[helper]);
                sharing.max(per_item.leader(leader, helpers))
            }
            Place::Pivot => sharing,
            Place::Helper => per_item.helper(leader, size),
        }
    }
}

impl HoldersPlan {
    /// The predicted cost.
    pub fn cost(&self) -> JointCost {
        let opprfs = self.others().map(|party| self.opprf(party));
        let read = read(Folding::SemiHonest, opprfs);
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
        let per_item = FoldMemory::of(Folding::SemiHonest);
        if party != self.leader() {
            return per_item.helper(leader, self.sizes()[party]);
        }
        let kept = leader * (self.others().count() * self.share_len() + size_of::<u16>());
        kept as f64 + per_item.leader(leader, self.others().map(|other| self.sizes()[other]))
    }
}

/// The number of pairs of this number of parties.
fn pairs(parties: usize) -> f64 {
    (parties * parties.saturating_sub(1) / 2) as f64
}

/// Payload bytes of these OPPRFs, in both directions.
fn read(folding: Folding, opprfs: impl Iterator<Item = OpprfSize>) -> f64 {
    let bytes = opprfs.map(|size| folding.opprf_bytes(size));
    bytes.map(|bytes| bytes.to_sender + bytes.to_receiver).sum::<usize>() as f64
}

/// Bytes per item of the parties of a fold.
struct FoldMemory {
    /// Of an OPPRF, in which the helper sends and the leader receives.
    reading: PerItem,
    /// Of a party that computes its shares and derives its items.
    sharing: PerItem,
    /// Of the leader, for each helper from which it is ready to read.
    waiting: f64,
}

impl FoldMemory {
    /// For semi-honest parties, above the memory of processes with one party of sets of 2^16 and 2^20 items, and below
    /// twice as much. No test repeats this measurement. For malicious ones the same with the lengths of their items,
    /// entries and values; not measured.
    fn of(folding: Folding) -> Self {
        match folding {
            Folding::SemiHonest => Self {
                reading: PerItem::new([105.0, 50.0], [110.0, 10.0]),
                sharing: PerItem::new([64.0, 0.0], [0.0, 0.0]),
                waiting: 40.0,
            },
            Folding::Malicious => Self {
                reading: PerItem::new([220.0, 80.0], [240.0, 30.0]),
                sharing: PerItem::new([112.0, 0.0], [0.0, 0.0]),
                waiting: 60.0,
            },
        }
    }

    /// The memory of a leader of this size that reads from sets of these sizes, one after another.
    fn leader(&self, leader: usize, sizes: impl Iterator<Item = usize> + Clone) -> f64 {
        let waiting = self.waiting * (leader * sizes.clone().count()) as f64;
        let one =
            |sender| Memory::linear(Sizes { sender, receiver: leader }, self.reading).receiver;
        waiting + sizes.map(one).fold(0.0, f64::max)
    }

    /// The memory of a party of this size from which a leader reads.
    fn helper(&self, leader: usize, size: usize) -> f64 {
        Memory::linear(Sizes { sender: size, receiver: leader }, self.reading).sender
    }
}

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
        let items = {
            let halves = match self.plan.folding() {
                Folding::SemiHonest => 1,
                Folding::Malicious => 2,
            };
            (self.plan.sizes()[party] * halves * size_of::<Block>()) as f64
        };
        folds.max(self.protocol.memory(self.plan.setting()).of(receives) + items)
    }
}
