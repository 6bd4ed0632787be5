//! Arrow IPC: files and streams.

mod survey;

use std::io::{self, BufReader, Write};

use arrow_array::{RecordBatch, UInt32Array};
use arrow_ipc::{
    reader::{FileReader, StreamReader},
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrow_select::take::take_record_batch;

use self::survey::Survey;
use crate::{
    error::{Error, InputFault, Place, Result},
    table::{
        format::Format,
        guard::guarded,
        header::Header,
        rows::{Content, Fields, MAX_ROWS, Origin, Row, Unwritten},
        stored::Stored,
        typed::{self, TextColumn},
    },
};

/// A file or stream of which the schema has been read and the messages have been looked at.
pub(crate) struct Arrow {
    stored: Stored,
    is_stream: bool,
    schema: SchemaRef,
    uuids: Vec<bool>,
    survey: Survey,
}

type Batches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>>>;

impl Arrow {
    /// Reads the schema and looks at the head of each message, of which none may claim to unpack to more than so many
    /// bytes.
    ///
    /// # Errors
    /// [`InputFault::Damaged`], [`InputFault::TooManyRows`] and [`InputFault::TooLarge`].
    pub(crate) fn open(stored: Stored, is_stream: bool, most_bytes: u64) -> Result<Self> {
        let damaged = |part: &str| fault(&stored, is_stream, part);
        let survey = guarded(|| Survey::of(&stored, is_stream)).flatten();
        let survey = survey.ok_or_else(|| damaged("its structure"))?;
        if survey.rows > MAX_ROWS {
            return Err(stored.fault(InputFault::TooManyRows { max: MAX_ROWS }));
        }
        if survey.largest > most_bytes {
            return Err(stored.fault(InputFault::TooLarge { max: most_bytes }));
        }
        let schema = || match is_stream {
            true => {
                Some(StreamReader::try_new(BufReader::new(stored.reader(0)), None).ok()?.schema())
            }
            false => {
                Some(FileReader::try_new(BufReader::new(stored.reader(0)), None).ok()?.schema())
            }
        };
        let schema = guarded(schema).flatten().ok_or_else(|| damaged("its schema"))?;
        let uuids = schema.fields().iter().map(|field| typed::is_uuid(field)).collect();
        Ok(Self { stored, is_stream, schema, uuids, survey })
    }

    /// The columns.
    pub(crate) fn header(&self) -> Header {
        let fields = self.schema.fields().iter().zip(&self.uuids);
        Header::of_types(
            fields.map(|(field, uuid)| (field.name().clone(), typed::column_type(field, *uuid))),
        )
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.survey.rows
    }

    fn damaged(&self, part: impl Into<String>) -> Error {
        fault(&self.stored, self.is_stream, part)
    }

    /// The batches, with these columns, which are ascending.
    fn batches(&self, columns: Vec<usize>) -> Option<Batches> {
        let from = BufReader::with_capacity(1 << 16, self.stored.reader(0));
        let is_stream = self.is_stream;
        guarded(move || -> Option<Batches> {
            Some(match is_stream {
                true => Box::new(StreamReader::try_new(from, Some(columns)).ok()?),
                false => Box::new(FileReader::try_new(from, Some(columns)).ok()?),
            })
        })?
    }

    fn copy(
        &self,
        rows: &[u32],
        select: &[usize],
        to: &mut dyn FnMut(&RecordBatch) -> std::result::Result<(), ArrowError>,
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        let wanted = ascending(select);
        // The reader gives the columns in the order of the schema.
        let order: Vec<usize> = select
            .iter()
            .map(|column| wanted.iter().position(|wanted| wanted == column).unwrap_or_default())
            .collect();
        let batches = self.batches(wanted).ok_or_else(|| self.damaged("its schema"))?;
        let (mut first, mut rest) = (0u64, rows);
        for batch in batches {
            let after = || self.damaged(format!("what comes after row {first}"));
            let batch = batch.map_err(|_| after())?;
            let end = first + batch.num_rows() as u64;
            let (here, later) = rest.split_at(rest.partition_point(|row| u64::from(*row) < end));
            if !here.is_empty() {
                let places = here.iter().map(|row| (u64::from(*row) - first) as u32);
                let places = UInt32Array::from_iter_values(places);
                let taken = batch
                    .project(&order)
                    .and_then(|batch| take_record_batch(&batch, &places))
                    .map_err(|_| after())?;
                to(&taken).map_err(unwritten)?;
                done((rows.len() - later.len()) as u64);
            }
            (first, rest) = (end, later);
        }
        Ok(self.stored.assert_unchanged()?)
    }

    fn write_all(
        &self,
        rows: &[u32],
        select: Option<&[usize]>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        let all: Vec<usize> = (0..self.uuids.len()).collect();
        let select = select.unwrap_or(&all);
        let fields: Vec<_> =
            select.iter().map(|column| self.schema.fields()[*column].clone()).collect();
        let schema = Schema::new_with_metadata(fields, self.schema.metadata().clone());
        let options = IpcWriteOptions::default().try_with_compression(self.survey.codec);
        let options = options.map_err(unwritten)?;
        if self.is_stream {
            let mut writer =
                StreamWriter::try_new_with_options(out, &schema, options).map_err(unwritten)?;
            self.copy(rows, select, &mut |batch| writer.write(batch), done)?;
            return writer.finish().map_err(unwritten);
        }
        let mut writer =
            FileWriter::try_new_with_options(out, &schema, options).map_err(unwritten)?;
        for (key, value) in &self.survey.metadata {
            writer.write_metadata(key, value);
        }
        self.copy(rows, select, &mut |batch| writer.write(batch), done)?;
        writer.finish().map_err(unwritten)
    }
}

impl Content for Arrow {
    fn read(
        &mut self,
        columns: &[usize],
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        let wanted = ascending(columns);
        let all = self.rows();
        let mut batches = self.batches(wanted.clone()).ok_or_else(|| self.damaged("its schema"))?;
        let mut texts: Vec<Option<TextColumn>> = self.uuids.iter().map(|_| None).collect();
        let mut number = 0;
        let after = |number: u64| self.damaged(format!("what comes after row {number}"));
        loop {
            let next = guarded(|| {
                let Some(batch) = batches.next() else { return Some(None) };
                let batch = batch.ok()?;
                for (column, array) in wanted.iter().zip(batch.columns()) {
                    texts[*column] = TextColumn::new(array, self.uuids[*column]);
                }
                Some(Some(batch.num_rows()))
            });
            let Some(rows) = next.flatten().ok_or_else(|| after(number))? else { break };
            if number + rows as u64 > all {
                return Err(self.damaged("its number of rows"));
            }
            for row in 0..rows {
                number += 1;
                let origin = Origin::Typed(self.stored.name(), all);
                show(Row { number, origin, fields: Fields::Batch(&texts, row) })?;
            }
        }
        self.stored.assert_unchanged()?;
        if number != all {
            return Err(after(number));
        }
        Ok(all)
    }

    fn place(&self, row: u64) -> Place {
        Place { row: row + 1, line: None }
    }

    fn write(
        &self,
        rows: &[u32],
        select: Option<&[usize]>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        let written = guarded(|| self.write_all(rows, select, out, done));
        written.unwrap_or_else(|| Err(self.damaged("a column").into()))
    }
}

fn ascending(columns: &[usize]) -> Vec<usize> {
    let mut columns = columns.to_vec();
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn fault(stored: &Stored, is_stream: bool, part: impl Into<String>) -> Error {
    let format = if is_stream { Format::ArrowStream } else { Format::Arrow };
    stored.fault(InputFault::Damaged { format: format.title(), part: part.into() })
}

fn unwritten(error: ArrowError) -> Unwritten {
    match error {
        ArrowError::IoError(_, error) => Unwritten::Output(error),
        _ => Unwritten::Output(io::Error::other("the values make no Arrow table")),
    }
}
