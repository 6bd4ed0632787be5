//! What a run took, kept in a file.

pub mod machine;
pub mod results;
pub mod unit;
