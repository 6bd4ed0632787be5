//! Tables on disk: what is read, and results that appear whole or not at all.

pub(crate) mod append;
mod arrow;
mod batches;
pub mod compression;
pub mod csv;
pub(crate) mod database;
pub mod digest;
pub mod format;
pub(crate) mod guard;
pub mod header;
mod ingest;
pub mod input;
mod ndjson;
pub mod output;
mod parquet;
pub(crate) mod records;
mod remote;
pub mod rows;
pub mod sent_columns;
pub mod source;
pub(crate) mod spill;
mod spool;
mod stored;
pub mod target;
pub mod text;
mod typed;
pub(crate) mod written;
