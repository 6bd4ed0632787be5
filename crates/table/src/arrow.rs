//! Arrow: IPC files and streams, and batches in memory.

pub mod memory;
mod survey;

use std::{
    io::{self, BufReader, Cursor, Write},
    sync::Arc,
};

use arrow_array::{RecordBatch, UInt32Array};
use arrow_ipc::{
    reader::{FileReader, StreamReader},
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::{interleave::interleave_record_batch, take::take_record_batch};
use vesica_core::error::{Error, InputFault, Place, Result};

use self::{memory::ArrowTable, survey::Survey};
use crate::{
    batches::{Batches, in_order},
    content::{Content, MAX_ROWS},
    digest::InputDigest,
    format::{self, Format, FormatKind, OpenedTable, Recognition, StoredOpening},
    guard::guarded,
    header::Header,
    ingest::Reader,
    row::Row,
    row_number::RowNumber,
    stored::Stored,
    typed,
    written::{Unwritten, Written, ascending},
};

impl Format {
    /// An Arrow IPC file, also known as Feather 2.
    pub const ARROW: Self = Self(&FILE);
    /// An Arrow IPC stream.
    pub const ARROW_STREAM: Self = Self(&STREAM);
}

static FILE: FormatKind = FormatKind {
    name: "arrow",
    title: "an Arrow file",
    endings: &["arrow", "feather", "ipc"],
    header_grows: false,
    recognition: Recognition::Stored(&StoredOpening {
        begins: |head| format::begins_with(b"ARROW1\0\0", head),
        open: |stored, most_bytes| Arrow::open(stored, false, most_bytes).map(Arrow::opened),
    }),
    batches: |bytes, _| {
        let rows = FileReader::try_new(Cursor::new(bytes), None).map_err(lost)?;
        Ok(Box::new(rows) as Reader)
    },
};

static STREAM: FormatKind = FormatKind {
    name: "arrow-stream",
    title: "an Arrow stream",
    endings: &["arrows"],
    header_grows: false,
    recognition: Recognition::Stored(&StoredOpening {
        begins: |head| match format::begins_with(b"\xff\xff\xff\xff", head)? {
            true => Ok(true),
            false => is_old_stream(head),
        },
        open: |stored, most_bytes| Arrow::open(stored, true, most_bytes).map(Arrow::opened),
    }),
    batches: |bytes, _| {
        let rows = StreamReader::try_new(Cursor::new(bytes), None).map_err(lost)?;
        Ok(Box::new(rows) as Reader)
    },
};

fn lost(_: ArrowError) -> Error {
    Error::bug("the written rows cannot be read")
}

/// Returns whether this is a stream of a version before 0.15, which begins with the length of the first message without
/// a marker.
fn is_old_stream(head: &[u8]) -> std::result::Result<bool, ()> {
    /// The maximum length of a schema, and of a message's header.
    const LONGEST: usize = 1 << 20;
    const ROOT: u32 = 64;
    // Text has no zeros here.
    if head.get(3).is_none_or(|byte| *byte != 0) {
        return Ok(false);
    }
    let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let len = number(0).unwrap_or_default() as usize;
    if !(16..=LONGEST).contains(&len) || !len.is_multiple_of(4) {
        return Ok(false);
    }
    match (number(4), head.get(4..4 + len)) {
        (None, _) => Err(()),
        (Some(root), _) if root > ROOT => Ok(false),
        (_, None) => Err(()),
        (_, Some(message)) => {
            let message = arrow_ipc::root_as_message(message);
            let is_schema = |message: arrow_ipc::Message<'_>| {
                message.header_type() == arrow_ipc::MessageHeader::Schema
            };
            Ok(message.is_ok_and(is_schema))
        }
    }
}

/// A table whose schema has been read. The messages, if there are any, have been surveyed.
pub(crate) struct Arrow {
    kept: Kept,
    schema: SchemaRef,
    uuids: Vec<bool>,
    survey: Survey,
    /// The digest of the bytes that were read.
    digest: Option<InputDigest>,
}

/// The place of the batches.
enum Kept {
    File(Stored),
    Stream(Stored),
    /// Memory, with a name for messages.
    Memory(String, ArrowTable),
}

impl Kept {
    fn name(&self) -> &str {
        match self {
            Self::File(stored) | Self::Stream(stored) => stored.name(),
            Self::Memory(name, _) => name,
        }
    }

    fn fault(&self, fault: InputFault) -> Error {
        Error::Input { file: self.name().to_owned(), fault }
    }

    fn damaged(&self, part: impl Into<String>) -> Error {
        let format = match self {
            Self::File(_) => Format::ARROW,
            Self::Stream(_) | Self::Memory(..) => Format::ARROW_STREAM,
        };
        self.fault(InputFault::Damaged { format: format.title(), part: part.into() })
    }

    /// Returns the stored bytes, if there are any.
    fn stored(&self) -> Option<&Stored> {
        match self {
            Self::File(stored) | Self::Stream(stored) => Some(stored),
            Self::Memory(..) => None,
        }
    }

    fn assert_unchanged(&self) -> Result<()> {
        self.stored().map_or(Ok(()), Stored::assert_unchanged)
    }

    fn schema(&self) -> Option<SchemaRef> {
        let from = |stored: &Stored| BufReader::new(stored.reader(0));
        Some(match self {
            Self::File(stored) => FileReader::try_new(from(stored), None).ok()?.schema(),
            Self::Stream(stored) => StreamReader::try_new(from(stored), None).ok()?.schema(),
            Self::Memory(_, table) => table.schema(),
        })
    }

    /// Returns the batches with these columns, which are ascending.
    fn batches(&self, columns: Vec<usize>) -> Option<Decoded> {
        let from = |stored: &Stored| BufReader::with_capacity(1 << 16, stored.reader(0));
        Some(match self {
            Self::File(stored) => Box::new(FileReader::try_new(from(stored), Some(columns)).ok()?),
            Self::Stream(stored) => {
                Box::new(StreamReader::try_new(from(stored), Some(columns)).ok()?)
            }
            Self::Memory(_, table) => Box::new(table.project(columns)),
        })
    }
}

type Decoded = Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>>>;

impl Arrow {
    /// Reads the schema and surveys the header of each message. No message may claim to unpack to more than
    /// `most_bytes`.
    ///
    /// # Errors
    /// [`InputFault::Damaged`], [`InputFault::Unsupported`], [`InputFault::TooManyRows`] and [`InputFault::TooLarge`].
    fn open(stored: Stored, is_stream: bool, most_bytes: u64) -> Result<Self> {
        let survey = guarded(|| Survey::of(&stored, is_stream)).flatten();
        let kept = if is_stream { Kept::Stream(stored) } else { Kept::File(stored) };
        let survey = survey.ok_or_else(|| kept.damaged("its structure"))?;
        if survey.is_big_endian {
            return Err(kept.fault(InputFault::Unsupported {
                part: "numbers in big-endian byte order",
                advice: "write it again on another machine, or as Parquet or CSV",
            }));
        }
        if survey.rows > MAX_ROWS {
            return Err(kept.fault(InputFault::TooManyRows { max: MAX_ROWS }));
        }
        if survey.largest > most_bytes {
            return Err(kept.fault(InputFault::TooLarge { max: most_bytes }));
        }
        if survey.overstates {
            return Err(kept.damaged("its structure"));
        }
        Self::of(kept, survey)
    }

    /// Opens a table in memory, which has this name in messages.
    ///
    /// # Errors
    /// [`InputFault::TooManyRows`].
    pub(crate) fn in_memory(name: String, table: ArrowTable) -> Result<OpenedTable> {
        let survey = Survey { rows: table.rows(), ..Survey::default() };
        let kept = Kept::Memory(name, table);
        if survey.rows > MAX_ROWS {
            return Err(kept.fault(InputFault::TooManyRows { max: MAX_ROWS }));
        }
        Self::of(kept, survey).map(Self::opened)
    }

    fn of(kept: Kept, survey: Survey) -> Result<Self> {
        let schema = guarded(|| kept.schema()).flatten();
        let schema = schema.ok_or_else(|| kept.damaged("its schema"))?;
        let uuids = schema.fields().iter().map(|field| typed::is_uuid(field)).collect();
        Ok(Self { kept, schema, uuids, survey, digest: None })
    }

    /// Returns the columns.
    fn header(&self) -> Header {
        let fields = self.schema.fields().iter().zip(&self.uuids);
        Header::of_types(
            fields.map(|(field, uuid)| (field.name().clone(), typed::column_type(field, *uuid))),
        )
    }

    /// Returns the number of rows.
    fn rows(&self) -> u64 {
        self.survey.rows
    }

    /// Returns the table with its header.
    fn opened(self) -> OpenedTable {
        OpenedTable { header: self.header(), rows: self.rows(), content: Box::new(self) }
    }

    fn damaged(&self, part: impl Into<String>) -> Error {
        self.kept.damaged(part)
    }

    /// Returns the batches with these columns, which are ascending.
    fn batches(&self, columns: Vec<usize>) -> Option<Decoded> {
        guarded(|| self.kept.batches(columns))?
    }

    /// Gives `to` these rows of the selected columns, ascending, batch by batch.
    fn copy(&self, rows: &[RowNumber], select: &[usize], to: &mut Take<'_>) -> Done {
        let wanted = in_order(select);
        // The reader gives the columns in the order of the schema.
        let order: Vec<usize> = select
            .iter()
            .map(|column| wanted.iter().position(|wanted| wanted == column).unwrap_or_default())
            .collect();
        let batches = self.batches(wanted).ok_or_else(|| self.damaged("its schema"))?;
        let (mut first, mut rest) = (0u64, rows);
        for batch in batches {
            let after = || self.damaged(format!("the part after row {first}"));
            let batch = batch.map_err(|_| after())?;
            let end = first + batch.num_rows() as u64;
            let (here, later) = rest.split_at(rest.partition_point(|row| row.get() < end));
            if !here.is_empty() {
                let places = here.iter().map(|row| (row.get() - first) as u32);
                let places = UInt32Array::from_iter_values(places);
                let taken = batch
                    .project(&order)
                    .and_then(|batch| take_record_batch(&batch, &places))
                    .map_err(|_| after())?;
                to(taken)?;
            }
            (first, rest) = (end, later);
        }
        Ok(())
    }

    /// Returns the result of writing matched rows, once it is certain that the rows have not changed. `done` is `None`
    /// if a library panicked.
    fn settled<T>(
        &self,
        done: Option<std::result::Result<T, Unwritten>>,
    ) -> std::result::Result<T, Unwritten> {
        let done = done.unwrap_or_else(|| Err(self.damaged("a column").into()));
        match self.kept.stored() {
            Some(stored) => stored.settled(done, self.digest.as_ref(), None),
            None => done,
        }
    }

    /// Copies rows like [`Arrow::copy`], but in any order. The table is read once for every `GATHERED` rows.
    fn copy_in_any_order(&self, rows: &[RowNumber], select: &[usize], to: &mut Take<'_>) -> Done {
        const GATHERED: usize = 1 << 20;
        const BATCH: usize = 1 << 16;
        for rows in rows.chunks(GATHERED) {
            let (sorted, places) = ascending(rows);
            let (mut batches, mut found) = (Vec::new(), Vec::with_capacity(sorted.len()));
            self.copy(&sorted, select, &mut |batch| {
                found.extend((0..batch.num_rows()).map(|row| (batches.len(), row)));
                batches.push(batch);
                Ok(())
            })?;
            let batches: Vec<_> = batches.iter().collect();
            for places in places.chunks(BATCH) {
                let found: Vec<_> = places.iter().map(|place| found[*place as usize]).collect();
                to(interleave_record_batch(&batches, &found).map_err(unwritten)?)?;
            }
        }
        Ok(())
    }

    fn write_all(
        &self,
        what: &Written<'_>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> Done {
        let schema = Arc::new(what.schema(&self.schema));
        let options = IpcWriteOptions::default().try_with_compression(self.survey.codec);
        let options = options.map_err(unwritten)?;
        if !matches!(self.kept, Kept::File(_)) {
            let mut writer =
                StreamWriter::try_new_with_options(out, &schema, options).map_err(unwritten)?;
            self.write_batches(what, &schema, &mut |batch| writer.write(batch), done)?;
            return writer.finish().map_err(unwritten);
        }
        let mut writer =
            FileWriter::try_new_with_options(out, &schema, options).map_err(unwritten)?;
        for (key, value) in &self.survey.metadata {
            writer.write_metadata(key, value);
        }
        self.write_batches(what, &schema, &mut |batch| writer.write(batch), done)?;
        writer.finish().map_err(unwritten)
    }

    fn gather_all(&self, what: &Written<'_>, done: &mut dyn FnMut(u64)) -> ArrowResult {
        let schema = Arc::new(what.schema(&self.schema));
        let mut batches = Vec::new();
        let mut keep = |batch: &RecordBatch| {
            batches.push(batch.clone());
            Ok(())
        };
        self.write_batches(what, &schema, &mut keep, done)?;
        Ok(ArrowTable::of(schema, batches))
    }

    /// Gives `to` the output, batch by batch.
    fn write_batches(
        &self,
        what: &Written<'_>,
        schema: &SchemaRef,
        to: &mut WriteBatch<'_>,
        done: &mut dyn FnMut(u64),
    ) -> Done {
        let (rows, select) = (what.rows(), what.own(self.uuids.len()));
        let mut first = 0;
        let mut take = |batch: RecordBatch| {
            add(what, schema, first, &batch, to)?;
            first += batch.num_rows();
            done(first as u64);
            Ok(())
        };
        match what.is_ascending() {
            true => self.copy(rows, &select, &mut take),
            false => self.copy_in_any_order(rows, &select, &mut take),
        }
    }
}

/// A callback for batches of the table's own columns.
type Take<'a> = dyn FnMut(RecordBatch) -> Done + 'a;

type WriteBatch<'a> = dyn FnMut(&RecordBatch) -> std::result::Result<(), ArrowError> + 'a;

type Done = std::result::Result<(), Unwritten>;

type ArrowResult = std::result::Result<ArrowTable, Unwritten>;

/// Gives `to` a batch of the table's own columns together with the added ones, in parts if it would be too large.
/// `first` is the place of its first row in the output.
fn add(
    what: &Written<'_>,
    schema: &SchemaRef,
    first: usize,
    own: &RecordBatch,
    to: &mut WriteBatch<'_>,
) -> Done {
    if what.is_plain() {
        return to(own).map_err(unwritten);
    }
    let rows = own.num_rows();
    match what.columns(first..first + rows, own.columns())? {
        Some(columns) => {
            let batch = RecordBatch::try_new(schema.clone(), columns).map_err(unwritten)?;
            to(&batch).map_err(unwritten)
        }
        None => {
            let (half, rest) = (own.slice(0, rows / 2), own.slice(rows / 2, rows - rows / 2));
            add(what, schema, first, &half, to)?;
            add(what, schema, first + half.num_rows(), &rest, to)
        }
    }
}

impl Content for Arrow {
    fn read(
        &mut self,
        columns: &[usize],
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        let wanted = in_order(columns);
        let batches = self.batches(wanted.clone()).ok_or_else(|| self.damaged("its schema"))?;
        let shown = Batches {
            name: self.kept.name(),
            rows: self.rows(),
            columns: &wanted,
            uuids: &self.uuids,
            damaged: &|part| self.damaged(part),
        };
        let shown = shown.show(batches, show);
        self.kept.assert_unchanged()?;
        shown?;
        self.digest = match self.kept.stored() {
            Some(stored) => stored.digest(None)?,
            None => None,
        };
        Ok(self.rows())
    }

    fn digest(&self) -> Option<&InputDigest> {
        self.digest.as_ref()
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
        self.settled(guarded(|| self.write_all(what, out, done)))
    }

    fn gather(&self, what: &Written<'_>, done: &mut dyn FnMut(u64)) -> Option<ArrowResult> {
        Some(self.settled(guarded(|| self.gather_all(what, done))))
    }
}

fn unwritten(error: ArrowError) -> Unwritten {
    match error {
        ArrowError::IoError(_, error) => Unwritten::Output(error),
        _ => Unwritten::Output(io::Error::other("the values cannot be written as an Arrow table")),
    }
}
