//! The product: tables in, an agreed run with the other party, tables out.
//!
//! This is the façade that the command line, Python and Spark depend on. [`run()`] does the whole job
//! from file to file over a [`Channel`](vesica_net::Channel); [`check()`] says what there is to know
//! about one file alone. Only this crate knows rows, names and files; below it there are only items
//! and positions.
//!
//! The way of the data: key columns → [`keys::key`]: normalised, encoded bytes → [`keys::digest`]: 256-bit
//! digest, then the item under the run's [seed](agree::seed) → the protocol → positions of matches →
//! [`keys::keyset`]: rows → [`table::output`]: the rows' bytes as they came.
//!
//! **Must never import** the command line: no flags and no terminal here. No value of a table ever
//! gets into an error, a report or an observer.

pub mod agree;
pub mod check;
mod difference;
pub mod error;
mod host;
pub mod keys;
mod parties;
pub mod run;
pub mod table;
mod task;
pub mod words;

pub use agree::{choice::PlannerInputs, offer::Offer};
pub use check::{Check, check};
pub use error::{Class, Error, Result};
pub use keys::{
    key::{Duplicates, KeyColumn, Nulls},
    normalize::Normalize,
    null_values::NullValues,
    numbers::decimal,
};
pub use parties::{Learns, Parties, Role, Security};
pub use run::{
    job::{Job, Ready, Shortfall, run},
    observe::{NoObserver, Observer},
    report::Report,
};
pub use table::{
    source::{Delimiter, Source},
    target::Protected,
};
pub use task::{
    outcome::{Outcome, QueryResult},
    query::{Query, ResultForm},
};
