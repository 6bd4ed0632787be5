//! Oblivious pseudo-random functions: the sender holds a function, the receiver learns its values at
//! points that the sender does not see, and nothing about it elsewhere.
//!
//! One file a paper. A *batched* OPRF has many instances, each with a function of its own of which
//! the receiver learns one value.
//!
//! **Must never import** circuits, protocols or anything above.

pub mod kkrt16;

pub use vesica_net::{Error, Result};
