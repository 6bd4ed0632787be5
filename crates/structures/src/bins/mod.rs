//! Hash bins: where an item may go, and tables of where items went.
//!
//! A [`BinMap`] gives each pseudo-random item its bins; [`phasing`] gives them to items of any kind and
//! stores only what a bin does not determine. The tables are built over either ([`Hashed`]): [`Table`], with
//! many items per bin - each item in all of its bins, in the emptiest of them, or in one of two so that bins
//! are equally full - and [`cuckoo::CuckooTable`], with at most one. The party that puts an item into only
//! one bin must be the one that learns the result; the other party puts its items into all of their bins.
//!
//! **Order.** A table in which items have a choice depends on the order of insertion. [`Table::balanced`],
//! [`Table::two_choice`] and [`cuckoo::CuckooTable::of_set`] insert in the order of the items' pseudo-random
//! names, so that the table is a function of the set and reveals nothing about the order in which the set was
//! held.

pub mod cuckoo;
mod map;
pub mod phasing;
mod placement;
mod table;

pub use map::{BinMap, Entry, Hashed, Mapped};
pub use table::Table;

/// A table could not be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No placement gives each item room in one of its bins. For distinct pseudo-random items and a
    /// shape that `vesica_params` calls sound this has a probability below 2^-40.
    #[error("these items cannot be placed into bins")]
    NoTable,
    /// Two items are equal.
    #[error("items {first} and {second} (counted from 0) are equal")]
    Duplicate {
        /// Position of one of the two.
        first: usize,
        /// Position of the other.
        second: usize,
    },
}
