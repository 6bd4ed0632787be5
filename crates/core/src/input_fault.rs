//! The faults of an input, and their places.

use std::{fmt, io};

use crate::words::{bytes, counted, grouped};

/// A place in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The data row, counted from 1; the header is not counted.
    pub row: u64,
    /// The line of the file on which the row begins, counted from 1; `None` in a table without lines.
    pub line: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "row {} (line {line})", self.row),
            None => write!(f, "row {}", self.row),
        }
    }
}

/// A fault of an input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputFault {
    /// The operating system refused to read it.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// It is not delimited text.
    #[error("seems to be {format}, not UTF-8 text; {advice}")]
    NotText {
        /// The format that it appears to have.
        format: &'static str,
        /// The remedy.
        advice: &'static str,
    },
    /// It begins like a format that it is not, or ends too early, or contradicts itself.
    #[error(
        "cannot be read as {format}: {part} is damaged or missing; copy or write the file again"
    )]
    Damaged {
        /// The format that it appears to have.
        format: &'static str,
        /// The part of it that cannot be read.
        part: String,
    },
    /// It is sound, but has a part that this program does not support.
    #[error("has {part}, which is not read here; {advice}")]
    Unsupported {
        /// The part.
        part: &'static str,
        /// The remedy.
        advice: &'static str,
    },
    /// It is encrypted.
    #[error("is encrypted {format}, which is not read here; decrypt it first")]
    Encrypted {
        /// The name of its format.
        format: &'static str,
    },
    /// It is a directory of files, or names several.
    #[error("{found}; {advice}")]
    Directory {
        /// The kind of directory or name.
        found: String,
        /// The remedy.
        advice: &'static str,
    },
    /// It was modified while it was read.
    #[error("changed while it was read; run again when nothing writes to it")]
    Changed,
    /// Data that must be in memory at once exceeds the limit.
    #[error(
        "holds more than {} that must be in memory at once: the keys of all rows, one batch of Arrow, or one page of \
         Parquet; raise --memory, or split it",
        bytes(*max as f64)
    )]
    TooLarge {
        /// The limit, in bytes.
        max: u64,
    },
    /// A record of a text, or its header, is too long to be plausible.
    #[error(
        "{}has a row of more than {}, and a whole row must fit into memory; an unclosed quotation mark makes one row of \
         all that follows. Fix or split the row: it may take an eighth of --memory, and at most 64 MiB",
        line.map_or(String::new(), |line| format!("line {line} ")),
        bytes(*max as f64)
    )]
    LongRecord {
        /// The line where it begins, if known.
        line: Option<u64>,
        /// The limit, in bytes.
        max: u64,
    },
    /// A line is not a JSON object.
    #[error("{place}: {problem}, near character {character}; write one JSON object on each line")]
    BrokenLine {
        /// The place of the line.
        place: Place,
        /// The fault of the line.
        problem: &'static str,
        /// The character in the line, counted from 1; 0 if unknown.
        character: usize,
    },
    /// A column has a type that yields neither a key nor a number to add up.
    #[error("column `{column}` has the type {kind}, which cannot be used: {why}")]
    ColumnType {
        /// The column.
        column: String,
        /// Its type.
        kind: String,
        /// The reason, and what to do.
        why: &'static str,
    },
    /// A value has a type that does not suit the column's purpose.
    #[error("{place}, column `{column}`: {kind} cannot be {purpose}: {why}")]
    ValueType {
        /// The place of the value.
        place: Place,
        /// The column.
        column: String,
        /// The type of the value.
        kind: &'static str,
        /// The purpose of the column: `a key`.
        purpose: &'static str,
        /// The reason, and what to do.
        why: &'static str,
    },
    /// No column has that name.
    #[error("has no column `{column}`; {hint}")]
    NoColumn {
        /// The name asked for.
        column: String,
        /// The columns that exist instead.
        hint: String,
    },
    /// No row has a key.
    #[error(
        "none of its {} has a key: {}; `vesica check` says more. If that is intended, run with --allow-empty",
        counted(*rows, "row"), no_keys(*rows, *null_values)
    )]
    NoKeys {
        /// All rows.
        rows: u64,
        /// Rows with a null value in place of a key.
        null_values: u64,
    },
    /// More than one column has the name.
    #[error("has {times} columns named `{column}`; rename all but one")]
    AmbiguousColumn {
        /// The name asked for.
        column: String,
        /// The number of columns with that name.
        times: usize,
    },
    /// A row has a different number of fields than the header.
    #[error("{place} has {}, the header has {expected}", counted(*fields as u64, "field"))]
    Ragged {
        /// The place of the row.
        place: Place,
        /// Fields in the row.
        fields: usize,
        /// Fields in the header.
        expected: usize,
    },
    /// The file ends inside a quoted field.
    #[error("{place} opens a quoted field that is never closed")]
    UnclosedQuote {
        /// The row with the open field.
        place: Place,
    },
    /// The header ends the file inside a quoted field.
    #[error("the header opens a quoted field that is never closed")]
    UnclosedHeader,
    /// A key is not UTF-8.
    #[error(
        "{place}, column `{column}`: not valid UTF-8; convert the file to UTF-8, for example with \
         `iconv -f WINDOWS-1252 -t UTF-8`"
    )]
    NotUtf8 {
        /// The place of the key.
        place: Place,
        /// The key column.
        column: String,
    },
    /// A key holds a NUL character.
    #[error("{place}, column `{column}`: holds a NUL character; the file may be damaged")]
    Nul {
        /// The place of the key.
        place: Place,
        /// The key column.
        column: String,
    },
    /// A key is missing, and the policy forbids that.
    #[error(
        "{place}, column `{column}`: the key {}; fill it, or skip rows without a key",
        if *null_value { "is a null value such as NULL" } else { "is empty" }
    )]
    NullKey {
        /// The first such row.
        place: Place,
        /// The key column.
        column: String,
        /// The column has a value, which stands for a missing one.
        null_value: bool,
    },
    /// A key occurs twice, and the policy forbids that.
    #[error(
        "{second} has the same key as {first}; {} the key of an earlier row: remove them, or let each key take part \
         once",
        repeating(*rows)
    )]
    DuplicateKey {
        /// The earlier row.
        first: Place,
        /// The first row that repeats a key.
        second: Place,
        /// The number of rows that repeat a key.
        rows: u64,
    },
    /// The values of a row that are sent to the other side are longer than agreed.
    #[error(
        "{place}, column `{column}`: up to this column, the row's values need more than the {bytes} bytes that are sent \
         (each value takes its length plus 2); send fewer columns, or allow more bytes with --send-bytes"
    )]
    TooLongToSend {
        /// The first such row.
        place: Place,
        /// The column with which they become too long.
        column: String,
        /// Bytes of a row's values.
        bytes: u32,
    },
    /// More rows have one key than may be sent.
    #[error(
        "{place} has the same key as {first}, and at most {} of one key may be sent; remove rows, or allow more \
         with --duplicates all:N", counted(u64::from(*rows), "row")
    )]
    TooManyRowsToSend {
        /// The first row that is one too many.
        place: Place,
        /// The first row of that key.
        first: Place,
        /// The number of rows that may be sent.
        rows: u32,
    },
    /// A value to be added up is not a number, or has too many decimal places.
    #[error("{place}, column `{column}`: {}", expected_number(*scale))]
    NotANumber {
        /// The place of the value.
        place: Place,
        /// The column of values.
        column: String,
        /// The number of decimal places allowed.
        scale: u8,
    },
    /// A value to be added up is missing, and the policy forbids that.
    #[error(
        "{place}, column `{column}`: the value is empty; fill it, or skip empty ones, which count as 0"
    )]
    NullValue {
        /// The first such row.
        place: Place,
        /// The column of values.
        column: String,
    },
    /// Values could add up to more than a sum holds.
    #[error(
        "{place}, column `{column}`: the values up to here, signs aside, add up to more than 2^63 - 1; \
         use fewer rows, or a larger unit"
    )]
    SumTooLarge {
        /// The first row with which they do.
        place: Place,
        /// The column of values.
        column: String,
    },
    /// A value is missing in a column of a query whose declaration does not allow it.
    #[error(
        "{place}, column `{column}`: the value is empty; fill it, or declare the column with a question mark at the end, \
         as in --column 'spend:decimal(2)?'"
    )]
    UndeclaredNull {
        /// The place of the value.
        place: Place,
        /// The column.
        column: String,
    },
    /// A value is neither true nor false.
    #[error("{place}, column `{column}`: neither true nor false")]
    NotABoolean {
        /// The place of the value.
        place: Place,
        /// The column.
        column: String,
    },
    /// A value is not in the list of labels that the column's declaration has.
    #[error(
        "{place}, column `{column}`: the value is not one of the labels that --column lists; correct it, or agree on a \
         list that has it"
    )]
    UndeclaredLabel {
        /// The place of the value.
        place: Place,
        /// The column.
        column: String,
    },
    /// A column has more distinct labels than its declaration allows.
    #[error(
        "{place}, column `{column}`: the column has more than the {most} labels that its declaration allows; agree on more \
         with --column, or group rare ones"
    )]
    TooManyLabels {
        /// The first row with one too many.
        place: Place,
        /// The column.
        column: String,
        /// The maximum.
        most: u32,
    },
    /// A label is too long.
    #[error("{place}, column `{column}`: the label has more than {max} bytes; use shorter ones")]
    LongLabel {
        /// The place of the label.
        place: Place,
        /// The column.
        column: String,
        /// The maximum length in bytes.
        max: usize,
    },
    /// A label has control characters, or characters that cannot be seen.
    #[error(
        "{place}, column `{column}`: the label has control characters or invisible ones; remove them"
    )]
    HiddenLabel {
        /// The place of the label.
        place: Place,
        /// The column.
        column: String,
    },
    /// Rows with one key have different labels.
    #[error(
        "{place} has the same key as {first}, and another label; a key counts in one group: remove rows, or group by a \
         column that is the same in all rows of a key"
    )]
    SeveralLabels {
        /// The row with the other label.
        place: Place,
        /// The first row of that key.
        first: Place,
    },
    /// Rows with one key have more labels than its declaration allows, within the days that count.
    #[error(
        "{place} has the same key as {first}, and a label too many: within the days that count, a key has at most {most}; \
         agree on more with --column, as in label<=16/4, or keep fewer rows"
    )]
    TooManyLabelsOfKey {
        /// The row with the label.
        place: Place,
        /// The first row of that key.
        first: Place,
        /// The maximum.
        most: usize,
    },
    /// A key has more rows that pass the filter than its declaration allows.
    #[error(
        "{place} has the same key as {first}, and is one row too many: a key has at most {most} that count; agree on more \
         with --column, as in date[2026-10-01..2026-11-30]/4, or keep fewer rows"
    )]
    TooManyRowsOfKey {
        /// The first row that is one too many.
        place: Place,
        /// The first row of that key.
        first: Place,
        /// The maximum.
        most: usize,
    },
    /// A value is not a date.
    #[error(
        "{place}, column `{column}`: not a date; write dates as YYYY-MM-DD, a time of day may follow"
    )]
    NotADate {
        /// The place of the value.
        place: Place,
        /// The column.
        column: String,
    },
    /// A date is not in the period that its column declares.
    #[error(
        "{place}, column `{column}`: the day is not {days}; leave out this row, or agree on another period \
         with --column"
    )]
    OutsidePeriod {
        /// The place of the value.
        place: Place,
        /// The column.
        column: String,
        /// The days that it may be, as words: from the first to the last.
        days: Box<str>,
    },
    /// The table has no rows, and the settings forbid that.
    #[error("{}; if that is intended, run with --allow-empty", if *header { "has a header but no rows" } else { "is empty, without even a header" })]
    Empty {
        /// Whether there is a header.
        header: bool,
    },
    /// The table has more rows than a run can hold.
    #[error("has more than {max} rows; split it")]
    TooManyRows {
        /// The most there may be.
        max: u64,
    },
}

fn repeating(rows: u64) -> String {
    format!("{} {}", counted(rows, "row"), if rows == 1 { "repeats" } else { "repeat" })
}

fn no_keys(rows: u64, null_values: u64) -> String {
    let part = |rows: u64, what: &str| (rows > 0).then(|| format!("{} {what}", grouped(rows)));
    let parts = [
        part(
            rows.saturating_sub(null_values),
            "with an empty or unsuitable value (see --normalize)",
        ),
        part(null_values, "with a null value such as NULL"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

fn expected_number(scale: u8) -> String {
    match scale {
        0 => "not a whole number from -2^63 to 2^63 - 1; for decimals name a scale".to_owned(),
        _ => format!(
            "not a number with at most {scale} decimal places, written like -1234.5, or too large"
        ),
    }
}
