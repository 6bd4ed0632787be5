//! A table, whatever its format: rows that are shown one by one, and rows that are written.
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
    text::{LineEnds, Text},
    written::{Matched, Unwritten, Written},
};

/// A table of which the header has been read.
pub struct Scan {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) compression: Option<&'static str>,
    pub(crate) header: Header,
    pub(crate) content: Box<dyn Content>,
    /// The columns to be decoded.
    pub(crate) wanted: Vec<usize>,
}

impl Scan {
    /// The names of the columns.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the table is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What it was packed with: `gzip` or `zstd`.
    pub fn compression(&self) -> Option<&'static str> {
        self.compression
    }

    /// What separates the fields of a row, where something does.
    pub fn delimiter(&self) -> Option<&'static str> {
        self.content.delimiter()
    }

    /// The positions of the columns that are decoded.
    pub fn wanted(&self) -> &[usize] {
        &self.wanted
    }

    /// The positions of the columns with these names.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub fn find(&self, names: &[&str]) -> Result<Vec<usize>> {
        let fault = |fault| Error::Input { file: self.name.clone(), fault };
        self.header.find(names).map_err(fault)
    }

    /// As [`Scan::find`], of columns that are sent.
    ///
    /// # Errors
    /// As [`Scan::find`].
    pub(crate) fn find_sent(&self, names: &[&str]) -> Result<Vec<usize>> {
        let fault = |fault| Error::Input { file: self.name.clone(), fault };
        self.header.find_sent(names).map_err(fault)
    }

    /// Shows every row in order.
    ///
    /// # Errors
    /// [`Error::Input`], and whatever `show` returns.
    pub fn rows(mut self, mut show: impl FnMut(Row<'_>) -> Result<()>) -> Result<Table> {
        let rows = self.content.read(&self.wanted, &mut show)?;
        let Self { name, format, header, content, .. } = self;
        Ok(Table { name, format, header, content, rows })
    }
}

/// A table of which all rows have been shown.
pub struct Table {
    name: String,
    format: Format,
    header: Header,
    content: Box<dyn Content>,
    rows: u64,
}

impl Table {
    /// How many rows there are.
    pub fn len(&self) -> u64 {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// What the table is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Where its rows come from, whichever row it is.
    pub fn origin(&self) -> Origin<'_> {
        match self.content.text() {
            Some(text) => Origin::Text { text, offset: 0, read: 0 },
            None => Origin::Typed(&self.name, self.rows),
        }
    }

    /// Where a row, counted from 0, is.
    pub fn place(&self, row: usize) -> Place {
        self.content.place(row as u64)
    }

    /// The digest of the input as it came, before it was unpacked.
    pub fn digest(&self) -> Option<&InputDigest> {
        self.content.digest()
    }

    /// What separates the fields of a row, where something does.
    pub(crate) fn delimiter(&self) -> Option<&'static str> {
        self.content.delimiter()
    }

    /// Whether all of it is valid UTF-8, as far as it is text.
    pub fn is_utf8(&self) -> bool {
        self.content.is_utf8()
    }

    /// Counts the rows with quotation marks where delimited text has none.
    pub fn misquoted(&self) -> u64 {
        self.content.misquoted()
    }

    /// Whether it begins with a byte-order mark, if it is text.
    pub fn has_byte_order_mark(&self) -> Option<bool> {
        self.content.text().map(Text::has_byte_order_mark)
    }

    /// How its lines end, if it is text.
    pub fn line_ends(&self) -> Option<LineEnds> {
        self.content.text().and_then(Text::line_ends)
    }

    /// An [`Error::Input`] of this table.
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

    /// As [`Table::write`], but in memory; `None` where only writing gives the rows.
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

    /// Where the columns of these names are, unless there is no header.
    fn positions(&self, select: Option<&[String]>) -> Result<Option<Vec<usize>>> {
        let select = select.filter(|_| !self.header.is_missing());
        let names = select.map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
        let positions = names.map(|names| self.header.positions(&names)).transpose();
        positions.map_err(|fault| self.fault(fault))
    }
}
