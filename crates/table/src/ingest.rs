//! What was written as if for a file, as batches for a table of a database.

use std::{fmt, io::Cursor, sync::Arc};

use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray,
    builder::StringBuilder,
};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use vesica_core::error::{Error, InputFault, Result};

use crate::{
    format::Format,
    source::{Dialect, Source},
};

/// Rows of text in a batch.
const BATCH: usize = 1 << 14;

/// Batches of rows, with their schema.
pub(crate) type Reader = Box<dyn RecordBatchReader + Send>;

/// The rows of a table that was written in this form. Columns of delimited text and NDJSON become text, with nothing where
/// there is no value or an empty field.
///
/// # Errors
/// [`Error::Input`] for text that is not UTF-8.
pub(crate) fn batches(bytes: Vec<u8>, dialect: &Dialect) -> Result<Reader> {
    let lost = |_| Error::bug("the written rows cannot be read");
    Ok(match dialect.format {
        Some(Format::ArrowStream) => {
            Box::new(StreamReader::try_new(Cursor::new(bytes), None).map_err(lost)?)
        }
        Some(Format::Arrow) => {
            Box::new(FileReader::try_new(Cursor::new(bytes), None).map_err(lost)?)
        }
        Some(Format::Parquet) => {
            let table = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes));
            let rows = table.and_then(ParquetRecordBatchReaderBuilder::build);
            Box::new(rows.map_err(|_| Error::bug("the written rows cannot be read"))?)
        }
        Some(Format::Ndjson) => of_lines(&bytes).map_err(lost)?,
        _ => of_text(bytes, dialect)?,
    })
}

/// The rows of delimited text.
fn of_text(bytes: Vec<u8>, dialect: &Dialect) -> Result<Reader> {
    let written = Source::Memory { name: "the matched rows".to_owned(), bytes };
    let scan = written.open(dialect.clone())?.read()?;
    let names = scan.header().names();
    let mut texts = Texts::new(names.clone());
    scan.rows(|row| {
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

/// The rows of objects, with a column for each member that any of them has.
fn of_lines(bytes: &[u8]) -> std::result::Result<Reader, ArrowError> {
    let unread = |error: serde_json::Error| ArrowError::JsonError(error.to_string());
    let lines = || bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let objects = || lines().filter(|line| !line.is_empty()).map(serde_json::from_slice::<Object>);
    let mut names: Vec<String> = Vec::new();
    for object in objects() {
        for (name, _) in object.map_err(unread)?.0 {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let mut texts = Texts::new(names.clone());
    for object in objects() {
        let object = object.map_err(unread)?.0;
        for (column, name) in names.iter().enumerate() {
            let value = object.iter().rev().find(|(found, _)| found == name);
            let text = match value.map(|(_, value)| value.get()) {
                None | Some("null") => None,
                Some(text) if text.starts_with('"') => {
                    Some(serde_json::from_str(text).map_err(unread)?)
                }
                Some(text) => Some(text.to_owned()),
            };
            texts.push(column, text.as_deref());
        }
        texts.end_row()?;
    }
    texts.finish()
}

/// The members of an object, in their order.
struct Object(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Object, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }
        from.deserialize_map(Members)
    }
}

/// Columns of text that grow row by row.
struct Texts {
    schema: Arc<Schema>,
    columns: Vec<StringBuilder>,
    rows: usize,
    batches: Vec<RecordBatch>,
}

impl Texts {
    fn new(names: Vec<String>) -> Self {
        let columns = names.iter().map(|_| StringBuilder::new()).collect();
        let fields = names.into_iter().map(|name| Field::new(name, DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { schema, columns, rows: 0, batches: Vec::new() }
    }

    fn push(&mut self, column: usize, text: Option<&str>) {
        self.columns[column].append_option(text);
    }

    fn end_row(&mut self) -> std::result::Result<(), ArrowError> {
        self.rows += 1;
        // Long fields make short batches: an array of text holds 2 GiB.
        let is_long = || self.columns.iter().any(|column| column.values_slice().len() > 1 << 26);
        if self.rows == BATCH || is_long() { self.end_batch() } else { Ok(()) }
    }

    fn end_batch(&mut self) -> std::result::Result<(), ArrowError> {
        let finish = |column: &mut StringBuilder| -> ArrayRef {
            let text: StringArray = column.finish();
            Arc::new(text)
        };
        let columns = self.columns.iter_mut().map(finish).collect();
        self.batches.push(RecordBatch::try_new(self.schema.clone(), columns)?);
        self.rows = 0;
        Ok(())
    }

    fn finish(mut self) -> std::result::Result<Reader, ArrowError> {
        if self.rows > 0 {
            self.end_batch()?;
        }
        let batches = self.batches.into_iter().map(Ok);
        Ok(Box::new(RecordBatchIterator::new(batches.collect::<Vec<_>>(), self.schema)))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, cast::AsArray};

    use super::*;
    use crate::source::Delimiter;

    fn read(
        text: &str,
        format: Format,
        delimiter: Delimiter,
    ) -> (Vec<String>, Vec<Vec<Option<String>>>) {
        let dialect = Dialect { format: Some(format), delimiter, ..Dialect::default() };
        let reader = batches(text.as_bytes().to_vec(), &dialect).unwrap();
        let names = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut rows = Vec::new();
        for batch in reader {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let text = |column: &ArrayRef| {
                    let column = column.as_string::<i32>();
                    (!column.is_null(row)).then(|| column.value(row).to_owned())
                };
                rows.push(batch.columns().iter().map(text).collect());
            }
        }
        (names, rows)
    }

    #[test]
    fn text_becomes_columns_of_text() {
        let some = |text: &str| Some(text.to_owned());
        let (names, rows) = read("a;b\n1;\"x;\"\"y\"\n;2\n", Format::Csv, Delimiter::Semicolon);
        assert_eq!(names, ["a", "b"]);
        assert_eq!(rows, [[some("1"), some("x;\"y")], [None, some("2")]]);
        let lines = "{\"b\":1.50,\"a\":\"x\\n\"}\n{\"a\":null,\"c\":[1]}\n";
        let (names, rows) = read(lines, Format::Ndjson, Delimiter::Comma);
        assert_eq!(names, ["b", "a", "c"]);
        assert_eq!(rows, [[some("1.50"), some("x\n"), None], [None, None, some("[1]")]]);
        let many: String = (0..BATCH + 2).map(|i| format!("{i}\n")).collect();
        let (_, rows) = read(&format!("k\n{many}"), Format::Csv, Delimiter::Comma);
        assert_eq!((rows.len(), &rows[BATCH + 1]), (BATCH + 2, &vec![some("16385")]));
    }
}
