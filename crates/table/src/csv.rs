//! A delimited text as rows, which can be copied byte for byte.
//!
//! The text is read twice, in blocks: once to show each row's fields, and again to copy the rows to write.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use memchr::memchr_iter;
use vesica_core::error::{Error, InputFault, Place, Result};

use crate::{
    append,
    content::{Content, MAX_ROWS},
    digest::InputDigest,
    foreign::SAMPLE,
    format::{Beginning, Format, FormatKind, Recognition, TextOpening},
    head::{self, Delimiter, Head, SNIFFED_ROWS, terminated, without_line_end},
    header::Header,
    ingest::{Reader, Texts},
    records::{Records, TextRecord},
    row::{Fields, Origin, Row},
    row_number::RowNumber,
    stored::Stored,
    text::{Lines, Text, TextSurvey, show_rows},
    written::{Unwritten, Written},
};

impl Format {
    /// Delimited text with a header, as RFC 4180 has it or with another delimiter.
    pub const CSV: Self = Self(&KIND);
}

static KIND: FormatKind = FormatKind {
    name: "csv",
    title: "CSV",
    endings: &["csv", "tsv", "tab", "psv"],
    header_grows: false,
    recognition: Recognition::Text(&OPENING),
    batches,
};

/// The opening of a text of no other format.
pub(crate) static OPENING: TextOpening =
    TextOpening { is_line: |_| false, is_like_line: |_| false, is_enough, begin };

/// The number of rows between two reports of progress.
const SHOW_EVERY: usize = 1 << 14;

/// The header of a delimited text.
pub(crate) struct DelimitedHeader {
    delimiter: u8,
    /// Its bytes, with everything before it and with its line end.
    header: Vec<u8>,
    /// The length of a byte-order mark in it.
    mark: usize,
    columns: Header,
}

/// A text whose header has been read.
pub(crate) struct Csv {
    text: Text,
    layout: DelimitedHeader,
    /// The findings of the first reading.
    facts: Option<TextSurvey>,
    /// The number of rows with quotation marks that RFC 4180 does not allow.
    misquoted: u64,
}

impl DelimitedHeader {
    /// Reads the header of a text with this beginning, which has at least the whole header.
    ///
    /// # Errors
    /// [`InputFault::UnclosedHeader`].
    pub(crate) fn new(head: Head<'_>, delimiter: Delimiter) -> Result<Self> {
        let delimiter = delimiter.byte(head);
        let columns = Header::default();
        let mut layout = Self { delimiter, header: Vec::new(), mark: head.body(), columns };
        let beginning = Text::new(Stored::memory("", head.bytes().to_vec()), None, u64::MAX);
        let mut blocks = beginning.blocks(false)?;
        blocks.skip_to(head.body() as u64)?;
        let mut records = Records::new(blocks, delimiter);
        let Some(found) = records.next()? else { return Ok(layout) };
        if found.is_last && layout.ends_in_quotes(found.line) {
            return Err(head.fault(InputFault::UnclosedHeader));
        }
        layout.columns = Header::new(found.record.iter().map(<[u8]>::to_vec).collect());
        layout.header = head.bytes()[..found.offset as usize + found.line.len()].to_vec();
        Ok(layout)
    }

    /// Returns the delimiter.
    pub(crate) fn delimiter(&self) -> Delimiter {
        Delimiter::of_byte(self.delimiter)
    }

    /// Returns the first line, which is empty if the text is.
    pub(crate) fn columns(&self) -> &Header {
        &self.columns
    }

    /// Whether the header exists and has its line end.
    pub(crate) fn is_whole(&self) -> bool {
        self.header.ends_with(b"\n") || self.header.ends_with(b"\r")
    }

    /// Whether anything follows the header in the text with this beginning.
    pub(crate) fn has_rows(&self, head: Head<'_>) -> bool {
        head.bytes()[self.header.len()..].iter().any(|byte| !matches!(byte, b'\r' | b'\n'))
            && !self.columns.is_missing()
    }

    /// Returns the line end of the table's own lines, for a last row without one.
    fn line_end(&self) -> &'static [u8] {
        match head::line_end(&self.header) {
            [] => b"\n",
            own => own,
        }
    }

    /// Whether the text ends inside a quoted field of this record. The csv crate takes the end of the text for the end
    /// of the field and reports nothing.
    fn ends_in_quotes(&self, record: &[u8]) -> bool {
        let after = |state: Quoting, byte: &u8| state.after(*byte, self.delimiter);
        record.iter().fold(Quoting::FieldStart, after) == Quoting::Quoted
    }

    /// Whether a record has a quotation mark in an unquoted field, or anything after a closing one.
    fn is_misquoted(&self, record: &[u8]) -> bool {
        let record = without_line_end(record);
        let is_delimiter = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == self.delimiter);
        let mut marks = memchr_iter(b'"', record).peekable();
        let mut is_open = false;
        while let Some(mark) = marks.next() {
            let before = mark.checked_sub(1).and_then(|before| record.get(before));
            if is_open && marks.next_if_eq(&(mark + 1)).is_some() {
                continue;
            }
            if !is_delimiter(if is_open { record.get(mark + 1) } else { before }) {
                return true;
            }
            is_open = !is_open;
        }
        false
    }

    /// Returns the header for the output, with all columns or the selected ones.
    fn written_header(&self, select: Option<&[usize]>) -> Cow<'_, [u8]> {
        let Some(select) = select else { return terminated(&self.header, self.line_end()) };
        let (mark, names) = self.header.split_at(self.mark.min(self.header.len()));
        let blank = names.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        [mark, &self.selected(&names[blank..], select)].concat().into()
    }

    /// Returns a row for the output.
    fn written_row<'a>(&self, line: &'a [u8], select: Option<&[usize]>) -> Cow<'a, [u8]> {
        match select {
            Some(select) => self.selected(line, select).into(),
            None => terminated(line, self.line_end()),
        }
    }

    /// Writes a record with more fields at its end. A missing value becomes an empty field.
    fn write_record<'a>(
        &self,
        record: &[u8],
        more: impl Iterator<Item = Option<&'a str>>,
        out: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        let more = more.map(Option::unwrap_or_default);
        append::write(record, more, self.delimiter, self.line_end(), out)
    }

    /// Returns a record with only the selected fields, in the requested order and with unchanged bytes.
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
            // A blank line would not be a row.
            line.extend_from_slice(b"\"\"");
        }
        line.extend_from_slice(self.line_end());
        line
    }
}

fn is_enough(head: Head<'_>, delimiter: Delimiter) -> bool {
    let text = head.bytes();
    let rows = text.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    if delimiter == Delimiter::Auto && rows <= 2 * SNIFFED_ROWS && text.len() < SAMPLE {
        return false;
    }
    DelimitedHeader::new(head, delimiter).is_ok_and(|layout| layout.is_whole())
}

fn begin(head: Head<'_>, delimiter: Delimiter) -> Result<Beginning> {
    let layout = DelimitedHeader::new(head, delimiter)?;
    Ok(Beginning {
        header: layout.columns().clone(),
        has_rows: layout.has_rows(head),
        open: Box::new(|text, _| (layout.columns().clone(), Box::new(Csv::new(text, layout)))),
    })
}

/// Converts the columns to text, with missing values for empty fields.
fn batches(bytes: Vec<u8>, delimiter: Delimiter) -> Result<Reader> {
    const NAME: &str = "the matched rows";
    let layout = DelimitedHeader::new(Head::new(NAME, &bytes)?, delimiter)?;
    let names = layout.columns().names();
    let mut texts = Texts::new(names.clone());
    let mut written = Csv::new(Text::new(Stored::memory(NAME, bytes), None, u64::MAX), layout);
    written.read(&[], &mut |row| {
        for (column, name) in names.iter().enumerate() {
            let text = std::str::from_utf8(row.field(column)).map_err(|_| {
                row.fault(InputFault::NotUtf8 { place: row.place(), column: name.clone() })
            })?;
            texts.push(column, Some(text).filter(|text| !text.is_empty()));
        }
        texts.end_row().map_err(|_| Error::bug("fields of a row"))
    })?;
    texts.finish().map_err(|_| Error::bug("fields of the last rows"))
}

impl Csv {
    /// Makes a table of the text with this header.
    pub(crate) fn new(text: Text, layout: DelimitedHeader) -> Self {
        Self { text, layout, facts: None, misquoted: 0 }
    }

    fn records(&self, digested: bool) -> Result<Records> {
        let mut blocks = self.text.blocks(digested)?;
        blocks.skip_to(self.layout.header.len().max(self.layout.mark) as u64)?;
        Ok(Records::new(blocks, self.layout.delimiter))
    }
}

impl Content for Csv {
    /// Shows every row in order.
    ///
    /// # Errors
    /// [`InputFault::Ragged`], [`InputFault::UnclosedQuote`], [`InputFault::TooManyRows`], and any error of `show`.
    fn read(
        &mut self,
        _columns: &[usize],
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        let (mut records, width) = (self.records(true)?, self.layout.columns.width());
        let mut number = 0;
        self.misquoted = 0;
        while let Some(TextRecord { offset, read, line, is_last, is_quoted, record }) =
            records.next()?
        {
            number += 1;
            self.misquoted += u64::from(is_quoted && self.layout.is_misquoted(line));
            let origin = Origin::Text { text: &self.text, offset, read };
            let row = Row { number, origin, fields: Fields::Record(record) };
            // Only the last row can be open, and an open field is the reason for too few fields.
            if is_last && self.layout.ends_in_quotes(line) {
                return Err(row.fault(InputFault::UnclosedQuote { place: row.place() }));
            }
            if record.len() != width {
                let (place, fields) = (row.place(), record.len());
                return Err(row.fault(InputFault::Ragged { place, fields, expected: width }));
            }
            if number > MAX_ROWS {
                return Err(row.fault(InputFault::TooManyRows { max: MAX_ROWS }));
            }
            show(row)?;
        }
        self.facts = Some(records.into_blocks().finish()?);
        Ok(number)
    }

    fn place(&self, row: RowNumber) -> Place {
        let offset = || {
            let mut records = self.records(false).ok()?;
            for _ in 0..row.get() {
                records.next().ok()??;
            }
            Some(records.next().ok()??.offset)
        };
        offset().map_or(row.place(), |offset| self.text.place(row.ordinal(), offset))
    }

    fn write(
        &self,
        what: &Written<'_>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        let layout = &self.layout;
        let Some(facts) = self.facts.as_ref().filter(|_| !layout.columns.is_missing()) else {
            return Ok(());
        };
        let (is_plain, select) = (what.is_plain(), what.select);
        let names = what.names(&layout.columns.names());
        match &names.id {
            None => layout.write_record(
                &layout.written_header(select),
                names.received.iter().map(|name| Some(name.as_str())),
                out,
            )?,
            Some(id) => {
                let all: Vec<_> = (0..layout.columns.width()).collect();
                let header = layout.written_header(Some(select.unwrap_or(&all)));
                let (mark, header) = header.split_at(layout.mark);
                out.write_all(mark)?;
                write!(out, "{id}{}", char::from(layout.delimiter))?;
                let received = names.received.iter().map(|name| Some(name.as_str()));
                layout.write_record(header, received, out)?;
            }
        }
        show_rows(self.records(false)?, what.rows(), facts, |nth, line| {
            if nth % SHOW_EVERY == 0 {
                done(nth as u64);
            }
            let record = layout.written_row(line, select);
            if is_plain {
                return Ok(out.write_all(&record)?);
            }
            if let Some(id) = what.id(nth) {
                write!(out, "{id}{}", char::from(layout.delimiter))?;
            }
            let received = what.received(nth)?;
            let received = received.iter().map(|value| value.as_deref());
            Ok(layout.write_record(&record, received, out)?)
        })
    }

    fn digest(&self) -> Option<&InputDigest> {
        self.facts.as_ref()?.digest.as_ref()
    }

    fn misquoted(&self) -> u64 {
        self.misquoted
    }

    fn is_utf8(&self) -> bool {
        self.facts.as_ref().is_none_or(|facts| facts.is_utf8)
    }

    fn text(&self) -> Option<&Text> {
        Some(&self.text)
    }

    fn delimiter(&self) -> Option<&'static str> {
        Some(self.layout.delimiter().name())
    }
}

/// The place of a byte within a field of delimited text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    FieldStart,
    Bare,
    Quoted,
    QuoteInQuoted,
}

impl Quoting {
    /// Returns the place after this byte.
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
    use crate::written::Matched;

    /// Returns every field of every row, and the table.
    fn table(bytes: impl AsRef<[u8]>) -> Result<(Vec<Vec<String>>, Csv)> {
        let layout = DelimitedHeader::new(Head::new("t.csv", bytes.as_ref())?, Delimiter::Comma)?;
        let stored = Stored::memory("t.csv", bytes.as_ref().to_vec());
        let mut table = Csv::new(Text::new(stored, None, 1 << 30), layout);
        let width = table.layout.columns.width();
        let mut rows = Vec::new();
        table.read(&[], &mut |row| {
            let field = |c| String::from_utf8_lossy(row.field(c)).into_owned();
            rows.push((0..width).map(field).collect());
            Ok(())
        })?;
        Ok((rows, table))
    }

    fn written(table: &Csv, rows: &[u64], select: Option<&[usize]>) -> String {
        let mut out = Vec::new();
        let matched = Matched {
            rows: rows.iter().copied().map(RowNumber::new).collect(),
            ..Matched::default()
        };
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

    fn lines(table: &Csv) -> Vec<Vec<u8>> {
        let (mut records, mut lines) = (table.records(false).unwrap(), Vec::new());
        while let Some(line) = records.next_line().unwrap() {
            lines.push(line.to_vec());
        }
        lines
    }

    fn copied(table: &Csv) -> Vec<u8> {
        [table.layout.header.clone(), lines(table).concat()].concat()
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
            "id,name\r\r\n1,\"a\"\r\r\n2,b\r\r\n",
            "id,name\r\r\n1,a",
        ] {
            let (_, table) = table(text).unwrap();
            assert_eq!(copied(&table), text.as_bytes(), "{text:?}");
        }
    }

    /// Two carriage returns and a line feed are one line end, for any selection of columns.
    #[test]
    fn line_ends_that_were_written_twice_stay() {
        let text = "k,v\r\r\nann,1\r\r\nbob,\"2\"\r\r\n";
        let (rows, table) = table(text).unwrap();
        assert_eq!(rows, [["ann", "1"], ["bob", "2"]]);
        assert_eq!(written(&table, &[0, 1], None), text);
        assert_eq!(written(&table, &[1], Some(&[1])), "v\r\r\n\"2\"\r\r\n");
        // A blank line between lines that end with a carriage return is not a row.
        let (rows, table) = self::table("k\r\r1\r").unwrap();
        assert_eq!(
            (rows, written(&table, &[0], None)),
            (vec![vec!["1".to_owned()]], "k\r1\r".into())
        );
    }

    #[test]
    fn rows_with_wrong_quotation_marks_are_counted() {
        for (row, misquoted) in [
            ("\"an\"\"n\",1", 0),
            ("\"a,\n\",\"\"", 0),
            ("ann,1", 0),
            ("\"an\\\"n\",1", 1),
            ("1, \"ann\"", 1),
            ("5\" disk,1", 1),
            ("\"a\" ,1", 1),
        ] {
            let (_, table) = table(format!("k,v\r\n{row}\r\n\"x\",y\r\n")).unwrap();
            assert_eq!(table.misquoted(), misquoted, "{row}");
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
        assert_eq!(lines(&table), [&b"1\n"[..], b"2\r\n", b"3\n"]);
        assert_eq!(Content::place(&table, RowNumber::new(2)).line, Some(10));
        let (rows, _) = self::table("a\n\"\"\n1\n").unwrap();
        assert_eq!(rows, [[""], ["1"]]);
    }

    #[test]
    fn a_table_may_be_empty() {
        let (rows, blank) = table("").unwrap();
        assert!(rows.is_empty() && blank.layout.header.is_empty());
        assert!(table("\u{feff}").unwrap().1.layout.header.is_empty());
        let (rows, table) = table("a,b\r\n").unwrap();
        assert!(rows.is_empty() && !table.layout.header.is_empty());
        assert_eq!(table.layout.line_end(), b"\r\n");
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
