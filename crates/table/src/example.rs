//! The format that `docs/developing/extending.md` shows: fields of fixed width, with nothing between them.
//!
//! The first line is `FIX1`, followed by the name and width of each column: `FIX1 id 8 city 16`.

use std::io::{self, BufRead, BufReader, Read, Write};

use vesica_core::error::{Error, InputFault, Place, Result};

use crate::{
    content::Content,
    digest::InputDigest,
    format::{self, Format, FormatKind, OpenedTable, Recognition, StoredOpening},
    header::Header,
    ingest::Texts,
    row::{Fields, Origin, Row},
    row_number::RowNumber,
    stored::Stored,
    written::{Unwritten, Written},
};

impl Format {
    /// Fields of fixed width.
    pub const FIXED: Self = Self(&KIND);
}

static KIND: FormatKind = FormatKind {
    name: "fixed",
    title: "a table of fixed width",
    endings: &["fix"],
    header_grows: false,
    recognition: Recognition::Stored(&StoredOpening {
        begins: |head| format::begins_with(b"FIX1 ", head),
        open: |stored, _| FixedWidth::open(stored).map(FixedWidth::opened),
    }),
    batches: |bytes, _| {
        let table = FixedWidth::open(Stored::memory("the matched rows", bytes))?;
        let mut texts = Texts::new(table.columns.iter().map(|(name, _)| name.clone()).collect());
        for row in 0..table.rows {
            for (column, field) in table.fields(row)?.iter().enumerate() {
                texts.push(column, Some(&String::from_utf8_lossy(field)));
            }
            texts.end_row().map_err(|_| Error::bug("fields of a row"))?;
        }
        texts.finish().map_err(|_| Error::bug("fields of the last rows"))
    },
};

struct FixedWidth {
    stored: Stored,
    /// The names and widths.
    columns: Vec<(String, usize)>,
    /// The offset of the first row.
    start: u64,
    rows: u64,
    digest: Option<InputDigest>,
}

impl FixedWidth {
    fn open(stored: Stored) -> Result<Self> {
        const LONGEST: u64 = 1 << 16;
        let mut line = String::new();
        let read = BufReader::new(stored.reader(0).take(LONGEST)).read_line(&mut line);
        let start = read.map_err(|error| stored.fault(InputFault::Io(error)))? as u64;
        let words: Vec<_> = line.trim_end().split(' ').skip(1).collect();
        let column = |pair: &[&str]| match pair {
            [name, width] => Some(((*name).to_owned(), width.parse().ok()?)),
            _ => None,
        };
        let columns: Option<Vec<(String, usize)>> = words.chunks(2).map(column).collect();
        let bytes = io::copy(&mut stored.reader(start), &mut io::sink());
        let bytes = bytes.map_err(|error| stored.fault(InputFault::Io(error)))?;
        let width =
            |columns: &[(String, usize)]| columns.iter().map(|(_, width)| *width as u64).sum();
        match columns.map(|columns| (width(&columns), columns)) {
            Some((width @ 1.., columns)) if bytes.is_multiple_of(width) => {
                Ok(Self { stored, columns, start, rows: bytes / width, digest: None })
            }
            _ => {
                let part = "its first line, or its last row,".to_owned();
                Err(stored.fault(InputFault::Damaged { format: KIND.title, part }))
            }
        }
    }

    fn opened(self) -> OpenedTable {
        let names = self.columns.iter().map(|(name, _)| name.clone().into_bytes());
        let header = Header::of_names(names.collect());
        OpenedTable { header, rows: self.rows, content: Box::new(self) }
    }

    /// Returns the fields of a row, without padding.
    fn fields(&self, row: u64) -> Result<Vec<Vec<u8>>> {
        let width: usize = self.columns.iter().map(|(_, width)| width).sum();
        let mut bytes = vec![0; width];
        let read = self.stored.reader(self.start + row * width as u64).read_exact(&mut bytes);
        read.map_err(|error| self.stored.fault(InputFault::Io(error)))?;
        let mut rest = &bytes[..];
        let field = |(_, width): &(String, usize)| {
            let field = rest.split_off(..*width).unwrap_or_default();
            field.trim_ascii_end().to_vec()
        };
        Ok(self.columns.iter().map(field).collect())
    }
}

impl Content for FixedWidth {
    fn read(
        &mut self,
        _columns: &[usize],
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        for row in 0..self.rows {
            let fields = self.fields(row)?.into_iter().map(|field| (field, true));
            let fields: Vec<_> = fields.collect();
            let origin = Origin::Typed(self.stored.name(), self.rows);
            show(Row { number: row + 1, origin, fields: Fields::Values(&fields) })?;
        }
        self.digest = self.stored.digest(None)?;
        Ok(self.rows)
    }

    fn place(&self, row: RowNumber) -> Place {
        row.place()
    }

    fn write(
        &self,
        what: &Written<'_>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        if !what.is_plain() {
            let why = io::Error::other("a table of fixed width cannot have more columns");
            return Err(Unwritten::Output(why));
        }
        let own = what.own(self.columns.len());
        let columns: Vec<_> = own.iter().map(|column| &self.columns[*column]).collect();
        let words: Vec<_> =
            columns.iter().map(|(name, width)| format!(" {name} {width}")).collect();
        writeln!(out, "FIX1{}", words.concat())?;
        for (nth, row) in what.rows().iter().enumerate() {
            let fields = self.fields(row.get())?;
            for (column, (_, width)) in own.iter().zip(&columns) {
                let mut field = fields[*column].clone();
                field.resize(*width, b' ');
                out.write_all(&field)?;
            }
            done(nth as u64);
        }
        Ok(())
    }

    fn digest(&self) -> Option<&InputDigest> {
        self.digest.as_ref()
    }
}

#[test]
fn rows_of_fixed_width_are_read_and_written() {
    use crate::written::Matched;

    let open = |text: &str| FixedWidth::open(Stored::memory("t", text.as_bytes().to_vec()));
    let mut table = open("FIX1 id 2 city 5\na Bern b Olten").unwrap();
    let mut rows = Vec::new();
    let read = table.read(&[0, 1], &mut |row| {
        rows.push([row.field(0).to_vec(), row.field(1).to_vec()]);
        Ok(())
    });
    assert_eq!(read.unwrap(), 2);
    assert_eq!(rows, [[&b"a"[..], b"Bern"], [b"b", b"Olten"]]);
    let mut out = Vec::new();
    let matched = Matched { rows: vec![RowNumber::new(1)], ..Matched::default() };
    let what = Written { matched: &matched, select: Some(&[1]) };
    table.write(&what, &mut out, &mut |_| {}).unwrap();
    assert_eq!(out, b"FIX1 city 5\nOlten");
    assert_eq!(Format::FIXED.batches(out, crate::head::Delimiter::Comma).unwrap().count(), 1);
    assert_eq!(table.opened().header.width(), 2);
    for damaged in ["FIX1 id\n", "FIX1 id x\n", "FIX1 id 2\na", "FIX1\n"] {
        assert!(open(damaged).is_err(), "{damaged}");
    }
}
