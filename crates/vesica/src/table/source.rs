//! Where a table's bytes come from, and what kind of text they are.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use crate::{
    error::{Error, InputFault, Place, Result},
    table::{
        format::{self, BOM, Format, SAMPLE},
        remote,
    },
};

/// A file, an object in a store, standard input, or bytes at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// An object in a store, by its address, such as `s3://bucket/table.parquet`.
    Object(String),
    /// Standard input.
    Stdin,
    /// Bytes that are in memory already, under a name for messages.
    Memory {
        /// The name.
        name: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

impl Source {
    /// The file of that path; `-` is standard input, and what begins with `s3://`, `gs://` or `az://` an object.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        match remote::address(&path) {
            Some(address) => Self::Object(address.to_owned()),
            None if path == Path::new("-") => Self::Stdin,
            None => Self::File(path),
        }
    }

    /// The name used in messages.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Object(address) => address.clone(),
            Self::Stdin => "standard input".to_owned(),
            Self::Memory { name, .. } => name.clone(),
        }
    }
}

/// A source, read.
pub struct Text {
    name: String,
    bytes: Vec<u8>,
    /// Where the text begins, after a byte-order mark if there is one.
    body: usize,
}

impl Text {
    /// These bytes, if they may be text.
    ///
    /// # Errors
    /// [`InputFault::NotText`] for what is plainly another format.
    pub(crate) fn new(name: String, bytes: Vec<u8>) -> Result<Self> {
        if let Some((format, advice)) = format::foreign(&bytes) {
            return Err(Error::Input { file: name, fault: InputFault::NotText { format, advice } });
        }
        let body = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        Ok(Self { name, bytes, body })
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Every byte, a byte-order mark included.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The offset of the first byte after a byte-order mark.
    pub fn body(&self) -> usize {
        self.body
    }

    /// Whether it begins with a byte-order mark.
    pub fn has_bom(&self) -> bool {
        self.body > 0
    }

    /// Whether the whole of it is valid UTF-8.
    pub fn is_utf8(&self) -> bool {
        std::str::from_utf8(&self.bytes).is_ok()
    }

    /// How its lines end.
    pub fn line_ends(&self) -> LineEnds {
        let feeds = self.bytes.iter().filter(|b| **b == b'\n').count();
        let returns = self.bytes.iter().filter(|b| **b == b'\r').count();
        let pairs = self.bytes.windows(2).filter(|w| w == b"\r\n").count();
        match (feeds - pairs > 0, returns - pairs > 0, pairs > 0) {
            (false, false, true) => LineEnds::CrLf,
            (_, false, false) => LineEnds::Lf,
            (false, true, false) => LineEnds::Cr,
            _ => LineEnds::Mixed,
        }
    }

    /// The place of a row that begins at this offset.
    pub(crate) fn place(&self, row: u64, offset: usize) -> Place {
        let before = &self.bytes[..offset.min(self.bytes.len())];
        // A lone carriage return ends a line too; one before a line feed does not end another.
        let feeds = before.iter().filter(|b| **b == b'\n').count();
        let lone = before
            .iter()
            .enumerate()
            .filter(|(i, b)| **b == b'\r' && self.bytes.get(i + 1) != Some(&b'\n'))
            .count();
        Place { row, line: Some((feeds + lone) as u64 + 1) }
    }

    /// An [`Error::Input`] of this text.
    pub(crate) fn fault(&self, fault: InputFault) -> Error {
        Error::Input { file: self.name.clone(), fault }
    }
}

/// A line's bytes; with a line end where the text's last line has none.
pub(crate) fn terminated<'a>(line: &'a [u8], end: &[u8]) -> Cow<'a, [u8]> {
    if line.is_empty() || line.ends_with(b"\n") || line.ends_with(b"\r") {
        line.into()
    } else {
        [line, end].concat().into()
    }
}

/// A line's bytes without its line end.
pub(crate) fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnds {
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// A carriage return.
    Cr,
    /// More than one kind.
    Mixed,
}

impl LineEnds {
    /// The usual abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lf => "LF",
            Self::CrLf => "CRLF",
            Self::Cr => "CR",
            Self::Mixed => "mixed",
        }
    }
}

/// How an input is to be understood, where it does not say so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dialect {
    /// Its format; `None` to tell it by its content, or else by its name.
    pub format: Option<Format>,
    /// What separates the fields of a row, in delimited text.
    pub delimiter: Delimiter,
    /// The most bytes that it may have when it is unpacked or read to its end at once; `None` for the budget of a user who
    /// names none.
    pub most_bytes: Option<u64>,
}

impl From<Delimiter> for Dialect {
    fn from(delimiter: Delimiter) -> Self {
        Self { delimiter, ..Self::default() }
    }
}

/// What separates the fields of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delimiter {
    /// `,`
    #[default]
    Comma,
    /// `;`
    Semicolon,
    /// A tab.
    Tab,
    /// `|`
    Bar,
    /// Whichever of the four the first rows agree on; a comma where none does.
    Auto,
}

impl Delimiter {
    /// Every choice, in the order of preference.
    pub const ALL: [Self; 5] = [Self::Comma, Self::Semicolon, Self::Tab, Self::Bar, Self::Auto];

    /// The name in requests and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Semicolon => "semicolon",
            Self::Tab => "tab",
            Self::Bar => "bar",
            Self::Auto => "auto",
        }
    }

    /// The byte, after looking at the text where that is asked for.
    pub(crate) fn byte(self, text: &Text) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Bar => b'|',
            Self::Auto => sniff(text).byte(text),
        }
    }

    /// The delimiter of this byte.
    pub(crate) fn of_byte(byte: u8) -> Self {
        match byte {
            b';' => Self::Semicolon,
            b'\t' => Self::Tab,
            b'|' => Self::Bar,
            _ => Self::Comma,
        }
    }
}

/// How many rows the sniffer compares.
pub(crate) const SNIFFED_ROWS: usize = 20;

/// The delimiter that cuts the header and the first rows into equally many fields, the most of them.
fn sniff(text: &Text) -> Delimiter {
    let sample = &text.bytes[text.body..text.bytes.len().min(text.body + SAMPLE)];
    let fields = |delimiter: Delimiter| {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter.byte(text))
            .from_reader(sample);
        let counts: Vec<usize> = reader
            .byte_records()
            .take(SNIFFED_ROWS)
            .filter_map(std::result::Result::ok)
            .map(|record| record.len())
            .collect();
        // The sample may end in the middle of its last row.
        let whole = counts.len().saturating_sub(1).max(1);
        let first = counts.first().copied().unwrap_or(1);
        if counts.iter().take(whole).all(|count| *count == first) { first } else { 1 }
    };
    let mut best = (Delimiter::Comma, 1);
    for delimiter in [Delimiter::Comma, Delimiter::Semicolon, Delimiter::Tab, Delimiter::Bar] {
        let count = fields(delimiter);
        if count > best.1 {
            best = (delimiter, count);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Text {
        Text::new("t".into(), bytes.to_vec()).unwrap()
    }

    #[test]
    fn a_mark_is_no_part_of_the_body() {
        let marked = text(b"\xef\xbb\xbfid\n");
        assert!(marked.has_bom() && marked.body() == 3);
        assert!(!text(b"id\n").has_bom());
    }

    #[test]
    fn line_ends() {
        assert_eq!(text(b"a\nb\n").line_ends(), LineEnds::Lf);
        assert_eq!(text(b"a\r\nb\r\n").line_ends(), LineEnds::CrLf);
        assert_eq!(text(b"a\rb\r").line_ends(), LineEnds::Cr);
        assert_eq!(text(b"a\r\nb\n").line_ends(), LineEnds::Mixed);
        assert_eq!(text(b"").line_ends(), LineEnds::Lf);
    }

    #[test]
    fn lines_are_counted_whatever_they_end_with() {
        assert_eq!(text(b"a\r\nb\r\nc").place(2, 6).line, Some(3));
        assert_eq!(text(b"a\rb\rc").place(2, 4).line, Some(3));
        assert_eq!(text(b"a\nb\nc").place(2, 4).line, Some(3));
    }

    #[test]
    fn the_sniffer_knows_four_delimiters() {
        let sniffed = |s: &str| sniff(&text(s.as_bytes()));
        assert_eq!(sniffed("a;b\n\"1;2\";3,5\n"), Delimiter::Semicolon);
        assert_eq!(sniffed("a\tb\n1,2\t3\n"), Delimiter::Tab);
        assert_eq!(sniffed("a|b|c\n1|2|3\n"), Delimiter::Bar);
        assert_eq!(sniffed("email\nx@y.org\n"), Delimiter::Comma);
        assert_eq!(sniffed("a,b;c\n1,2;3\n"), Delimiter::Comma);
        assert_eq!(sniffed(""), Delimiter::Comma);
    }
}
