//! Parquet.
//!
//! Keys are read through Arrow, which interprets the values. Rows are copied column by column in the file's own
//! physical types, levels included, so the output has the types of the input, of any kind.

mod added;
mod footer;
mod gathered;
mod instants;
mod pages;
mod schema;

use std::{
    io::{self, Write},
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;
use parquet::{
    arrow::{
        ProjectionMask, add_encoded_arrow_schema_to_metadata,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
            ParquetRecordBatchReaderBuilder,
        },
    },
    basic::{Encoding, EncodingMask, LogicalType},
    column::writer::{ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer},
    data_type::{DataType, Int64Type},
    errors::ParquetError,
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData},
        properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr},
        reader::{FileReader, Length},
        serialized_reader::SerializedFileReader,
        writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite},
    },
    schema::types::{Type, TypePtr},
};
use rayon::prelude::*;
use vesica_core::error::{Error, InputFault, Place, Result};

use self::{
    gathered::{Gathered, Piece, Stopped},
    instants::{Instants, WithInstants},
    pages::Pages,
};
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
    /// Apache Parquet.
    pub const PARQUET: Self = Self(&KIND);
}

static KIND: FormatKind = FormatKind {
    name: "parquet",
    title: "Parquet",
    endings: &["parquet", "pq"],
    header_grows: false,
    recognition: Recognition::Stored(&StoredOpening { begins, open }),
    batches: |bytes, _| {
        let table = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes));
        let rows = table.and_then(ParquetRecordBatchReaderBuilder::build);
        let rows = rows.map_err(|_| Error::bug("the written rows cannot be read"))?;
        Ok(Box::new(rows) as Reader)
    },
};

fn begins(head: &[u8]) -> std::result::Result<bool, ()> {
    const MAGIC: &[u8] = b"PAR1";
    // Encrypted Parquet, where the length of the first module follows. A table may begin with `PARENT`.
    if let Some(rest) = head.strip_prefix(b"PARE") {
        return match rest.get(3) {
            Some(last) => Ok(*last == 0),
            None if rest.contains(&b'\n') || rest.contains(&b',') => Ok(false),
            None => Err(()),
        };
    }
    format::begins_with(MAGIC, head)
}

fn open(stored: Stored, most_bytes: u64) -> Result<OpenedTable> {
    let table = Parquet::open(stored, most_bytes)?;
    Ok(OpenedTable { header: table.header(), rows: table.rows(), content: Box::new(table) })
}

/// The number of rows that are decoded at a time.
const BATCH: usize = 1 << 13;

/// The number of encoded output columns held for each thread. Threads with short columns can then take more of them.
const COLUMNS_OF_A_THREAD: usize = 4;

/// The key of Arrow's own schema in the metadata of a file.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// A file whose metadata has been read.
pub(crate) struct Parquet {
    stored: Stored,
    pages: Pages,
    metadata: ArrowReaderMetadata,
    /// The range of the metadata.
    footer: Range<u64>,
    /// Whether each column holds UUIDs.
    uuids: Vec<bool>,
    /// The digest of the bytes that were read.
    digest: Option<InputDigest>,
    /// The ranges that the digest covers: the metadata and the columns that were read.
    read: Vec<Range<u64>>,
}

/// Returns the error for a part that cannot be read.
fn damaged(stored: &Stored, part: impl Into<String>) -> Error {
    stored.fault(InputFault::Damaged { format: "Parquet", part: part.into() })
}

impl Parquet {
    /// Reads the metadata of a file, for a reading with this much memory.
    ///
    /// # Errors
    /// [`InputFault::Damaged`], [`InputFault::Encrypted`], [`InputFault::Unsupported`] and [`InputFault::TooManyRows`].
    pub(crate) fn open(stored: Stored, most_bytes: u64) -> Result<Self> {
        let unreadable = || damaged(&stored, "its metadata, at its end,");
        let found = guarded(|| footer::within_bounds(&stored)).flatten().ok_or_else(unreadable)?;
        if found.is_encrypted {
            return Err(stored.fault(InputFault::Encrypted { format: "Parquet" }));
        }
        let footer = found.place;
        let load = || ArrowReaderMetadata::load(&stored, ArrowReaderOptions::new());
        let metadata = match guarded(load) {
            Some(Ok(metadata)) => metadata,
            // Its lengths are right, so it was not truncated.
            Some(Err(_)) => return Err(stored.fault(schema::UNSUPPORTED)),
            _ => return Err(unreadable()),
        };
        let groups = metadata.metadata().row_groups();
        let rows = groups.iter().map(|group| group.num_rows()).try_fold(0i64, i64::checked_add);
        let claimed = metadata.metadata().file_metadata().num_rows();
        // A column without lists has one value, possibly missing, for each row.
        let agree = |group: &RowGroupMetaData| {
            let mut columns = group.columns().iter();
            let is_flat = |column: &ColumnChunkMetaData| column.column_descr().max_rep_level() == 0;
            group.num_rows() >= 0
                && columns.all(|column| !is_flat(column) || column.num_values() == group.num_rows())
        };
        if !groups.iter().all(agree) || rows != Some(claimed) {
            return Err(damaged(&stored, "its number of rows"));
        }
        if claimed as u64 > MAX_ROWS {
            return Err(stored.fault(InputFault::TooManyRows { max: MAX_ROWS }));
        }
        let roots = metadata.parquet_schema().root_schema().get_fields();
        if roots.len() != metadata.schema().fields().len() {
            return Err(stored.fault(schema::EMPTY_GROUP));
        }
        let is_uuid =
            |root: &TypePtr| root.get_basic_info().logical_type_ref() == Some(&LogicalType::Uuid);
        let uuids = metadata.schema().fields().iter().zip(roots);
        let uuids = uuids.map(|(field, root)| is_uuid(root) || typed::is_uuid(field)).collect();
        let pages = Pages::new(stored.clone(), most_bytes);
        Ok(Self { stored, pages, metadata, footer, uuids, digest: None, read: Vec::new() })
    }

    /// Returns the columns.
    pub(crate) fn header(&self) -> Header {
        let lzo = guarded(|| schema::packed_with_lzo(self.file())).unwrap_or_default();
        let roots = self.metadata.parquet_schema().root_schema().get_fields();
        let fields = self.metadata.schema().fields().iter().zip(roots).enumerate();
        Header::of_types(fields.map(|(at, (field, root))| {
            let found = typed::column_type(field, self.uuids[at]);
            let is_lzo = lzo.get(at).is_some_and(|is_lzo| *is_lzo);
            (field.name().clone(), schema::column_type(root, is_lzo, found))
        }))
    }

    /// Returns the number of rows that the file claims.
    pub(crate) fn rows(&self) -> u64 {
        self.file().file_metadata().num_rows() as u64
    }

    fn file(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// Returns batches with these columns, which are ascending.
    fn batches(&self, columns: &[usize]) -> Option<WithInstants<ParquetRecordBatchReader>> {
        let schema = self.metadata.parquet_schema();
        let leaves: Vec<_> =
            columns.iter().map(|column| instants::leaf_of(schema, *column)).collect();
        let others = columns.iter().zip(&leaves).filter(|(_, leaf)| leaf.is_none());
        let mask = ProjectionMask::roots(schema, others.map(|(column, _)| *column));
        let build = || -> parquet::errors::Result<_> {
            let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(
                self.pages.clone(),
                schema::with_views(&self.metadata),
            );
            let batches = batches.with_projection(mask).with_batch_size(BATCH).build()?;
            let has_instants = leaves.iter().any(Option::is_some);
            let file = has_instants.then(|| SerializedFileReader::new(self.pages.clone()));
            let file = file.transpose()?.map(Arc::new);
            let instants = leaves
                .iter()
                .enumerate()
                .filter_map(|(place, leaf)| Some((place, Instants::new(file.clone()?, (*leaf)?))));
            Ok(WithInstants { batches, columns: instants.collect() })
        };
        guarded(build)?.ok()
    }

    /// Returns the error for a part that cannot be read.
    fn damaged(&self, part: impl Into<String>) -> Error {
        match self.pages.exceeded() {
            Some(max) => self.stored.fault(InputFault::TooLarge { max }),
            None => damaged(&self.stored, part),
        }
    }

    /// Returns the ranges of the metadata and of these columns, in the order of the file.
    fn parts(&self, columns: &[usize]) -> Vec<Range<u64>> {
        let schema = self.metadata.parquet_schema();
        let leaves = 0..schema.num_columns();
        let read: Vec<_> =
            leaves.filter(|leaf| columns.contains(&schema.get_column_root_idx(*leaf))).collect();
        let chunks = self.file().row_groups().iter().flat_map(|group| {
            read.iter().filter_map(|leaf| {
                // Invalid ranges would have been noticed when the file was read.
                let (start, len) = guarded(|| group.column(*leaf).byte_range())?;
                Some(start..start.saturating_add(len))
            })
        });
        std::iter::once(self.footer.clone()).chain(chunks).collect()
    }

    /// Returns the row groups of the output. If rows keep their order, a group ends where one of the input ends, unless
    /// it would have few rows. Otherwise all groups of the input are read for each group of the output, which is
    /// therefore large.
    fn groups(&self, what: &Written<'_>) -> Vec<Range<usize>> {
        /// Groups of fewer rows are slow to read.
        const FEW: usize = 1 << 16;
        const LARGE: usize = 1 << 20;
        let rows = what.rows();
        if !what.is_ascending() {
            let starts = (0..rows.len()).step_by(LARGE);
            return starts.map(|start| start..(start + LARGE).min(rows.len())).collect();
        }
        let (mut groups, mut start, mut first) = (Vec::new(), 0, 0u64);
        for metadata in self.file().row_groups() {
            let len = metadata.num_rows() as u64;
            first += len;
            let end = rows.partition_point(|row| row.get() < first);
            // A group ends with this one of the input only if it takes rows from it.
            let is_ended = end > start && rows[end - 1].get() >= first - len;
            if is_ended && end - start >= FEW.min(len as usize) {
                groups.push(start..end);
                start = end;
            }
        }
        groups.extend((start < rows.len()).then_some(start..rows.len()));
        groups
    }

    /// Assigns these rows, ascending and each once, to the row groups of the input.
    fn pieces<'a>(&self, rows: &'a [RowNumber]) -> Vec<Piece<'a>> {
        let (mut pieces, mut first, mut rest) = (Vec::new(), 0u64, rows);
        for (group, metadata) in self.file().row_groups().iter().enumerate() {
            let len = metadata.num_rows() as u64;
            let here = rest.partition_point(|row| row.get() < first + len);
            let (wanted, after) = rest.split_at(here);
            if !wanted.is_empty() {
                pieces.push(Piece { group, first, len, wanted });
            }
            (first, rest) = (first + len, after);
        }
        pieces
    }

    /// Returns the settings of the writer: the compression, encodings and metadata of the input.
    fn properties(&self, leaves: &[usize], what: &Written<'_>) -> WriterProperties {
        let file = self.file();
        let mut properties = WriterProperties::builder();
        if let Some(metadata) = file.file_metadata().key_value_metadata() {
            properties = properties.set_key_value_metadata(Some(metadata.clone()));
        }
        if let Some(group) = file.row_groups().first() {
            if what.select.is_none() && what.matched.ids.is_none() && what.is_ascending() {
                properties = properties.set_sorting_columns(group.sorting_columns().cloned());
            }
            if let Some(first) = group.columns().first() {
                // The compression of the added columns; all others have their own.
                properties = properties.set_compression(first.compression());
            }
            for leaf in leaves {
                let column = group.column(*leaf);
                let path = column.column_path().clone();
                properties = properties
                    .set_column_compression(path.clone(), column.compression())
                    .set_column_dictionary_enabled(path.clone(), has_dictionary(column))
                    .set_column_statistics_enabled(path, statistics(column));
            }
        }
        let mut properties = properties.build();
        if what.select.is_some() || !what.is_plain() {
            self.restate_schema(what, &mut properties);
        }
        properties
    }

    /// Updates Arrow's own copy of the schema, if there is one, to the columns of the output.
    fn restate_schema(&self, what: &Written<'_>, properties: &mut WriterProperties) {
        let mut metadata = properties.key_value_metadata().into_iter().flatten();
        if metadata.any(|pair| pair.key == ARROW_SCHEMA) {
            let schema = what.schema(self.metadata.schema());
            add_encoded_arrow_schema_to_metadata(&schema, properties);
        }
    }

    /// Returns the root of the output's columns, and the leaves of the input that are copied.
    fn selected(&self, what: &Written<'_>) -> parquet::errors::Result<(TypePtr, Vec<usize>)> {
        let schema = self.file().file_metadata().schema_descr();
        if what.select.is_none() && what.is_plain() {
            return Ok((schema.root_schema_ptr(), (0..schema.num_columns()).collect()));
        }
        let roots = schema.root_schema().get_fields();
        let own = what.own(roots.len());
        let names: Vec<_> = roots.iter().map(|root| root.name().to_owned()).collect();
        let (id, received) = added::columns(what.names(&names), |nth| what.received_type(nth))?;
        let roots = own.iter().map(|column| roots[*column].clone());
        let fields = id.into_iter().chain(roots).chain(received).collect();
        let leaves_of = |root: usize| {
            (0..schema.num_columns()).filter(move |leaf| schema.get_column_root_idx(*leaf) == root)
        };
        let leaves = own.iter().flat_map(|column| leaves_of(*column)).collect();
        let root = Type::group_type_builder(schema.name()).with_fields(fields).build()?;
        Ok((Arc::new(root), leaves))
    }

    fn copy(
        &self,
        what: &Written<'_>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        let (root, leaves) = self.selected(what).map_err(unwritten)?;
        let properties = Arc::new(self.properties(&leaves, what));
        let mut writer =
            SerializedFileWriter::new(out, root, properties.clone()).map_err(unwritten)?;
        let input = SerializedFileReader::new(self.pages.clone())
            .map_err(|_| self.damaged("its metadata, at its end,"))?;
        for span in self.groups(what) {
            let rows = &what.rows()[span.clone()];
            let is_in_order = rows.is_sorted_by(|row, next| row < next);
            let ordered = (!is_in_order).then(|| ascending(rows));
            let source = Gathered {
                pieces: self.pieces(ordered.as_ref().map_or(rows, |(sorted, _)| sorted)),
                order: ordered.as_ref().map(|(_, places)| &places[..]),
            };
            let mut group = writer.next_row_group().map_err(unwritten)?;
            if let Some(ids) = &what.matched.ids {
                let ids: Vec<_> = ids[span.clone()].iter().map(|id| *id as i64).collect();
                added::write_values::<Int64Type, _>(&mut group, &ids, None)?;
            }
            for leaves in leaves.chunks(COLUMNS_OF_A_THREAD * rayon::current_num_threads()) {
                let encode = |leaf: &usize| self.encoded(&input, *leaf, &source, &properties);
                for column in leaves.par_iter().map(encode).collect::<Vec<_>>() {
                    let (bytes, closed) = column?;
                    group.append_column(&bytes, closed).map_err(unwritten)?;
                }
            }
            for (nth, values) in what.received_columns(span.clone())?.into_iter().enumerate() {
                added::write(&mut group, what.received_type(nth), &values)?;
            }
            group.close().map_err(unwritten)?;
            done(span.end as u64);
        }
        writer.close().map_err(unwritten)?;
        Ok(())
    }

    /// Returns the wanted values of a column, encoded as a column of the output.
    fn encoded(
        &self,
        input: &SerializedFileReader<Pages>,
        leaf: usize,
        source: &Gathered<'_>,
        properties: &WriterPropertiesPtr,
    ) -> std::result::Result<(Bytes, ColumnCloseResult), Unwritten> {
        let mut bytes = TrackedWrite::new(Vec::new());
        let column = self.file().file_metadata().schema_descr().column(leaf);
        let pages = Box::new(SerializedPageWriter::new(&mut bytes));
        let mut to = get_column_writer(column, properties.clone(), pages);
        let copied = guarded(|| match &mut to {
            ColumnWriter::BoolColumnWriter(to) => self.copy_values(input, leaf, source, to),
            ColumnWriter::Int32ColumnWriter(to) => self.copy_values(input, leaf, source, to),
            ColumnWriter::Int64ColumnWriter(to) => self.copy_values(input, leaf, source, to),
            ColumnWriter::Int96ColumnWriter(to) => self.copy_values(input, leaf, source, to),
            ColumnWriter::FloatColumnWriter(to) => self.copy_values(input, leaf, source, to),
            ColumnWriter::DoubleColumnWriter(to) => self.copy_values(input, leaf, source, to),
            ColumnWriter::ByteArrayColumnWriter(to) => self.copy_values(input, leaf, source, to),
            ColumnWriter::FixedLenByteArrayColumnWriter(to) => {
                self.copy_values(input, leaf, source, to)
            }
        });
        copied.unwrap_or_else(|| Err(self.damaged("a column").into()))?;
        let closed = to.close().map_err(unwritten)?;
        Ok((bytes.into_inner().map_err(unwritten)?.into(), closed))
    }

    fn copy_values<T: DataType>(
        &self,
        input: &SerializedFileReader<Pages>,
        leaf: usize,
        source: &Gathered<'_>,
        to: &mut ColumnWriterImpl<'_, T>,
    ) -> std::result::Result<(), Unwritten> {
        let open = |group: usize| input.get_row_group(group)?.get_column_reader(leaf);
        source.copy(open, to).map_err(|stopped| match stopped {
            Stopped::Reading { group } => self.unreadable(leaf, group).into(),
            Stopped::Writing(error) => unwritten(error),
        })
    }

    fn unreadable(&self, leaf: usize, group: usize) -> Error {
        let column = self.file().file_metadata().schema_descr().column(leaf).path().string();
        self.damaged(format!("column `{column}` in row group {}", group + 1))
    }
}

impl Content for Parquet {
    fn read(
        &mut self,
        columns: &[usize],
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        let wanted = in_order(columns);
        let batches = self.batches(&wanted).ok_or_else(|| self.damaged("its schema"))?;
        let shown = Batches {
            name: self.stored.name(),
            rows: self.rows(),
            columns: &wanted,
            uuids: &self.uuids,
            damaged: &|part| self.damaged(part),
        };
        let shown = shown.show(batches, show);
        self.stored.assert_unchanged()?;
        shown?;
        let parts = self.parts(&wanted);
        if parts.iter().any(|part| part.end > Length::len(&self.stored)) {
            return Err(self.damaged("the location of its columns"));
        }
        self.digest = self.stored.digest(Some(&parts))?;
        self.read = parts;
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
        let copied = guarded(|| self.copy(what, out, done));
        let copied = copied.unwrap_or_else(|| Err(self.damaged("a column").into()));
        self.stored.settled(copied, self.digest.as_ref(), Some(&self.read))
    }
}

/// Whether all values of a column are in a dictionary, as far as known. They are not if the writer gave up because
/// there were too many.
fn has_dictionary(column: &ColumnChunkMetaData) -> bool {
    let are_numbers =
        |encoding| matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
    let is_whole = |mask: &EncodingMask| mask.encodings().all(are_numbers);
    column.dictionary_page_offset().is_some()
        && column.page_encoding_stats_mask().is_none_or(is_whole)
}

/// Returns the level at which a column has statistics.
fn statistics(column: &ColumnChunkMetaData) -> EnabledStatistics {
    match (column.column_index_offset(), column.statistics()) {
        (Some(_), _) => EnabledStatistics::Page,
        (None, Some(_)) => EnabledStatistics::Chunk,
        (None, None) => EnabledStatistics::None,
    }
}

fn unwritten(error: ParquetError) -> Unwritten {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => Unwritten::Output(*error),
            Err(_) => {
                Unwritten::Output(io::Error::other("the values cannot be written as Parquet"))
            }
        },
        _ => Unwritten::Output(io::Error::other("the values cannot be written as Parquet")),
    }
}

#[cfg(test)]
mod tests;
