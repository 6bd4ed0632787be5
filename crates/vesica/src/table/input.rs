//! An input that is open and read as far as its header, and no further.
//!
//! So a missing file, a foreign format or a misspelt column is found before the other side is troubled, also where
//! the input is a pipe, of which what was read is kept.

use std::{
    fs::File,
    io::{self, Read},
};

use crate::{
    error::{Error, InputFault, Result},
    table::{
        csv::Scan,
        digest,
        format::{self, SAMPLE},
        header::Header,
        source::{Delimiter, SNIFFED_ROWS, Source, Text},
    },
};

/// How much is read at a time while looking for the end of the header.
const CHUNK: usize = 1 << 16;

/// An open input.
pub struct Input {
    name: String,
    /// What has been read.
    head: Vec<u8>,
    /// What has not; `None` where that is nothing.
    rest: Option<Box<dyn Read + Send>>,
    delimiter: Delimiter,
    header: Header,
    /// Whether the head is all there is and holds no row.
    is_empty: bool,
}

impl Source {
    /// Opens it and reads its header.
    ///
    /// # Errors
    /// [`InputFault::Io`], [`InputFault::NotText`] for what is plainly another format, and
    /// [`InputFault::UnclosedHeader`].
    pub fn open(self, delimiter: Delimiter) -> Result<Input> {
        let name = self.name();
        let fault = |fault| Error::Input { file: name.clone(), fault };
        // A file never keeps its reader waiting, and so its beginning is read whole.
        let (rest, at_least): (Box<dyn Read + Send>, _) = match self {
            Self::File(path) => {
                let file = File::open(path).map_err(|error| fault(InputFault::Io(error)))?;
                let waits = file.metadata().is_ok_and(|found| !found.is_file());
                (Box::new(file), if waits { 0 } else { CHUNK })
            }
            Self::Stdin => (Box::new(io::stdin()), 0),
            Self::Memory { bytes, .. } => (Box::new(io::Cursor::new(bytes)), CHUNK),
        };
        Input::read_header(name.clone(), rest, at_least, delimiter)
    }
}

impl Input {
    fn read_header(
        name: String,
        mut rest: Box<dyn Read + Send>,
        at_least: usize,
        delimiter: Delimiter,
    ) -> Result<Self> {
        let (mut head, mut looked_at) = (Vec::new(), 0);
        let ended = loop {
            if read_some(&mut *rest, &mut head).map_err(|error| Error::Input {
                file: name.clone(),
                fault: InputFault::Io(error),
            })? == 0
            {
                break true;
            }
            // A long header is looked at again only when it has doubled.
            let is_due = head.len() <= CHUNK || head.len() >= 2 * looked_at;
            if is_due && head.len() >= at_least {
                looked_at = head.len();
                if is_enough(&name, &head, delimiter) {
                    break false;
                }
            }
        };
        let scan = Scan::new(Text::new(name.clone(), head)?, delimiter)?;
        let (delimiter, header) = (scan.delimiter(), scan.header().clone());
        let is_empty = ended && !scan.has_rows();
        let head = scan.into_bytes();
        Ok(Self { name, head, rest: (!ended).then_some(rest), delimiter, header, is_empty })
    }

    /// The name used in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first line.
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

    /// Makes sure that these columns are there. A table without even a header has none to be found.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`] and [`InputFault::AmbiguousColumn`].
    pub fn require(&self, columns: &[&str]) -> Result<()> {
        if self.header.is_empty() {
            return Ok(());
        }
        self.header.find(columns).map(drop).map_err(|fault| self.fault(fault))
    }

    /// Reads the rest, whole, into memory.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn read(self) -> Result<Scan> {
        let Self { name, head: mut bytes, rest, delimiter, .. } = self;
        let mut rest = rest.unwrap_or_else(|| Box::new(io::empty()));
        let digest = digest::read(&mut *rest, &mut bytes)
            .map_err(|error| Error::Input { file: name.clone(), fault: InputFault::Io(error) })?;
        Scan::new(Text::new(name, bytes)?.with_digest(digest), delimiter)
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

/// Whether this beginning has the whole header, and enough besides to tell the delimiter by, or is no table.
fn is_enough(name: &str, head: &[u8], delimiter: Delimiter) -> bool {
    if format::foreign(head).is_some() {
        return true;
    }
    let rows = head.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    if delimiter == Delimiter::Auto && rows <= 2 * SNIFFED_ROWS && head.len() < SAMPLE {
        return false;
    }
    let scan =
        Text::new(name.to_owned(), head.to_vec()).and_then(|text| Scan::new(text, delimiter));
    scan.is_ok_and(|scan| scan.header_is_whole())
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
        Input::read_header("t".into(), Box::new(Slow(pieces.to_vec())), 0, Delimiter::Comma)
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
        assert_eq!(input.read().unwrap().text().bytes(), b"k\nx\ny\n");
    }

    #[test]
    fn what_is_no_table_is_not_read_to_its_end() {
        let refused = |pieces| open(pieces).err().unwrap().to_string();
        assert!(refused(&[b"\x28\xb5\x2f\xfd"]).contains("a Zstandard file"));
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
