//! An input that is open and read to the end of its header only.
//!
//! So a missing file, a foreign format or a misspelt column is found before the other side is contacted. This holds for
//! a pipe, too: the bytes that were read are kept.

use std::{
    env,
    io::{self, Read},
};

use vesica_core::error::{Error, InputFault, Misuse, Result};

pub use crate::format::Columns;
use crate::{
    arrow::Arrow,
    compression::Compression,
    content::Content,
    database::{Place, Rows},
    directory,
    disk::File,
    foreign::{self, SAMPLE},
    format::{Beginning, Format, OpenText, OpenedTable, Recognition, TextOpening},
    head::Head,
    header::Header,
    rows::Scan,
    source::{Dialect, Source},
    spool::Spool,
    stored::Stored,
    text::{Text, longest_record, unreadable},
};

/// The number of bytes read at a time while looking for the end of the header.
const CHUNK: usize = 1 << 16;

/// An open input.
pub struct Input {
    name: String,
    format: Format,
    header: Header,
    /// Whether the input is known to have no rows.
    is_empty: bool,
    body: Body,
}

/// The part that is read later.
enum Body {
    /// A text, whose header is known.
    Text(Box<TextBody>),
    /// A table whose metadata locates the rest.
    Stored(Box<dyn Content>),
}

struct TextBody {
    raw: Raw,
    packing: Option<Compression>,
    open: OpenText,
    dialect: Dialect,
}

impl Source {
    /// Opens the source and reads its header.
    ///
    /// # Errors
    /// [`InputFault::Io`], [`InputFault::NotText`] for a file that is obviously in another format,
    /// [`InputFault::UnclosedHeader`], [`InputFault::BrokenLine`], [`InputFault::Damaged`] and
    /// [`InputFault::TooLarge`].
    pub fn open(self, dialect: impl Into<Dialect>) -> Result<Input> {
        let (name, mut dialect) = (self.name(), dialect.into());
        let fault = |fault| Error::Input { file: name.clone(), fault };
        let promised = match &self {
            Self::File(path) => Format::of_name(path),
            Self::Object(address) => Format::of_name(address.as_ref()),
            _ => None,
        };
        let stored = |file| Stored::file(&name, file).map(Raw::Stored);
        // A file never blocks its reader, so its beginning is read whole.
        let (raw, at_least): (Raw, _) = match self {
            Self::File(path) => {
                if let Some(found) = directory::refused(&path) {
                    return Err(fault(found));
                }
                let file = File::open(&path).map_err(|error| fault(InputFault::Io(error)))?;
                match file.metadata().is_ok_and(|found| found.is_file()) {
                    true => (stored(file)?, CHUNK),
                    false => (Raw::Stream(Spool::new(Box::new(file))), 0),
                }
            }
            Self::Object(address) => (Raw::Stored(Stored::object(&address)?), CHUNK),
            Self::Database { address, query } => {
                let place = Place::parse(&address)?;
                let query = place.query(query.as_deref())?;
                if *dialect.format.get_or_insert(Format::ARROW_STREAM) != Format::ARROW_STREAM {
                    let message = "the rows of a database have types: leave out --format";
                    return Err(Error::usage(Misuse::Input, message));
                }
                let rows = Rows::of(&place, &query, dialect.most_bytes());
                let rows = rows.map_err(|error| fault(InputFault::Io(error)))?;
                (Raw::Stream(Spool::new(Box::new(rows))), 0)
            }
            Self::Stdin => (Raw::Stream(Spool::new(Box::new(io::stdin()))), 0),
            Self::Arrow { name, table } => {
                if dialect.format.is_some() {
                    let message = "a table in memory has types: leave out the format";
                    return Err(Error::usage(Misuse::Input, message));
                }
                let table = Arrow::in_memory(name.clone(), table)?;
                return Ok(Input::stored(name, Format::ARROW_STREAM, table));
            }
            Self::Memory { bytes, .. } => (Raw::Stored(Stored::memory(&name, bytes)), CHUNK),
        };
        Opening { name: name.clone(), dialect, promised, at_least }.open(raw)
    }
}

/// The source of the bytes.
enum Raw {
    /// Bytes that can be read from any offset.
    Stored(Stored),
    /// Bytes that arrive only once.
    Stream(Spool),
}

impl Raw {
    /// Returns a reader from the beginning.
    fn reader(&self) -> Box<dyn Read + Send> {
        match self {
            Self::Stored(stored) => Box::new(stored.reader(0)),
            Self::Stream(spool) => Box::new(spool.reader()),
        }
    }

    /// Returns the bytes for reading from any offset. A stream is read to its end for this.
    fn into_stored(self, name: &str, dialect: &Dialect) -> Result<Stored> {
        match self {
            Self::Stored(stored) => Ok(stored),
            Self::Stream(spool) => {
                let spill = dialect.spill.clone();
                spool.finish(name, &spill.unwrap_or_else(env::temp_dir))
            }
        }
    }
}

/// An input being opened.
struct Opening {
    name: String,
    dialect: Dialect,
    /// The format that its name promises.
    promised: Option<Format>,
    /// The number of bytes that are read in any case, if there are that many.
    at_least: usize,
}

impl Opening {
    fn open(self, raw: Raw) -> Result<Input> {
        let (mut head, mut reader, mut ended) = (Vec::new(), raw.reader(), false);
        let undecided = |head: &[u8]| {
            Format::of_beginning(head).is_err() || Compression::of_beginning(head).is_err()
        };
        while !ended && (undecided(&head) || head.len() < self.at_least.min(CHUNK)) {
            let read = read_some(&mut *reader, &mut head);
            ended = read.map_err(|error| self.fault(InputFault::Io(error)))? == 0;
        }
        let binary = Format::of_beginning(&head).unwrap_or_default();
        let packing = Compression::of_beginning(&head).unwrap_or_default();
        let promised = self.promised.filter(|_| packing.is_none());
        let wanted = self.dialect.format.or(binary).or(promised);
        if let Some(format) = wanted
            && let Recognition::Stored(opening) = format.0.recognition
        {
            // The content has another format than the name promises.
            if self.dialect.format.is_none()
                && binary.is_none()
                && let Some((format, advice)) = foreign::foreign(&head)
            {
                return Err(self.fault(InputFault::NotText { format, advice }));
            }
            let stored = raw.into_stored(&self.name, &self.dialect)?;
            let opened = (opening.open)(stored, self.dialect.most_bytes())?;
            return Ok(Input::stored(self.name, format, opened));
        }
        if let Some(packing) = packing {
            let unpacked = packing.unpack(raw.reader(), self.dialect.held_bytes());
            reader = unpacked.map_err(|error| self.fault(InputFault::Io(error)))?;
            (head, ended) = (Vec::new(), false);
        }
        self.read_header(head, ended, reader, raw, packing)
    }

    fn fault(&self, fault: InputFault) -> Error {
        Error::Input { file: self.name.clone(), fault }
    }

    /// Reads the header of a text. The beginning, whether that is all of it, and a reader of the rest are given.
    fn read_header(
        self,
        mut head: Vec<u8>,
        mut ended: bool,
        mut rest: Box<dyn Read + Send>,
        raw: Raw,
        packing: Option<Compression>,
    ) -> Result<Input> {
        let mut looked_at = 0;
        let longest = longest_record(self.dialect.held_bytes()).max(SAMPLE as u64);
        let delimiter = self.dialect.delimiter;
        loop {
            // A long header is examined again only when it has doubled.
            let is_due = head.len() <= CHUNK || head.len() >= 2 * looked_at;
            if !head.is_empty() && is_due && head.len() >= self.at_least {
                looked_at = head.len();
                if ended || self.is_enough(&head) {
                    break;
                }
            }
            if ended {
                break;
            }
            if head.len() as u64 >= longest {
                return Err(self.fault(InputFault::LongRecord { line: Some(1), max: longest }));
            }
            let read = read_some(&mut *rest, &mut head);
            let read = read.map_err(|error| self.fault(unreadable(packing, error)))?;
            ended = read == 0;
        }
        let head = Head::new(&self.name, &head)?;
        let (format, text) = self.text_format(head, ended);
        let Beginning { header, has_rows, open } = (text.begin)(head, delimiter)?;
        let is_empty = ended && !has_rows;
        let body = TextBody { raw, packing, open, dialect: self.dialect };
        let body = Body::Text(Box::new(body));
        Ok(Input { name: self.name, format, header, is_empty, body })
    }

    /// Returns the format of a text: the requested one, or the one of its first line, or of its name.
    fn text_format(&self, head: Head<'_>, ended: bool) -> (Format, &'static TextOpening) {
        if let Some(format) = self.dialect.format
            && let Recognition::Text(text) = format.0.recognition
        {
            return (format, text);
        }
        let body = head.bytes()[head.body()..].trim_ascii_start();
        let line = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Format::of_line(line, ended || line.len() < body.len(), self.promised)
    }

    /// Whether this beginning has the whole header and enough rows to recognize the delimiter, or is not a table.
    fn is_enough(&self, head: &[u8]) -> bool {
        if foreign::foreign(head).is_some() {
            return true;
        }
        let Ok(text) = Head::new(&self.name, head) else { return true };
        let (_, opening) = self.text_format(text, false);
        (opening.is_enough)(text, self.dialect.delimiter)
    }
}

impl Input {
    fn stored(name: String, format: Format, opened: OpenedTable) -> Self {
        let OpenedTable { header, rows, content } = opened;
        let header = header.of_rows(rows);
        Self { name, format, header, is_empty: rows == 0, body: Body::Stored(content) }
    }

    /// Returns the name used in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the format of the table.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the names of the columns, as far as they are known.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether the table is already known to have no rows.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Returns an [`Error::Input`] of this input.
    pub fn fault(&self, fault: InputFault) -> Error {
        Error::Input { file: self.name.clone(), fault }
    }

    /// Makes sure that these columns exist and have types that a run can read. This does not apply to a table without a
    /// header, and in NDJSON a later line may have columns that the first one lacks.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub fn require(&self, columns: &[&str]) -> Result<()> {
        if self.header.is_missing() || self.format.0.header_grows {
            return Ok(());
        }
        self.header.find(columns).map(drop).map_err(|fault| self.fault(fault))
    }

    /// Makes sure that these columns can be sent.
    ///
    /// # Errors
    /// As for [`Input::require`].
    pub fn require_to_send(&self, columns: &[&str]) -> Result<()> {
        if self.header.is_missing() || self.format.0.header_grows {
            return Ok(());
        }
        self.header.find_sent(columns).map(drop).map_err(|fault| self.fault(fault))
    }

    /// Makes sure that these columns can be written.
    ///
    /// # Errors
    /// As for [`Input::require`].
    pub fn require_to_select(&self, columns: &[&str]) -> Result<()> {
        if self.header.is_missing() || self.format.0.header_grows {
            return Ok(());
        }
        self.header.find_written(columns).map(drop).map_err(|fault| self.fault(fault))
    }

    /// Makes sure that all columns can be written.
    ///
    /// # Errors
    /// [`InputFault::ColumnType`].
    pub fn require_to_write(&self) -> Result<()> {
        self.header.assert_written().map_err(|fault| self.fault(fault))
    }

    /// Prepares to read all columns that the header names.
    ///
    /// # Errors
    /// As for [`Source::open`].
    pub fn read(self) -> Result<Scan> {
        let names = self.header.names();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let all = (0..names.len()).collect();
        self.scan(Columns { keys: &names, ..Columns::default() }, all)
    }

    /// Prepares to read these columns and decode no others. A stream is read whole, into memory or to disk.
    ///
    /// # Errors
    /// As for [`Source::open`] and [`Input::require`].
    pub fn read_columns(self, columns: Columns<'_>) -> Result<Scan> {
        self.scan(columns, Vec::new())
    }

    /// Prepares to read like [`Input::read_columns`], and decodes `all` columns, of any type, unless that is empty.
    fn scan(self, columns: Columns<'_>, all: Vec<usize>) -> Result<Scan> {
        let Self { name, format, header, body, .. } = self;
        let (header, content, packing): (_, Box<dyn Content>, _) = match body {
            Body::Stored(content) => (header, content, None),
            Body::Text(body) => {
                let TextBody { raw, packing, open, dialect } = *body;
                let stored = raw.into_stored(&name, &dialect)?;
                let text = Text::new(stored, packing, dialect.held_bytes());
                let (header, content) = open(text, columns);
                (header, content, packing)
            }
        };
        let compression = packing.map(Compression::name);
        let mut scan = Scan { name, format, compression, header, content, wanted: all };
        if scan.wanted.is_empty() && !scan.header.is_missing() {
            let names: Vec<_> = columns.keys.iter().chain(columns.values).copied().collect();
            scan.wanted = scan.find(&names)?;
            scan.wanted.extend(scan.find_sent(columns.sent)?);
        }
        Ok(scan)
    }
}

/// Appends the next bytes, and returns their number.
fn read_some(from: &mut dyn Read, to: &mut Vec<u8>) -> io::Result<usize> {
    let before = to.len();
    to.resize(before + CHUNK, 0);
    let read = loop {
        match from.read(&mut to[before..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    to.truncate(before + *read.as_ref().unwrap_or(&0));
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Delimiter;

    /// A reader that gives a few bytes at a time, and panics when asked for more than there are.
    struct Slow(Vec<&'static [u8]>);

    impl Read for Slow {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            assert!(!self.0.is_empty(), "read on after the header");
            let piece = self.0.remove(0);
            to[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    fn open(pieces: &[&'static [u8]]) -> Result<Input> {
        let dialect = Delimiter::Comma.into();
        let opening = Opening { name: "t".into(), dialect, promised: None, at_least: 0 };
        opening.open(Raw::Stream(Spool::new(Box::new(Slow(pieces.to_vec())))))
    }

    #[test]
    fn a_pipe_is_read_to_the_end_of_its_header_and_no_further() {
        for pieces in [
            &[&b"k,"[..], b"v", b"\n"][..],
            &[b"\xef\xbb\xbfk,", b"v\r\n"],
            &[b"\n\n", b"k,\"v", b"\n", b"w\"\n"],
            &[b"k,v\r", b""],
        ] {
            let input = open(pieces).unwrap();
            assert_eq!(input.header().find(&["k"]).unwrap(), [0]);
            assert_eq!(input.header().width(), 2);
        }
        let input = open(&[b"k\nx\n", b"y\n", b""]).unwrap();
        assert!(!input.is_empty());
        let mut rows = Vec::new();
        let table = input.read().unwrap().rows(|row| {
            rows.push(row.field(0).to_vec());
            Ok(())
        });
        assert_eq!(
            (table.unwrap().digest().unwrap().bytes, rows),
            (6, vec![b"x".into(), b"y".into()])
        );
    }

    #[test]
    fn a_foreign_file_is_not_read_to_its_end() {
        let refused = |pieces| open(pieces).err().unwrap().to_string();
        assert!(refused(&[b"\xfd7zXZ\0"]).contains("an xz file"));
        assert!(refused(&[b"k,\"v\n", b""]).contains("the header opens a quoted field"));
    }

    #[test]
    fn emptiness_is_known_once_the_end_was_seen() {
        for (pieces, is_empty) in [
            (&[&b""[..]][..], true),
            (&[b"k", b""], true),
            (&[b"k\n"], false),
            (&[b"\n\n", b""], true),
        ] {
            assert_eq!(open(pieces).unwrap().is_empty(), is_empty, "{pieces:?}");
        }
        let source = Source::Memory { name: "t".into(), bytes: b"k\n".to_vec() };
        assert!(source.open(Delimiter::Auto).unwrap().is_empty());
    }

    /// Tests each kind of text with one very long record, packed and not: its reader gives up at an eighth of the
    /// memory.
    #[test]
    fn a_record_is_bounded_in_every_text() {
        const MEMORY: u64 = 1 << 23;
        let long = |begins: &str| [begins.as_bytes(), &vec![b'a'; MEMORY as usize / 4]].concat();
        let texts = [
            (long("k,v\n1,2\n"), Some("line 3 ")),
            (long("k,v\n1,2\n3,\""), Some("line 3 ")),
            (long("k,"), None),
            (long("k,\"v"), None),
            (long("{\"k\":1}\n{\"k\":\""), Some("line 2 ")),
            (long("{\"k\":\""), None),
        ];
        for (text, place) in texts {
            let shown = String::from_utf8_lossy(&text[..20]).into_owned();
            let mut forms = vec![text.clone()];
            for packing in [Compression::Gzip, Compression::Zstd] {
                let mut packed = Vec::new();
                packing.pack(&mut packed, |out| out.write_all(&text)).unwrap();
                forms.push(packed);
            }
            for bytes in forms {
                let dialect = Dialect { most_bytes: Some(MEMORY), ..Dialect::default() };
                let source = Source::Memory { name: "t".into(), bytes };
                let columns = Columns { keys: &["k"], ..Columns::default() };
                let read = source.open(dialect).and_then(|input| input.read_columns(columns));
                let error = read.and_then(|scan| scan.rows(|_| Ok(()))).err();
                let error = error.map(|error| error.to_string()).unwrap_or_default();
                assert!(error.contains("has a row of more than 1.0 MiB"), "{shown}: {error}");
                assert!(error.contains(place.unwrap_or("line 1 ")), "{shown}: {error}");
            }
        }
        // A record of the maximum length is read.
        let row = "a".repeat(MEMORY as usize / 8 - 100);
        let bytes = format!("k\n{row}\n{row}\n").into_bytes();
        let dialect = Dialect { most_bytes: Some(MEMORY), ..Dialect::default() };
        let input = Source::Memory { name: "t".into(), bytes }.open(dialect).unwrap();
        assert!(input.read().unwrap().rows(|_| Ok(())).is_ok());
    }
}
