//! A table in any format, whose rows are shown one by one and written again.
//!
//! Each format implements `Content`.

use std::io::Write;

use vesica_core::error::{Error, InputFault, Place, Result};

pub use crate::content::MAX_ROWS;
use crate::{
    arrow::memory::ArrowTable,
    content::Content,
    digest::InputDigest,
    format::Format,
    header::Header,
    row::{Origin, Row},
    row_number::RowNumber,
    text::{LineEnds, Text},
    written::{Matched, Unwritten, Written},
};

/// A table whose header has been read.
pub struct Scan {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) compression: Option<&'static str>,
    pub(crate) header: Header,
    pub(crate) content: Box<dyn Content>,
    /// The columns to decode.
    pub(crate) wanted: Vec<usize>,
}

impl Scan {
    /// Returns the names of the columns.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the format of the table.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns its compression: `gzip` or `zstd`.
    pub fn compression(&self) -> Option<&'static str> {
        self.compression
    }

    /// Returns the delimiter of a row's fields, if there is one.
    pub fn delimiter(&self) -> Option<&'static str> {
        self.content.delimiter()
    }

    /// Returns the positions of the decoded columns.
    pub fn wanted(&self) -> &[usize] {
        &self.wanted
    }

    /// Returns the positions of the columns with these names.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub fn find(&self, names: &[&str]) -> Result<Vec<usize>> {
        let fault = |fault| Error::Input { file: self.name.clone(), fault };
        self.header.find(names).map_err(fault)
    }

    /// Returns the positions like [`Scan::find`], for columns to send.
    ///
    /// # Errors
    /// As for [`Scan::find`].
    pub(crate) fn find_sent(&self, names: &[&str]) -> Result<Vec<usize>> {
        let fault = |fault| Error::Input { file: self.name.clone(), fault };
        self.header.find_sent(names).map_err(fault)
    }

    /// Shows every row in order.
    ///
    /// # Errors
    /// [`Error::Input`], and any error of `show`.
    pub fn rows(mut self, mut show: impl FnMut(Row<'_>) -> Result<()>) -> Result<Table> {
        let rows = self.content.read(&self.wanted, &mut show)?;
        let Self { name, format, header, content, .. } = self;
        Ok(Table { name, format, header, content, rows })
    }
}

/// A table whose rows have all been shown.
pub struct Table {
    name: String,
    format: Format,
    header: Header,
    content: Box<dyn Content>,
    rows: u64,
}

impl Table {
    /// Returns the number of rows.
    pub fn len(&self) -> u64 {
        self.rows
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the format of the table.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the origin that all its rows share.
    pub fn origin(&self) -> Origin<'_> {
        match self.content.text() {
            Some(text) => Origin::Text { text, offset: 0, read: 0 },
            None => Origin::Typed(&self.name, self.rows),
        }
    }

    /// Returns the place of a row.
    pub fn place(&self, row: RowNumber) -> Place {
        self.content.place(row)
    }

    /// Returns the digest of the input before unpacking.
    pub fn digest(&self) -> Option<&InputDigest> {
        self.content.digest()
    }

    /// Returns the delimiter of a row's fields, if there is one.
    pub(crate) fn delimiter(&self) -> Option<&'static str> {
        self.content.delimiter()
    }

    /// Whether all of its text is valid UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.content.is_utf8()
    }

    /// Counts the rows with misplaced quotation marks in delimited text.
    pub fn misquoted(&self) -> u64 {
        self.content.misquoted()
    }

    /// Whether it begins with a byte-order mark, if it is text.
    pub fn has_byte_order_mark(&self) -> Option<bool> {
        self.content.text().map(Text::has_byte_order_mark)
    }

    /// Returns the kind of its line ends, if it is text.
    pub fn line_ends(&self) -> Option<LineEnds> {
        self.content.text().and_then(Text::line_ends)
    }

    /// Returns an [`Error::Input`] of this table.
    pub fn fault(&self, fault: InputFault) -> Error {
        Error::Input { file: self.name.clone(), fault }
    }

    /// Writes these rows, with the columns of these names or else all.
    ///
    /// # Errors
    /// [`Unwritten`].
    pub fn write(
        &self,
        matched: &Matched,
        select: Option<&[String]>,
        out: &mut (dyn Write + Send),
        mut done: impl FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        let select = self.positions(select)?;
        self.content.write(&Written { matched, select: select.as_deref() }, out, &mut done)
    }

    /// Writes like [`Table::write`], but in memory; `None` if the rows can only be written as bytes.
    pub(crate) fn gather(
        &self,
        matched: &Matched,
        select: Option<&[String]>,
        mut done: impl FnMut(u64),
    ) -> Option<std::result::Result<ArrowTable, Unwritten>> {
        let select = match self.positions(select) {
            Ok(select) => select,
            Err(error) => return Some(Err(error.into())),
        };
        self.content.gather(&Written { matched, select: select.as_deref() }, &mut done)
    }

    /// Returns the positions of the columns with these names, unless the table has no header.
    fn positions(&self, select: Option<&[String]>) -> Result<Option<Vec<usize>>> {
        let select = select.filter(|_| !self.header.is_missing());
        let names = select.map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
        let positions = names.map(|names| self.header.positions(&names)).transpose();
        positions.map_err(|fault| self.fault(fault))
    }
}
