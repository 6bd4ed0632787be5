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
    /// Reads all batches of a reader.
    ///
    /// # Errors
    /// Any error of the reader, and [`ArrowError::SchemaError`] for a batch with other columns.
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

    /// Makes a table of these batches, which have the schema's columns.
    pub(crate) fn of(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// Returns the schema.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// Returns a reader of the batches.
    pub fn reader(&self) -> impl RecordBatchReader + Send + use<> {
        let batches = self.batches.clone();
        RecordBatchIterator::new(batches.into_iter().map(Ok), self.schema())
    }

    /// Returns the batches with only these columns.
    pub(super) fn project(
        &self,
        columns: Vec<usize>,
    ) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + use<> {
        self.batches.clone().into_iter().map(move |batch| batch.project(&columns))
    }
}

/// Shows the size, and none of the values.
impl fmt::Debug for ArrowTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrowTable({} columns, {} rows)", self.schema.fields().len(), self.rows())
    }
}
