//! Text that is read in blocks, from the beginning and any number of times.
//!
//! Only one block of it is in memory, or its longest record if that is longer. The first reading computes a checksum of
//! all bytes, and each later one verifies it.

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
    row_number::RowNumber,
    stored::Stored,
    written::{Unwritten, ascending},
};

/// The length of a block: short enough to stay in the cache until the last reader is done with it.
const BLOCK: usize = 1 << 18;

/// The most bytes of a record, for any amount of memory. A longer one is probably the text after an unclosed quotation
/// mark.
const LONGEST: u64 = 1 << 26;

/// A text in a file, in memory or in a store.
#[derive(Clone)]
pub struct Text {
    stored: Stored,
    packing: Option<Compression>,
    /// The most bytes of it that are held at a time.
    held_bytes: u64,
}

/// The findings of the first reading of a text.
#[derive(Clone)]
pub(crate) struct TextSurvey {
    /// The digest of the stored text, if it was computed.
    pub(crate) digest: Option<InputDigest>,
    pub(crate) is_utf8: bool,
    /// The length of the text, in bytes.
    bytes: u64,
    /// The checksum that later readings compare.
    sum: u64,
}

impl Text {
    /// Makes a text of stored bytes, to be unpacked if they are packed.
    pub(crate) fn new(stored: Stored, packing: Option<Compression>, held_bytes: u64) -> Self {
        Self { stored, packing, held_bytes }
    }

    /// Returns an [`Error::Input`] of this text.
    pub(crate) fn fault(&self, fault: InputFault) -> Error {
        self.stored.fault(fault)
    }

    /// Reads from the beginning, and computes the digest of the stored bytes if wanted.
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

    /// Returns the part of the text before a place where this many stored bytes have been read, from 0 to 1.
    pub(crate) fn fraction(&self, read: u64) -> f64 {
        (read as f64 / Length::len(&self.stored).max(1) as f64).min(1.0)
    }

    /// Returns the place of a row that begins at this offset. Finding it takes as long as reading the text before it.
    pub(crate) fn place(&self, row: u64, offset: u64) -> Place {
        let ends = self.ends_before(offset).ok();
        Place {
            row,
            line: ends.map(|EndCounts { feeds, returns, pairs }| feeds + returns + pairs + 1),
        }
    }

    /// Whether the text begins with a byte-order mark.
    pub(crate) fn has_byte_order_mark(&self) -> bool {
        let begins = |mut blocks: Blocks| -> Result<bool> {
            while blocks.unread().len() < BOM.len() && blocks.fill()? {}
            Ok(blocks.unread().starts_with(BOM))
        };
        self.blocks(false).and_then(begins).unwrap_or_default()
    }

    /// Returns the kind of its line ends, unless it can no longer be read.
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

/// Returns the most bytes of a record or of a header, if `held_bytes` of a text may be held.
pub(crate) fn longest_record(held_bytes: u64) -> u64 {
    held_bytes.min(LONGEST)
}

/// The kind of a text's line ends.
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
    /// Returns the usual abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lf => "LF",
            Self::CrLf => "CRLF",
            Self::Cr => "CR",
            Self::Mixed => "mixed",
        }
    }
}

/// The numbers of line ends, by kind.
#[derive(Default)]
struct EndCounts {
    /// Line feeds that do not follow a carriage return.
    feeds: u64,
    /// Carriage returns that no line feed follows.
    returns: u64,
    /// Both, one after the other.
    pairs: u64,
}

/// Returns the reason that a text could not be read, which may be an incomplete compressed file.
pub(crate) fn unreadable(packing: Option<Compression>, error: io::Error) -> InputFault {
    match packing {
        Some(packing) if packing.is_too_large(&error) => InputFault::Unsupported {
            part: "a Zstandard window of more than 128 MiB, or of more than an eighth of the memory",
            advice: "raise --memory, or pack it again without --long, or unpack it first",
        },
        // A system error has a number.
        Some(packing) if error.raw_os_error().is_none() && !remote::is_fault(&error) => {
            InputFault::Damaged { format: packing.name(), part: "a part of its content".to_owned() }
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
    /// The offsets in the buffer of the next byte, and of the end of the bytes that were read.
    start: usize,
    end: usize,
    /// The offset of the next byte in the text.
    offset: u64,
    has_ended: bool,
    /// The number of stored bytes read so far.
    read: u64,
    sum: XxHash3_64,
    /// The offset in the buffer of the bytes that are not yet known to be UTF-8; `None` once an error was found.
    valid: Option<usize>,
}

impl Blocks {
    /// Returns the bytes that have been read and not passed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether nothing follows the unread bytes.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the offset of the first unread byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of stored bytes read so far.
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

    /// Passes all bytes before this offset.
    ///
    /// # Errors
    /// As for [`Blocks::fill`].
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

    /// Reads on, and returns whether there was anything more.
    ///
    /// # Errors
    /// [`InputFault::Io`], [`InputFault::Damaged`] and [`InputFault::LongRecord`].
    pub(crate) fn fill(&mut self) -> Result<bool> {
        if self.has_ended {
            return Ok(false);
        }
        // The first bytes of a character stay until it is complete.
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
            // The end of the buffer may cut a character, but the end of the text may not.
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

    /// Reads the rest without using it, and makes sure that the text has not changed since it was opened.
    ///
    /// # Errors
    /// As for [`Blocks::fill`], and [`InputFault::Changed`].
    pub(crate) fn finish(mut self) -> Result<TextSurvey> {
        loop {
            self.skip(self.unread().len());
            if !self.fill()? {
                break;
            }
        }
        self.text.stored.assert_unchanged()?;
        Ok(TextSurvey {
            digest: self.seen.digest(),
            is_utf8: self.valid.is_some(),
            bytes: self.offset,
            sum: self.sum.finish(),
        })
    }

    /// Finishes like [`Blocks::finish`], and compares with the findings of an earlier reading.
    ///
    /// # Errors
    /// As for [`Blocks::finish`].
    pub(crate) fn finish_again(self, first: &TextSurvey) -> Result<()> {
        let text = self.text.clone();
        let again = self.finish()?;
        match (again.bytes, again.sum) == (first.bytes, first.sum) {
            true => Ok(()),
            false => Err(text.fault(InputFault::Changed)),
        }
    }
}

/// A reader of lines, one after the other.
pub(crate) trait Lines {
    /// Returns the next line with a row in it, including its line end.
    ///
    /// # Errors
    /// As for [`Blocks::fill`].
    fn next_line(&mut self) -> Result<Option<&[u8]>>;

    /// Returns the reading, to finish it.
    fn into_blocks(self) -> Blocks;
}

/// Shows the lines of these rows in the requested order, each with its position in that order. `lines`
/// is at the first row of a text for which an earlier reading found `facts`.
///
/// # Errors
/// As for [`Blocks::finish_again`], and any error of `show`.
pub(crate) fn show_rows(
    lines: impl Lines,
    rows: &[RowNumber],
    facts: &TextSurvey,
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

/// A callback for a line, with the position of its row in the requested order.
type Show<'a> = dyn FnMut(usize, &[u8]) -> std::result::Result<(), Unwritten> + 'a;

/// Shows rows like [`show_rows`], if they are in order. A row may occur several times.
fn show_ascending(
    mut lines: impl Lines,
    rows: &[RowNumber],
    facts: &TextSurvey,
    show: &mut Show<'_>,
) -> std::result::Result<(), Unwritten> {
    let (mut nth, mut row) = (0, 0);
    while nth < rows.len() {
        // A missing row changes the checksum, too.
        let Some(line) = lines.next_line()? else { break };
        while rows.get(nth) == Some(&RowNumber::new(row)) {
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
        /// Returns a text in memory.
        pub(crate) fn of(bytes: impl Into<Vec<u8>>) -> Self {
            Self::new(Stored::memory("t", bytes.into()), None, 1 << 30)
        }

        /// Returns a reading with blocks of this many bytes.
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
    fn lines_are_counted_with_all_line_ends() {
        for text in ["a\r\nb\r\nc", "a\rb\rc", "a\nb\nc"] {
            let last = text.len() as u64 - 1;
            assert_eq!(Text::of(text).place(2, last), Place { row: 2, line: Some(3) });
            assert_eq!(Text::of(text).place(0, 0).line, Some(1));
        }
        let long = "x".repeat(BLOCK - 1) + "\r\n\r\n" + &"y".repeat(BLOCK);
        assert_eq!(Text::of(&*long).place(1, BLOCK as u64 + 3).line, Some(3));
    }

    /// Tests characters of several bytes, cut by blocks at any position.
    #[test]
    fn utf8_is_recognized_for_all_block_sizes() {
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
    fn a_record_longer_than_a_block_is_held_up_to_the_limit() {
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
