//! From the key columns of a row to the distinct keys of a table.

pub mod digest;
pub mod key;
pub mod keyset;
