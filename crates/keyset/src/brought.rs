//! What a row brings to a run besides its keys.

use vesica_core::error::{InputFault, Result};
use vesica_table::{row::Row, sent_columns::SentColumns};

use crate::{key::Duplicates, reading::Reading};

/// What each row with a key brings, in as many bytes as any other.
#[derive(Debug, Clone)]
pub(crate) enum Brought {
    /// Nothing.
    Nothing,
    /// A number, as eight bytes, little endian: a key's value is the sum over the rows that bear it.
    Number,
    /// The values of columns that are sent: with each key those of as many rows as are sent at most.
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

    /// Bytes of a row.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Number => size_of::<i64>(),
            Self::Columns(sent, _) => sent.bytes as usize,
        }
    }
}

/// Refuses numbers whose magnitudes add up to more than 2^63 − 1.
pub(super) struct Magnitudes {
    column: String,
    total: u64,
}

impl Magnitudes {
    pub(super) fn new(column: &str) -> Self {
        Self { column: column.to_owned(), total: 0 }
    }

    /// Of no rows, in the same column.
    pub(super) fn like(&self) -> Self {
        Self::new(&self.column)
    }

    /// Takes the numbers of other rows, unless they add up to too much with these.
    pub(super) fn append(&mut self, other: &Self) -> std::result::Result<(), ()> {
        let total = self.total.checked_add(other.total);
        self.total = total.filter(|total| *total <= i64::MAX as u64).ok_or(())?;
        Ok(())
    }

    /// Takes the number of a row that has a key.
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
