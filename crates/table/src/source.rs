//! Where a table's bytes come from, and what kind of text they are.

use std::path::{Path, PathBuf};

use vesica_core::{
    error::{Error, Misuse, Result},
    host,
};

pub use crate::head::Delimiter;
use crate::{arrow::memory::ArrowTable, database, format::Format, remote};

/// A file, an object in a store, rows of a database, standard input, or what is in memory.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// An object in a store, by its address, such as `s3://bucket/table.parquet`.
    Object(String),
    /// Rows of a database.
    Database {
        /// What names the driver, and the table if there is no query: `adbc:DRIVER` or `adbc:DRIVER#TABLE`.
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
    /// The file of that path; `-` is standard input, and what begins with `s3://`, `gs://` or `az://` an object, and
    /// what begins with `adbc:` a table of a database.
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

    /// With this query, if there is one, for the rows of a database.
    ///
    /// # Errors
    /// [`Error::Usage`] where the input is something else.
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

    /// The name used in messages.
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

/// How an input is to be understood, where it does not say so itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialect {
    /// Its format; `None` to tell it by its content, or else by its name.
    pub format: Option<Format>,
    /// What separates the fields of a row, in delimited text.
    pub delimiter: Delimiter,
    /// The most bytes that a part of it may have that has to be in memory whole; `None` for the budget of a user who
    /// names none.
    pub most_bytes: Option<u64>,
    /// The directory for what comes through a pipe and does not fit into memory; `None` for that of temporary files.
    pub spill: Option<PathBuf>,
}

/// A reading of a text holds up to this part of the memory: a record twice, once as its fields are, and other
/// readings at the same time.
const PART: u64 = 8;

impl Dialect {
    /// The most bytes that a part may have that has to be in memory whole.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes.unwrap_or_else(host::budget)
    }

    /// The most bytes of a text that are held at a time: for each reading, and for what unpacks it.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.most_bytes() / PART
    }
}

impl From<Delimiter> for Dialect {
    fn from(delimiter: Delimiter) -> Self {
        Self { delimiter, ..Self::default() }
    }
}
