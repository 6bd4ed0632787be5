//! The matched rows on their way to the output.

use std::{
    io::{self, Write},
    path::Path,
};

use crate::{
    error::{Error, Result},
    table::{
        compression::Compression,
        format::Format,
        output::{Output, Staged},
        rows::{Table, Unwritten},
        sent_columns::SentColumns,
    },
    task::joined::Joined,
};

/// Refuses an output of which the name promises another format than rows of the input have.
///
/// # Errors
/// [`Error::Usage`].
pub(crate) fn check_name(path: &Path, format: Format) -> Result<()> {
    let refused = |what: &str| {
        let (path, have) = (path.display(), format.title());
        Err(Error::Usage(format!(
            "the output {path} is named like {what}, and the rows are {have} like the input; name it otherwise"
        )))
    };
    match Format::of_name(path) {
        Some(promised) if promised != format => refused(promised.title()),
        _ if !format.is_text() && Compression::of_name(path).is_some() => refused("packed text"),
        _ => Ok(()),
    }
}

/// Writes these rows of a table, counted from 0 and ascending, with the columns of these names or else all, where they
/// cannot be seen yet. Text is packed if the output's name, `path`, says so.
///
/// # Errors
/// [`Error::Output`], and [`Error::Input`] where the rows cannot be read again.
pub(crate) fn rows(
    path: &Path,
    output: Output,
    table: &Table,
    (rows, select): (&[u32], Option<&[String]>),
    mut done: impl FnMut(u64),
) -> Result<Staged> {
    stage(path, output, table, |out| table.write(rows, select, out, &mut done))
}

/// As [`rows`], with the columns that the other side sent at the end of each row.
pub(crate) fn joined(
    path: &Path,
    output: Output,
    table: &Table,
    (joined, sent, select): (&Joined, &SentColumns, Option<&[String]>),
    mut done: impl FnMut(u64),
) -> Result<Staged> {
    stage(path, output, table, |out| {
        let mut rows = joined.rows(sent);
        table.write_joined(&mut rows, (&sent.columns, select), out, &mut done)
    })
}

/// Refuses a join of which the rows cannot be written.
///
/// # Errors
/// [`Error::Usage`].
pub(crate) fn check_join(format: Format) -> Result<()> {
    match format {
        Format::Csv => Ok(()),
        other => Err(Error::Usage(format!(
            "the rows of a join are written as delimited text, and this side's input is {}; convert it to CSV",
            other.title()
        ))),
    }
}

fn stage(
    path: &Path,
    output: Output,
    table: &Table,
    mut write: impl FnMut(&mut (dyn Write + Send)) -> std::result::Result<(), Unwritten>,
) -> Result<Staged> {
    let mut fault = None;
    let packing = Compression::of_name(path).filter(|_| table.format().is_text());
    let staged = output.stage(|out| {
        let written = match packing {
            Some(packing) => packing.pack(out, |out| write(out)),
            None => write(out),
        };
        written.map_err(|error| match error {
            Unwritten::Output(error) => error,
            Unwritten::Input(error) => {
                fault = Some(error);
                io::ErrorKind::InvalidData.into()
            }
        })
    });
    match fault {
        Some(fault) => Err(fault),
        None => staged,
    }
}
