//! The lab: every protocol, and the parts they are made of, timed on a line of one's choice.
//!
//! Both parties run in one process, each with threads of its own, and the line between them is emulated
//! ([`Line`]). [`protocol`] runs protocols, [`answer`] methods that answer questions, [`ot`] oblivious transfers, [`structures`] hash bins, filters
//! and OKVS; each run gives a record with what it took and whether its result was right. [`calibrate`] measures a
//! machine for the planner, and [`accuracy`] how right the planner is.
//!
//! **Must never import** the command line: it prints nothing and knows no flags.

pub mod accuracy;
pub mod answer;
pub mod calibrate;
mod line;
pub mod ot;
pub mod protocol;
pub mod structures;
mod together;

/// Whatever made a run fail, in words.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What a run gives.
pub type Result<T> = std::result::Result<T, Error>;

pub use line::Line;
