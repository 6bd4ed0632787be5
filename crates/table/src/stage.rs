//! The matched rows on their way to the output.

use std::{io, path::Path};

use vesica_core::error::{Error, Misuse, Result};

use crate::{
    compression::Compression,
    database,
    destination::Destination,
    format::Format,
    formulas::{ColumnFormulas, Findings, Formulas},
    output::{Output, Staged},
    results::ResultTable,
    rows::Table,
    source::{Delimiter, Dialect},
    written::{Matched, Unwritten},
};

/// Refuses an output whose name promises another format than the input's rows have.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_name(path: &Path, format: Format) -> Result<()> {
    let refused = |what: &str| {
        let (path, have) = (path.display(), format.title());
        Err(Error::usage(
            Misuse::Output,
            format!(
                "the output {path} is named like {what}, but the rows are {have} like the input; choose another name"
            ),
        ))
    };
    if database::address(path).is_some() {
        return Ok(());
    }
    match Format::of_name(path) {
        Some(promised) if promised != format => refused(promised.title()),
        _ if !format.is_text() && Compression::of_name(path).is_some() => refused("packed text"),
        _ => Ok(()),
    }
}

/// Counts and treats received texts that begin like formulas, if the rows go to a file of delimited text: spreadsheets
/// evaluate nothing in other files.
pub fn watch_formulas(
    to: &Destination,
    table: &Table,
    rows: &mut Matched,
    formulas: Formulas,
) -> Option<Findings> {
    let is_file = to.path().is_some_and(|path| database::address(path).is_none());
    let is_opened = is_file && table.format() == Format::CSV;
    is_opened.then(|| rows.watch_formulas(formulas)).flatten()
}

/// Writes a table of results, without showing it yet, and treats texts that begin like formulas in delimited text.
///
/// # Errors
/// [`Error::Output`].
pub fn results(
    to: &Destination,
    output: Output,
    mut table: ResultTable,
    formulas: Formulas,
) -> Result<(Staged, Vec<ColumnFormulas>)> {
    let is_opened = to.path().is_some_and(|path| ResultTable::format(path) == Format::CSV);
    let found = if is_opened { table.watch_formulas(formulas) } else { Vec::new() };
    Ok((table.stage(to, output)?, found))
}

/// Writes these rows of a table, with the columns of these names or else all, without showing them yet. Text is packed
/// if the file's name says so.
///
/// # Errors
/// [`Error::Output`], and [`Error::Input`] if the rows cannot be read again.
pub fn rows(
    to: &Destination,
    output: Output,
    table: &Table,
    rows: &Matched,
    select: Option<&[String]>,
    mut done: impl FnMut(u64),
) -> Result<Staged> {
    let mut fault = None;
    let is_file = |path: &&Path| table.format().is_text() && database::address(path).is_none();
    let packing = to.path().filter(is_file).and_then(Compression::of_name);
    let named = |delimiter: &Delimiter| Some(delimiter.name()) == table.delimiter();
    let delimiter = Delimiter::ALL.into_iter().find(named).unwrap_or_default();
    let form = Dialect { format: Some(table.format()), delimiter, ..Dialect::default() };
    let mut failed = |error| match error {
        Unwritten::Output(error) => error,
        Unwritten::Input(error) => {
            fault = Some(error);
            io::ErrorKind::InvalidData.into()
        }
    };
    let gathered = match to {
        Destination::Memory(_) => table.gather(rows, select, &mut done),
        Destination::Path(_) => None,
    };
    let staged = match gathered {
        Some(gathered) => output.hold(gathered.map_err(failed)),
        None => output.of(form).stage(|out| {
            let written = match packing {
                Some(packing) => packing.pack(out, |out| table.write(rows, select, out, &mut done)),
                None => table.write(rows, select, out, &mut done),
            };
            written.map_err(&mut failed)
        }),
    };
    match fault {
        Some(fault) => Err(fault),
        None => staged,
    }
}
