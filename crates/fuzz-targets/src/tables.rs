//! Tables in every format, read twice like in a run: once for the keys, and once for the rows to write.

use vesica::{
    Error, Source,
    decoders::written,
    files::{Delimiter, Dialect, Format},
};

use crate::{
    Valid,
    bytes::{Bytes, SECRET, tells_no_secret, with_secrets},
};

/// The memory limit for each table.
const MOST_BYTES: u64 = 1 << 20;

/// Maximum number of rows, more than the bytes of an input. A few bytes of Arrow may represent any number of rows
/// without content.
const MOST_ROWS: usize = 1 << 17;

/// The rows of a table: their fields as text.
type Rows = Vec<Vec<Vec<u8>>>;

/// The result of both passes over a table.
struct Table {
    columns: Vec<String>,
    rows: Rows,
    /// All rows, written again.
    written: Vec<u8>,
}

/// Reads a table, and detects the format if none is given.
fn table(content: &[u8], format: Option<Format>, delimiter: Delimiter) -> Result<Table, Error> {
    let bytes = content.to_vec();
    let dialect = Dialect { format, delimiter, most_bytes: Some(MOST_BYTES), spill: None };
    let input = Source::Memory { name: "table".to_owned(), bytes }.open(dialect)?;
    let scan = input.read()?;
    let columns = scan.header().fields();
    let mut rows = Rows::new();
    let width = columns.len();
    let table = scan.rows(|row| {
        if rows.len() == MOST_ROWS {
            return Err(Error::bug("more rows than a target keeps"));
        }
        rows.push((0..width).map(|column| row.field(column).to_vec()).collect());
        Ok(())
    })?;
    assert_eq!(table.len(), rows.len() as u64);
    let written = written(&table)?;
    Ok(Table { columns, rows, written })
}

/// A text table is refused, or its rows are written as a table with the same rows. If the first line, which errors may
/// quote, does not contain the secret, no error contains it.
fn text(content: &[u8], format: Option<Format>, delimiter: Delimiter) -> Option<Table> {
    let content = with_secrets(content);
    let table = match table(&content, format, delimiter) {
        Ok(table) => table,
        Err(error) => {
            check_error(&error, &content);
            return None;
        }
    };
    if table.columns.is_empty() {
        return Some(table);
    }
    match self::table(&table.written, format, delimiter) {
        Ok(again) => {
            assert_eq!(again.columns, table.columns);
            assert_eq!(again.rows, table.rows);
            assert_eq!(again.written, table.written, "writing is not stable");
        }
        Err(error) => panic!("what was written is not read: {error}"),
    }
    Some(table)
}

/// Errors may contain column names, from a header or from objects.
fn check_error(error: &Error, content: &[u8]) {
    let first = content.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(content.len());
    let is_told = content[..first].windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
    if !is_told {
        tells_no_secret(error);
    }
}

fn delimiter(byte: u8) -> (Delimiter, u8) {
    [
        (Delimiter::Comma, b','),
        (Delimiter::Semicolon, b';'),
        (Delimiter::Tab, b'\t'),
        (Delimiter::Bar, b'|'),
        (Delimiter::Auto, b','),
    ][usize::from(byte) % 5]
}

/// Delimited text.
pub fn csv(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (delimiter, _) = delimiter(bytes.byte());
    valid.note_if(text(bytes.0, Some(Format::CSV), delimiter).is_some(), "table");
}

/// Compares delimited text with the csv crate: the same records, or an error for a reason that the crate does not have.
/// The crate allows any number of fields, ends a quoted field at the end of the text, and skips one byte order mark, as
/// we do.
pub fn csv_against_crate(data: &[u8], valid: &mut Valid) {
    let mut bytes = Bytes(data);
    let (delimiter, byte) = delimiter(bytes.byte() % 4);
    let content = with_secrets(bytes.0);
    let Ok(ours) = table(&content, Some(Format::CSV), delimiter) else {
        return;
    };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(byte)
        .from_reader(&content[..]);
    let records = reader.byte_records().map(|record| {
        let record = record.unwrap_or_default();
        record.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
    });
    let mut records: Rows = records.collect();
    if records.is_empty() {
        assert!(ours.columns.is_empty() && ours.rows.is_empty());
        return;
    }
    let header = records.remove(0);
    assert_eq!(header.len(), ours.columns.len());
    assert_eq!(records, ours.rows);
    valid.note("table");
}

/// Objects, one per line.
pub fn ndjson(data: &[u8], valid: &mut Valid) {
    valid.note_if(text(data, Some(Format::NDJSON), Delimiter::Comma).is_some(), "table");
}

/// A table whose format is detected, compressed or not.
pub fn recognised(data: &[u8], valid: &mut Valid) {
    let content = with_secrets(data);
    match table(&content, None, Delimiter::Auto) {
        Ok(_) => valid.note("table"),
        Err(error) => check_error(&error, &content),
    }
}

/// Parquet: the footer, the pages, and the rows written again.
pub fn parquet(data: &[u8], valid: &mut Valid) {
    typed(data, Format::PARQUET, valid);
}

/// A file of Arrow IPC.
pub fn arrow_file(data: &[u8], valid: &mut Valid) {
    typed(data, Format::ARROW, valid);
}

/// A stream of Arrow IPC.
pub fn arrow_stream(data: &[u8], valid: &mut Valid) {
    typed(data, Format::ARROW_STREAM, valid);
}

/// A typed table is refused as damaged, or its rows are written as a table with the same rows.
fn typed(content: &[u8], format: Format, valid: &mut Valid) {
    let Ok(table) = table(content, Some(format), Delimiter::Comma) else { return };
    match self::table(&table.written, Some(format), Delimiter::Comma) {
        Ok(again) => {
            assert_eq!(again.columns, table.columns);
            assert_eq!(again.rows, table.rows);
            valid.note("table");
        }
        Err(error) => panic!("what was written is not read: {error}"),
    }
}
