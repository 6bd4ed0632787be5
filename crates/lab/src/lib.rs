//! The lab: every protocol, and the parts they are made of, timed on a line of one's choice.
//!
//! Both parties run in one process, each with threads of its own, and the line between them is emulated
//! ([`Line`]). [`protocol`] runs protocols, [`answer`] methods that answer questions, [`ot`] oblivious transfers,
//! [`structures`] hash bins, filters and OKVS; each run gives a record with what it took and whether its result
//! was right. A [`Bench`] runs any of them by name and keeps the records in a file ([`results`]); [`papers`] holds
//! the tables of papers against them, and [`report`] makes a page of them, with [`prices`]. [`calibrate`] measures
//! a machine for the planner, and [`accuracy`] says how right the planner is.
//!
//! **Must never import** the command line: it prints nothing and knows no flags.

pub mod accuracy;
pub mod answer;
mod bench;
pub mod calibrate;
mod line;
mod machine;
pub mod ot;
pub mod papers;
pub mod prices;
pub mod protocol;
pub mod report;
pub mod results;
pub mod structures;
mod together;
mod work;

/// Whatever made a run fail, in words.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What a run gives.
pub type Result<T> = std::result::Result<T, Error>;

pub use bench::{Bench, Outcome};
pub use line::Line;
pub use machine::Machine;
pub use work::{Job, Record, Work};
