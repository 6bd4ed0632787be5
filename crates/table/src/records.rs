//! The records of delimited text: where each lies, and what its fields are.
//!
//! Most lines have no quotation mark. Such a line is cut at its delimiters and nothing is copied; the csv crate's core
//! reads the others.

use csv_core::ReadRecordResult;
use memchr::{memchr2, memchr2_iter, memchr3};
use vesica_core::error::Result;

use crate::text::{Blocks, Lines};

/// Reads a text record by record.
pub(crate) struct Records {
    text: Blocks,
    delimiter: u8,
    quoted: Quoted,
    /// Where each field of the last record ends.
    ends: Vec<usize>,
}

/// A record in a text.
pub(crate) struct Found<'a> {
    /// Where in the text it begins.
    pub(crate) offset: u64,
    /// How many stored bytes have been read.
    pub(crate) read: u64,
    /// The bytes that it has there, its line end included.
    pub(crate) line: &'a [u8],
    /// Whether nothing follows.
    pub(crate) is_last: bool,
    /// Whether it has quotation marks.
    pub(crate) is_quoted: bool,
    pub(crate) record: Record<'a>,
}

/// A record's fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    /// How many bytes there are between two fields.
    gap: usize,
}

/// What reads records with quotation marks.
struct Quoted {
    /// Between two records. A copy of one would not work.
    reader: csv_core::Reader,
    /// The fields of the last record.
    unquoted: Vec<u8>,
}

/// How long a record is, its line end included, and how many bytes its fields have, as they stand or unquoted.
struct Extent {
    line: usize,
    fields: usize,
    is_quoted: bool,
}

impl Records {
    /// From the next byte of this text on.
    pub(crate) fn new(text: Blocks, delimiter: u8) -> Self {
        let reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        let mut quoted = Quoted { reader, unquoted: Vec::new() };
        quoted.restart();
        Self { text, delimiter, quoted, ends: Vec::new() }
    }

    /// The next record. Blank lines are no records.
    ///
    /// # Errors
    /// As [`Blocks::fill`].
    pub(crate) fn next(&mut self) -> Result<Option<Found<'_>>> {
        let delimiter = self.delimiter;
        let found = self
            .find(|rest, is_all, quoted, ends| record_in(rest, is_all, delimiter, quoted, ends))?;
        let Some(Extent { line, fields, is_quoted }) = found else { return Ok(None) };
        let (offset, read) = (self.text.offset(), self.text.read());
        let is_last = self.text.has_ended() && line == self.text.unread().len();
        let line = self.text.pass(line);
        let (bytes, gap) = match is_quoted {
            true => (&self.quoted.unquoted[..fields], 0),
            false => (&line[..fields], 1),
        };
        let record = Record { bytes, ends: &self.ends, gap };
        Ok(Some(Found { offset, read, line, is_last, is_quoted, record }))
    }

    /// Reads until all of the next record is there, as `find_in` tells, which is given the rest of the text, as far as it has
    /// been read, and whether that is all.
    fn find<T>(
        &mut self,
        find_in: impl Fn(&[u8], bool, &mut Quoted, &mut Vec<usize>) -> Option<T>,
    ) -> Result<Option<T>> {
        let Self { text, quoted, ends, .. } = self;
        loop {
            let blank = |byte: &&u8| matches!(byte, b'\r' | b'\n');
            let blanks = text.unread().iter().take_while(blank).count();
            text.skip(blanks);
            let (rest, is_all) = (text.unread(), text.has_ended());
            if let Some(found) = find_in(rest, is_all, quoted, ends) {
                return Ok(Some(found));
            }
            if is_all {
                return Ok(None);
            }
            text.fill()?;
        }
    }
}

impl Lines for Records {
    fn next_line(&mut self) -> Result<Option<&[u8]>> {
        let found = self.find(line_in)?;
        Ok(found.map(|bytes| self.text.pass(bytes)))
    }

    fn into_blocks(self) -> Blocks {
        self.text
    }
}

/// The record that these bytes begin with, if the whole of it is there for sure.
fn record_in(
    rest: &[u8],
    is_all: bool,
    delimiter: u8,
    quoted: &mut Quoted,
    ends: &mut Vec<usize>,
) -> Option<Extent> {
    let end = match memchr2(b'\n', b'\r', rest) {
        Some(end) => end,
        None if is_all && !rest.is_empty() => rest.len(),
        None => return None,
    };
    ends.clear();
    for place in memchr2_iter(delimiter, b'"', &rest[..end]) {
        if rest[place] == b'"' {
            return quoted.find_in(rest, is_all, ends);
        }
        ends.push(place);
    }
    ends.push(end);
    Some(Extent { line: with_line_end(rest, end + 1, is_all)?, fields: end, is_quoted: false })
}

/// The length of that record's line, whatever its fields are.
fn line_in(rest: &[u8], is_all: bool, quoted: &mut Quoted, ends: &mut Vec<usize>) -> Option<usize> {
    let end = match memchr3(b'\n', b'\r', b'"', rest) {
        Some(quote) if rest[quote] == b'"' => {
            return quoted.find_in(rest, is_all, ends).map(|found| found.line);
        }
        Some(end) => end,
        None if is_all && !rest.is_empty() => rest.len(),
        None => return None,
    };
    with_line_end(rest, end + 1, is_all)
}

impl Quoted {
    /// Makes ready for a record, after one that was not there to its end.
    fn restart(&mut self) {
        self.reader.reset();
        // The beginning of a record is not that of a text: there is no byte-order mark to skip.
        self.reader.read_record(b"\n", &mut [], &mut []);
    }

    fn find_in(&mut self, rest: &[u8], is_all: bool, ends: &mut Vec<usize>) -> Option<Extent> {
        let (mut read, mut copied, mut fields) = (0, 0, 0);
        loop {
            ends.resize(ends.capacity(), 0);
            let (result, nin, nout, nend) = self.reader.read_record(
                &rest[read..],
                &mut self.unquoted[copied..],
                &mut ends[fields..],
            );
            (read, copied, fields) = (read + nin, copied + nout, fields + nend);
            match result {
                ReadRecordResult::OutputFull => double(&mut self.unquoted),
                ReadRecordResult::OutputEndsFull => double(ends),
                // The next call is given nothing, which says that this is the end.
                ReadRecordResult::InputEmpty if is_all => {}
                ReadRecordResult::InputEmpty => {
                    self.restart();
                    return None;
                }
                ReadRecordResult::Record | ReadRecordResult::End => break,
            }
        }
        ends.truncate(fields);
        let line = with_line_end(rest, read, is_all);
        if line.is_none() {
            self.restart();
        }
        Some(Extent { line: line?, fields: copied, is_quoted: true })
    }
}

/// Returns the length of a line of this many bytes, which end with the first byte of its line end if it has one; `None` where the rest of
/// that may still come. A line feed that was written as both twice over ends a line with two carriage returns before it.
fn with_line_end(rest: &[u8], bytes: usize, is_all: bool) -> Option<usize> {
    let end = bytes.min(rest.len());
    match (rest[end - 1], &rest[end..]) {
        (b'\r', [b'\n', ..]) => Some(end + 1),
        (b'\r', [b'\r', b'\n', ..]) => Some(end + 2),
        (b'\r', [] | [b'\r']) if !is_all => None,
        _ => Some(end),
    }
}

impl<'a> Record<'a> {
    /// How many fields there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field, unquoted.
    pub(crate) fn get(&self, field: usize) -> Option<&'a [u8]> {
        let end = *self.ends.get(field)?;
        let start = if field == 0 { 0 } else { self.ends[field - 1] + self.gap };
        Some(&self.bytes[start..end])
    }

    /// All fields.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        (0..self.len()).filter_map(move |field| self.get(field))
    }
}

fn double<T: Default + Clone>(buffer: &mut Vec<T>) {
    buffer.resize((2 * buffer.len()).max(64), T::default());
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;
    use crate::text::Text;

    /// Every record as the csv crate reads it.
    fn expected(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        // It would skip a byte-order mark at the very beginning.
        let text = [b"\n", text].concat();
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..]);
        let records = reader.byte_records().map(std::result::Result::unwrap);
        records.map(|record| record.iter().map(<[u8]>::to_vec).collect()).collect()
    }

    #[test]
    fn records_are_those_of_the_csv_crate_wherever_blocks_end() {
        let mut rng = StdRng::seed_from_u64(1);
        let pieces: [&[u8]; 12] = [
            b",",
            b",",
            b"a",
            b"bc",
            b"\"",
            b"\"\"",
            b"\n",
            b"\r\n",
            b"\r",
            b" ",
            b"\xc3\xa9",
            b"\"x,\ny\"",
        ];
        for _ in 0..20_000 {
            let length = rng.random_range(0..24);
            let text: Vec<u8> = (0..length)
                .flat_map(|_| pieces[rng.random_range(0..pieces.len())])
                .copied()
                .collect();
            let blocks = Text::of(&*text).small_blocks(rng.random_range(1..40));
            let mut records = Records::new(blocks, b',');
            let (mut found, mut lines, mut end) = (Vec::new(), Vec::new(), 0);
            while let Some(Found { offset, line, is_last, record, .. }) = records.next().unwrap() {
                let start = offset as usize;
                let between = &text[end..start];
                assert!(between.iter().all(|byte| b"\r\n".contains(byte)), "{text:?}");
                end = start + line.len();
                lines.push(start..end);
                assert!(!line.is_empty() && line == &text[start..end], "{text:?}");
                assert!(!is_last || end == text.len());
                found.push(record.iter().map(<[u8]>::to_vec).collect::<Vec<_>>());
            }
            assert_eq!(found, expected(&text), "{:?}", String::from_utf8_lossy(&text));
            let blocks = Text::of(&*text).small_blocks(rng.random_range(1..40));
            let mut records = Records::new(blocks, b',');
            for line in lines {
                assert_eq!(records.next_line().unwrap(), Some(&text[line]));
            }
            assert!(records.next_line().unwrap().is_none());
            assert!(text[end..].iter().all(|byte| b"\r\n".contains(byte)));
        }
    }

    #[test]
    fn a_record_may_be_longer_than_any_buffer() {
        let long = "x".repeat(1000);
        let text = format!("{long},\"{long}\"\"\"\n{}\"1\"\n", ",".repeat(300));
        for block in [1, 64, 5000] {
            let mut records = Records::new(Text::of(&*text).small_blocks(block), b',');
            let found = records.next().unwrap().unwrap();
            assert_eq!(found.record.get(1), Some(format!("{long}\"").as_bytes()));
            let found = records.next().unwrap().unwrap();
            let record = found.record;
            assert_eq!(
                (record.len(), record.get(300), record.get(301)),
                (301, Some(&b"1"[..]), None)
            );
            assert_eq!(found.offset as usize + found.line.len(), text.len());
            assert!(records.next().unwrap().is_none());
        }
    }

    /// The end of a text is known once somebody has asked for more.
    #[test]
    fn the_last_record_is_known_as_such_where_no_line_end_closes_it() {
        for (text, block) in [("a\n\"b", 3), ("a\n\"b", 100), ("a\nb", 1)] {
            let mut records = Records::new(Text::of(text).small_blocks(block), b',');
            assert!(!records.next().unwrap().unwrap().is_last);
            assert!(records.next().unwrap().unwrap().is_last);
        }
    }
}
