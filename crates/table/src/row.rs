//! Rows of a table in any format, and copies of them.

use vesica_core::error::{Error, InputFault, Place};

use crate::{records::Record, text::Text, typed::TextColumn};

/// A row that is shown.
pub struct Row<'a> {
    /// The number of the row, counted from 1.
    pub(crate) number: u64,
    /// The place of the row in the table.
    pub origin: Origin<'a>,
    pub(crate) fields: Fields<'a>,
}

/// The source of a row.
pub enum Origin<'a> {
    /// A text.
    Text {
        /// The text.
        text: &'a Text,
        /// The offset of the row's first byte.
        offset: u64,
        /// The number of stored bytes that were read before the row.
        read: u64,
    },
    /// The typed table with this name, and the number of its rows as far as known.
    Typed(&'a str, u64),
}

/// The values of a row.
pub(crate) enum Fields<'a> {
    /// A record of delimited text.
    Record(Record<'a>),
    /// The value in each column, empty if missing, and whether it is present.
    Values(&'a [(Vec<u8>, bool)]),
    /// A row of decoded columns; the others are missing.
    Batch(&'a [Option<TextColumn>], usize),
    /// A row among copies, by its position; columns that were not copied are missing.
    Copied(&'a CopiedRows, usize),
}

impl<'a> Row<'a> {
    /// Returns the number of the row, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the row's place.
    pub fn place(&self) -> Place {
        match self.origin {
            Origin::Text { text, offset, .. } => text.place(self.number, offset),
            Origin::Typed(..) => Place { row: self.number, line: None },
        }
    }

    /// Returns the part of the table before the row, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        match self.origin {
            Origin::Text { text, read, .. } => text.fraction(read),
            Origin::Typed(_, rows) => ((self.number - 1) as f64 / rows.max(1) as f64).min(1.0),
        }
    }

    /// Returns the value in a column as text, which is the unquoted field of a CSV file; empty for a missing value.
    pub fn field(&self, column: usize) -> &'a [u8] {
        self.value(column).unwrap_or_default()
    }

    /// Returns the same as [`Row::field`], but `None` for a missing value. In delimited text each field has a value,
    /// which may be empty.
    pub(crate) fn value(&self, column: usize) -> Option<&'a [u8]> {
        match self.fields {
            Fields::Record(record) => record.get(column),
            Fields::Values(values) => {
                let (value, is_there) = values.get(column)?;
                is_there.then_some(value)
            }
            Fields::Batch(columns, row) => columns.get(column)?.as_ref()?.value(row),
            Fields::Copied(rows, row) => rows.value(row, column),
        }
    }

    /// Returns an [`Error::Input`] of its table.
    pub fn fault(&self, fault: InputFault) -> Error {
        match self.origin {
            Origin::Text { text, .. } => text.fault(fault),
            Origin::Typed(name, _) => Error::Input { file: name.to_owned(), fault },
        }
    }
}

/// Copies of some fields of consecutive rows, which outlive the source of the rows.
#[derive(Debug, Default)]
pub struct CopiedRows {
    /// The positions of the columns that are copied.
    columns: Vec<usize>,
    /// For each row its number, its offset in a text, and the number of stored bytes read before.
    places: Vec<(u64, u64, u64)>,
    bytes: Vec<u8>,
    /// For each field its end in `bytes`, and whether there is a value.
    fields: Vec<(usize, bool)>,
}

impl CopiedRows {
    /// Copies the fields of a row in these columns, which are the same for all.
    pub fn push(&mut self, row: &Row<'_>, columns: &[usize]) {
        if self.columns.is_empty() {
            self.columns.extend_from_slice(columns);
        }
        let (offset, read) = match row.origin {
            Origin::Text { offset, read, .. } => (offset, read),
            Origin::Typed(..) => (0, 0),
        };
        self.places.push((row.number, offset, read));
        for column in columns {
            let value = row.value(*column);
            self.bytes.extend_from_slice(value.unwrap_or_default());
            self.fields.push((self.bytes.len(), value.is_some()));
        }
    }

    /// Removes the rows, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.places.clear();
        self.bytes.clear();
        self.fields.clear();
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of bytes in their fields.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the rows, as rows of this origin.
    pub fn iter<'a>(&'a self, origin: &'a Origin<'a>) -> impl Iterator<Item = Row<'a>> {
        self.places.iter().enumerate().map(move |(row, &(number, offset, read))| {
            let origin = match *origin {
                Origin::Text { text, .. } => Origin::Text { text, offset, read },
                Origin::Typed(name, rows) => Origin::Typed(name, rows),
            };
            Row { number, origin, fields: Fields::Copied(self, row) }
        })
    }

    /// Returns the value of a row in a column.
    pub(crate) fn value(&self, row: usize, column: usize) -> Option<&[u8]> {
        let place = self.columns.iter().position(|copied| *copied == column)?;
        let field = row * self.columns.len() + place;
        let (end, is_there) = *self.fields.get(field)?;
        let start = field.checked_sub(1).map_or(0, |before| self.fields[before].0);
        is_there.then(|| &self.bytes[start..end])
    }
}
