//! The rows of a table, as its format reads and writes them.

use std::io::Write;

use vesica_core::error::{Place, Result};

use crate::{
    arrow::memory::ArrowTable,
    digest::InputDigest,
    row::Row,
    row_number::RowNumber,
    text::Text,
    written::{Unwritten, Written},
};

/// The maximum number of rows of a table: on disk, their numbers have 40 bits.
pub const MAX_ROWS: u64 = 1 << 40;

/// A table of one format. It may be read several times: once for its keys, which decodes only the wanted columns, and
/// again to write the rows that matched.
pub(crate) trait Content: Send {
    /// Shows every row in order, with the fields of `columns`, which are positions in the header, decoded. Returns the
    /// number of rows, at most [`MAX_ROWS`].
    ///
    /// # Errors
    /// [`Error::Input`](vesica_core::error::Error::Input), and the errors of `show`.
    fn read(
        &mut self,
        columns: &[usize],
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64>;

    /// Returns the place of a row that was shown.
    fn place(&self, row: RowNumber) -> Place;

    /// Writes a table of these rows and columns. Reports from time to time the number of rows written.
    ///
    /// # Errors
    /// [`Unwritten`].
    fn write(
        &self,
        what: &Written<'_>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten>;

    /// Returns the same rows in memory, if the table's rows are batches that need not be written for that.
    fn gather(
        &self,
        _what: &Written<'_>,
        _done: &mut dyn FnMut(u64),
    ) -> Option<std::result::Result<ArrowTable, Unwritten>> {
        None
    }

    /// Returns the digest of the input that was read.
    fn digest(&self) -> Option<&InputDigest>;

    /// Whether all text that was read is valid UTF-8.
    fn is_utf8(&self) -> bool {
        true
    }

    /// Counts the rows with misplaced quotation marks in delimited text.
    fn misquoted(&self) -> u64 {
        0
    }

    /// Returns the text, if the table is one.
    fn text(&self) -> Option<&Text> {
        None
    }

    /// Returns the name of the delimiter, if there is one.
    fn delimiter(&self) -> Option<&'static str> {
        None
    }
}
