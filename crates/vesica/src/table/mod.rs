//! Tables on disk: what is read, and results that appear whole or not at all.

pub mod csv;
pub mod digest;
mod format;
pub mod header;
pub mod input;
pub mod output;
pub mod source;
pub mod target;
