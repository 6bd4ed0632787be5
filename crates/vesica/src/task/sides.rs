//! The two sides of a run, as its tasks see them.

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Me,
    Peer,
}

/// The sizes of both sets, and who learns the result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides {
    /// Distinct keys of this side.
    pub(crate) my_keys: u64,
    /// Distinct keys of the other side.
    pub(crate) peer_keys: u64,
    /// Whether this side learns the result.
    pub(crate) i_learn: bool,
    /// Whether the other side learns it.
    pub(crate) peer_learns: bool,
    /// The protocol's receiver.
    pub(crate) receiver: Side,
    /// The number of identifiers of a row.
    pub(crate) identifiers: usize,
}

impl Sides {
    pub(crate) fn keys(&self, side: Side) -> u64 {
        match side {
            Side::Me => self.my_keys,
            Side::Peer => self.peer_keys,
        }
    }

    pub(crate) fn both_learn(&self) -> bool {
        self.i_learn && self.peer_learns
    }
}
