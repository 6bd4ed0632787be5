//! Text that is read in blocks, from its beginning and as often as somebody asks.
//!
//! No more than a block of it is in memory, or its longest record where that is more. The first reading notes a sum
//! of all bytes, and each later one makes sure that it has seen the same.

use std::{
    hash::Hasher,
    io::{self, Read},
};

use parquet::file::reader::Length;
use twox_hash::XxHash3_64;
use vesica_core::error::{Error, InputFault, Place, Result};

use crate::{
    compression::Compression,
    digest::{Hashing, InputDigest, Seen},
    foreign::BOM,
    remote,
    stored::Stored,
    written::{Unwritten, ascending},
};

/// Bytes of a block: few enough to stay in the cache until the last reader is done with them.
const BLOCK: usize = 1 << 18;

/// The most bytes of a record, however much memory there is: one that has more is hardly one, but what follows a
/// quotation mark that nothing closes.
const LONGEST: u64 = 1 << 26;

/// A text, wherever it is.
#[derive(Clone)]
pub struct Text {
    stored: Stored,
    packing: Option<Compression>,
    /// The most bytes that are held of it at a time.
    held_bytes: u64,
}

/// What the first reading of a text found out.
#[derive(Clone)]
pub(crate) struct Facts {
    /// The digest of the text as it is stored, where it was taken.
    pub(crate) digest: Option<InputDigest>,
    pub(crate) is_utf8: bool,
    /// Bytes of the text.
    bytes: u64,
    /// What later readings compare.
    sum: u64,
}

impl Text {
    /// What is stored, unpacked if it is packed.
    pub(crate) fn new(stored: Stored, packing: Option<Compression>, held_bytes: u64) -> Self {
        Self { stored, packing, held_bytes }
    }

    /// An [`Error::Input`] of this text.
    pub(crate) fn fault(&self, fault: InputFault) -> Error {
        self.stored.fault(fault)
    }

    /// Reads from the beginning, and takes the digest of what is stored if that is wanted.
    ///
    /// # Errors
    /// [`InputFault::Io`] and [`InputFault::Damaged`].
    pub(crate) fn blocks(&self, digested: bool) -> Result<Blocks> {
        self.blocks_of(BLOCK, digested)
    }

    fn blocks_of(&self, bytes: usize, digested: bool) -> Result<Blocks> {
        let seen = Seen::new(digested);
        let stored = Hashing(self.stored.reader(0), seen.clone());
        let from: Box<dyn Read + Send> = match self.packing {
            Some(packing) => {
                packing.unpack(stored, self.held_bytes).map_err(|error| self.unreadable(error))?
            }
            None => Box::new(stored),
        };
        Ok(Blocks {
            text: self.clone(),
            from,
            seen,
            buffer: vec![0; bytes],
            start: 0,
            end: 0,
            offset: 0,
            has_ended: false,
            read: 0,
            sum: XxHash3_64::new(),
            valid: Some(0),
        })
    }

    fn unreadable(&self, error: io::Error) -> Error {
        self.fault(unreadable(self.packing, error))
    }

    /// How much of the text is before a place where so many stored bytes have been read, from 0 to 1.
    pub(crate) fn fraction(&self, read: u64) -> f64 {
        (read as f64 / Length::len(&self.stored).max(1) as f64).min(1.0)
    }

    /// The place of a row that begins at this offset. Finding it takes as long as reading what is before.
    pub(crate) fn place(&self, row: u64, offset: u64) -> Place {
        let ends = self.ends_before(offset).ok();
        Place {
            row,
            line: ends.map(|EndCounts { feeds, returns, pairs }| feeds + returns + pairs + 1),
        }
    }

    /// Whether it begins with a byte-order mark.
    pub(crate) fn has_byte_order_mark(&self) -> bool {
        let begins = |mut blocks: Blocks| -> Result<bool> {
            while blocks.unread().len() < BOM.len() && blocks.fill()? {}
            Ok(blocks.unread().starts_with(BOM))
        };
        self.blocks(false).and_then(begins).unwrap_or_default()
    }

    /// How its lines end, unless it cannot be read any more.
    pub(crate) fn line_ends(&self) -> Option<LineEnds> {
        let EndCounts { feeds, returns, pairs } = self.ends_before(u64::MAX).ok()?;
        Some(match (feeds > 0, returns > 0, pairs > 0) {
            (false, false, true) => LineEnds::CrLf,
            (_, false, false) => LineEnds::Lf,
            (false, true, false) => LineEnds::Cr,
            _ => LineEnds::Mixed,
        })
    }

    fn ends_before(&self, offset: u64) -> Result<EndCounts> {
        let mut blocks = self.blocks(false)?;
        let (mut ends, mut is_after_return) = (EndCounts::default(), false);
        while blocks.offset < offset && blocks.fill()? {
            let wanted = usize::try_from(offset - blocks.offset).unwrap_or(usize::MAX);
            let unread = blocks.unread();
            for byte in &unread[..unread.len().min(wanted)] {
                match byte {
                    b'\n' if is_after_return => {
                        ends.returns -= 1;
                        ends.pairs += 1;
                    }
                    b'\n' => ends.feeds += 1,
                    b'\r' => ends.returns += 1,
                    _ => {}
                }
                is_after_return = *byte == b'\r';
            }
            blocks.skip(unread.len());
        }
        Ok(ends)
    }
}

/// The most bytes of a record, or of a header, where `held_bytes` of a text may be held.
pub(crate) fn longest_record(held_bytes: u64) -> u64 {
    held_bytes.min(LONGEST)
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

/// The ends of lines, by their kinds.
#[derive(Default)]
struct EndCounts {
    /// Line feeds that follow no carriage return.
    feeds: u64,
    /// Carriage returns that no line feed follows.
    returns: u64,
    /// Both, one after the other.
    pairs: u64,
}

/// Why a text could not be read, which may be because it was not packed whole.
pub(crate) fn unreadable(packing: Option<Compression>, error: io::Error) -> InputFault {
    match packing {
        Some(packing) if packing.is_too_large(&error) => InputFault::Unsupported {
            part: "a Zstandard window of more than 128 MiB, or of more than an eighth of the memory",
            advice: "raise --memory, or pack it again without --long, or unpack it first",
        },
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

/// One reading of a text.
pub(crate) struct Blocks {
    text: Text,
    from: Box<dyn Read + Send>,
    seen: Seen,
    buffer: Vec<u8>,
    /// Where in the buffer the next byte is, and where the last one was read to.
    start: usize,
    end: usize,
    /// Where in the text the next byte is.
    offset: u64,
    has_ended: bool,
    /// How many stored bytes have been read.
    read: u64,
    sum: XxHash3_64,
    /// Where in the buffer begins what has not been found to be UTF-8; `None` once something was found not to be.
    valid: Option<usize>,
}

impl Blocks {
    /// What has been read and not passed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether nothing follows the unread bytes.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The offset of the first unread byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// How many stored bytes have been read.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Passes unread bytes.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Passes unread bytes, and returns them.
    pub(crate) fn pass(&mut self, bytes: usize) -> &[u8] {
        self.skip(bytes);
        &self.buffer[self.start - bytes..self.start]
    }

    /// Passes everything before this offset.
    ///
    /// # Errors
    /// As [`Blocks::fill`].
    pub(crate) fn skip_to(&mut self, offset: u64) -> Result<()> {
        while self.offset < offset {
            let wanted = offset - self.offset;
            let bytes = self.unread().len().min(usize::try_from(wanted).unwrap_or(usize::MAX));
            self.skip(bytes);
            if self.offset < offset && !self.fill()? {
                break;
            }
        }
        Ok(())
    }

    /// Reads on, and says whether there was anything more.
    ///
    /// # Errors
    /// [`InputFault::Io`], [`InputFault::Damaged`] and [`InputFault::LongRecord`].
    pub(crate) fn fill(&mut self) -> Result<bool> {
        if self.has_ended {
            return Ok(false);
        }
        // The first bytes of a character stay until it is whole.
        let passed = self.valid.map_or(self.start, |valid| valid.min(self.start));
        self.buffer.copy_within(passed..self.end, 0);
        self.valid = self.valid.map(|valid| valid - passed);
        self.start -= passed;
        self.end -= passed;
        if self.end == self.buffer.len() {
            let max = longest_record(self.text.held_bytes);
            if self.end as u64 >= max {
                let line = self.text.place(0, self.offset).line;
                return Err(self.text.fault(InputFault::LongRecord { line, max }));
            }
            self.buffer.resize((2 * self.end).min(max as usize), 0);
        }
        let read = loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| self.text.unreadable(error))?,
            }
        };
        self.has_ended = read == 0;
        self.read = self.seen.bytes();
        self.sum.write(&self.buffer[self.end..self.end + read]);
        self.end += read;
        if let Some(valid) = self.valid {
            // A character may be cut by the end of the buffer, and not by that of the text.
            self.valid = match std::str::from_utf8(&self.buffer[valid..self.end]) {
                Ok(_) => Some(self.end),
                Err(error) if error.error_len().is_none() && !self.has_ended => {
                    Some(valid + error.valid_up_to())
                }
                Err(_) => None,
            };
        }
        Ok(!self.has_ended)
    }

    /// Reads the rest, which is of no interest in itself, and makes sure that the text has not changed since it was
    /// opened.
    ///
    /// # Errors
    /// As [`Blocks::fill`], and [`InputFault::Changed`].
    pub(crate) fn finish(mut self) -> Result<Facts> {
        loop {
            self.skip(self.unread().len());
            if !self.fill()? {
                break;
            }
        }
        self.text.stored.assert_unchanged()?;
        Ok(Facts {
            digest: self.seen.digest(),
            is_utf8: self.valid.is_some(),
            bytes: self.offset,
            sum: self.sum.finish(),
        })
    }

    /// As [`Blocks::finish`], after an earlier reading that found this.
    ///
    /// # Errors
    /// Likewise.
    pub(crate) fn finish_again(self, first: &Facts) -> Result<()> {
        let text = self.text.clone();
        let again = self.finish()?;
        match (again.bytes, again.sum) == (first.bytes, first.sum) {
            true => Ok(()),
            false => Err(text.fault(InputFault::Changed)),
        }
    }
}

/// Reads lines one after the other.
pub(crate) trait Lines {
    /// The next line with a row in it, its line end included.
    ///
    /// # Errors
    /// As [`Blocks::fill`].
    fn next_line(&mut self) -> Result<Option<&[u8]>>;

    /// The reading, to be finished.
    fn into_blocks(self) -> Blocks;
}

/// Shows the lines of these rows, counted from 0, in the order asked for, each with its number in that order. `lines`
/// is at the first row of a text of which an earlier reading found `facts`.
///
/// # Errors
/// As [`Blocks::finish_again`], and whatever `show` returns.
pub(crate) fn show_rows(
    lines: impl Lines,
    rows: &[u64],
    facts: &Facts,
    mut show: impl FnMut(usize, &[u8]) -> std::result::Result<(), Unwritten>,
) -> std::result::Result<(), Unwritten> {
    if rows.is_sorted() {
        return show_ascending(lines, rows, facts, &mut show);
    }
    let (sorted, places) = ascending(rows);
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(sorted.len()));
    show_ascending(lines, &sorted, facts, &mut |_, line| {
        bytes.extend_from_slice(line);
        ends.push(bytes.len());
        Ok(())
    })?;
    for (nth, place) in places.into_iter().map(|place| place as usize).enumerate() {
        let start = if place == 0 { 0 } else { ends[place - 1] };
        show(nth, &bytes[start..ends[place]])?;
    }
    Ok(())
}

/// Is shown a line, and the number of its row in the order asked for.
type Show<'a> = dyn FnMut(usize, &[u8]) -> std::result::Result<(), Unwritten> + 'a;

/// As [`show_rows`], of rows that are in order. One may come several times.
fn show_ascending(
    mut lines: impl Lines,
    rows: &[u64],
    facts: &Facts,
    show: &mut Show<'_>,
) -> std::result::Result<(), Unwritten> {
    let (mut nth, mut row) = (0, 0);
    while nth < rows.len() {
        // What is not there any more makes another sum.
        let Some(line) = lines.next_line()? else { break };
        while rows.get(nth) == Some(&row) {
            show(nth, line)?;
            nth += 1;
        }
        row += 1;
    }
    Ok(lines.into_blocks().finish_again(facts)?)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    impl Text {
        /// A text in memory.
        pub(crate) fn of(bytes: impl Into<Vec<u8>>) -> Self {
            Self::new(Stored::memory("t", bytes.into()), None, 1 << 30)
        }

        /// A reading with blocks of so many bytes.
        pub(crate) fn small_blocks(&self, bytes: usize) -> Blocks {
            self.blocks_of(bytes, true).unwrap()
        }
    }

    #[test]
    fn line_ends() {
        let of = |text: &str| Text::of(text).line_ends();
        assert_eq!(of("a\nb\n"), Some(LineEnds::Lf));
        assert_eq!(of("a\r\nb\r\n"), Some(LineEnds::CrLf));
        assert_eq!(of("a\rb\r"), Some(LineEnds::Cr));
        assert_eq!(of("a\r\nb\n"), Some(LineEnds::Mixed));
        assert_eq!(of(""), Some(LineEnds::Lf));
    }

    #[test]
    fn lines_are_counted_whatever_they_end_with() {
        for text in ["a\r\nb\r\nc", "a\rb\rc", "a\nb\nc"] {
            let last = text.len() as u64 - 1;
            assert_eq!(Text::of(text).place(2, last), Place { row: 2, line: Some(3) });
            assert_eq!(Text::of(text).place(0, 0).line, Some(1));
        }
        let long = "x".repeat(BLOCK - 1) + "\r\n\r\n" + &"y".repeat(BLOCK);
        assert_eq!(Text::of(&*long).place(1, BLOCK as u64 + 3).line, Some(3));
    }

    /// Characters of several bytes, with the ends of blocks anywhere within them.
    #[test]
    fn utf8_is_told_wherever_blocks_end() {
        for (text, is_utf8) in [
            (&"aä€😀".repeat(9).into_bytes()[..], true),
            (b"", true),
            (b"a\xe4\nb", false),
            (b"ab\xf0\x9f\x98", false),
            (b"\x80", false),
        ] {
            for block in 1..20 {
                let facts = Text::of(text).small_blocks(block).finish().unwrap();
                assert_eq!((facts.is_utf8, facts.bytes), (is_utf8, text.len() as u64), "{text:?}");
                assert_eq!(facts.digest.unwrap().bytes, text.len() as u64);
            }
        }
    }

    #[test]
    fn a_text_that_changes_between_two_readings_is_noticed() {
        let facts = Text::of("k\n1\n2\n").blocks(true).unwrap().finish().unwrap();
        let again = |text: &str| Text::of(text).blocks(false).unwrap().finish_again(&facts);
        assert!(again("k\n1\n2\n").is_ok());
        for other in ["k\n1\n3\n", "k\n1\n2", "k\n1\n2\n\n", ""] {
            let message = again(other).unwrap_err().to_string();
            assert!(message.contains("changed while it was read"), "{message}");
        }
    }

    #[test]
    fn what_is_longer_than_a_block_is_held_as_far_as_is_allowed() {
        let text = Text::new(Stored::memory("t", vec![b'x'; 1000]), None, 500);
        let mut blocks = text.small_blocks(7);
        let error = loop {
            match blocks.fill() {
                Ok(more) => assert!(more && blocks.unread().len() <= 500),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("line 1 has a row of more than 0.5 KiB"), "{error}");
        let mut blocks = text.small_blocks(7);
        blocks.skip_to(900).unwrap();
        assert!(blocks.fill().unwrap() && blocks.unread().iter().all(|byte| *byte == b'x'));
        assert_eq!(blocks.finish().unwrap().bytes, 1000);
    }
}
