//! A table of record batches in memory.

use std::fmt;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

/// Record batches with the columns of one schema. A clone shares their values.
#[derive(Clone)]
pub struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ArrowTable {
    /// All that a reader has.
    ///
    /// # Errors
    /// What the reader returns, and [`ArrowError::SchemaError`] for a batch of other columns.
    pub fn read(reader: impl RecordBatchReader) -> Result<Self, ArrowError> {
        let schema = reader.schema();
        let mut batches = Vec::new();
        for batch in reader {
            let batch = batch?;
            if batch.schema_ref().fields() != schema.fields() {
                let message = "a batch has other columns than the table".to_owned();
                return Err(ArrowError::SchemaError(message));
            }
            batches.push(batch);
        }
        Ok(Self { schema, batches })
    }

    /// These batches, which have the schema's columns.
    pub(super) fn of(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// Reads it, batch by batch.
    pub fn reader(&self) -> impl RecordBatchReader + Send + use<> {
        let batches = self.batches.clone();
        RecordBatchIterator::new(batches.into_iter().map(Ok), self.schema())
    }

    /// The batches, each with these columns alone.
    pub(super) fn project(
        &self,
        columns: Vec<usize>,
    ) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + use<> {
        self.batches.clone().into_iter().map(move |batch| batch.project(&columns))
    }
}

/// Says how much there is, and no value of it.
impl fmt::Debug for ArrowTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrowTable({} columns, {} rows)", self.schema.fields().len(), self.rows())
    }
}
