//! Parquet.
//!
//! Keys are read through Arrow, which knows what the values mean. Rows are copied column by column in the file's own
//! physical types, levels included, so that what comes out has the types of what went in, whatever they are.

mod footer;

use std::{
    io::{self, Write},
    sync::Arc,
};

use arrow_schema::Schema;
use parquet::{
    arrow::{
        ProjectionMask, add_encoded_arrow_schema_to_metadata,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
            ParquetRecordBatchReaderBuilder,
        },
    },
    basic::LogicalType,
    column::{
        reader::{ColumnReader, ColumnReaderImpl},
        writer::{ColumnWriter, ColumnWriterImpl},
    },
    data_type::DataType,
    errors::ParquetError,
    file::{
        metadata::ParquetMetaData,
        properties::WriterProperties,
        reader::FileReader,
        serialized_reader::SerializedFileReader,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{Type, TypePtr},
};

use crate::{
    error::{Error, InputFault, Place, Result},
    table::{
        guard::guarded,
        header::Header,
        rows::{Content, Fields, MAX_ROWS, Origin, Row, Unwritten},
        stored::Stored,
        typed::{self, TextColumn},
    },
};

/// How many rows are decoded at a time.
const BATCH: usize = 1 << 13;

/// What Arrow names its own schema in the metadata of a file.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// A file of which the metadata has been read.
pub(crate) struct Parquet {
    stored: Stored,
    metadata: ArrowReaderMetadata,
    /// Which columns hold UUIDs.
    uuids: Vec<bool>,
}

/// What cannot be read, and whose fault it is not.
fn damaged(stored: &Stored, part: impl Into<String>) -> Error {
    stored.fault(InputFault::Damaged { format: "Parquet", part: part.into() })
}

impl Parquet {
    /// Reads the metadata.
    ///
    /// # Errors
    /// [`InputFault::Damaged`] and [`InputFault::TooManyRows`].
    pub(crate) fn open(stored: Stored) -> Result<Self> {
        let load = || {
            footer::within_bounds(&stored)?;
            ArrowReaderMetadata::load(&stored, ArrowReaderOptions::new()).ok()
        };
        let metadata = guarded(load).flatten();
        let metadata = metadata.ok_or_else(|| damaged(&stored, "its metadata, at its end,"))?;
        let groups = metadata.metadata().row_groups().iter().map(|group| group.num_rows());
        let rows = groups.clone().try_fold(0i64, i64::checked_add);
        let claimed = metadata.metadata().file_metadata().num_rows();
        if groups.into_iter().any(|rows| rows < 0) || rows != Some(claimed) {
            return Err(damaged(&stored, "its number of rows"));
        }
        if claimed as u64 > MAX_ROWS {
            return Err(stored.fault(InputFault::TooManyRows { max: MAX_ROWS }));
        }
        let roots = metadata.parquet_schema().root_schema().get_fields();
        if roots.len() != metadata.schema().fields().len() {
            return Err(damaged(&stored, "its schema"));
        }
        let is_uuid =
            |root: &TypePtr| root.get_basic_info().logical_type_ref() == Some(&LogicalType::Uuid);
        let uuids = metadata.schema().fields().iter().zip(roots);
        let uuids = uuids.map(|(field, root)| is_uuid(root) || typed::is_uuid(field)).collect();
        Ok(Self { stored, metadata, uuids })
    }

    /// The columns.
    pub(crate) fn header(&self) -> Header {
        let fields = self.metadata.schema().fields().iter().zip(&self.uuids);
        Header::of_types(
            fields.map(|(field, uuid)| (field.name().clone(), typed::column_type(field, *uuid))),
        )
    }

    /// How many rows the file says that it has.
    pub(crate) fn rows(&self) -> u64 {
        self.file().file_metadata().num_rows() as u64
    }

    fn file(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    fn batches(&self, columns: &[usize]) -> Option<ParquetRecordBatchReader> {
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied());
        let build = || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(
                self.stored.clone(),
                self.metadata.clone(),
            )
            .with_projection(mask)
            .with_batch_size(BATCH)
            .build()
        };
        guarded(build)?.ok()
    }

    /// The groups of rows of the output: for each, the groups of the input that it takes rows from, with the first row of
    /// each and the wanted ones. A group ends where one of the input ends, unless it would have few rows.
    fn groups<'a>(&self, rows: &'a [u32]) -> Vec<Vec<Piece<'a>>> {
        /// Groups of fewer rows are slow to read.
        const FEW: usize = 1 << 16;
        let (mut groups, mut open, mut open_rows) = (Vec::new(), Vec::new(), 0);
        let (mut first, mut rest) = (0u64, rows);
        for (group, metadata) in self.file().row_groups().iter().enumerate() {
            let len = metadata.num_rows() as u64;
            let here = rest.partition_point(|row| u64::from(*row) < first + len);
            let (wanted, after) = rest.split_at(here);
            if !wanted.is_empty() {
                open.push(Piece { group, first, len, wanted });
                open_rows += wanted.len();
                if open_rows >= FEW.min(len as usize) {
                    groups.push(std::mem::take(&mut open));
                    open_rows = 0;
                }
            }
            (first, rest) = (first + len, after);
        }
        groups.extend((!open.is_empty()).then_some(open));
        groups
    }

    /// How the output is written: compressed and encoded as the input, with the input's metadata.
    fn properties(&self, leaves: &[usize], select: Option<&[usize]>) -> WriterProperties {
        let file = self.file();
        let mut properties = WriterProperties::builder();
        if let Some(metadata) = file.file_metadata().key_value_metadata() {
            properties = properties.set_key_value_metadata(Some(metadata.clone()));
        }
        if let Some(group) = file.row_groups().first() {
            if select.is_none() {
                properties = properties.set_sorting_columns(group.sorting_columns().cloned());
            }
            for leaf in leaves {
                let column = group.column(*leaf);
                let path = column.column_path().clone();
                properties = properties
                    .set_column_compression(path.clone(), column.compression())
                    .set_column_dictionary_enabled(path, column.dictionary_page_offset().is_some());
            }
        }
        let mut properties = properties.build();
        if let Some(select) = select {
            self.restate_schema(select, &mut properties);
        }
        properties
    }

    /// Has Arrow's own copy of the schema, where there is one, say what the selected columns are.
    fn restate_schema(&self, select: &[usize], properties: &mut WriterProperties) {
        let mut metadata = properties.key_value_metadata().into_iter().flatten();
        if metadata.any(|pair| pair.key == ARROW_SCHEMA) {
            let all = self.metadata.schema();
            let fields: Vec<_> =
                select.iter().map(|column| all.fields()[*column].clone()).collect();
            let schema = Schema::new_with_metadata(fields, all.metadata().clone());
            add_encoded_arrow_schema_to_metadata(&schema, properties);
        }
    }

    /// The root of the selected columns, and their leaves in the input.
    fn selected(&self, select: Option<&[usize]>) -> (TypePtr, Vec<usize>) {
        let schema = self.file().file_metadata().schema_descr();
        let Some(select) = select else {
            return (schema.root_schema_ptr(), (0..schema.num_columns()).collect());
        };
        let roots = schema.root_schema().get_fields();
        let fields = select.iter().map(|column| roots[*column].clone()).collect();
        let leaves_of = |root: usize| {
            (0..schema.num_columns()).filter(move |leaf| schema.get_column_root_idx(*leaf) == root)
        };
        let leaves = select.iter().flat_map(|column| leaves_of(*column)).collect();
        let root = Type::group_type_builder(schema.name()).with_fields(fields).build();
        (root.map_or_else(|_| schema.root_schema_ptr(), Arc::new), leaves)
    }

    fn copy(
        &self,
        rows: &[u32],
        select: Option<&[usize]>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        let (root, leaves) = self.selected(select);
        let properties = Arc::new(self.properties(&leaves, select));
        let mut writer = SerializedFileWriter::new(out, root, properties).map_err(unwritten)?;
        let input = SerializedFileReader::new(self.stored.clone())
            .map_err(|_| damaged(&self.stored, "its metadata, at its end,"))?;
        let mut written = 0;
        for pieces in self.groups(rows) {
            let mut group = writer.next_row_group().map_err(unwritten)?;
            for leaf in &leaves {
                self.copy_column(&input, *leaf, &pieces, &mut group)?;
            }
            group.close().map_err(unwritten)?;
            written += pieces.iter().map(|piece| piece.wanted.len() as u64).sum::<u64>();
            done(written);
        }
        writer.close().map_err(unwritten)?;
        Ok(self.stored.assert_unchanged()?)
    }

    fn copy_column<W: Write + Send>(
        &self,
        input: &SerializedFileReader<Stored>,
        leaf: usize,
        pieces: &[Piece<'_>],
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> std::result::Result<(), Unwritten> {
        let to = group.next_column().map_err(unwritten)?;
        let mut to = to.ok_or(Error::Bug("the output has fewer columns than were selected"))?;
        for piece in pieces {
            let unreadable = |_: ParquetError| self.unreadable(leaf, piece.group);
            let from = input.get_row_group(piece.group).map_err(unreadable)?;
            let from = from.get_column_reader(leaf).map_err(unreadable)?;
            let copied = match (from, to.untyped()) {
                (ColumnReader::BoolColumnReader(from), ColumnWriter::BoolColumnWriter(to)) => {
                    piece.copy(from, to)
                }
                (ColumnReader::Int32ColumnReader(from), ColumnWriter::Int32ColumnWriter(to)) => {
                    piece.copy(from, to)
                }
                (ColumnReader::Int64ColumnReader(from), ColumnWriter::Int64ColumnWriter(to)) => {
                    piece.copy(from, to)
                }
                (ColumnReader::Int96ColumnReader(from), ColumnWriter::Int96ColumnWriter(to)) => {
                    piece.copy(from, to)
                }
                (ColumnReader::FloatColumnReader(from), ColumnWriter::FloatColumnWriter(to)) => {
                    piece.copy(from, to)
                }
                (ColumnReader::DoubleColumnReader(from), ColumnWriter::DoubleColumnWriter(to)) => {
                    piece.copy(from, to)
                }
                (
                    ColumnReader::ByteArrayColumnReader(from),
                    ColumnWriter::ByteArrayColumnWriter(to),
                ) => piece.copy(from, to),
                (
                    ColumnReader::FixedLenByteArrayColumnReader(from),
                    ColumnWriter::FixedLenByteArrayColumnWriter(to),
                ) => piece.copy(from, to),
                _ => return Err(Error::Bug("a column changed its type").into()),
            };
            copied.map_err(|stopped| match stopped {
                Stopped::Reading => self.unreadable(leaf, piece.group).into(),
                Stopped::Writing(error) => unwritten(error),
            })?;
        }
        to.close().map_err(unwritten)
    }

    fn unreadable(&self, leaf: usize, group: usize) -> Error {
        let column = self.file().file_metadata().schema_descr().column(leaf).path().string();
        damaged(&self.stored, format!("column `{column}` in row group {}", group + 1))
    }
}

impl Content for Parquet {
    fn read(
        &mut self,
        columns: &[usize],
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        let (name, all) = (self.stored.name(), self.rows());
        let mut number = 0;
        let after = |number: u64| damaged(&self.stored, format!("what comes after row {number}"));
        let mut wanted = columns.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let mut batches =
            self.batches(&wanted).ok_or_else(|| damaged(&self.stored, "its schema"))?;
        let mut texts: Vec<Option<TextColumn>> = self.uuids.iter().map(|_| None).collect();
        loop {
            let next = guarded(|| {
                let Some(batch) = batches.next() else { return Some(0) };
                let batch = batch.ok()?;
                for (column, array) in wanted.iter().zip(batch.columns()) {
                    texts[*column] = TextColumn::new(array, self.uuids[*column]);
                }
                Some(batch.num_rows())
            });
            let rows = next.flatten().ok_or_else(|| after(number))?;
            if rows == 0 {
                break;
            }
            if number + rows as u64 > all {
                return Err(damaged(&self.stored, "its number of rows"));
            }
            for row in 0..rows {
                number += 1;
                let origin = Origin::Typed(name, all);
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
        let copied = guarded(|| self.copy(rows, select, out, done));
        copied.unwrap_or_else(|| Err(damaged(&self.stored, "a column").into()))
    }
}

fn unwritten(error: ParquetError) -> Unwritten {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => Unwritten::Output(*error),
            Err(_) => Unwritten::Output(io::Error::other("the values make no Parquet file")),
        },
        _ => Unwritten::Output(io::Error::other("the values make no Parquet file")),
    }
}

/// The wanted rows of one group of the input.
struct Piece<'a> {
    group: usize,
    /// The first row of the group.
    first: u64,
    /// Rows of the group.
    len: u64,
    wanted: &'a [u32],
}

/// Why a column was not copied.
enum Stopped {
    Reading,
    Writing(ParquetError),
}

impl Piece<'_> {
    /// Copies the wanted values of a column from this group.
    fn copy<T: DataType>(
        &self,
        mut from: ColumnReaderImpl<T>,
        to: &mut ColumnWriterImpl<'_, T>,
    ) -> std::result::Result<(), Stopped> {
        let descr = to.get_descriptor().clone();
        let mut chunk = Chunk::<T>::new(descr.max_def_level(), descr.max_rep_level());
        let mut rest = self.wanted;
        let mut at = 0;
        while !rest.is_empty() {
            let span = at..(at + BATCH as u64).min(self.len);
            let here = rest.partition_point(|row| u64::from(*row) - self.first < span.end);
            let (wanted, after) = rest.split_at(here);
            let records = (span.end - span.start) as usize;
            if wanted.is_empty() {
                let skipped = from.skip_records(records).map_err(|_| Stopped::Reading)?;
                if skipped != records {
                    return Err(Stopped::Reading);
                }
            } else {
                chunk.read(&mut from, records)?;
                chunk.keep(wanted.iter().map(|row| u64::from(*row) - self.first - span.start));
                chunk.write(to)?;
            }
            (rest, at) = (after, span.end);
        }
        Ok(())
    }
}

/// Values of some records, with their levels where the column has any.
struct Chunk<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    /// The level at which there is a value.
    defined: i16,
    /// Whether a record may have several values.
    repeats: bool,
}

impl<T: DataType> Chunk<T> {
    fn new(defined: i16, repetition: i16) -> Self {
        let (values, definitions, repetitions) = (Vec::new(), Vec::new(), Vec::new());
        Self { values, definitions, repetitions, defined, repeats: repetition > 0 }
    }

    fn read(
        &mut self,
        from: &mut ColumnReaderImpl<T>,
        records: usize,
    ) -> std::result::Result<(), Stopped> {
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
        let (definitions, repetitions) = (
            (self.defined > 0).then_some(&mut self.definitions),
            self.repeats.then_some(&mut self.repetitions),
        );
        let read = from.read_records(records, definitions, repetitions, &mut self.values);
        match read {
            Ok((read, ..)) if read == records => Ok(()),
            _ => Err(Stopped::Reading),
        }
    }

    /// Drops all records but these, which are ascending.
    fn keep(&mut self, wanted: impl Iterator<Item = u64>) {
        let mut wanted = wanted.peekable();
        let levels = if self.defined > 0 { self.definitions.len() } else { self.values.len() };
        let (mut kept_levels, mut kept_values, mut value) = (0, 0, 0);
        let mut record = 0u64;
        for level in 0..levels {
            if level > 0 && self.repetitions.get(level).is_none_or(|repetition| *repetition == 0) {
                record += 1;
            }
            while wanted.next_if(|wanted| *wanted < record).is_some() {}
            let keep = wanted.peek() == Some(&record);
            let has_value = self.definitions.get(level).is_none_or(|d| *d == self.defined);
            if keep {
                if let Some(definition) = self.definitions.get(level).copied() {
                    self.definitions[kept_levels] = definition;
                }
                if let Some(repetition) = self.repetitions.get(level).copied() {
                    self.repetitions[kept_levels] = repetition;
                }
                kept_levels += 1;
                if has_value {
                    self.values.swap(kept_values, value);
                    kept_values += 1;
                }
            }
            value += usize::from(has_value);
        }
        self.values.truncate(kept_values);
        self.definitions.truncate(kept_levels);
        self.repetitions.truncate(kept_levels);
    }

    fn write(&self, to: &mut ColumnWriterImpl<'_, T>) -> std::result::Result<(), Stopped> {
        let definitions = (self.defined > 0).then_some(&self.definitions[..]);
        let repetitions = self.repeats.then_some(&self.repetitions[..]);
        let written = to.write_batch(&self.values, definitions, repetitions);
        written.map(drop).map_err(Stopped::Writing)
    }
}
