//! Directories of files in place of a table, and patterns that name several files.
//!
//! Spark, Dask and others write a table as a directory of part files; columns may be in the names of directories, and
//! changes in a log. Only programs for such tables can read them; here they are refused by name, with advice.

use std::{fs, path::Path};

use vesica_core::{error::InputFault, words::counted};

use crate::format::Format;

const DELTA: &str = "write its current version into one file first, for example with DuckDB: \
                     COPY (FROM delta_scan('DIRECTORY')) TO 'table.parquet'";
const ICEBERG: &str = "write its current version into one file first, for example with DuckDB: \
                       COPY (FROM iceberg_scan('DIRECTORY')) TO 'table.parquet'";
const HIVE: &str = "columns are in the names of its directories; write it into one file first, for example with DuckDB: \
                    COPY (FROM read_parquet('DIRECTORY/**/*.parquet', hive_partitioning = true)) TO 'table.parquet'";
const PARTS: &str = "write them into one file first, for example with DuckDB: \
                     COPY (FROM 'DIRECTORY/*.parquet') TO 'table.parquet'";
const NAME_ONE: &str = "name the file";
const PATTERN: &str = "write the files into one first, for example with DuckDB: \
                       COPY (FROM 'PATTERN') TO 'table.parquet'";

/// The maximum number of names in a directory that are looked at.
const MOST: usize = 10_000;

/// Returns the fault of a path to a directory, or of a pattern that is not a file's name; `None` for any other path.
pub(crate) fn refused(path: &Path) -> Option<InputFault> {
    let fault = |found: String, advice| Some(InputFault::Directory { found, advice });
    if path.is_dir() {
        let (found, advice) = found_in(path);
        return fault(found, advice);
    }
    let is_pattern = path.to_str().is_some_and(|text| text.contains(['*', '?']));
    if is_pattern && fs::symlink_metadata(path).is_err() {
        return fault("is a pattern of names, not the name of a file".to_owned(), PATTERN);
    }
    None
}

fn found_in(directory: &Path) -> (String, &'static str) {
    let has = |name: &str| directory.join(name).is_dir();
    if has("_delta_log") {
        return ("is a Delta table, which is a directory".to_owned(), DELTA);
    }
    if has("metadata") && has("data") {
        return ("is an Iceberg table, which is a directory".to_owned(), ICEBERG);
    }
    let entries = fs::read_dir(directory).into_iter().flatten().take(MOST);
    let names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let is_partition = |path: &&std::path::PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.contains('=') && path.is_dir()
    };
    if names.iter().any(|path| is_partition(&path)) {
        return ("is a directory of partitions".to_owned(), HIVE);
    }
    let parts = names.iter().filter(|path| Format::of_name(path).is_some()).count();
    match parts {
        0 => ("is a directory".to_owned(), NAME_ONE),
        parts => (format!("is a directory with {}", counted(parts as u64, "part file")), PARTS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_and_patterns_by_table() {
        let scratch = tempfile::tempdir().unwrap();
        let place = |path: &str| scratch.path().join(path);
        for directory in
            ["delta/_delta_log", "ice/metadata", "ice/data", "hive/country=DE", "empty", "parts"]
        {
            fs::create_dir_all(place(directory)).unwrap();
        }
        for file in [
            "parts/part-0.snappy.parquet",
            "parts/part-1.snappy.parquet",
            "parts/_SUCCESS",
            "k*.csv",
        ] {
            fs::write(place(file), "k\n").unwrap();
        }
        for (path, expected) in [
            ("delta", Some("is a Delta table, which is a directory; write its current version")),
            ("ice", Some("is an Iceberg table, which is a directory; write")),
            ("hive", Some("is a directory of partitions; columns are in the names")),
            ("empty", Some("is a directory; name the file")),
            ("parts", Some("is a directory with 2 part files; write them into one file first")),
            (
                "parts/*.parquet",
                Some("is a pattern of names, not the name of a file; write the files"),
            ),
            ("parts/_SUCCESS", None),
            ("k*.csv", None),
            ("nothing.csv", None),
        ] {
            let found = refused(&place(path)).map(|fault| fault.to_string());
            let fits = expected.is_some_and(|expected| {
                found.as_ref().is_some_and(|found| found.starts_with(expected))
            });
            assert!(fits || expected.is_none() && found.is_none(), "{path}: {found:?}");
        }
    }
}
