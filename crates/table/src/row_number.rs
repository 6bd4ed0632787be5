//! The number of a row of a table.

use vesica_core::error::Place;

/// The number of a row of a table or of one of its partitions, counted from 0. Messages count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct RowNumber(u64);

impl RowNumber {
    /// Creates a row number from an integer, counted from 0.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Creates the number of the row at this index of a list of all rows.
    pub const fn at(index: usize) -> Self {
        Self(index as u64)
    }

    /// Returns the number as an integer, counted from 0.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number as an index into a list of all rows.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the number as messages show it, counted from 1.
    pub const fn ordinal(self) -> u64 {
        self.0 + 1
    }

    /// Returns the numbers of all rows of a table with this many.
    pub fn all(rows: u64) -> impl Iterator<Item = Self> {
        (0..rows).map(Self)
    }

    /// Returns the place of the row in a table without lines.
    pub(crate) fn place(self) -> Place {
        Place { row: self.ordinal(), line: None }
    }
}
