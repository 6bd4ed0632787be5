//! The way from a row's key columns to the distinct keys of a table, and to the items that a protocol compares.
//!
//! **Must never import** agreements, tasks or runs.

mod ambiguous;
pub mod brought;
pub mod buckets;
mod collector;
pub mod counts;
pub mod findings;
mod holding;
pub mod key;
pub mod key_number;
pub mod key_rows;
pub mod keyset;
pub mod linked;
mod maker;
pub mod numbers;
pub mod oddities;
pub mod partitions;
mod places;
pub mod profile;
pub mod query_columns;
pub mod reading;
pub mod rule_findings;
pub mod seed;
mod side_by_side;
pub mod sketch;
mod spilled;
pub mod survey;
pub mod table_keys;
pub mod touches;
