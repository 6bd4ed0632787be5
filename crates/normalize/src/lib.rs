//! From the values of key columns to the digest of a key: pure functions, which a browser can run as well.
//!
//! **Must never import** tables, files or messages: it sees one value at a time.

pub mod digest;
pub mod encoding;
pub mod normalize;
pub mod null_values;
pub mod shown;
