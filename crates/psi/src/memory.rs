//! The most memory that the parties of a run hold.
//!
//! Each entry of the catalogue predicts it beside its [`Cost`](crate::Cost): what a party takes from the beginning of
//! its preparation to the result, its set of items included, and nothing that its caller holds besides. The figures are
//! measured, not derived: a test runs every entry with each party in a process of its own and holds the prediction to be
//! an upper bound that is not far above what the process took.

use crate::Sizes;

/// What a party takes whatever the sizes are: stacks, code that is touched, the channel's buffers, base OTs, and what an
/// allocator keeps.
const FIXED: f64 = (16 << 20) as f64;

/// The most bytes that each party of a run holds at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// The sender.
    pub sender: f64,
    /// The receiver.
    pub receiver: f64,
}

/// Bytes that the parties take for each item, of their own set and of their peer's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PerItem {
    sender: [f64; 2],
    receiver: [f64; 2],
}

impl PerItem {
    /// Bytes for each item of its own set and of its peer's: of the sender, and of the receiver.
    pub(crate) const fn new(sender: [f64; 2], receiver: [f64; 2]) -> Self {
        Self { sender, receiver }
    }
}

impl Memory {
    /// What grows with the sizes alone.
    pub(crate) fn linear(sizes: Sizes, per_item: PerItem) -> Self {
        let [n_s, n_r] = [sizes.sender as f64, sizes.receiver as f64];
        let [of_sender, of_receiver] = [per_item.sender, per_item.receiver];
        Self {
            sender: FIXED + of_sender[0] * n_s + of_sender[1] * n_r,
            receiver: FIXED + of_receiver[0] * n_r + of_receiver[1] * n_s,
        }
    }

    /// As much more for each party.
    pub(crate) fn and(self, sender: f64, receiver: f64) -> Self {
        Self { sender: self.sender + sender, receiver: self.receiver + receiver }
    }

    /// That of one party.
    pub fn of(self, receives: bool) -> f64 {
        if receives { self.receiver } else { self.sender }
    }

    /// That of the party that takes more.
    pub fn most(self) -> f64 {
        self.sender.max(self.receiver)
    }
}
