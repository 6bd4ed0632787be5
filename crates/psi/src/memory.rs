//! The peak memory of the parties of a run.
//!
//! Each entry of the catalogue predicts it beside its [`Cost`](crate::Cost): the memory that a party takes from the
//! beginning of its preparation to the result, including its set of items, but without other data of its caller. The
//! figures are measured, not derived: a test runs every entry with each party in a process of its own, and checks that
//! the prediction is an upper bound and not far above the process's memory.

use crate::Sizes;

/// Memory that a party takes at any size: stacks, touched code, the channel's buffers, base OTs, and memory that an
/// allocator retains.
const FIXED: f64 = (16 << 20) as f64;

/// The peak memory of each party of a run, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// The sender.
    pub sender: f64,
    /// The receiver.
    pub receiver: f64,
}

/// Bytes per item, of the party's own set and of its peer's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PerItem {
    sender: [f64; 2],
    receiver: [f64; 2],
}

impl PerItem {
    /// Creates a formula from the bytes per item of a party's own set and of its peer's, for the sender and for the
    /// receiver.
    pub(crate) const fn new(sender: [f64; 2], receiver: [f64; 2]) -> Self {
        Self { sender, receiver }
    }
}

impl Memory {
    /// The memory that grows linearly with the sizes.
    pub(crate) fn linear(sizes: Sizes, per_item: PerItem) -> Self {
        let [n_s, n_r] = [sizes.sender as f64, sizes.receiver as f64];
        let [of_sender, of_receiver] = [per_item.sender, per_item.receiver];
        Self {
            sender: FIXED + of_sender[0] * n_s + of_sender[1] * n_r,
            receiver: FIXED + of_receiver[0] * n_r + of_receiver[1] * n_s,
        }
    }

    /// Adds memory for each party.
    pub(crate) fn and(self, sender: f64, receiver: f64) -> Self {
        Self { sender: self.sender + sender, receiver: self.receiver + receiver }
    }

    /// The memory of one party.
    pub fn of(self, receives: bool) -> f64 {
        if receives { self.receiver } else { self.sender }
    }

    /// The memory of the party that takes more.
    pub fn most(self) -> f64 {
        self.sender.max(self.receiver)
    }
}
