//! A delimited text as rows, each of which can be copied out byte for byte.
//!
//! The text is parsed once: each row's fields are shown, and it is noted where the row lies. What stays is the text and
//! sixteen bytes a row.

use std::{
    borrow::Cow,
    io::{self, Write},
    ops::Range,
};

use crate::{
    error::{InputFault, Place, Result},
    table::{
        append,
        header::Header,
        records::Records,
        rows::{Content, Fields, MAX_ROWS, Origin, Row, Unwritten},
        source::{Delimiter, Text, terminated, without_line_end},
        written::Written,
    },
};

/// How many rows are written before that is said.
const SHOW_EVERY: usize = 1 << 14;

/// A text of which the header has been read, and where the rows lie that have been shown.
pub struct Csv {
    text: Text,
    delimiter: u8,
    header: Range<usize>,
    columns: Header,
    rows: Vec<(u64, u64)>,
}

impl Csv {
    /// Reads the header.
    ///
    /// # Errors
    /// [`InputFault::UnclosedHeader`].
    pub fn new(text: Text, delimiter: Delimiter) -> Result<Self> {
        let delimiter = delimiter.byte(&text);
        let columns = Header::default();
        let mut csv = Self { text, delimiter, header: 0..0, columns, rows: Vec::new() };
        let mut records = Records::new(csv.text.bytes(), csv.text.body(), delimiter);
        let Some((header, record)) = records.next() else { return Ok(csv) };
        let columns = Header::new(record.iter().map(<[u8]>::to_vec).collect());
        if header.end == csv.text.bytes().len() && csv.ends_in_quotes(header.clone()) {
            return Err(csv.text.fault(InputFault::UnclosedHeader));
        }
        drop(records);
        // Whatever stands before the header, a byte-order mark above all, is kept with it.
        csv.header = 0..header.end;
        csv.columns = columns;
        Ok(csv)
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
        let header = self.header_bytes();
        header.ends_with(b"\n") || header.ends_with(b"\r")
    }

    /// Whether anything follows the header.
    pub(crate) fn has_rows(&self) -> bool {
        self.text.bytes()[self.header.end..].iter().any(|byte| !matches!(byte, b'\r' | b'\n'))
            && !self.columns.is_empty()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }

    /// The header's bytes as they came, a byte-order mark and the line end included.
    fn header_bytes(&self) -> &[u8] {
        &self.text.bytes()[self.header.clone()]
    }

    /// The bytes of a row, counted from 0, as they came, the line end included.
    fn row(&self, row: usize) -> &[u8] {
        let (start, end) = self.rows[row];
        &self.text.bytes()[start as usize..end as usize]
    }

    /// What the table's own lines end with; for a last row that ends with nothing.
    fn line_end(&self) -> &'static [u8] {
        let header = self.header_bytes();
        if header.ends_with(b"\r\n") {
            b"\r\n"
        } else if header.ends_with(b"\r") {
            b"\r"
        } else {
            b"\n"
        }
    }

    /// Whether the text stops inside a quoted field of this record. The csv crate takes the end of
    /// the text for the end of the field and says nothing.
    fn ends_in_quotes(&self, record: Range<usize>) -> bool {
        let end = Quoting::FieldStart;
        let after = |state: Quoting, byte: &u8| state.after(*byte, self.delimiter);
        self.text.bytes()[record].iter().fold(end, after) == Quoting::Quoted
    }

    /// The header as it is written, with all columns or those selected.
    fn written_header(&self, select: Option<&[usize]>) -> Cow<'_, [u8]> {
        let header = self.header_bytes();
        let Some(select) = select else { return terminated(header, self.line_end()) };
        let (mark, names) = header.split_at(self.text.body().min(header.len()));
        let blank = names.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        [mark, &self.selected(&names[blank..], select)].concat().into()
    }

    /// A row, counted from 0, as it is written.
    fn written_row(&self, row: u32, select: Option<&[usize]>) -> Cow<'_, [u8]> {
        let row = self.row(row as usize);
        match select {
            Some(select) => self.selected(row, select).into(),
            None => terminated(row, self.line_end()),
        }
    }

    /// Writes a record with more fields at its end. Delimited text has nothing for a value that is missing but an empty
    /// field.
    fn write_record<'a>(
        &self,
        record: &[u8],
        more: impl Iterator<Item = Option<&'a str>>,
        out: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        let form = (self.delimiter, self.line_end());
        append::write(record, more.map(Option::unwrap_or_default), form, out)
    }

    /// A record with the selected fields alone, each in the bytes that it came in, and in the order asked for.
    fn selected(&self, record: &[u8], select: &[usize]) -> Vec<u8> {
        let end = without_line_end(record);
        let mut fields = vec![0];
        let mut state = Quoting::FieldStart;
        for (place, byte) in end.iter().enumerate() {
            if state != Quoting::Quoted && *byte == self.delimiter {
                fields.push(place + 1);
            }
            state = state.after(*byte, self.delimiter);
        }
        fields.push(end.len() + 1);
        let field = |column: usize| &end[fields[column]..fields[column + 1] - 1];
        let fields: Vec<_> = select.iter().map(|column| field(*column)).collect();
        let mut line = fields.join(&self.delimiter);
        if line.is_empty() {
            // A blank line would be no row.
            line.extend_from_slice(b"\"\"");
        }
        line.extend_from_slice(self.line_end());
        line
    }
}

impl Content for Csv {
    /// Shows every row in order.
    ///
    /// # Errors
    /// [`InputFault::Ragged`], [`InputFault::UnclosedQuote`], [`InputFault::TooManyRows`], and
    /// whatever `show` returns.
    fn read(
        &mut self,
        _columns: &[usize],
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        let mut rows: Vec<(u64, u64)> = Vec::new();
        let first = self.header.end.max(self.text.body());
        let mut records = Records::new(self.text.bytes(), first, self.delimiter);
        while let Some((span, record)) = records.next() {
            let number = rows.len() as u64 + 1;
            let origin = Origin::Text(&self.text, span.start);
            let row = Row { number, origin, fields: Fields::Record(record) };
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
        self.rows = rows;
        Ok(self.rows.len() as u64)
    }

    fn place(&self, row: u64) -> Place {
        self.text.place(row + 1, self.rows[row as usize].0 as usize)
    }

    fn write(
        &self,
        what: &Written<'_>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        if self.header.is_empty() {
            return Ok(());
        }
        let (is_plain, select) = (what.is_plain(), what.select);
        let names = what.names(&self.columns.names());
        match &names.id {
            None => self.write_record(
                &self.written_header(select),
                names.received.iter().map(|name| Some(name.as_str())),
                out,
            )?,
            Some(id) => {
                let all: Vec<_> = (0..self.columns.len()).collect();
                let header = self.written_header(Some(select.unwrap_or(&all)));
                let (mark, header) = header.split_at(self.text.body());
                out.write_all(mark)?;
                write!(out, "{id}{}", char::from(self.delimiter))?;
                let received = names.received.iter().map(|name| Some(name.as_str()));
                self.write_record(header, received, out)?;
            }
        }
        for (nth, row) in what.rows().iter().enumerate() {
            if nth % SHOW_EVERY == 0 {
                done(nth as u64);
            }
            let record = self.written_row(*row, select);
            if is_plain {
                out.write_all(&record)?;
                continue;
            }
            if let Some(id) = what.id(nth) {
                write!(out, "{id}{}", char::from(self.delimiter))?;
            }
            self.write_record(&record, what.received(nth).into_iter(), out)?;
        }
        Ok(())
    }

    fn text(&self) -> Option<&Text> {
        Some(&self.text)
    }

    fn delimiter(&self) -> Option<&'static str> {
        Some(Self::delimiter(self).name())
    }
}

/// Where in a field a byte of delimited text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    FieldStart,
    Bare,
    Quoted,
    QuoteInQuoted,
}

impl Quoting {
    /// What comes after this byte.
    fn after(self, byte: u8, delimiter: u8) -> Self {
        match (self, byte) {
            (Self::FieldStart, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::QuoteInQuoted,
            (Self::Quoted, _) => Self::Quoted,
            (Self::QuoteInQuoted, b'"') => Self::Quoted,
            (_, byte) if byte == delimiter => Self::FieldStart,
            _ => Self::Bare,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::written::Matched;

    /// Every field of every row, and the table.
    fn table(bytes: impl AsRef<[u8]>) -> Result<(Vec<Vec<String>>, Csv)> {
        let text = Text::new("t.csv".into(), bytes.as_ref().to_vec())?;
        let mut table = Csv::new(text, Delimiter::Comma)?;
        let width = table.header().len();
        let mut rows = Vec::new();
        table.read(&[], &mut |row| {
            let field = |c| String::from_utf8_lossy(row.field(c)).into_owned();
            rows.push((0..width).map(field).collect());
            Ok(())
        })?;
        Ok((rows, table))
    }

    fn written(table: &Csv, rows: &[u32], select: Option<&[usize]>) -> String {
        let mut out = Vec::new();
        let matched = Matched { rows: rows.to_vec(), ..Matched::default() };
        table.write(&Written { matched: &matched, select }, &mut out, &mut |_| {}).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn selected_columns_keep_their_bytes_and_the_order_asked_for() {
        let text = "\u{feff}\r\nid,\"na,me\",v\r\n1,\"x,\"\"\r\n\", y\r\n\r\n2,,\"\"";
        let (_, table) = table(text).unwrap();
        let all = written(&table, &[0, 1], Some(&[2, 1]));
        assert_eq!(all, "\u{feff}v,\"na,me\"\r\n y,\"x,\"\"\r\n\"\r\n\"\",\r\n");
        // A row with nothing in it stays a row.
        assert_eq!(written(&table, &[1], Some(&[1])), "\u{feff}\"na,me\"\r\n\"\"\r\n");
        assert_eq!(written(&table, &[1], None), "\u{feff}\r\nid,\"na,me\",v\r\n2,,\"\"\r\n");
    }

    #[test]
    fn a_table_is_read_twice() {
        let (rows, mut table) = table("a,b\n1,2\n3,4\n").unwrap();
        let mut again = Vec::new();
        let read = table.read(&[], &mut |row| {
            again.push(row.field(0).to_vec());
            Ok(())
        });
        assert_eq!((read.unwrap(), rows.len()), (2, 2));
        assert_eq!(again, [b"1", b"3"]);
    }

    fn refused(bytes: impl AsRef<[u8]>) -> String {
        table(bytes).err().unwrap().to_string()
    }

    fn copied(table: &Csv) -> Vec<u8> {
        let mut copy = table.header_bytes().to_vec();
        (0..table.rows.len()).for_each(|row| copy.extend_from_slice(table.row(row)));
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
        assert_eq!(Content::place(&table, 2).line, Some(10));
        let (rows, _) = self::table("a\n\"\"\n1\n").unwrap();
        assert_eq!(rows, [[""], ["1"]]);
    }

    #[test]
    fn a_table_may_be_empty() {
        let (rows, blank) = table("").unwrap();
        assert!(rows.is_empty() && blank.header_bytes().is_empty());
        assert!(table("\u{feff}").unwrap().1.header_bytes().is_empty());
        let (rows, table) = table("a,b\r\n").unwrap();
        assert!(rows.is_empty() && !table.header_bytes().is_empty());
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
