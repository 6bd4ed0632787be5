//! Records of runs, stored in a file.

pub mod host;
pub mod results;
