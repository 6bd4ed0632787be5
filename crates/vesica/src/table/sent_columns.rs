//! Columns that one side sends: how a row's values become a payload, and how the other side reads it.
//!
//! A payload holds the values of the columns in their order: for each value its length in bytes as 16 bits, little
//! endian, and its bytes, which are UTF-8. The rest, up to the length that both sides agreed on, is zeros. So payloads
//! of rows with long and short values look alike. An empty value and a missing one are the same, as in delimited text.

use serde::{Deserialize, Serialize};
use vesica_psi::payload::MAX_LEN;

use crate::{
    error::{Error, InputFault, Result},
    table::rows::{Row, Scan},
};

/// The most columns that a side sends.
pub const MAX_COLUMNS: usize = 64;

/// The most bytes that their names have in all.
pub const MAX_NAMES: usize = 2048;

/// Bytes of a row's values, their lengths included, where nobody says otherwise.
pub const DEFAULT_BYTES: u32 = 64;

/// Bytes of a value's length.
const LENGTH: usize = size_of::<u16>();

/// The columns that a side sends with its matching rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentColumns {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// Bytes that the values of one row have at most, with two more for each. They are padded to it, so that the
    /// other side sees of no other row how long its values are.
    pub bytes: u32,
}

impl SentColumns {
    /// Says what is wrong with them, if anything is.
    pub(crate) fn fault(&self) -> Option<String> {
        let Self { columns, bytes } = self;
        let names: usize = columns.iter().map(String::len).sum();
        let twice = columns.iter().enumerate().find(|(i, name)| columns[..*i].contains(name));
        let least = columns.len() * LENGTH + 1;
        if columns.is_empty() || columns.len() > MAX_COLUMNS || names > MAX_NAMES {
            Some(format!(
                "a side sends 1 to {MAX_COLUMNS} columns, with names of {MAX_NAMES} bytes"
            ))
        } else if columns.iter().any(|name| name.is_empty() || name.chars().any(char::is_control)) {
            Some("a column that is sent has a name without control characters".to_owned())
        } else if twice.is_some() {
            Some("a column is sent once".to_owned())
        } else if (*bytes as usize) < least || *bytes as usize > MAX_LEN {
            Some(format!("the values of {} take {least} to {MAX_LEN} bytes", columns.len()))
        } else {
            None
        }
    }

    /// What is told to a person who compares.
    pub(crate) fn describe(&self) -> String {
        format!("{} in {} bytes a row", self.columns.join(", "), self.bytes)
    }

    /// The values that a payload holds; `None` where it is none of this form.
    pub(crate) fn read<'a>(&self, payload: &'a [u8]) -> Option<Vec<&'a str>> {
        let mut rest = payload;
        let values = self.columns.iter().map(|_| {
            let (length, after) = rest.split_first_chunk()?;
            let (value, after) = after.split_at_checked(u16::from_le_bytes(*length).into())?;
            rest = after;
            std::str::from_utf8(value).ok()
        });
        let values = values.collect::<Option<Vec<_>>>()?;
        rest.iter().all(|byte| *byte == 0).then_some(values)
    }
}

/// Makes the payloads of a table's rows.
pub(crate) struct Packer {
    sent: SentColumns,
    positions: Vec<usize>,
}

impl Packer {
    /// Finds the columns; `None` in a table without even a header.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`] and [`InputFault::AmbiguousColumn`].
    pub(crate) fn new(scan: &Scan, sent: &SentColumns) -> Result<Option<Self>> {
        if scan.header().is_empty() {
            return Ok(None);
        }
        let names: Vec<_> = sent.columns.iter().map(String::as_str).collect();
        Ok(Some(Self { positions: scan.find(&names)?, sent: sent.clone() }))
    }

    /// Bytes of a payload.
    pub(crate) fn payload_len(&self) -> usize {
        self.sent.bytes as usize
    }

    /// Appends the payload of a row.
    ///
    /// # Errors
    /// [`InputFault::TooLongToSend`] and [`InputFault::NotUtf8`].
    pub(crate) fn pack(&self, row: &Row<'_>, payloads: &mut Vec<u8>) -> Result<()> {
        let end = payloads.len() + self.payload_len();
        for (position, column) in self.positions.iter().zip(&self.sent.columns) {
            let value = row.field(*position);
            if std::str::from_utf8(value).is_err() {
                let fault = InputFault::NotUtf8 { place: row.place(), column: column.clone() };
                return Err(row.fault(fault));
            }
            let length = u16::try_from(value.len()).ok();
            let fits = payloads.len() + LENGTH + value.len() <= end;
            let Some(length) = length.filter(|_| fits) else {
                return Err(self.too_long(row, column));
            };
            payloads.extend_from_slice(&length.to_le_bytes());
            payloads.extend_from_slice(value);
        }
        payloads.resize(end, 0);
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
    use crate::table::source::{Delimiter, Source};

    fn sent(columns: &[&str], bytes: u32) -> SentColumns {
        SentColumns { columns: columns.iter().map(|name| (*name).to_owned()).collect(), bytes }
    }

    /// The payloads of a table's rows.
    fn packed(text: impl AsRef<[u8]>, sent: &SentColumns) -> Result<Vec<u8>> {
        let source = Source::Memory { name: "t.csv".into(), bytes: text.as_ref().to_vec() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let packer = Packer::new(&scan, sent)?.unwrap();
        let mut payloads = Vec::new();
        scan.rows(|row| packer.pack(&row, &mut payloads))?;
        Ok(payloads)
    }

    #[test]
    fn values_come_out_as_they_went_in() {
        let text = "a,b,c\n1,\"x,\"\"y\n\",3\n,,\n\u{e9}\u{1F600},0,\n";
        let sent = sent(&["c", "b"], 12);
        let payloads = packed(text, &sent).unwrap();
        assert_eq!(payloads.len(), 3 * 12);
        let read: Vec<_> = payloads.chunks(12).map(|payload| sent.read(payload).unwrap()).collect();
        assert_eq!(read, [["3", "x,\"y\n"], ["", ""], ["", "0"]]);
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
        let long = format!("a\n{}\n", "x".repeat(MAX_LEN - LENGTH));
        assert!(packed(&long, &sent(&["a"], MAX_LEN as u32)).is_ok());
        assert!(packed(long.replace("x\n", "xx\n"), &sent(&["a"], MAX_LEN as u32)).is_err());
    }

    #[test]
    fn whatever_is_no_payload_is_not_read() {
        let sent = sent(&["a", "b"], 9);
        for (payload, right) in [
            (&[1, 0, b'x', 2, 0, b'y', b'z', 0, 0][..], true),
            (&[1, 0, b'x', 2, 0, b'y', b'z', 0, 1], false),
            (&[1, 0, b'x', 5, 0, b'y', b'z', 0, 0], false),
            (&[255, 255, b'x', 2, 0, b'y', b'z', 0, 0], false),
            (&[1, 0, 0xff, 2, 0, b'y', b'z', 0, 0], false),
            (&[7, 0, 1, 2, 3, 4, 5, 6, 7], false),
            (&[], false),
        ] {
            assert_eq!(sent.read(payload).is_some(), right, "{payload:?}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        assert_eq!(sent(&["a", "b"], 5).fault(), None);
        for (columns, bytes) in [
            (&[][..], 64),
            (&["a"; 65], 1024),
            (&["a", "b"], 4),
            (&["a", "a"], 64),
            (&["a", ""], 64),
            (&["a\u{1b}[31m"], 64),
            (&["a"], MAX_LEN as u32 + 1),
        ] {
            assert!(sent(columns, bytes).fault().is_some(), "{columns:?} {bytes}");
        }
        let long = "x".repeat(MAX_NAMES + 1);
        assert!(sent(&[&long], 64).fault().is_some());
    }
}
