//! From the key columns of a row to the distinct keys of a table.

mod collector;
pub mod counts;
pub mod digest;
pub mod findings;
pub mod key;
pub mod keyset;
pub mod normalize;
pub mod null_values;
pub mod numbers;
mod places;
pub mod profile;
pub mod reading;
pub mod survey;
