//! A delimited text as rows, each of which can be copied out byte for byte.
//!
//! The text is parsed once: [`Scan`] shows each row's fields to its caller and notes where the row
//! lies. What stays is the text and sixteen bytes a row.

use std::ops::Range;

use csv::ByteRecord;

use crate::{
    error::{Error, InputFault, Place, Result},
    table::{
        header::Header,
        source::{Delimiter, Text},
    },
};

/// The most rows of a table: positions are 32 bits wide, and one value stands for "no key".
pub const MAX_ROWS: u64 = u32::MAX as u64 - 1;

/// A text of which the header has been read.
pub struct Scan {
    text: Text,
    delimiter: u8,
    header: Range<usize>,
    columns: Header,
}

/// A row being shown.
pub struct Row<'a> {
    text: &'a Text,
    number: u64,
    start: usize,
    fields: &'a ByteRecord,
}

impl<'a> Row<'a> {
    /// Where it is.
    pub fn place(&self) -> Place {
        self.text.place(self.number, self.start)
    }

    /// The offset of its first byte.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The value in a column, unquoted.
    pub fn field(&self, column: usize) -> &'a [u8] {
        let fields: &'a ByteRecord = self.fields;
        fields.get(column).unwrap_or_default()
    }

    /// An [`Error::Input`] of its table.
    pub(crate) fn fault(&self, fault: InputFault) -> Error {
        self.text.fault(fault)
    }
}

impl Scan {
    /// Reads the header.
    ///
    /// # Errors
    /// [`InputFault::UnclosedHeader`].
    pub fn new(text: Text, delimiter: Delimiter) -> Result<Self> {
        let delimiter = delimiter.byte(&text);
        let mut scan = Self { text, delimiter, header: 0..0, columns: Header::default() };
        let mut reader = scan.reader(scan.text.body());
        let mut record = ByteRecord::new();
        let Some(header) = next_record(&mut reader, &mut record, &scan.text, scan.text.body())
        else {
            return Ok(scan);
        };
        let columns = Header::new(record.iter().map(<[u8]>::to_vec).collect());
        if header.end == scan.text.bytes().len() && scan.ends_in_quotes(header.clone()) {
            return Err(scan.text.fault(InputFault::UnclosedHeader));
        }
        drop(reader);
        // Whatever stands before the header, a byte-order mark above all, is kept with it.
        scan.header = 0..header.end;
        scan.columns = columns;
        Ok(scan)
    }

    /// The text.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// What separates its fields.
    pub fn delimiter(&self) -> Delimiter {
        Delimiter::of_byte(self.delimiter)
    }

    /// The first line; empty where there is not even that.
    pub fn header(&self) -> &Header {
        &self.columns
    }

    /// Whether the header is there and has come to its end, whatever follows.
    pub(crate) fn header_is_whole(&self) -> bool {
        self.text.bytes()[self.header.clone()].ends_with(b"\n")
            || self.text.bytes()[self.header.clone()].ends_with(b"\r")
    }

    /// Whether anything follows the header.
    pub(crate) fn has_rows(&self) -> bool {
        self.text.bytes()[self.header.end..].iter().any(|byte| !matches!(byte, b'\r' | b'\n'))
            && !self.columns.is_empty()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }

    /// The positions of the columns with these names.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`] and [`InputFault::AmbiguousColumn`].
    pub fn find(&self, names: &[&str]) -> Result<Vec<usize>> {
        self.columns.find(names).map_err(|fault| self.text.fault(fault))
    }

    /// Shows every row in order.
    ///
    /// # Errors
    /// [`InputFault::Ragged`], [`InputFault::UnclosedQuote`], [`InputFault::TooManyRows`], and
    /// whatever `show` returns.
    pub fn rows(self, mut show: impl FnMut(Row<'_>) -> Result<()>) -> Result<Table> {
        let mut rows: Vec<(u64, u64)> = Vec::new();
        let mut reader = self.reader(self.header.end);
        let mut record = ByteRecord::new();
        while let Some(span) = next_record(&mut reader, &mut record, &self.text, self.header.end) {
            let number = rows.len() as u64 + 1;
            let row = Row { text: &self.text, number, start: span.start, fields: &record };
            // Only the last row can be open, and an open field is why its fields are too few.
            if span.end == self.text.bytes().len() && self.ends_in_quotes(span.clone()) {
                return Err(self.text.fault(InputFault::UnclosedQuote { place: row.place() }));
            }
            if record.len() != self.columns.len() {
                return Err(self.text.fault(InputFault::Ragged {
                    place: row.place(),
                    fields: record.len(),
                    expected: self.columns.len(),
                }));
            }
            if number > MAX_ROWS {
                return Err(self.text.fault(InputFault::TooManyRows { max: MAX_ROWS }));
            }
            show(row)?;
            rows.push((span.start as u64, span.end as u64));
        }
        drop(reader);
        Ok(Table { text: self.text, header: self.header, rows })
    }

    fn reader(&self, from: usize) -> csv::Reader<&[u8]> {
        csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .buffer_capacity(1 << 16)
            .from_reader(&self.text.bytes()[from..])
    }

    /// Whether the text stops inside a quoted field of this record. The csv crate takes the end of
    /// the text for the end of the field and says nothing.
    fn ends_in_quotes(&self, record: Range<usize>) -> bool {
        enum State {
            FieldStart,
            Bare,
            Quoted,
            QuoteInQuoted,
        }
        let mut state = State::FieldStart;
        for &byte in &self.text.bytes()[record] {
            state = match (state, byte) {
                (State::FieldStart, b'"') => State::Quoted,
                (State::Quoted, b'"') => State::QuoteInQuoted,
                (State::Quoted, _) => State::Quoted,
                (State::QuoteInQuoted, b'"') => State::Quoted,
                (_, byte) if byte == self.delimiter => State::FieldStart,
                _ => State::Bare,
            };
        }
        matches!(state, State::Quoted)
    }
}

/// The next record and the range of its bytes in the text, its line end included.
fn next_record(
    reader: &mut csv::Reader<&[u8]>,
    record: &mut ByteRecord,
    text: &Text,
    base: usize,
) -> Option<Range<usize>> {
    // Reading from memory, with rows of any length and values of any bytes, cannot fail.
    if !reader.read_byte_record(record).unwrap_or(false) {
        return None;
    }
    let bytes = text.bytes();
    let mut start = base + record.position().map_or(0, |p| p.byte() as usize);
    let mut end = base + reader.position().byte() as usize;
    // The reader counts blank lines, and a line feed left over from a CRLF, to the row after them.
    while start < end && matches!(bytes[start], b'\r' | b'\n') {
        start += 1;
    }
    if end > start && bytes[end - 1] == b'\r' && bytes.get(end) == Some(&b'\n') {
        end += 1;
    }
    Some(start..end)
}

/// A text and where its rows lie.
pub struct Table {
    text: Text,
    header: Range<usize>,
    rows: Vec<(u64, u64)>,
}

impl Table {
    /// How many data rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no data row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether there is not even a header.
    pub fn is_blank(&self) -> bool {
        self.header.is_empty()
    }

    /// The header's bytes as they came, a byte-order mark and the line end included.
    pub fn header(&self) -> &[u8] {
        &self.text.bytes()[self.header.clone()]
    }

    /// The bytes of a row, counted from 0, as they came, the line end included.
    pub fn row(&self, row: usize) -> &[u8] {
        let (start, end) = self.rows[row];
        &self.text.bytes()[start as usize..end as usize]
    }

    /// Where a row, counted from 0, is.
    pub fn place(&self, row: usize) -> Place {
        self.text.place(row as u64 + 1, self.rows[row].0 as usize)
    }

    /// The text.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// What the table's own lines end with; for a last row that ends with nothing.
    pub fn line_end(&self) -> &'static [u8] {
        let header = self.header();
        if header.ends_with(b"\r\n") {
            b"\r\n"
        } else if header.ends_with(b"\r") {
            b"\r"
        } else {
            b"\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(bytes: impl AsRef<[u8]>) -> Result<Scan> {
        let bytes = bytes.as_ref().to_vec();
        Scan::new(Text::new("t.csv".into(), bytes)?, Delimiter::Comma)
    }

    /// Every field of every row, and the table.
    fn table(bytes: impl AsRef<[u8]>) -> Result<(Vec<Vec<String>>, Table)> {
        let scan = scan(bytes)?;
        let width = scan.header().len();
        let mut rows = Vec::new();
        let table = scan.rows(|row| {
            let field = |c| String::from_utf8_lossy(row.field(c)).into_owned();
            rows.push((0..width).map(field).collect());
            Ok(())
        })?;
        Ok((rows, table))
    }

    fn refused(bytes: impl AsRef<[u8]>) -> String {
        table(bytes).err().unwrap().to_string()
    }

    fn copied(table: &Table) -> Vec<u8> {
        let mut copy = table.header().to_vec();
        (0..table.len()).for_each(|row| copy.extend_from_slice(table.row(row)));
        copy
    }

    #[test]
    fn rows_come_out_as_they_went_in() {
        for text in [
            "id,name\n1,a\n2,b\n",
            "id,name\r\n1,a\r\n2,b\r\n",
            "id,name\r1,a\r2,b\r",
            "\u{feff}id,name\n1,\"a,\n\r\n\"\"b\"\n2,b\n",
            "id,name\r\n1,\"x\ny\"\r\n2,b",
            "id,name\n\"1\",a \n  2 , b\n",
            "id,name\n",
            "id,name",
            "",
        ] {
            let (_, table) = table(text).unwrap();
            assert_eq!(copied(&table), text.as_bytes(), "{text:?}");
        }
    }

    #[test]
    fn fields_are_unquoted() {
        let (rows, _) = table("a,b\n\"x,\"\"y\"\"\n\",\r\n").unwrap();
        assert_eq!(rows, [["x,\"y\"\n", ""]]);
        let (rows, _) = table("\u{feff}\"a\",b\r\n1,2\r\n").unwrap();
        assert_eq!(rows, [["1", "2"]]);
    }

    #[test]
    fn blank_lines_are_skipped() {
        let text = "\n\r\na\n\n1\n\n\n2\r\n\r\n3\n\n";
        let (rows, table) = table(text).unwrap();
        assert_eq!(rows, [["1"], ["2"], ["3"]]);
        assert_eq!([table.row(0), table.row(1), table.row(2)], [&b"1\n"[..], b"2\r\n", b"3\n"]);
        assert_eq!(table.place(2).line, 10);
        let (rows, _) = self::table("a\n\"\"\n1\n").unwrap();
        assert_eq!(rows, [[""], ["1"]]);
    }

    #[test]
    fn a_table_may_be_empty() {
        let (rows, blank) = table("").unwrap();
        assert!(rows.is_empty() && blank.is_blank());
        assert!(table("\u{feff}").unwrap().1.is_blank());
        let (rows, table) = table("a,b\r\n").unwrap();
        assert!(rows.is_empty() && !table.is_blank());
        assert_eq!(table.line_end(), b"\r\n");
    }

    #[test]
    fn ragged_rows_are_placed() {
        let message = refused("a,b\n1,2\n\n\"3\n\n\",4\n5\n");
        assert_eq!(message, "t.csv: row 3 (line 7) has 1 field, the header has 2");
        assert_eq!(refused("a\n1,2"), "t.csv: row 1 (line 2) has 2 fields, the header has 1");
    }

    #[test]
    fn an_open_quote_is_placed() {
        let message = "t.csv: row 2 (line 3) opens a quoted field that is never closed";
        assert_eq!(refused("a,b\n1,2\n3,\"4\n5,6\n"), message);
        assert_eq!(refused("a,b\n1,2\n3,\""), message);
        assert_eq!(refused("a,b\n1,2\n\"3,4\"\"\n5,6"), message);
        assert!(refused("a,\"b\n1,2\n").contains("header"));
        assert!(table("a,b\n1,2\n3,\"4\"").is_ok());
        assert!(table("a,b\n1,2\n3,4\"").is_ok());
        assert!(table("a,b\n1,2\n3,\"4\"\"\"\n").is_ok());
    }
}
