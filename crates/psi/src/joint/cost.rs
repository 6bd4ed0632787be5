//! The cost of a computation of several parties.

use vesica_primitives::Block;

use super::{
    plan::{JointPlan, NAME_LEN, Place},
    rows::JointRows,
    zero_shares::POINT_LEN,
};
use crate::{
    Memory, Sizes,
    circuit_psi::{Opprf, rs21::FromVole},
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
        let pairs = |parties: usize| (parties * parties.saturating_sub(1) / 2) as f64;
        let read = self.helpers().map(|helper| FromVole::bytes(self.opprf(helper)));
        let read: usize = read.map(|bytes| bytes.to_sender + bytes.to_receiver).sum();
        let names = 2.0 * NAME_LEN as f64;
        let keys = pairs(self.parties() - 1) * 2.0 * POINT_LEN as f64;
        JointCost {
            bytes: pairs(self.parties()) * names + keys + read as f64,
            of_leader: (self.parties() - 1) as f64 * names + read as f64,
            rounds: ROUNDS,
        }
    }

    /// The predicted peak memory of a party in the fold, in bytes, including its items. The leader reads from one
    /// helper after another; what it prepared for the others waits.
    pub fn memory(&self, party: usize) -> f64 {
        let sizes = |helper: usize| {
            let [sender, receiver] = [helper, self.leader()].map(|party| self.sizes()[party]);
            Sizes { sender, receiver }
        };
        let sharing =
            Memory::linear(Sizes { sender: self.sizes()[party], receiver: 0 }, SHARING).sender;
        match self.place(party) {
            Place::Leader => {
                let reading = |helper| Memory::linear(sizes(helper), READING).receiver;
                let waiting = WAITING * (self.sizes()[party] * self.helpers().count()) as f64;
                waiting + self.helpers().map(reading).fold(sharing, f64::max)
            }
            Place::Pivot => sharing,
            Place::Helper => Memory::linear(sizes(party), READING).sender,
        }
    }
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
