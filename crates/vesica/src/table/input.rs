//! An input that is open and read as far as its header, and no further.
//!
//! So a missing file, a foreign format or a misspelt column is found before the other side is troubled, also where
//! the input is a pipe, of which what was read is kept.

use std::{
    fs::File,
    io::{self, Cursor, Read},
};

use crate::{
    error::{Error, InputFault, Result},
    host,
    table::{
        arrow::Arrow,
        compression::Compression,
        csv::Csv,
        digest::{self, Hashing, InputDigest, Seen},
        format::{self, Format, SAMPLE},
        header::Header,
        ndjson::{self, Ndjson},
        parquet::Parquet,
        remote,
        rows::{Content, Scan},
        source::{Delimiter, Dialect, SNIFFED_ROWS, Source, Text},
        stored::{self, Stored},
    },
};

/// How much is read at a time while looking for the end of the header.
const CHUNK: usize = 1 << 16;

/// An open input.
pub struct Input {
    name: String,
    format: Format,
    compression: Option<Compression>,
    header: Header,
    /// Whether it is known to hold no row.
    is_empty: bool,
    body: Body,
}

/// What is read later on.
enum Body {
    Text(TextBody),
    /// A table of which the rest is found where its metadata says.
    Stored(Stored, Box<dyn Content>),
}

struct TextBody {
    /// What has been read.
    head: Vec<u8>,
    /// What has not; `None` where that is nothing.
    rest: Option<Box<dyn Read + Send>>,
    delimiter: Delimiter,
    /// Where it is unpacked on the way: the digest of what was there before, and the most bytes that there may be after.
    packed: Option<(Seen, u64)>,
}

/// The columns that a run reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Columns<'a> {
    /// Those that make up the key.
    pub keys: &'a [&'a str],
    /// That of the values.
    pub values: Option<&'a str>,
    /// Those that are sent.
    pub sent: &'a [&'a str],
    /// Those that are written, if not all are.
    pub select: &'a [&'a str],
}

impl Source {
    /// Opens it and reads its header.
    ///
    /// # Errors
    /// [`InputFault::Io`], [`InputFault::NotText`] for what is plainly another format, [`InputFault::UnclosedHeader`],
    /// [`InputFault::BrokenLine`], [`InputFault::Damaged`] and [`InputFault::TooLarge`].
    pub fn open(self, dialect: impl Into<Dialect>) -> Result<Input> {
        let (name, dialect) = (self.name(), dialect.into());
        let fault = |fault| Error::Input { file: name.clone(), fault };
        let promised = match &self {
            Self::File(path) => Format::of_name(path),
            Self::Object(address) => Format::of_name(address.as_ref()),
            _ => None,
        };
        // A file never keeps its reader waiting, and so its beginning is read whole.
        let (rest, at_least): (From, _) = match self {
            Self::File(path) => {
                let file = File::open(path).map_err(|error| fault(InputFault::Io(error)))?;
                match file.metadata().is_ok_and(|found| found.is_file()) {
                    true => (From::File(file), CHUNK),
                    false => (From::Stream(Box::new(file)), 0),
                }
            }
            Self::Object(address) => (From::Object(Stored::object(&address)?.reader(0)), CHUNK),
            Self::Stdin => (From::Stream(Box::new(io::stdin())), 0),
            Self::Memory { bytes, .. } => (From::Stream(Box::new(Cursor::new(bytes))), CHUNK),
        };
        Opening { name: name.clone(), dialect, promised, at_least }.open(rest)
    }
}

/// Where the bytes come from.
enum From {
    /// A file, which can be read from any place.
    File(File),
    /// An object in a store, likewise.
    Object(stored::Reader),
    /// What comes once.
    Stream(Box<dyn Read + Send>),
}

impl From {
    fn reader(&mut self) -> &mut dyn Read {
        match self {
            Self::File(file) => file,
            Self::Object(object) => object,
            Self::Stream(stream) => stream,
        }
    }

    fn into_stream(self) -> Box<dyn Read + Send> {
        match self {
            Self::File(file) => Box::new(file),
            Self::Object(object) => Box::new(object),
            Self::Stream(stream) => stream,
        }
    }
}

/// An input being opened.
struct Opening {
    name: String,
    dialect: Dialect,
    /// The format that its name promises.
    promised: Option<Format>,
    /// How much of it is read in any case, if there is so much.
    at_least: usize,
}

impl Opening {
    fn open(self, mut from: From) -> Result<Input> {
        let (mut head, mut ended) = (Vec::new(), false);
        let undecided =
            |head: &[u8]| format::binary(head).is_err() || Compression::of_beginning(head).is_err();
        while !ended && (undecided(&head) || head.len() < self.at_least.min(CHUNK)) {
            ended = self.read_some(from.reader(), &mut head)? == 0;
        }
        let binary = format::binary(&head).unwrap_or_default();
        let packing = Compression::of_beginning(&head).unwrap_or_default();
        let promised = self.promised.filter(|_| packing.is_none());
        let wanted = self.dialect.format.or(binary).or(promised);
        if let Some(format) = wanted.filter(|format| !format.is_text()) {
            return self.open_stored(format, head, from);
        }
        let Some(packing) = packing else {
            return self.read_header((head, ended), from.into_stream(), None);
        };
        let seen = Seen::default();
        let packed = Hashing(Cursor::new(head).chain(from.into_stream()), seen.clone());
        let unpacked = packing.unpack(packed).map_err(|error| self.fault(InputFault::Io(error)))?;
        let packed = Some((packing, seen));
        self.read_header((Vec::new(), false), unpacked, packed)
    }

    fn fault(&self, fault: InputFault) -> Error {
        Error::Input { file: self.name.clone(), fault }
    }

    /// The most bytes that may be held of it at once.
    fn most_bytes(&self) -> u64 {
        self.dialect.most_bytes.unwrap_or_else(host::budget)
    }

    fn read_some(&self, from: &mut dyn Read, head: &mut Vec<u8>) -> Result<usize> {
        read_some(from, head).map_err(|error| self.fault(InputFault::Io(error)))
    }

    /// A table that is read from any place: from its file, or else from memory.
    fn open_stored(self, format: Format, mut head: Vec<u8>, from: From) -> Result<Input> {
        let most = self.most_bytes();
        let stored = match from {
            From::File(file) => Stored::file(&self.name, file)?,
            From::Object(object) => object.into_stored(),
            From::Stream(mut stream) => {
                while self.read_some(&mut *stream, &mut head)? > 0 {
                    if head.len() as u64 > most {
                        return Err(self.fault(InputFault::TooLarge { max: most }));
                    }
                }
                Stored::memory(&self.name, head)
            }
        };
        let (header, rows, content): (_, _, Box<dyn Content>) = match format {
            Format::Parquet => {
                let table = Parquet::open(stored.clone())?;
                (table.header(), table.rows(), Box::new(table))
            }
            _ => {
                let table = Arrow::open(stored.clone(), format == Format::ArrowStream, most)?;
                (table.header(), table.rows(), Box::new(table))
            }
        };
        let body = Body::Stored(stored, content);
        let (name, is_empty) = (self.name, rows == 0);
        Ok(Input { name, format, compression: None, header, is_empty, body })
    }

    /// A text, of which the beginning and whether that is all are known.
    fn read_header(
        self,
        (mut head, mut ended): (Vec<u8>, bool),
        mut rest: Box<dyn Read + Send>,
        packed: Option<(Compression, Seen)>,
    ) -> Result<Input> {
        let (mut looked_at, packing) = (0, packed.as_ref().map(|(packing, _)| *packing));
        let delimiter = self.dialect.delimiter;
        loop {
            // A long header is looked at again only when it has doubled.
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
            let read = read_some(&mut *rest, &mut head);
            let read = read.map_err(|error| self.fault(unreadable(packing, error)))?;
            ended = read == 0;
        }
        let text = Text::new(self.name.clone(), head)?;
        let format = self.text_format(&text, ended);
        let (delimiter, header, has_rows, head) = match format {
            Format::Ndjson => {
                let header = Ndjson::header_of(&text)?;
                let has_rows = !header.is_empty();
                (delimiter, header, has_rows, text.into_bytes())
            }
            _ => {
                let csv = Csv::new(text, delimiter)?;
                (csv.delimiter(), csv.header().clone(), csv.has_rows(), csv.into_bytes())
            }
        };
        let is_empty = ended && !has_rows;
        let rest = (!ended || packed.is_some()).then_some(rest);
        let most = self.most_bytes();
        let packed = packed.map(|(_, seen)| (seen, most));
        let body = Body::Text(TextBody { head, rest, delimiter, packed });
        Ok(Input { name: self.name, format, compression: packing, header, is_empty, body })
    }

    /// What a text is: by what it was said to be, by its first line, or by its name.
    fn text_format(&self, text: &Text, ended: bool) -> Format {
        if let Some(format) = self.dialect.format {
            return format;
        }
        let body = text.bytes()[text.body()..].trim_ascii_start();
        let line = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_whole = ended || line.len() < body.len();
        if line.starts_with(b"{") && is_whole && ndjson::is_object(line) {
            return Format::Ndjson;
        }
        match self.promised {
            Some(format) if format.is_text() => format,
            // No name of a column looks like this: it is an object that is broken.
            _ if line.starts_with(b"{") && line[1..].trim_ascii_start().starts_with(b"\"") => {
                Format::Ndjson
            }
            _ => Format::Csv,
        }
    }

    /// Whether this beginning has the whole header, and enough besides to tell the delimiter by, or is no table.
    fn is_enough(&self, head: &[u8]) -> bool {
        if format::foreign(head).is_some() {
            return true;
        }
        let Ok(text) = Text::new(self.name.clone(), head.to_vec()) else { return true };
        if self.text_format(&text, false) == Format::Ndjson {
            return text.bytes()[text.body()..].trim_ascii_start().contains(&b'\n');
        }
        let rows = head.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
        let delimiter = self.dialect.delimiter;
        if delimiter == Delimiter::Auto && rows <= 2 * SNIFFED_ROWS && head.len() < SAMPLE {
            return false;
        }
        Csv::new(text, delimiter).is_ok_and(|csv| csv.header_is_whole())
    }
}

/// Why a text could not be read, which may be because it was not packed whole.
fn unreadable(packing: Option<Compression>, error: io::Error) -> InputFault {
    match packing {
        // An error of the system has a number.
        Some(packing) if error.raw_os_error().is_none() && !remote::is_fault(&error) => {
            InputFault::Damaged {
                format: packing.name(),
                part: "what it holds, from some place on,".to_owned(),
            }
        }
        _ => InputFault::Io(error),
    }
}

impl Input {
    /// The name used in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the table is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The names of the columns, as far as they are known.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether it is known already that there is no row.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// An [`Error::Input`] of this input.
    pub fn fault(&self, fault: InputFault) -> Error {
        Error::Input { file: self.name.clone(), fault }
    }

    /// Makes sure that these columns are there and have types that a run can read. A table without even a header has none
    /// to be found, and in NDJSON a later line may have what the first one lacks.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub fn require(&self, columns: &[&str]) -> Result<()> {
        if self.header.is_empty() || self.format == Format::Ndjson {
            return Ok(());
        }
        self.header.find(columns).map(drop).map_err(|fault| self.fault(fault))
    }

    /// Makes sure that these columns can be sent.
    ///
    /// # Errors
    /// As [`Input::require`].
    pub fn require_to_send(&self, columns: &[&str]) -> Result<()> {
        if self.header.is_empty() || self.format == Format::Ndjson {
            return Ok(());
        }
        self.header.find_sent(columns).map(drop).map_err(|fault| self.fault(fault))
    }

    /// Makes sure that these columns can be written.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`] and [`InputFault::AmbiguousColumn`].
    pub fn require_to_select(&self, columns: &[&str]) -> Result<()> {
        if self.header.is_empty() || self.format == Format::Ndjson {
            return Ok(());
        }
        self.header.positions(columns).map(drop).map_err(|fault| self.fault(fault))
    }

    /// Makes ready to read all columns that the header names.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn read(self) -> Result<Scan> {
        let names = self.header.names();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let all = (0..names.len()).collect();
        self.scan(Columns { keys: &names, ..Columns::default() }, all)
    }

    /// Makes ready to read these columns, of which no others are decoded. A text is read whole, into memory.
    ///
    /// # Errors
    /// As [`Source::open`], and as [`Input::require`].
    pub fn read_columns(self, columns: Columns<'_>) -> Result<Scan> {
        self.scan(columns, Vec::new())
    }

    /// As [`Input::read_columns`]; where `all` are named, they are decoded whatever they are.
    fn scan(self, columns: Columns<'_>, all: Vec<usize>) -> Result<Scan> {
        let Self { name, format, compression, header, body, .. } = self;
        let (header, content, digest): (_, Box<dyn Content>, Option<InputDigest>) = match body {
            Body::Stored(stored, content) => (header, content, stored.digest()?),
            Body::Text(body) => {
                let (bytes, digest) = body
                    .read(compression)
                    .map_err(|fault| Error::Input { file: name.clone(), fault })?;
                let text = Text::new(name.clone(), bytes.0)?;
                match format {
                    Format::Ndjson => {
                        let others: Vec<_> =
                            columns.values.iter().chain(columns.sent).copied().collect();
                        let table = Ndjson::new(text, columns.keys, &others, columns.select)?;
                        (table.header().clone(), Box::new(table), Some(digest))
                    }
                    _ => {
                        let table = Csv::new(text, bytes.1)?;
                        (table.header().clone(), Box::new(table), Some(digest))
                    }
                }
            }
        };
        let compression = compression.map(Compression::name);
        let mut scan = Scan { name, format, compression, header, content, wanted: all, digest };
        if scan.wanted.is_empty() && !scan.header.is_empty() {
            let names: Vec<_> = columns.keys.iter().copied().chain(columns.values).collect();
            scan.wanted = scan.find(&names)?;
            scan.wanted.extend(scan.find_sent(columns.sent)?);
        }
        Ok(scan)
    }
}

impl TextBody {
    /// The rest, the delimiter, and the digest of the input as it came.
    fn read(
        self,
        packing: Option<Compression>,
    ) -> std::result::Result<((Vec<u8>, Delimiter), InputDigest), InputFault> {
        let Self { head: mut bytes, rest, delimiter, packed } = self;
        let mut rest = rest.unwrap_or_else(|| Box::new(io::empty()));
        let Some((seen, most)) = packed else {
            let digest = digest::read(&mut *rest, &mut bytes).map_err(InputFault::Io)?;
            return Ok(((bytes, delimiter), digest));
        };
        let left = most.saturating_sub(bytes.len() as u64);
        rest.take(left.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(packing, error))?;
        if bytes.len() as u64 > most {
            return Err(InputFault::TooLarge { max: most });
        }
        Ok(((bytes, delimiter), seen.digest()))
    }
}

/// Appends what comes next, and says how much that is.
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

    /// Gives a few bytes at a time, and panics where somebody asks for more than there is.
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
        opening.open(From::Stream(Box::new(Slow(pieces.to_vec()))))
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
            assert_eq!(input.header().len(), 2);
        }
        let input = open(&[b"k\nx\n", b"y\n", b""]).unwrap();
        assert!(!input.is_empty());
        assert_eq!(
            input.read().unwrap().rows(|_| Ok(())).unwrap().text().unwrap().bytes(),
            b"k\nx\ny\n"
        );
    }

    #[test]
    fn what_is_no_table_is_not_read_to_its_end() {
        let refused = |pieces| open(pieces).err().unwrap().to_string();
        assert!(refused(&[b"\xfd7zXZ\0"]).contains("an xz file"));
        assert!(refused(&[b"k,\"v\n", b""]).contains("the header opens a quoted field"));
    }

    #[test]
    fn emptiness_is_known_where_the_end_was_seen() {
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
}
