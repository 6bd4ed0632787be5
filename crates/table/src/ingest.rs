//! Conversion of written text to batches, for a table of a database.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray,
    builder::StringBuilder,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};

/// The number of rows of text in a batch.
pub(crate) const BATCH: usize = 1 << 14;

/// Batches of rows, with their schema.
pub(crate) type Reader = Box<dyn RecordBatchReader + Send>;

/// Columns of text, built row by row.
pub(crate) struct Texts {
    schema: Arc<Schema>,
    columns: Vec<StringBuilder>,
    rows: usize,
    batches: Vec<RecordBatch>,
}

impl Texts {
    pub(crate) fn new(names: Vec<String>) -> Self {
        let columns = names.iter().map(|_| StringBuilder::new()).collect();
        let fields = names.into_iter().map(|name| Field::new(name, DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { schema, columns, rows: 0, batches: Vec::new() }
    }

    pub(crate) fn push(&mut self, column: usize, text: Option<&str>) {
        self.columns[column].append_option(text);
    }

    pub(crate) fn end_row(&mut self) -> Result<(), ArrowError> {
        self.rows += 1;
        // Long fields make short batches: an array of text holds 2 GiB.
        let is_long = || self.columns.iter().any(|column| column.values_slice().len() > 1 << 26);
        if self.rows == BATCH || is_long() { self.end_batch() } else { Ok(()) }
    }

    fn end_batch(&mut self) -> Result<(), ArrowError> {
        let finish = |column: &mut StringBuilder| -> ArrayRef {
            let text: StringArray = column.finish();
            Arc::new(text)
        };
        let columns = self.columns.iter_mut().map(finish).collect();
        self.batches.push(RecordBatch::try_new(self.schema.clone(), columns)?);
        self.rows = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Reader, ArrowError> {
        if self.rows > 0 {
            self.end_batch()?;
        }
        let batches = self.batches.into_iter().map(Ok);
        Ok(Box::new(RecordBatchIterator::new(batches.collect::<Vec<_>>(), self.schema)))
    }
}
