//! The result of a session before it is written.

use vesica_psi::Adversary;
use vesica_task::interface::{Found, Method};

/// The result of a run on this side, and the protocol that computed it.
pub struct Computed {
    /// The name of the protocol that ran.
    pub protocol: &'static str,
    /// The adversary against which it is secure.
    pub adversary: Adversary,
    /// The size of the other side's set.
    pub peer_items: u64,
    /// The number of partitions in which the sets were compared.
    pub partitions: u64,
    /// The number of times that partitions were begun, if tasks of a side compared them.
    pub attempts: Option<u64>,
    /// The result.
    pub found: Found,
    /// In a run among several parties, the sizes of all sets.
    pub sizes: Option<Vec<u64>>,
}

impl Computed {
    /// Creates the result of a run of two, computed by this method.
    pub(super) fn by(
        method: &dyn Method,
        peer_items: u64,
        partitions: usize,
        found: Found,
    ) -> Self {
        Self {
            protocol: method.key(),
            adversary: method.adversary(),
            peer_items,
            partitions: partitions as u64,
            attempts: None,
            found,
            sizes: None,
        }
    }
}
