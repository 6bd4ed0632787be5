//! Hash bins: the bins of each item, and tables of the items in each bin.
//!
//! A [`BinMap`] gives each pseudo-random item its bins; [`phasing`] gives them to items of any kind and
//! stores only the part that a bin does not determine. The tables are built over either ([`Hashed`]): [`Table`], with
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
    /// No placement gives each item a place in one of its bins. For distinct pseudo-random items and a secure
    /// shape from `vesica_params` the probability is below 2^-40.
    #[error("these items cannot be placed into bins")]
    NoTable,
    /// Two items are equal.
    #[error("items {first} and {second} (counted from 0) are equal")]
    Duplicate {
        /// Position of the first.
        first: usize,
        /// Position of the second.
        second: usize,
    },
}
