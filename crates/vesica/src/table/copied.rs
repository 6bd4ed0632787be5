//! Copies of some fields of rows, which outlive what the rows were read from.

use crate::table::rows::{Fields, Origin, Row};

/// Rows that follow each other.
#[derive(Debug, Default)]
pub(crate) struct CopiedRows {
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
    pub(crate) fn push(&mut self, row: &Row<'_>, columns: &[usize]) {
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

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// How many bytes their fields have.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The rows, from the table of this origin.
    pub(crate) fn iter<'a>(&'a self, origin: &'a Origin<'a>) -> impl Iterator<Item = Row<'a>> {
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
