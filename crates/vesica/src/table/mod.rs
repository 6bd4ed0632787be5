//! Tables on disk: what is read, and results that appear whole or not at all.

pub mod csv;
pub mod output;
pub mod source;
