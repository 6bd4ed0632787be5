//! The two sides of a run, as its tasks see them.

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// This side.
    Me,
    /// The other side.
    Peer,
}

/// The sizes of both sets, and the sides that learn the result.
#[derive(Debug, Clone, Copy)]
pub struct Sides {
    /// Distinct keys of this side.
    pub my_keys: u64,
    /// Distinct keys of the other side.
    pub peer_keys: u64,
    /// Whether this side learns the result.
    pub i_learn: bool,
    /// Whether the other side learns it.
    pub peer_learns: bool,
    /// The protocol's receiver.
    pub receiver: Side,
    /// The number of identifiers of a row.
    pub identifiers: usize,
}

impl Sides {
    /// Returns the number of distinct keys of a side.
    pub fn keys(&self, side: Side) -> u64 {
        match side {
            Side::Me => self.my_keys,
            Side::Peer => self.peer_keys,
        }
    }

    /// Returns whether both sides learn the result.
    pub fn both_learn(&self) -> bool {
        self.i_learn && self.peer_learns
    }
}
