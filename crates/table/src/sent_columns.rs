//! Columns that one side sends: the conversion of rows' values to a payload, and back on the other side.
//!
//! A payload has a fixed number of places, the most rows that may be sent with a key, and each place has the same
//! number of bytes. A place holds the values of the columns in order ([`vesica_structures::packed`]); unused places are
//! zeros. So the payloads look alike for long and short values, and for keys with many and few rows.

use serde::{Deserialize, Serialize};
use vesica_core::error::{Error, InputFault, Result};
use vesica_normalize::shown::is_plain;
use vesica_psi::payload::MAX_LEN;
use vesica_structures::packed::{self, LENGTH, MISSING, PRESENT};

use crate::{row::Row, rows::Scan};

/// The maximum number of columns that a side sends.
pub const MAX_COLUMNS: usize = 64;

/// The maximum number of bytes in all of their names.
pub const MAX_NAMES: usize = 2048;

/// The default number of bytes for a row's values, including their lengths.
pub const DEFAULT_BYTES: u32 = 64;

/// The columns that a side sends with its matching rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentColumns {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The maximum number of bytes for the values of one row, with two more bytes per value. Shorter values are padded
    /// to it, so that the other side does not learn the lengths in rows that do not match.
    pub bytes: u32,
    /// The most rows that are sent with one key. If it is 1, the first row of each key is sent.
    pub rows: u32,
}

impl SentColumns {
    /// Returns the fault of these settings, if there is one.
    pub fn fault(&self) -> Option<String> {
        let Self { columns, bytes, rows } = self;
        let names: usize = columns.iter().map(String::len).sum();
        let twice = columns.iter().enumerate().find(|(i, name)| columns[..*i].contains(name));
        let least = columns.len() * LENGTH + 1;
        if columns.is_empty() || columns.len() > MAX_COLUMNS || names > MAX_NAMES {
            Some(format!(
                "send 1 to {MAX_COLUMNS} columns, whose names have at most {MAX_NAMES} bytes in total"
            ))
        } else if columns.iter().any(|name| name.is_empty() || !is_plain(name)) {
            Some(
                "the name of a column to send is empty, or has control or format characters, or separators other than the \
                 space; rename it"
                    .to_owned(),
            )
        } else if twice.is_some() {
            Some("each column can be sent only once".to_owned())
        } else if (*bytes as usize) < least || *bytes as usize > MAX_LEN {
            Some(format!(
                "the values of these {} columns take {least} to {MAX_LEN} bytes",
                columns.len()
            ))
        } else if *rows == 0 || u64::from(*rows) * u64::from(*bytes) > MAX_LEN as u64 {
            Some(format!(
                "the rows of one key may take at most {MAX_LEN} bytes, too few for {rows} rows of {bytes} bytes; \
                 send fewer rows per key, or fewer bytes per row"
            ))
        } else {
            None
        }
    }

    /// Describes the columns for a person who compares terms.
    pub fn describe(&self) -> String {
        let rows = match self.rows {
            1 => String::new(),
            rows => format!(", up to {rows} rows a key"),
        };
        format!("{} in {} bytes a row{rows}", self.columns.join(", "), self.bytes)
    }

    /// Returns the length of a payload, in bytes.
    pub fn payload_len(&self) -> usize {
        (self.bytes as usize).saturating_mul(self.rows as usize)
    }

    /// Returns the number of rows in a payload, at least 1; `None` if the payload is malformed.
    pub fn rows_of(&self, payload: &[u8]) -> Option<usize> {
        let places = || payload.chunks(self.bytes as usize);
        let rows = places().take_while(|place| place.iter().any(|byte| *byte != 0)).count();
        let are_read = places().take(rows).all(|place| self.read(place).is_some());
        let is_whole = places().skip(rows).flatten().all(|byte| *byte == 0);
        (rows > 0 && are_read && is_whole && payload.len() == self.payload_len()).then_some(rows)
    }

    /// Returns the values of this row of a payload.
    pub fn row<'a>(&self, payload: &'a [u8], row: usize) -> Option<Vec<Option<&'a str>>> {
        self.read(payload.chunks(self.bytes as usize).nth(row)?)
    }

    /// Returns the values in a place; `None` if the place is malformed.
    fn read<'a>(&self, place: &'a [u8]) -> Option<Vec<Option<&'a str>>> {
        packed::read(place, self.columns.len())
    }
}

/// A maker of payloads from a table's rows.
#[derive(Clone)]
pub struct Packer {
    sent: SentColumns,
    positions: Vec<usize>,
}

impl Packer {
    /// Finds the columns; `None` in a table without a header.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub fn new(scan: &Scan, sent: &SentColumns) -> Result<Option<Self>> {
        if scan.header().is_missing() {
            return Ok(None);
        }
        let names: Vec<_> = sent.columns.iter().map(String::as_str).collect();
        Ok(Some(Self { positions: scan.find_sent(&names)?, sent: sent.clone() }))
    }

    /// Appends the place of a row in a payload.
    ///
    /// # Errors
    /// [`InputFault::TooLongToSend`] and [`InputFault::NotUtf8`].
    pub fn pack(&self, row: &Row<'_>, places: &mut Vec<u8>) -> Result<()> {
        let end = places.len() + self.sent.bytes as usize;
        for (position, column) in self.positions.iter().zip(&self.sent.columns) {
            let value = row.value(*position);
            if value.is_some_and(|value| std::str::from_utf8(value).is_err()) {
                let fault = InputFault::NotUtf8 { place: row.place(), column: column.clone() };
                return Err(row.fault(fault));
            }
            let length = match value {
                Some(value) => u16::try_from(value.len() + usize::from(PRESENT)).ok(),
                None => Some(MISSING),
            };
            let value = value.unwrap_or_default();
            let fits = places.len() + LENGTH + value.len() <= end;
            let Some(length) = length.filter(|_| fits) else {
                return Err(self.too_long(row, column));
            };
            places.extend_from_slice(&length.to_le_bytes());
            places.extend_from_slice(value);
        }
        places.resize(end, 0);
        Ok(())
    }

    fn too_long(&self, row: &Row<'_>, column: &str) -> Error {
        row.fault(InputFault::TooLongToSend {
            place: row.place(),
            column: column.to_owned(),
            bytes: self.sent.bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Delimiter, Source};

    fn sent(columns: &[&str], bytes: u32) -> SentColumns {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        SentColumns { columns, bytes, rows: 1 }
    }

    /// Returns the places of a table's rows.
    fn packed(text: impl AsRef<[u8]>, sent: &SentColumns) -> Result<Vec<u8>> {
        let source = Source::Memory { name: "t.csv".into(), bytes: text.as_ref().to_vec() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let packer = Packer::new(&scan, sent)?.unwrap();
        let mut places = Vec::new();
        scan.rows(|row| packer.pack(&row, &mut places))?;
        Ok(places)
    }

    #[test]
    fn values_come_out_as_they_went_in() {
        let text = "a,b,c\n1,\"x,\"\"y\n\",3\n,,\n\u{e9}\u{1F600},0,\n";
        let one = sent(&["c", "b"], 12);
        let places = packed(text, &one).unwrap();
        assert_eq!(places.len(), 3 * 12);
        let read: Vec<_> = places.chunks(12).map(|place| one.row(place, 0).unwrap()).collect();
        let expected = [["3", "x,\"y\n"], ["", ""], ["", "0"]];
        assert_eq!(read, expected.map(|row| row.map(Some)));
        // Three rows of one key, and room for a fourth.
        let four = SentColumns { rows: 4, ..one };
        let payload = [&places[..], &[0; 12]].concat();
        assert_eq!((four.payload_len(), four.rows_of(&payload)), (48, Some(3)));
        assert_eq!(four.row(&payload, 1).unwrap(), [Some(""), Some("")]);
        let gap = [&places[..12], &[0; 12], &places[12..]].concat();
        for wrong in [&gap[..], &payload[..36], &[0; 48]] {
            assert_eq!(four.rows_of(wrong), None);
        }
    }

    #[test]
    fn missing_and_empty_values_differ() {
        let text = "{\"a\":null,\"b\":\"\"}\n{\"b\":15}\n{\"a\":\"x\"}\n";
        let sent = sent(&["a", "b"], 8);
        let places = packed(text, &sent).unwrap();
        let read: Vec<_> = places.chunks(8).map(|place| sent.row(place, 0).unwrap()).collect();
        assert_eq!(read, [[None, Some("")], [None, Some("15")], [Some("x"), None]]);
    }

    #[test]
    fn a_row_that_does_not_fit_is_named() {
        let text = "a,b\n1,2\n12345,123\n";
        assert!(packed(text, &sent(&["a", "b"], 12)).is_ok());
        let message = packed(text, &sent(&["a", "b"], 11)).unwrap_err().to_string();
        assert!(message.starts_with("t.csv: row 2 (line 3), column `b`: "), "{message}");
        assert!(message.contains("11 bytes") && !message.contains("123"), "{message}");
        let message = packed(text, &sent(&["c"], 64)).unwrap_err().to_string();
        assert!(message.contains("has no column `c`"), "{message}");
        let message = packed(b"a,b\n1,\xff\n", &sent(&["b"], 64)).unwrap_err().to_string();
        assert!(message.contains("not valid UTF-8"), "{message}");
        let long = format!("a\n{}\n", "x".repeat(MAX_LEN - 1 - LENGTH));
        assert!(packed(&long, &sent(&["a"], MAX_LEN as u32)).is_ok());
        assert!(packed(long.replace("x\n", "xx\n"), &sent(&["a"], MAX_LEN as u32)).is_err());
    }

    #[test]
    fn malformed_payloads_are_not_read() {
        let sent = sent(&["a", "b"], 9);
        for (payload, right) in [
            (&[3, 0, b'x', 4, 0, b'y', b'z', 0, 0][..], true),
            (&[1, 0, 1, 0, 0, 0, 0, 0, 0], true),
            (&[1, 0, 2, 0, 0, 0, 0, 0, 0], true),
            (&[1, 0, 0, 0, 0, 0, 0, 0, 0], false),
            (&[0, 0, 0, 0, 0, 0, 0, 0, 0], false),
            (&[3, 0, b'x', 4, 0, b'y', b'z', 0, 1], false),
            (&[3, 0, b'x', 7, 0, b'y', b'z', 0, 0], false),
            (&[255, 255, b'x', 4, 0, b'y', b'z', 0, 0], false),
            (&[3, 0, 0xff, 4, 0, b'y', b'z', 0, 0], false),
            (&[9, 0, 1, 2, 3, 4, 5, 6, 7], false),
            (&[], false),
        ] {
            assert_eq!(sent.rows_of(payload), right.then_some(1), "{payload:?}");
        }
    }

    #[test]
    fn unsuitable_columns_are_not_sent() {
        assert_eq!(sent(&["a", "b"], 5).fault(), None);
        for (columns, bytes) in [
            (&[][..], 64),
            (&["a"; 65], 1024),
            (&["a", "b"], 4),
            (&["a", "a"], 64),
            (&["a", ""], 64),
            (&["a\u{1b}[31m"], 64),
            (&["tier\u{202e}exe"], 64),
            (&["a\u{2028}b"], 64),
            (&["a\u{a0}b"], 64),
            (&["a"], MAX_LEN as u32 + 1),
        ] {
            assert!(sent(columns, bytes).fault().is_some(), "{columns:?} {bytes}");
        }
        for (rows, is_fault) in [(0, true), (1024, false), (1025, true), (u32::MAX, true)] {
            let many = SentColumns { rows, ..sent(&["a"], 64) };
            assert_eq!(many.fault().is_some(), is_fault, "{rows}");
        }
        let long = "x".repeat(MAX_NAMES + 1);
        assert!(sent(&[&long], 64).fault().is_some());
    }
}
