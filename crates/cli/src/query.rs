//! The query for the rows of a database.

use std::path::{Path, PathBuf};

use vesica::{Source, spec};

use crate::exit::Failure;

#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    /// The query for the rows, where the table is a database: adbc:DRIVER
    #[arg(long, value_name = "SQL")]
    query: Option<String>,
    /// A file with that query
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    query_file: Option<PathBuf>,
}

impl Args {
    /// Returns the table of this path, or the rows of the query there.
    pub fn source(&self, path: &Path) -> Result<Source, Failure> {
        let (query, query_file) = (self.query.clone(), self.query_file.clone());
        let table = spec::Table { query, query_file, ..spec::Table::default() };
        Ok(table.source(Some(Source::from_path(path)))?)
    }
}
