//! The query for the rows of a database.

use std::{fs, path::PathBuf};

use vesica::Source;

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
    /// What is read: the table of this path, or the rows of the query there.
    pub fn source(&self, path: &std::path::Path) -> Result<Source, Failure> {
        let query = match &self.query_file {
            Some(file) => Some(fs::read_to_string(file).map_err(|error| {
                Failure::usage(format!("{}: the query cannot be read: {error}", file.display()))
            })?),
            None => self.query.clone(),
        };
        Ok(Source::from_path(path).with_query(query)?)
    }
}
