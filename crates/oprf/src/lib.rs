//! Oblivious pseudo-random functions: the sender holds a function, the receiver learns its values at
//! points that the sender does not see, and nothing about it elsewhere.
//!
//! One file a paper. A *batched* OPRF has many instances, each with a function of its own of which
//! the receiver learns one value.
//!
//! **Must never import** circuits, protocols or anything above.

pub mod kkrt16;
pub mod rs21;

/// An OPRF that did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection or the peer failed.
    #[error(transparent)]
    Channel(#[from] vesica_net::Error),
    /// The receiver's points could not be encoded.
    #[error(transparent)]
    Okvs(#[from] vesica_structures::okvs::Error),
}
