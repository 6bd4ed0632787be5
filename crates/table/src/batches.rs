//! Decoded batches of a table with types, shown row by row.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use vesica_core::error::{Error, Result};

use crate::{
    guard::guarded,
    row::{Fields, Origin, Row},
    typed::TextColumn,
};

/// What the batches are of.
pub(crate) struct Batches<'a> {
    /// The name of the table.
    pub(crate) name: &'a str,
    /// How many rows it says that it has.
    pub(crate) rows: u64,
    /// The columns that the batches have, by their positions in the table.
    pub(crate) columns: &'a [usize],
    /// For each column of the table whether it holds UUIDs.
    pub(crate) uuids: &'a [bool],
    /// Says that a part of it is damaged.
    pub(crate) damaged: &'a dyn Fn(String) -> Error,
}

impl Batches<'_> {
    /// Shows each row of all batches, of which there must be as many as the table says.
    ///
    /// # Errors
    /// A batch that cannot be decoded, another number of rows, and whatever `show` returns.
    pub(crate) fn show(
        &self,
        mut batches: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut texts: Vec<Option<TextColumn>> = self.uuids.iter().map(|_| None).collect();
        let mut number = 0;
        let after = |number: u64| (self.damaged)(format!("what comes after row {number}"));
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

/// These columns in the order in which a batch has them.
pub(crate) fn in_order(columns: &[usize]) -> Vec<usize> {
    let mut columns = columns.to_vec();
    columns.sort_unstable();
    columns.dedup();
    columns
}
