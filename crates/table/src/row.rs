//! A row of a table, whatever its format, and copies of rows.

use vesica_core::error::{Error, InputFault, Place};

use crate::{records::Record, text::Text, typed::TextColumn};

/// A row being shown.
pub struct Row<'a> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// The place of the row in the table.
    pub origin: Origin<'a>,
    pub(crate) fields: Fields<'a>,
}

/// Where a row comes from.
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
    /// The table of this name, with so many rows as far as is known.
    Typed(&'a str, u64),
}

/// The values of a row.
pub(crate) enum Fields<'a> {
    /// A record of delimited text.
    Record(Record<'a>),
    /// For each column its value, which is empty where there is none, and whether there is one.
    Values(&'a [(Vec<u8>, bool)]),
    /// A row of decoded columns; the others are not there.
    Batch(&'a [Option<TextColumn>], usize),
    /// The row at this place among copies; columns that were not copied are not there.
    Copied(&'a CopiedRows, usize),
}

impl<'a> Row<'a> {
    /// Where it is.
    pub fn place(&self) -> Place {
        match self.origin {
            Origin::Text { text, offset, .. } => text.place(self.number, offset),
            Origin::Typed(..) => Place { row: self.number, line: None },
        }
    }

    /// How much of the table is before it, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        match self.origin {
            Origin::Text { text, read, .. } => text.fraction(read),
            Origin::Typed(_, rows) => ((self.number - 1) as f64 / rows.max(1) as f64).min(1.0),
        }
    }

    /// The value in a column as text: what a CSV file would have there, unquoted. Empty where there is none.
    pub fn field(&self, column: usize) -> &'a [u8] {
        self.value(column).unwrap_or_default()
    }

    /// As [`Row::field`]; `None` where there is no value. In delimited text each field has one, which may be empty.
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

    /// An [`Error::Input`] of its table.
    pub fn fault(&self, fault: InputFault) -> Error {
        match self.origin {
            Origin::Text { text, .. } => text.fault(fault),
            Origin::Typed(name, _) => Error::Input { file: name.to_owned(), fault },
        }
    }
}

/// Copies of some fields of rows that follow each other, which outlive what the rows were read from.
#[derive(Debug, Default)]
pub struct CopiedRows {
    /// The positions of the columns that are copied.
    columns: Vec<usize>,
    /// For each row its number, where it begins in a text, and how many stored bytes had been read.
    places: Vec<(u64, u64, u64)>,
    bytes: Vec<u8>,
    /// For each field where it ends in `bytes`, and whether there is a value.
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

    /// Forgets the rows, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.places.clear();
        self.bytes.clear();
        self.fields.clear();
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// How many bytes their fields have.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The rows, from the table of this origin.
    pub fn iter<'a>(&'a self, origin: &'a Origin<'a>) -> impl Iterator<Item = Row<'a>> {
        self.places.iter().enumerate().map(move |(row, &(number, offset, read))| {
            let origin = match *origin {
                Origin::Text { text, .. } => Origin::Text { text, offset, read },
                Origin::Typed(name, rows) => Origin::Typed(name, rows),
            };
            Row { number, origin, fields: Fields::Copied(self, row) }
        })
    }

    /// The value of a row in a column.
    pub(crate) fn value(&self, row: usize, column: usize) -> Option<&[u8]> {
        let place = self.columns.iter().position(|copied| *copied == column)?;
        let field = row * self.columns.len() + place;
        let (end, is_there) = *self.fields.get(field)?;
        let start = field.checked_sub(1).map_or(0, |before| self.fields[before].0);
        is_there.then(|| &self.bytes[start..end])
    }
}
