//! Records of runs, kept in a file.

pub mod host;
pub mod results;
