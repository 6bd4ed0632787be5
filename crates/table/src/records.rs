//! The records of delimited text, with their places and fields.
//!
//! Most lines have no quotation mark. Such a line is cut at its delimiters without a copy; the csv crate's core reads
//! the others.

use csv_core::ReadRecordResult;
use memchr::{memchr2, memchr2_iter, memchr3};
use vesica_core::error::Result;

use crate::text::{Blocks, Lines};

/// A reader of a text, record by record.
pub(crate) struct Records {
    text: Blocks,
    delimiter: u8,
    quoted: Quoted,
    /// The end of each field of the last record.
    ends: Vec<usize>,
}

/// A record in a text.
pub(crate) struct TextRecord<'a> {
    /// Its offset in the text.
    pub(crate) offset: u64,
    /// The number of stored bytes read so far.
    pub(crate) read: u64,
    /// Its bytes in the text, with the line end.
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
    /// The number of bytes between two fields.
    gap: usize,
}

/// A reader of records with quotation marks.
struct Quoted {
    /// The state between two records. A copy of one would not work.
    reader: csv_core::Reader,
    /// The fields of the last record.
    unquoted: Vec<u8>,
}

/// The length of a record with its line end, and the length of its fields, in raw or unquoted bytes.
struct Extent {
    line: usize,
    fields: usize,
    is_quoted: bool,
}

impl Records {
    /// Reads from the next byte of this text on.
    pub(crate) fn new(text: Blocks, delimiter: u8) -> Self {
        let reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        let mut quoted = Quoted { reader, unquoted: Vec::new() };
        quoted.restart();
        Self { text, delimiter, quoted, ends: Vec::new() }
    }

    /// Returns the next record. Blank lines are not records.
    ///
    /// # Errors
    /// As for [`Blocks::fill`].
    pub(crate) fn next(&mut self) -> Result<Option<TextRecord<'_>>> {
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
        Ok(Some(TextRecord { offset, read, line, is_last, is_quoted, record }))
    }

    /// Reads until the next record is complete. `find_in` decides this from the rest of the text, as far as it has been
    /// read, and from whether that is all of it.
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

/// Returns the record at the beginning of these bytes, if it is certainly complete.
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

/// Returns the length of that record's line, for any fields.
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
    /// Prepares for a record, after one that was incomplete.
    fn restart(&mut self) {
        self.reader.reset();
        // Unlike a text, a record does not begin with a byte-order mark to skip.
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
                // The next call gets nothing, which marks the end.
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

/// Returns the length of a line of this many bytes, including its line end. The bytes end with the first byte of the
/// line end, if there is one; `None` if the rest of it may still arrive. A line feed that was twice replaced by a
/// carriage return and a line feed ends a line with two carriage returns before it.
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
    /// Returns the number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a field, unquoted.
    pub(crate) fn get(&self, field: usize) -> Option<&'a [u8]> {
        let end = *self.ends.get(field)?;
        let start = if field == 0 { 0 } else { self.ends[field - 1] + self.gap };
        Some(&self.bytes[start..end])
    }

    /// Returns all fields.
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

    /// Returns every record as the csv crate reads it.
    fn expected(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        // It would skip a byte-order mark at the very beginning.
        let text = [b"\n", text].concat();
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..]);
        let records = reader.byte_records().map(std::result::Result::unwrap);
        records.map(|record| record.iter().map(<[u8]>::to_vec).collect()).collect()
    }

    #[test]
    fn records_equal_the_csv_crates_for_all_blocks() {
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
            while let Some(TextRecord { offset, line, is_last, record, .. }) =
                records.next().unwrap()
            {
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

    /// Tests that the end of a text is known after a read beyond it.
    #[test]
    fn a_last_record_without_a_line_end_is_recognized() {
        for (text, block) in [("a\n\"b", 3), ("a\n\"b", 100), ("a\nb", 1)] {
            let mut records = Records::new(Text::of(text).small_blocks(block), b',');
            assert!(!records.next().unwrap().unwrap().is_last);
            assert!(records.next().unwrap().unwrap().is_last);
        }
    }
}
