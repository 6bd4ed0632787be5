//! The product: tables in, an agreed run with the other party, tables out.
//!
//! This is the façade that the command line, Python and Spark depend on. [`run()`] does the whole job
//! from file to file over a [`Channel`](vesica_net::Channel); [`check()`] says what there is to know
//! about one file alone. Only this crate knows rows, names and files; below it there are only items
//! and positions.
//!
//! The way of the data: key columns → [`key`]: normalised, encoded bytes → [`digest`]: 256-bit
//! digest, then the item under the run's seed → the protocol → positions of matches →
//! [`keyset`]: rows → [`output`]: the rows' bytes as they came.
//!
//! **Must never import** the command line: no flags and no terminal here. No value of a table ever
//! gets into an error, a report or an observer.

pub mod check;
pub mod choice;
pub mod digest;
pub mod error;
pub mod key;
pub mod keyset;
pub mod observe;
pub mod offer;
pub mod output;
pub mod report;
pub mod run;
pub mod session;
mod shares;
pub mod source;
pub mod table;
pub mod terms;

pub use check::{Check, check};
pub use choice::Surroundings;
pub use error::{Class, Error, Result};
pub use key::{Duplicates, KeyColumn, Normalize, Nulls};
pub use observe::{Observer, Unobserved};
pub use offer::{Learns, Offer, Parties, Role, Security, Wanted};
pub use report::{Answered, Report};
pub use run::{Job, Outcome, run};
pub use source::{Delimiter, Source};
