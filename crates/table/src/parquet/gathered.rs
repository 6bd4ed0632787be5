//! Values of one column, gathered from several row groups of the input for one of the output.

use parquet::{
    column::{
        reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader},
        writer::ColumnWriterImpl,
    },
    data_type::DataType,
    errors::ParquetError,
};

use super::BATCH;
use crate::row_number::RowNumber;

/// The wanted rows of one row group of the input.
pub(super) struct Piece<'a> {
    pub(super) group: usize,
    /// The first row of the group.
    pub(super) first: u64,
    /// The number of rows in the group.
    pub(super) len: u64,
    /// The wanted rows, ascending and each once.
    pub(super) wanted: &'a [RowNumber],
}

/// The rows of one row group of the output.
pub(super) struct Gathered<'a> {
    /// The sources of the rows.
    pub(super) pieces: Vec<Piece<'a>>,
    /// The place of each row among the rows of the pieces; `None` if they keep their order.
    pub(super) order: Option<&'a [u32]>,
}

/// The reason that a column was not copied.
pub(super) enum Stopped {
    /// This group of the input cannot be read.
    Reading {
        group: usize,
    },
    Writing(ParquetError),
}

impl Gathered<'_> {
    /// Copies the wanted values of a column, which `open` opens in a row group of the input.
    pub(super) fn copy<T: DataType>(
        &self,
        open: impl Fn(usize) -> parquet::errors::Result<ColumnReader>,
        to: &mut ColumnWriterImpl<'_, T>,
    ) -> Result<(), Stopped> {
        let descr = to.get_descriptor().clone();
        let chunk = || Chunk::<T>::new(descr.max_def_level(), descr.max_rep_level());
        let mut all = self.order.map(|_| chunk());
        for piece in &self.pieces {
            let from = open(piece.group).map_err(|_| piece.unreadable())?;
            let from = get_typed_column_reader::<T>(from);
            piece.read(from, chunk(), &mut |chunk| match &mut all {
                Some(all) => {
                    all.append(chunk);
                    Ok(())
                }
                None => chunk.write(to),
            })?;
        }
        match (all, self.order) {
            (Some(all), Some(order)) => all.in_order(order).write(to),
            _ => Ok(()),
        }
    }
}

impl Piece<'_> {
    fn unreadable(&self) -> Stopped {
        Stopped::Reading { group: self.group }
    }

    /// Gives `to` the wanted values of a column from this group.
    fn read<T: DataType>(
        &self,
        mut from: ColumnReaderImpl<T>,
        mut chunk: Chunk<T>,
        to: &mut dyn FnMut(&mut Chunk<T>) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let mut rest = self.wanted;
        let mut at = 0;
        while !rest.is_empty() {
            let span = at..(at + BATCH as u64).min(self.len);
            let here = rest.partition_point(|row| row.get() - self.first < span.end);
            let (wanted, after) = rest.split_at(here);
            let records = (span.end - span.start) as usize;
            if wanted.is_empty() {
                let skipped = from.skip_records(records).map_err(|_| self.unreadable())?;
                if skipped != records {
                    return Err(self.unreadable());
                }
            } else {
                chunk.read(&mut from, records).ok_or_else(|| self.unreadable())?;
                chunk.keep(wanted.iter().map(|row| row.get() - self.first - span.start));
                to(&mut chunk)?;
            }
            (rest, at) = (after, span.end);
        }
        Ok(())
    }
}

/// Values of some records, with their levels if the column has any.
struct Chunk<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    /// The level of a present value.
    defined: i16,
    /// Whether a record may have several values.
    repeats: bool,
}

impl<T: DataType> Chunk<T> {
    fn new(defined: i16, repetition: i16) -> Self {
        let (values, definitions, repetitions) = (Vec::new(), Vec::new(), Vec::new());
        Self { values, definitions, repetitions, defined, repeats: repetition > 0 }
    }

    fn read(&mut self, from: &mut ColumnReaderImpl<T>, records: usize) -> Option<()> {
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
        let (definitions, repetitions) = (
            (self.defined > 0).then_some(&mut self.definitions),
            self.repeats.then_some(&mut self.repetitions),
        );
        let read = from.read_records(records, definitions, repetitions, &mut self.values);
        read.is_ok_and(|(read, ..)| read == records).then_some(())
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

    /// Moves everything of another chunk of this column to the end.
    fn append(&mut self, other: &mut Self) {
        self.values.append(&mut other.values);
        self.definitions.append(&mut other.definitions);
        self.repetitions.append(&mut other.repetitions);
    }

    /// Returns the records with these numbers, in this order.
    fn in_order(&self, order: &[u32]) -> Self {
        let levels = if self.defined > 0 { self.definitions.len() } else { self.values.len() };
        // For each record the place of its first level and of its first value, followed by the ends of both.
        let (mut starts, mut value) = (Vec::new(), 0);
        for level in 0..levels {
            if self.repetitions.get(level).is_none_or(|repetition| *repetition == 0) {
                starts.push((level, value));
            }
            let has_value = self.definitions.get(level).is_none_or(|d| *d == self.defined);
            value += usize::from(has_value);
        }
        starts.push((levels, value));
        let mut ordered = Self::new(self.defined, i16::from(self.repeats));
        for record in order {
            let [(level, value), (next_level, next_value)] =
                [starts[*record as usize], starts[*record as usize + 1]];
            ordered.values.extend_from_slice(&self.values[value..next_value]);
            if self.defined > 0 {
                ordered.definitions.extend_from_slice(&self.definitions[level..next_level]);
            }
            if self.repeats {
                ordered.repetitions.extend_from_slice(&self.repetitions[level..next_level]);
            }
        }
        ordered
    }

    fn write(&self, to: &mut ColumnWriterImpl<'_, T>) -> Result<(), Stopped> {
        let definitions = (self.defined > 0).then_some(&self.definitions[..]);
        let repetitions = self.repeats.then_some(&self.repetitions[..]);
        let written = to.write_batch(&self.values, definitions, repetitions);
        written.map(drop).map_err(Stopped::Writing)
    }
}
