//! The beginning of a text, and the separators of its fields and lines.

use std::{borrow::Cow, path::Path};

use vesica_core::error::{Error, InputFault, Result};

use crate::{
    compression::ending,
    foreign::{self, BOM, SAMPLE},
};

/// The beginning of a text, or all of it.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    name: &'a str,
    bytes: &'a [u8],
    /// The offset of the text, after a byte-order mark if there is one.
    body: usize,
}

impl<'a> Head<'a> {
    /// Takes these bytes of the input with this name, if they may be text.
    ///
    /// # Errors
    /// [`InputFault::NotText`] for a file that is obviously in another format.
    pub(crate) fn new(name: &'a str, bytes: &'a [u8]) -> Result<Self> {
        let head = Self { name, bytes, body: if bytes.starts_with(BOM) { BOM.len() } else { 0 } };
        match foreign::foreign(bytes) {
            Some((format, advice)) => Err(head.fault(InputFault::NotText { format, advice })),
            None => Ok(head),
        }
    }

    /// Returns every byte, including a byte-order mark.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the offset of the first byte after a byte-order mark.
    pub(crate) fn body(&self) -> usize {
        self.body
    }

    /// Returns an [`Error::Input`] of this text.
    pub(crate) fn fault(&self, fault: InputFault) -> Error {
        Error::Input { file: self.name.to_owned(), fault }
    }
}

/// Returns a line's bytes, with this line end if it has none.
pub(crate) fn terminated<'a>(line: &'a [u8], end: &[u8]) -> Cow<'a, [u8]> {
    if line.is_empty() || line.ends_with(b"\n") || line.ends_with(b"\r") {
        line.into()
    } else {
        [line, end].concat().into()
    }
}

/// Returns the end of a line, or nothing if it has none.
pub(crate) fn line_end(line: &[u8]) -> &'static [u8] {
    const ENDS: [&[u8]; 4] = [b"\r\r\n", b"\r\n", b"\n", b"\r"];
    ENDS.into_iter().find(|end| line.ends_with(end)).unwrap_or_default()
}

/// Returns a line's bytes without its line end.
pub(crate) fn without_line_end(line: &[u8]) -> &[u8] {
    &line[..line.len() - line_end(line).len()]
}

/// The separator of a row's fields.
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
    /// The one of the four on which the first rows agree; a comma if they agree on none.
    Auto,
}

impl Delimiter {
    /// Every choice, in the order of preference.
    pub const ALL: [Self; 5] = [Self::Comma, Self::Semicolon, Self::Tab, Self::Bar, Self::Auto];

    /// Returns the name in requests and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Semicolon => "semicolon",
            Self::Tab => "tab",
            Self::Bar => "bar",
            Self::Auto => "auto",
        }
    }

    /// Returns the delimiter that a file's name promises: a tab for `.tsv` and `.tab`, a bar for `.psv`, and a comma
    /// for any other.
    pub fn of_name(path: &Path) -> Self {
        match ending(path).as_deref() {
            Some("tsv" | "tab") => Self::Tab,
            Some("psv") => Self::Bar,
            _ => Self::Comma,
        }
    }

    /// Returns the byte, after a look at the text for [`Delimiter::Auto`].
    pub(crate) fn byte(self, head: Head<'_>) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Bar => b'|',
            Self::Auto => sniff(head).byte(head),
        }
    }

    /// Returns the delimiter of this byte.
    pub(crate) fn of_byte(byte: u8) -> Self {
        match byte {
            b';' => Self::Semicolon,
            b'\t' => Self::Tab,
            b'|' => Self::Bar,
            _ => Self::Comma,
        }
    }
}

/// The number of rows that the sniffer compares.
pub(crate) const SNIFFED_ROWS: usize = 20;

/// Returns the delimiter that cuts the header and the first rows into equally many fields, and into the most.
fn sniff(head: Head<'_>) -> Delimiter {
    let sample = &head.bytes[head.body..head.bytes.len().min(head.body + SAMPLE)];
    let fields = |delimiter: Delimiter| {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter.byte(head))
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

    fn head(bytes: &[u8]) -> Head<'_> {
        Head::new("t", bytes).unwrap()
    }

    #[test]
    fn a_mark_does_not_belong_to_the_body() {
        assert_eq!(head(b"\xef\xbb\xbfid\n").body(), 3);
        assert_eq!(head(b"id\n").body(), 0);
    }

    #[test]
    fn names_promise_delimiters() {
        for (name, delimiter) in [
            ("a.tsv", Delimiter::Tab),
            ("a.TAB.gz", Delimiter::Tab),
            ("s3://bucket/a.tsv", Delimiter::Tab),
            ("a.psv", Delimiter::Bar),
            ("a.csv", Delimiter::Comma),
            ("-", Delimiter::Comma),
        ] {
            assert_eq!(Delimiter::of_name(Path::new(name)), delimiter, "{name}");
        }
    }

    #[test]
    fn the_sniffer_knows_four_delimiters() {
        let sniffed = |s: &str| sniff(head(s.as_bytes()));
        assert_eq!(sniffed("a;b\n\"1;2\";3,5\n"), Delimiter::Semicolon);
        assert_eq!(sniffed("a\tb\n1,2\t3\n"), Delimiter::Tab);
        assert_eq!(sniffed("a|b|c\n1|2|3\n"), Delimiter::Bar);
        assert_eq!(sniffed("email\nx@y.org\n"), Delimiter::Comma);
        assert_eq!(sniffed("a,b;c\n1,2;3\n"), Delimiter::Comma);
        assert_eq!(sniffed(""), Delimiter::Comma);
    }
}
