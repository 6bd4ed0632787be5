//! The way from the values of key columns to the digest of a key. The functions are pure and also run in a browser.
//!
//! **Must never import** tables, files or messages: it sees one value at a time.

pub mod digest;
pub mod encoding;
pub mod normalize;
pub mod null_values;
pub mod shown;
