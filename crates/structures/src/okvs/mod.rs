//! Oblivious key-value stores: a vector from which the value of each key can be read off by a public
//! linear map, and which says nothing of the keys where the values are random.
//!
//! Encoding is linear over GF(2), so values are whatever can be added by exclusive or. A store is
//! bound to a seed, which must be drawn after the keys are fixed.

pub mod rr22;

/// Encoding failed: for distinct keys and a seed drawn after them, with a probability of at most
/// 2^-λ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// More keys in a cluster than it takes.
    #[error("a cluster of an OKVS has too many keys")]
    Overflow,
    /// The equations of a cluster contradict each other, as those of equal keys do.
    #[error("the equations of an OKVS have no solution")]
    NoSolution,
}

/// What the columns hold that no equation determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Free {
    /// Zeros: enough where the store travels under a mask.
    Zero,
    /// Uniformly random values: needed where the store itself is seen.
    Random,
}
