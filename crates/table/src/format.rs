//! Formats of tables.
//!
//! A format is a file that ends in a [`Format`], and a line of the list in `formats.rs`. Nothing else refers to it by
//! name.

use std::fmt;

use vesica_core::error::Result;

use crate::{
    content::Content,
    head::{Delimiter, Head},
    header::Header,
    ingest::Reader,
    stored::Stored,
    text::Text,
};

/// A format of tables that can be read and written.
#[derive(Clone, Copy)]
pub struct Format(pub(crate) &'static FormatKind);

/// The description of a format.
pub(crate) struct FormatKind {
    /// The name in requests and reports.
    pub(crate) name: &'static str,
    /// The title in messages.
    pub(crate) title: &'static str,
    /// The extensions of files' names that promise it, in lower case.
    pub(crate) endings: &'static [&'static str],
    /// Whether a row may have a column that the header lacks.
    pub(crate) header_grows: bool,
    /// Its recognition and opening.
    pub(crate) recognition: Recognition,
    /// Converts rows that were written in the format, in text with this delimiter if it has one, to batches.
    pub(crate) batches: fn(Vec<u8>, Delimiter) -> Result<Reader>,
}

/// The way in which a format is recognized and opened.
pub(crate) enum Recognition {
    /// Text, which may be packed with gzip or Zstandard and is read from the beginning.
    Text(&'static TextOpening),
    /// Any other bytes, whose metadata locates their parts.
    Stored(&'static StoredOpening),
}

/// The opening of a text.
pub(crate) struct TextOpening {
    /// Whether this line, the first that is not blank, certainly belongs to the format.
    pub(crate) is_line: fn(&[u8]) -> bool,
    /// Whether the line probably belongs to the format, unless the file's name promises another.
    pub(crate) is_like_line: fn(&[u8]) -> bool,
    /// Whether this beginning of a text has the whole header, and enough rows to recognize the delimiter.
    pub(crate) is_enough: fn(Head<'_>, Delimiter) -> bool,
    /// Reads the header of a text with this beginning.
    pub(crate) begin: fn(Head<'_>, Delimiter) -> Result<Beginning>,
}

/// A text whose header has been read.
pub(crate) struct Beginning {
    pub(crate) header: Header,
    /// Whether the beginning has a row.
    pub(crate) has_rows: bool,
    /// Opens the whole text, to read and write these columns.
    pub(crate) open: OpenText,
}

pub(crate) type OpenText = Box<dyn FnOnce(Text, Columns<'_>) -> (Header, Box<dyn Content>) + Send>;

/// The opening of other bytes.
pub(crate) struct StoredOpening {
    /// Whether a file that begins with these bytes has the format; `Err` if more of them are needed.
    pub(crate) begins: fn(&[u8]) -> std::result::Result<bool, ()>,
    /// Opens a table. No part that must be in memory whole may exceed this many bytes.
    pub(crate) open: fn(Stored, u64) -> Result<OpenedTable>,
}

/// A table whose metadata has been read.
pub(crate) struct OpenedTable {
    pub(crate) header: Header,
    pub(crate) rows: u64,
    pub(crate) content: Box<dyn Content>,
}

/// The columns that a run reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Columns<'a> {
    /// The columns of the key.
    pub keys: &'a [&'a str],
    /// The columns of values, or those that a query uses.
    pub values: &'a [&'a str],
    /// The columns that are sent.
    pub sent: &'a [&'a str],
    /// The columns that are written, if not all are.
    pub select: &'a [&'a str],
}

impl Format {
    /// Returns the name in requests and reports.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the title in messages.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// Returns whether it is text, which may be packed with gzip or Zstandard.
    pub fn is_text(self) -> bool {
        matches!(self.0.recognition, Recognition::Text(_))
    }

    /// Converts rows that were written in the format, in text with this delimiter if it has one, to batches.
    ///
    /// # Errors
    /// [`Error::Input`](vesica_core::error::Error::Input) for text that is not UTF-8.
    pub(crate) fn batches(self, bytes: Vec<u8>, delimiter: Delimiter) -> Result<Reader> {
        (self.0.batches)(bytes, delimiter)
    }
}

/// Returns whether a file that begins with these bytes begins with all of the magic ones; `Err` if more of them are
/// needed.
pub(crate) fn begins_with(magic: &[u8], head: &[u8]) -> std::result::Result<bool, ()> {
    match head.starts_with(magic) {
        false if magic.starts_with(head) => Err(()),
        begins => Ok(begins),
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({})", self.name())
    }
}
