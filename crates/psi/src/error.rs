//! Errors of protocols, by whose fault they are.

use crate::Limit;

/// The result of a protocol.
pub type Result<T> = std::result::Result<T, Error>;

/// A protocol that did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection or the peer failed.
    #[error(transparent)]
    Channel(#[from] vesica_net::Error),
    /// The caller's items are not a set.
    #[error("items {first} and {second} (counted from 0) are equal; a set holds each item once")]
    DuplicateItem {
        /// Position of the first.
        first: usize,
        /// Position of the second.
        second: usize,
    },
    /// The protocol takes digests of 256 bits, and the caller provided 128.
    #[error("`{protocol}` requires digests of 256 bits, but got digests of 128 bits")]
    ShortDigests {
        /// The protocol's key.
        protocol: &'static str,
    },
    /// One side's set is larger than agreed, or than the maximum.
    #[error("a set of {items} items exceeds the maximum of {max}")]
    TooManyItems {
        /// The size of the set.
        items: u64,
        /// The maximal number of items.
        max: u64,
    },
    /// The protocol does not support sets of these sizes.
    #[error("`{protocol}` does not support sets of these sizes: {limit}")]
    Limit {
        /// The protocol's key.
        protocol: &'static str,
        /// The limit that is exceeded.
        limit: Limit,
    },
    /// The caller's values do not fit.
    #[error(
        "the magnitudes of a set's values may add up to at most 2^63 - 1; these add up to more"
    )]
    SumTooLarge,
    /// Hashing into bins failed; the probability is at most 2^-λ.
    #[error("hashing into bins failed, which has a probability below 2^-40; run again")]
    HashingFailure,
    /// Opened OTs showed more ones than are tolerated in a receiver that followed the protocol; the probability
    /// is at most 2^-λ.
    #[error("the opened OTs showed too many ones, which has a probability below 2^-40; run again")]
    CutAndChooseFailure,
}

impl From<vesica_oprf::Error> for Error {
    fn from(error: vesica_oprf::Error) -> Self {
        match error {
            vesica_oprf::Error::Channel(error) => error.into(),
            _ => Self::HashingFailure,
        }
    }
}
