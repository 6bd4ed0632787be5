//! Small tables of results, with typed columns, which are written in every format.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    sync::Arc,
};

use arrow_array::{ArrayRef, BooleanArray, Decimal128Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use serde::Serializer;
use serde_json::Value;
use vesica_core::{error::Result, words::decimal};

use crate::{
    arrow::memory::ArrowTable,
    compression::Compression,
    database,
    destination::Destination,
    format::Format,
    output::{Output, Staged},
    source::{Delimiter, Dialect},
};

/// The greatest number of digits of a decimal.
const DIGITS: u8 = 38;

/// A column of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultColumn {
    /// The name.
    pub name: String,
    /// The values, `None` for null.
    pub values: ResultValues,
    /// Whether the values are the other side's texts.
    pub is_received: bool,
}

/// The values of a column of results, all of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultValues {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Truth values.
    Boolean(Vec<Option<bool>>),
    /// Whole numbers of 64 bits.
    Integer(Vec<Option<i64>>),
    /// Numbers with this many decimal places, without their decimal points.
    Decimal(u8, Vec<Option<i128>>),
}

/// A table of results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResultTable {
    /// The columns, all with the same number of values.
    pub columns: Vec<ResultColumn>,
}

impl ResultValues {
    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Boolean(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Decimal(_, values) => values.len(),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Text(_) => DataType::Utf8,
            Self::Boolean(_) => DataType::Boolean,
            Self::Integer(_) => DataType::Int64,
            Self::Decimal(scale, _) => DataType::Decimal128(DIGITS, *scale as i8),
        }
    }

    fn array(&self) -> ArrayRef {
        match self {
            Self::Text(values) => Arc::new(StringArray::from_iter(values)),
            Self::Boolean(values) => Arc::new(BooleanArray::from_iter(values)),
            Self::Integer(values) => Arc::new(Int64Array::from_iter(values)),
            Self::Decimal(scale, values) => {
                let array = Decimal128Array::from_iter(values.iter().copied());
                let typed = array.clone().with_precision_and_scale(DIGITS, *scale as i8);
                // Scales are at most 38.
                Arc::new(typed.unwrap_or(array))
            }
        }
    }

    /// Returns a value as text; `None` for null.
    fn text(&self, row: usize) -> Option<String> {
        match self {
            Self::Text(values) => values[row].clone(),
            Self::Boolean(values) => values[row].map(|value| value.to_string()),
            Self::Integer(values) => values[row].map(|value| value.to_string()),
            Self::Decimal(scale, values) => values[row].map(|value| decimal(value, *scale)),
        }
    }

    /// Returns a value as JSON. Decimals are texts, because many readers lose digits of large numbers.
    fn json(&self, row: usize) -> Value {
        match self {
            Self::Boolean(values) => values[row].into(),
            Self::Integer(values) => values[row].into(),
            Self::Text(_) | Self::Decimal(..) => self.text(row).into(),
        }
    }
}

impl ResultTable {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Returns the rows as texts, for a person; null is an empty text.
    pub fn texts(&self) -> Vec<Vec<String>> {
        let text = |column: &ResultColumn, row| column.values.text(row).unwrap_or_default();
        let row = |row| self.columns.iter().map(|column| text(column, row)).collect();
        (0..self.rows()).map(row).collect()
    }

    fn schema(&self) -> Arc<Schema> {
        let field =
            |column: &ResultColumn| Field::new(&column.name, column.values.data_type(), true);
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    fn batch(&self) -> io::Result<RecordBatch> {
        let arrays = self.columns.iter().map(|column| column.values.array()).collect();
        RecordBatch::try_new(self.schema(), arrays).map_err(io::Error::other)
    }

    /// Writes the table in a format.
    ///
    /// # Errors
    /// Any error of the output.
    pub fn write(&self, format: Format, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let failed = |error: ArrowError| io::Error::other(error);
        if format == Format::CSV {
            let mut rows = csv::Writer::from_writer(out);
            rows.write_record(self.columns.iter().map(|column| &column.name))?;
            self.texts().iter().try_for_each(|row| rows.write_record(row))?;
            return rows.flush();
        }
        if format == Format::NDJSON {
            for row in 0..self.rows() {
                let member = |column: &ResultColumn| (column.name.clone(), column.values.json(row));
                // A map of serde_json would sort the columns.
                serde_json::Serializer::new(&mut *out)
                    .collect_map(self.columns.iter().map(member))?;
                out.write_all(b"\n")?;
            }
            return Ok(());
        }
        let (schema, batch) = (self.schema(), self.batch()?);
        if format == Format::PARQUET {
            let mut writer = ArrowWriter::try_new(out, schema, None).map_err(io::Error::other)?;
            writer.write(&batch).map_err(io::Error::other)?;
            return writer.close().map(drop).map_err(io::Error::other);
        }
        if format == Format::ARROW {
            let mut writer = FileWriter::try_new(out, &schema).map_err(failed)?;
            writer.write(&batch).map_err(failed)?;
            return writer.finish().map_err(failed);
        }
        let mut writer = StreamWriter::try_new(out, &schema).map_err(failed)?;
        writer.write(&batch).map_err(failed)?;
        writer.finish().map_err(failed)
    }

    /// Writes the table with aligned columns, numbers to the right, for a person.
    fn write_aligned(&self, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<_> = self.columns.iter().map(|column| column.name.clone()).collect();
        let rows: Vec<_> = [names].into_iter().chain(self.texts()).collect();
        let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..self.columns.len()).map(width).collect();
        for row in &rows {
            let cell = |at: usize| match &self.columns[at].values {
                ResultValues::Integer(_) | ResultValues::Decimal(..) => {
                    format!("{:>1$}", row[at], widths[at])
                }
                _ => format!("{:<1$}", row[at], widths[at]),
            };
            let cells: Vec<_> = (0..row.len()).map(cell).collect();
            writeln!(out, "{}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }

    /// Writes the table to a destination, in the format that its name promises or else as CSV, without showing it yet.
    /// On a terminal, its columns are aligned.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub fn stage(&self, to: &Destination, output: Output) -> Result<Staged> {
        let Some(path) = to.path() else {
            let table = self.batch().map(|batch| ArrowTable::of(self.schema(), vec![batch]));
            return output.hold(table);
        };
        let format = Self::format(path);
        let dialect =
            Dialect { format: Some(format), delimiter: Delimiter::Comma, ..Dialect::default() };
        let packing = Compression::of_name(path).filter(|_| format.is_text());
        let is_for_person = path == Path::new("-") && io::stdout().is_terminal();
        output.of(dialect).stage(|out| match packing {
            None if is_for_person => self.write_aligned(out),
            Some(packing) => packing.pack(out, |out| self.write(format, out)),
            None => self.write(format, out),
        })
    }

    /// Returns the format in which a table of results is written to this path.
    pub fn format(path: &Path) -> Format {
        match database::address(path) {
            Some(_) => Format::ARROW_STREAM,
            None => Format::of_name(path).unwrap_or(Format::CSV),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn table() -> ResultTable {
        let column = |name: &str, values| {
            let is_received = matches!(values, ResultValues::Text(_));
            ResultColumn { name: name.to_owned(), values, is_received }
        };
        ResultTable {
            columns: vec![
                column("l", ResultValues::Text(vec![Some("a,\"b".to_owned()), None])),
                column("f", ResultValues::Boolean(vec![None, Some(true)])),
                column("n", ResultValues::Integer(vec![Some(i64::MIN), None])),
                column("d", ResultValues::Decimal(2, vec![Some(-7), Some(i128::from(i64::MAX))])),
            ],
        }
    }

    #[test]
    fn texts_are_as_in_sql() {
        let mut csv = Vec::new();
        table().write(Format::CSV, &mut csv).unwrap();
        let lines =
            "l,f,n,d\n\"a,\"\"b\",,-9223372036854775808,-0.07\n,true,,92233720368547758.07\n";
        assert_eq!(String::from_utf8(csv).unwrap(), lines);
        let mut json = Vec::new();
        table().write(Format::NDJSON, &mut json).unwrap();
        let lines = "{\"l\":\"a,\\\"b\",\"f\":null,\"n\":-9223372036854775808,\"d\":\"-0.07\"}\n\
                     {\"l\":null,\"f\":true,\"n\":null,\"d\":\"92233720368547758.07\"}\n";
        assert_eq!(String::from_utf8(json).unwrap(), lines);
    }

    #[test]
    fn columns_are_aligned_for_a_person() {
        let mut text = Vec::new();
        table().write_aligned(&mut text).unwrap();
        let lines = "l     f                        n                     d\n\
                     a,\"b        -9223372036854775808                 -0.07\n      \
                     true                        92233720368547758.07\n";
        assert_eq!(String::from_utf8(text).unwrap(), lines);
    }

    /// Every format is read back with the same texts.
    #[test]
    fn every_format_has_the_table() {
        for format in Format::ALL {
            let mut bytes = Vec::new();
            table().write(format, &mut bytes).unwrap();
            let source = Source::Memory { name: "t".into(), bytes };
            let dialect = Dialect { format: Some(format), ..Dialect::default() };
            let scan = source.open(dialect).unwrap().read().unwrap();
            let mut rows = Vec::new();
            let field = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let read = scan.rows(|row| {
                rows.push((0..4).map(|column| field(row.field(column))).collect::<Vec<_>>());
                Ok(())
            });
            read.unwrap();
            assert_eq!(rows, table().texts(), "{format:?}");
        }
    }

    #[test]
    fn names_decide_the_format() {
        for (name, format) in [
            ("a.csv.gz", Format::CSV),
            ("a.parquet", Format::PARQUET),
            ("-", Format::CSV),
            ("a", Format::CSV),
            ("adbc:duckdb#t", Format::ARROW_STREAM),
        ] {
            assert_eq!(ResultTable::format(Path::new(name)), format, "{name}");
        }
    }
}
