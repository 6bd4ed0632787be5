//! Columns of the type INT96: a day and a time of day in nanoseconds, without a time zone.
//!
//! Arrow's timestamps have 64 bits, which are 584 years of nanoseconds, and the library silently wraps around for an
//! INT96 outside of them. So these columns are read in their own type, and shown as text beside the others.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::{
    basic::Type as PhysicalType,
    column::reader::{ColumnReaderImpl, get_typed_column_reader},
    data_type::{Int96, Int96Type},
    file::{reader::FileReader, serialized_reader::SerializedFileReader},
    schema::types::SchemaDescriptor,
};

use super::pages::Pages;
use crate::typed;

/// The first of 1970 in Julian days.
const JULIAN_DAY_OF_1970: i64 = 2_440_588;

const NANOSECONDS_OF_DAY: i128 = 86_400_000_000_000;

/// Returns the leaf of a root column of that type, if it is one.
pub(super) fn leaf_of(schema: &SchemaDescriptor, root: usize) -> Option<usize> {
    let leaf = (0..schema.num_columns()).find(|leaf| schema.get_column_root_idx(*leaf) == root)?;
    let column = schema.column(leaf);
    let is_root = column.path().parts().len() == 1 && column.max_rep_level() == 0;
    (is_root && column.physical_type() == PhysicalType::INT96).then_some(leaf)
}

/// Batches of other columns, with the INT96 columns inserted as text.
pub(super) struct WithInstants<B> {
    pub(super) batches: B,
    /// The position of each in a batch, ascending.
    pub(super) columns: Vec<(usize, Instants)>,
}

impl<B: Iterator<Item = Result<RecordBatch, ArrowError>>> Iterator for WithInstants<B> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(batch.and_then(|batch| self.completed(&batch)))
    }
}

impl<B> WithInstants<B> {
    fn completed(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let rows = batch.num_rows();
        let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
        let mut arrays = batch.columns().to_vec();
        for (place, column) in &mut self.columns {
            let texts = column.next(rows);
            let texts = texts.ok_or_else(|| ArrowError::ParquetError("INT96".to_owned()))?;
            fields.insert(*place, Arc::new(Field::new("instant", DataType::Utf8, true)));
            arrays.insert(*place, texts);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }
}

/// A column of INT96, read from the first row on.
pub(super) struct Instants {
    file: Arc<SerializedFileReader<Pages>>,
    leaf: usize,
    /// The row group to read next.
    group: usize,
    open: Option<ColumnReaderImpl<Int96Type>>,
}

impl Instants {
    pub(super) fn new(file: Arc<SerializedFileReader<Pages>>, leaf: usize) -> Self {
        Self { file, leaf, group: 0, open: None }
    }

    /// Returns the texts of the next rows; `None` if they cannot be read.
    fn next(&mut self, rows: usize) -> Option<ArrayRef> {
        let defined =
            self.file.metadata().file_metadata().schema_descr().column(self.leaf).max_def_level();
        let (mut values, mut levels, mut read) = (Vec::new(), Vec::new(), 0);
        while read < rows {
            let column = match &mut self.open {
                Some(column) => column,
                None if self.group < self.file.num_row_groups() => {
                    let column =
                        self.file.get_row_group(self.group).ok()?.get_column_reader(self.leaf);
                    self.group += 1;
                    self.open.insert(get_typed_column_reader(column.ok()?))
                }
                None => return None,
            };
            let levels = (defined > 0).then_some(&mut levels);
            let (records, ..) = column.read_records(rows - read, levels, None, &mut values).ok()?;
            read += records;
            if records == 0 {
                self.open = None;
            }
        }
        let mut values = values.iter();
        let text = |is_there: bool| match is_there {
            true => values.next().map(text),
            false => None,
        };
        let texts: StringArray = match defined {
            0 => (0..rows).map(|_| true).map(text).collect(),
            _ => levels.iter().map(|level| *level == defined).map(text).collect(),
        };
        Some(Arc::new(texts))
    }
}

/// Returns the text of an instant in a CSV file. Some programs write times before the day begins or after it ends.
pub fn text(value: &Int96) -> String {
    let [low, high, day] = [0, 1, 2].map(|part| value.data()[part]);
    let nanoseconds = (u64::from(high) << 32 | u64::from(low)) as i64;
    let days = i64::from(day as i32) - JULIAN_DAY_OF_1970;
    let all = i128::from(days) * NANOSECONDS_OF_DAY + i128::from(nanoseconds);
    let (days, rest) = (all.div_euclid(NANOSECONDS_OF_DAY), all.rem_euclid(NANOSECONDS_OF_DAY));
    String::from_utf8_lossy(&typed::instant(days as i64, rest as i64)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_by_table() {
        let of = |day: i64, nanoseconds: i64| {
            let mut value = Int96::new();
            let day = (day + JULIAN_DAY_OF_1970) as i32;
            value.set_data(nanoseconds as u32, (nanoseconds as u64 >> 32) as u32, day as u32);
            text(&value)
        };
        for (day, nanoseconds, expected) in [
            (0, 0, "1970-01-01T00:00:00"),
            (2_932_896, 86_399_000_000_000, "9999-12-31T23:59:59"),
            (-719_162, 1, "0001-01-01T00:00:00.000000001"),
            (19_782, 36_000_500_000_000, "2024-02-29T10:00:00.5"),
            (0, -1, "1969-12-31T23:59:59.999999999"),
            (0, 86_400_000_000_000, "1970-01-02T00:00:00"),
        ] {
            assert_eq!(of(day, nanoseconds), expected);
        }
    }
}
