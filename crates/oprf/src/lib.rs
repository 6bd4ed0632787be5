//! Oblivious pseudo-random functions: the sender holds a function, and the receiver learns its values at
//! points that the sender does not see, and nothing about it elsewhere.
//!
//! One file per paper. A *batched* OPRF has many instances; each has its own function, and the receiver learns one
//! value of it. In a *programmable* OPRF the sender chooses the values at some points: [`programmable`] derives one
//! from any other.
//!
//! **Must never import** circuits, protocols or anything above.

pub mod cm20;
mod digests;
pub mod hl08;
pub mod kkrt16;
pub mod oos17;
pub mod opprf;
pub mod programmable;
pub mod prty19;
pub mod prty20;
pub mod psty19;
pub mod psz14;
pub mod rs21;

use vesica_primitives::Block;

pub use digests::Digests;

/// The failure of an OPRF.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection or the peer failed.
    #[error(transparent)]
    Channel(#[from] vesica_net::Error),
    /// A party's points could not be encoded.
    #[error(transparent)]
    Okvs(#[from] vesica_structures::okvs::Error),
    /// The caller programs a point twice.
    #[error("points {first} and {second} (counted from 0) are equal; each is programmed once")]
    DuplicatePoint {
        /// Position of the first.
        first: usize,
        /// Position of the second.
        second: usize,
    },
    /// The caller programs more points than both parties agreed on.
    #[error("{points} points to program exceed the agreed maximum of {max}")]
    TooManyPoints {
        /// The number of points.
        points: usize,
        /// The number agreed on.
        max: usize,
    },
}

/// Values of a function at some points, in an arbitrary order.
#[derive(Debug)]
pub struct Values {
    /// The position of each point in the input.
    pub positions: Vec<u32>,
    /// Its value.
    pub values: Vec<Block>,
}

impl Values {
    /// The values of points in the order of the input.
    fn in_order(values: Vec<Block>) -> Self {
        Self { positions: (0..values.len() as u32).collect(), values }
    }
}
