//! The source of a table's bytes, and the dialect of its text.

use std::path::{Path, PathBuf};

use vesica_core::{
    error::{Error, Misuse, Result},
    host,
};

pub use crate::head::Delimiter;
use crate::{arrow::memory::ArrowTable, database, format::Format, remote};

/// A file, an object in a store, rows of a database, standard input, or data in memory.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// An object in a store, by its address, such as `s3://bucket/table.parquet`.
    Object(String),
    /// Rows of a database.
    Database {
        /// The driver, with the table if there is no query: `adbc:DRIVER` or `adbc:DRIVER#TABLE`.
        address: String,
        /// The query for the rows.
        query: Option<String>,
    },
    /// Standard input.
    Stdin,
    /// Bytes that are in memory already, under a name for messages.
    Memory {
        /// The name.
        name: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Batches of Arrow that are in memory already, under a name for messages.
    Arrow {
        /// The name.
        name: String,
        /// The batches.
        table: ArrowTable,
    },
}

impl Source {
    /// Returns the source at this path: `-` is standard input, paths that begin with `s3://`, `gs://` or `az://` are
    /// objects, and those that begin with `adbc:` are tables of a database.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if let Some(address) = database::address(&path) {
            return Self::Database { address: address.to_owned(), query: None };
        }
        match remote::address(&path) {
            Some(address) => Self::Object(address.to_owned()),
            None if path == Path::new("-") => Self::Stdin,
            None => Self::File(path),
        }
    }

    /// Adds this query, if there is one, for the rows of a database.
    ///
    /// # Errors
    /// [`Error::Usage`] if the input is not a database.
    pub fn with_query(mut self, wanted: Option<String>) -> Result<Self> {
        match &mut self {
            Self::Database { query, .. } => *query = wanted,
            _ if wanted.is_none() => {}
            _ => {
                let message = "a query needs a database as the input, as in adbc:DRIVER";
                return Err(Error::usage(Misuse::Input, message));
            }
        }
        Ok(self)
    }

    /// Returns the name used in messages.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Object(address) => address.clone(),
            Self::Database { address, .. } => {
                database::shown(address.as_ref()).display().to_string()
            }
            Self::Stdin => "standard input".to_owned(),
            Self::Memory { name, .. } | Self::Arrow { name, .. } => name.clone(),
        }
    }
}

/// Settings for an input that does not describe itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialect {
    /// The format; `None` to recognize it by the content, or else by the name.
    pub format: Option<Format>,
    /// The delimiter of a row's fields, in delimited text.
    pub delimiter: Delimiter,
    /// The most bytes of a part that must be in memory whole; `None` for the default budget.
    pub most_bytes: Option<u64>,
    /// The directory for piped data that does not fit into memory; `None` for the one of temporary files.
    pub spill: Option<PathBuf>,
}

/// The part of the memory that a reading of a text may hold: a record is held twice, in raw and in unquoted form, and
/// there may be other readings at the same time.
const PART: u64 = 8;

impl Dialect {
    /// Returns the most bytes of a part that must be in memory whole.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes.unwrap_or_else(host::budget)
    }

    /// Returns the most bytes of a text that are held at a time, by each reading and by its decompressor.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.most_bytes() / PART
    }
}

impl From<Delimiter> for Dialect {
    fn from(delimiter: Delimiter) -> Self {
        Self { delimiter, ..Self::default() }
    }
}
