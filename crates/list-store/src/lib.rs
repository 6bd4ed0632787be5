//! Published lists: publishes them from a table, and looks up a table's keys in them.
//!
//! **Must never import** a run or the command line.

pub mod answered;
pub mod ask;
pub mod directory;
pub mod fetch;
#[cfg(feature = "http")]
pub mod http;
pub mod look_up;
pub mod merge;
pub mod origin;
pub mod publish;
pub mod serving;
pub mod stored;
mod values;
mod whole;

#[cfg(test)]
mod lookups;
#[cfg(test)]
mod tests;
