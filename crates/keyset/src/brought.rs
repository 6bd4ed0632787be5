//! The data that a row contributes to a run besides its keys.

use vesica_core::error::{InputFault, Result};
use vesica_table::{row::Row, sent_columns::SentColumns};

use crate::{key::Duplicates, reading::Reading};

/// The contribution of each row with a key. All rows contribute the same number of bytes.
#[derive(Debug, Clone)]
pub(crate) enum Brought {
    /// Nothing.
    Nothing,
    /// A number, as eight bytes, little endian. A key's value is the sum over its rows.
    Number,
    /// The values of the columns to send. Each key has them from a limited number of its rows.
    Columns(SentColumns, Duplicates),
}

impl Brought {
    pub(super) fn of(reading: &Reading) -> Self {
        match (&reading.values, &reading.sends) {
            (Some(_), _) => Self::Number,
            (None, Some(sent)) => Self::Columns(sent.clone(), reading.duplicates),
            (None, None) => Self::Nothing,
        }
    }

    /// Returns the bytes that a row contributes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Number => size_of::<i64>(),
            Self::Columns(sent, _) => sent.bytes as usize,
        }
    }
}

/// A sum of magnitudes that refuses to exceed 2^63 − 1.
pub(super) struct Magnitudes {
    column: String,
    total: u64,
}

impl Magnitudes {
    pub(super) fn new(column: &str) -> Self {
        Self { column: column.to_owned(), total: 0 }
    }

    /// Returns an empty sum for the same column.
    pub(super) fn like(&self) -> Self {
        Self::new(&self.column)
    }

    /// Adds the numbers of other rows, unless the sum becomes too large.
    pub(super) fn append(&mut self, other: &Self) -> std::result::Result<(), ()> {
        let total = self.total.checked_add(other.total);
        self.total = total.filter(|total| *total <= i64::MAX as u64).ok_or(())?;
        Ok(())
    }

    /// Adds the number of a row that has a key.
    ///
    /// # Errors
    /// [`InputFault::SumTooLarge`].
    pub(super) fn add(&mut self, number: i64, row: &Row<'_>) -> Result<()> {
        let total = self.total.checked_add(number.unsigned_abs());
        self.total = total.filter(|total| *total <= i64::MAX as u64).ok_or_else(|| {
            row.fault(InputFault::SumTooLarge { place: row.place(), column: self.column.clone() })
        })?;
        Ok(())
    }
}
