//! From the key columns of a row to the distinct keys of a table.

pub(crate) mod brought;
pub(crate) mod buckets;
mod collector;
pub mod counts;
pub mod findings;
mod holding;
pub mod key;
pub mod keyset;
mod maker;
pub mod numbers;
pub mod oddities;
pub(crate) mod partitions;
mod places;
pub mod profile;
pub mod reading;
mod side_by_side;
mod spilled;
pub mod survey;
pub(crate) mod table_keys;

pub use vesica_keys::{digest, normalize, null_values};
