//! Tables on disk as inputs, and results that appear whole or not at all.
//!
//! **Must never import** keys, messages or the command line: it sees rows and columns.

pub(crate) mod append;
pub mod arrow;
mod batches;
pub mod compression;
mod content;
pub mod csv;
pub mod database;
pub mod destination;
pub mod digest;
mod directory;
pub mod disk;
#[cfg(test)]
mod example;
mod foreign;
pub mod format;
mod formats;
pub mod formulas;
pub mod guard;
mod head;
pub mod header;
mod ingest;
pub mod input;
mod ndjson;
pub mod output;
mod parquet;
pub mod pieces;
pub(crate) mod records;
pub mod remote;
pub mod results;
pub mod row;
pub mod row_number;
pub mod rows;
pub mod sent_columns;
pub mod sent_types;
pub mod source;
pub mod spill;
mod spool;
pub mod stage;
mod stored;
pub mod target;
pub mod text;
mod typed;
pub mod written;
