//! The data that a row contributes to a run besides its keys.

use std::sync::Arc;

use vesica_core::error::{InputFault, Result};
use vesica_table::{row::Row, sent_columns::SentColumns};

use crate::{
    key::Duplicates,
    linked::{AmbiguousKeys, FIELDS_HASH, TOKEN},
    query_columns::{QueryColumns, Slot},
    reading::Reading,
};

/// The contribution of each row with a key. All rows contribute the same number of bytes.
#[derive(Debug, Clone)]
pub(crate) enum Brought {
    /// Nothing.
    Nothing,
    /// A number, as eight bytes, little endian. A key's value is the sum over its rows.
    Number,
    /// The numbers of a query, as eight bytes each.
    Query(Arc<QueryColumns>),
    /// A hash of the row's fields, its numbers, and if columns are sent the row's token and their values.
    Linked(Linked),
    /// The values of the columns to send. Each key has them from a limited number of its rows.
    Columns(SentColumns, Duplicates),
}

impl Brought {
    pub(super) fn of(reading: &Reading) -> Self {
        if let Some(rules) = &reading.rules {
            let (sent, ambiguous) = (reading.sends.clone(), reading.ambiguous);
            let numbers = match (&reading.values, &reading.query) {
                (Some(_), _) => LinkedNumbers::One,
                (None, Some(columns)) => LinkedNumbers::Query(columns.clone()),
                (None, None) => LinkedNumbers::None,
            };
            let fields = rules.fields().len();
            let whole = rules.rules().iter().map(|rule| rule.fields().len() == fields).collect();
            return Self::Linked(Linked { numbers, sent, ambiguous, whole });
        }
        match (&reading.values, &reading.query, &reading.sends) {
            (Some(_), ..) => Self::Number,
            (None, Some(columns), _) => Self::Query(columns.clone()),
            (None, None, Some(sent)) => Self::Columns(sent.clone(), reading.duplicates),
            (None, None, None) => Self::Nothing,
        }
    }

    /// Returns the column of each number of a row; `None` for one that is not added up.
    pub(super) fn columns_of(reading: &Reading) -> Vec<Option<String>> {
        match (&reading.values, &reading.query) {
            (Some((column, _)), _) => vec![Some(column.clone())],
            (None, Some(columns)) => columns.slots().iter().map(Slot::column).collect(),
            (None, None) => Vec::new(),
        }
    }

    /// Returns the bytes that a row contributes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Number => size_of::<i64>(),
            Self::Linked(linked) => linked.len(),
            Self::Query(columns) => columns.slots().len() * size_of::<i64>(),
            Self::Columns(sent, _) => sent.bytes as usize,
        }
    }
}

/// The numbers that a row contributes whose keys rules make, as eight bytes each.
#[derive(Debug, Clone)]
pub(crate) enum LinkedNumbers {
    /// None.
    None,
    /// One, of a column of values.
    One,
    /// The numbers of a query.
    Query(Arc<QueryColumns>),
}

impl LinkedNumbers {
    /// Returns how many there are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One => 1,
            Self::Query(columns) => columns.slots().len(),
        }
    }

    /// Returns the columns of the query.
    pub(crate) fn query(&self) -> Option<&QueryColumns> {
        match self {
            Self::Query(columns) => Some(columns),
            Self::None | Self::One => None,
        }
    }
}

/// The contribution of a row whose keys rules make. It begins with a hash of the row's fields, which differs between
/// rows with different fields and which no key keeps.
#[derive(Debug, Clone)]
pub(crate) struct Linked {
    /// The numbers that follow the hash.
    pub(crate) numbers: LinkedNumbers,
    /// The columns to send.
    pub(crate) sent: Option<SentColumns>,
    /// The treatment of ambiguous keys.
    pub(crate) ambiguous: AmbiguousKeys,
    /// Whether each rule names every field, so that a table does not show which of its rows with one key are of one
    /// person.
    pub(crate) whole: Vec<bool>,
}

impl Linked {
    /// Returns the bytes that a row contributes.
    pub(crate) fn len(&self) -> usize {
        FIELDS_HASH + self.numbers.count() * size_of::<i64>() + self.payload_len()
    }

    /// Returns the bytes of a key's payload: of a row's token, and the values that are sent.
    pub(crate) fn payload_len(&self) -> usize {
        self.sent.as_ref().map_or(0, |sent| TOKEN + sent.payload_len())
    }

    /// Keeps the contributions of the keys that stay.
    pub(crate) fn keep(&self, of_rows: &mut Vec<u8>, stays: impl Iterator<Item = bool>) {
        let len = self.len();
        let mut kept = 0;
        for (at, _) in stays.enumerate().filter(|(_, stays)| *stays) {
            of_rows.copy_within(at * len..(at + 1) * len, kept);
            kept += len;
        }
        of_rows.truncate(kept);
    }
}

/// Sums of magnitudes that refuse to exceed 2^63 − 1, one for each number of a row.
pub(super) struct Magnitudes {
    /// The column of each; `None` for one that is not added up.
    columns: Vec<Option<String>>,
    totals: Vec<u64>,
}

impl Magnitudes {
    pub(super) fn new(columns: Vec<Option<String>>) -> Self {
        Self { totals: vec![0; columns.len()], columns }
    }

    /// Returns empty sums for the same columns.
    pub(super) fn like(&self) -> Self {
        Self::new(self.columns.clone())
    }

    /// Adds the numbers of other rows, unless a sum becomes too large.
    pub(super) fn append(&mut self, other: &Self) -> std::result::Result<(), ()> {
        let mut pairs = self.totals.iter_mut().zip(&other.totals);
        pairs.try_for_each(|(total, other)| grow(total, *other).ok_or(()))
    }

    /// Adds the numbers of a row that has a key.
    ///
    /// # Errors
    /// [`InputFault::SumTooLarge`].
    pub(super) fn add(&mut self, numbers: &[i64], row: &Row<'_>) -> Result<()> {
        let pairs = self.totals.iter_mut().zip(numbers);
        for ((total, number), column) in pairs.zip(&self.columns) {
            let Some(column) = column else { continue };
            grow(total, number.unsigned_abs()).ok_or_else(|| {
                let column = column.clone();
                row.fault(InputFault::SumTooLarge { place: row.place(), column })
            })?;
        }
        Ok(())
    }
}

/// Adds to a total; `None` if it becomes too large.
fn grow(total: &mut u64, more: u64) -> Option<()> {
    *total = total.checked_add(more).filter(|total| *total <= i64::MAX as u64)?;
    Some(())
}
