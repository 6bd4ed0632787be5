//! Decoded batches of a typed table, shown row by row.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use vesica_core::error::{Error, Result};

use crate::{
    guard::guarded,
    row::{Fields, Origin, Row},
    typed::TextColumn,
};

/// The table to which the batches belong.
pub(crate) struct Batches<'a> {
    /// The name of the table.
    pub(crate) name: &'a str,
    /// The number of rows that it claims.
    pub(crate) rows: u64,
    /// The columns of the batches, by their positions in the table.
    pub(crate) columns: &'a [usize],
    /// Whether each column of the table holds UUIDs.
    pub(crate) uuids: &'a [bool],
    /// Makes the error for a damaged part.
    pub(crate) damaged: &'a dyn Fn(String) -> Error,
}

impl Batches<'_> {
    /// Shows each row of all batches. There must be as many as the table claims.
    ///
    /// # Errors
    /// A batch that cannot be decoded, another number of rows, and any error of `show`.
    pub(crate) fn show(
        &self,
        mut batches: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut texts: Vec<Option<TextColumn>> = self.uuids.iter().map(|_| None).collect();
        let mut number = 0;
        let after = |number: u64| (self.damaged)(format!("the part after row {number}"));
        loop {
            let next = guarded(|| {
                let Some(batch) = batches.next() else { return Some(None) };
                let batch = batch.ok()?;
                for (column, array) in self.columns.iter().zip(batch.columns()) {
                    texts[*column] = TextColumn::new(array, self.uuids[*column]);
                }
                Some(Some(batch.num_rows()))
            });
            let Some(rows) = next.flatten().ok_or_else(|| after(number))? else { break };
            if number + rows as u64 > self.rows {
                return Err((self.damaged)("its number of rows".to_owned()));
            }
            for row in 0..rows {
                number += 1;
                let origin = Origin::Typed(self.name, self.rows);
                show(Row { number, origin, fields: Fields::Batch(&texts, row) })?;
            }
        }
        if number == self.rows { Ok(()) } else { Err(after(number)) }
    }
}

/// Returns these columns in the order in which a batch has them.
pub(crate) fn in_order(columns: &[usize]) -> Vec<usize> {
    let mut columns = columns.to_vec();
    columns.sort_unstable();
    columns.dedup();
    columns
}
