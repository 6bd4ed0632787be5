//! The parts that protocols share: size agreement and setup, items, joint randomness, lists of tags, and the
//! step by which the sender learns too.

pub(crate) mod cells;
pub(crate) mod coin;
pub(crate) mod items;
pub(crate) mod lists;
pub mod reveal;
pub(crate) mod sealed;
pub(crate) mod session;
pub(crate) mod tags;
