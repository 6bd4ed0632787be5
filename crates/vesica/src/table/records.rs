//! The records of delimited text: where each lies, and what its fields are.
//!
//! Most lines have no quotation mark. Such a line is cut at its delimiters and nothing is copied; the csv crate's core
//! reads the others.

use std::ops::Range;

use csv_core::ReadRecordResult;
use memchr::{memchr2, memchr2_iter};

/// Reads a text record by record.
pub(crate) struct Records<'a> {
    text: &'a [u8],
    at: usize,
    delimiter: u8,
    quoted: csv_core::Reader,
    /// The fields of a record that is not as it stands in the text.
    unquoted: Vec<u8>,
    /// Where each field of the last record ends.
    ends: Vec<usize>,
}

/// A record's fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    /// How many bytes there are between two fields.
    gap: usize,
}

impl<'a> Records<'a> {
    /// From this offset on.
    pub(crate) fn new(text: &'a [u8], from: usize, delimiter: u8) -> Self {
        let mut quoted = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        // The beginning of a record is not that of a text: there is no byte-order mark to skip.
        quoted.read_record(b"\n", &mut [], &mut []);
        Self { text, at: from, delimiter, quoted, unquoted: Vec::new(), ends: Vec::new() }
    }

    /// The next record and the range of its bytes in the text, its line end included. Blank lines are no records.
    pub(crate) fn next(&mut self) -> Option<(Range<usize>, Record<'_>)> {
        let blank = |byte: &&u8| matches!(byte, b'\r' | b'\n');
        self.at += self.text[self.at..].iter().take_while(blank).count();
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let line = &rest[..memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())];
        self.ends.clear();
        for place in memchr2_iter(self.delimiter, b'"', line) {
            if line[place] == b'"' {
                return Some(self.next_quoted());
            }
            self.ends.push(place);
        }
        self.ends.push(line.len());
        let span = self.pass(line.len() + 1);
        Some((span, Record { bytes: line, ends: &self.ends, gap: 1 }))
    }

    fn next_quoted(&mut self) -> (Range<usize>, Record<'_>) {
        let (mut read, mut copied, mut fields) = (0, 0, 0);
        loop {
            let (result, nin, nout, nend) = self.quoted.read_record(
                &self.text[self.at + read..],
                &mut self.unquoted[copied..],
                &mut self.ends[fields..],
            );
            (read, copied, fields) = (read + nin, copied + nout, fields + nend);
            match result {
                ReadRecordResult::OutputFull => double(&mut self.unquoted),
                ReadRecordResult::OutputEndsFull => double(&mut self.ends),
                // The next call is given nothing, which says that this is the end.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record | ReadRecordResult::End => break,
            }
        }
        let span = self.pass(read);
        let record = Record { bytes: &self.unquoted[..copied], ends: &self.ends[..fields], gap: 0 };
        (span, record)
    }

    /// Goes past so many bytes, which end with the first byte of a line end if there is one, and past the rest of it.
    fn pass(&mut self, bytes: usize) -> Range<usize> {
        let start = self.at;
        let end = (start + bytes).min(self.text.len());
        let half = self.text[end - 1] == b'\r' && self.text.get(end) == Some(&b'\n');
        self.at = end + usize::from(half);
        start..self.at
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

    /// Every record as the csv crate reads it.
    fn expected(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        // It would skip a byte-order mark at the very beginning.
        let text = [b"\n", text].concat();
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..]);
        let records = reader.byte_records().map(Result::unwrap);
        records.map(|record| record.iter().map(<[u8]>::to_vec).collect()).collect()
    }

    #[test]
    fn records_are_those_of_the_csv_crate() {
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
            let mut records = Records::new(&text, 0, b',');
            let (mut found, mut end) = (Vec::new(), 0);
            while let Some((span, record)) = records.next() {
                assert!(
                    text[end..span.start].iter().all(|byte| b"\r\n".contains(byte)),
                    "{text:?}"
                );
                assert!(span.end > span.start && span.end <= text.len());
                end = span.end;
                found.push(record.iter().map(<[u8]>::to_vec).collect::<Vec<_>>());
            }
            assert_eq!(found, expected(&text), "{:?}", String::from_utf8_lossy(&text));
            assert!(text[end..].iter().all(|byte| b"\r\n".contains(byte)));
        }
    }

    #[test]
    fn a_record_may_be_longer_than_any_buffer() {
        let long = "x".repeat(1000);
        let text = format!("{long},\"{long}\"\"\"\n{}\"1\"\n", ",".repeat(300));
        let mut records = Records::new(text.as_bytes(), 0, b',');
        let (_, record) = records.next().unwrap();
        assert_eq!(record.get(1), Some(format!("{long}\"").as_bytes()));
        let (span, record) = records.next().unwrap();
        assert_eq!((record.len(), record.get(300), record.get(301)), (301, Some(&b"1"[..]), None));
        assert_eq!(span.end, text.len());
        assert!(records.next().is_none());
    }
}
