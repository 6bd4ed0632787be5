//! Rows of a join of sets in partitions, on disk until they are written.

use std::{borrow::Cow, io::Write};

use vesica_core::error::{Error, Result};
use vesica_keyset::{buckets::Filling, partitions::Partition};
use vesica_psi::payload::Opened;
use vesica_table::{
    pieces::read_exact,
    row_number::RowNumber,
    sent_columns::SentColumns,
    sent_types::SentType,
    spill::{Spill, Spilled},
    written::{Matched, Received},
};
use zeroize::Zeroizing;

use crate::{
    gather::FoundPieces,
    interface::Call,
    joined::Joined,
    piece::{JoinLayout, JoinPiece, row_of},
};

/// Ranges of rows that are sorted one after the other.
const BUCKETS: u64 = 256;

/// Returns the piece of a receiver in a partition.
pub(super) fn piece(opened: &Opened, sent: &SentColumns, partition: &Partition) -> JoinPiece {
    let Partition { set, rows, .. } = partition;
    let mut payloads = vec![None; set.counts().used as usize];
    let mut unreadable = 0u64;
    for (nth, key) in opened.positions().iter().enumerate() {
        let senders = sent.rows_of(opened.payload(nth));
        unreadable += u64::from(senders.is_none());
        payloads[*key as usize] = Some((nth, senders));
    }
    let matches = opened.positions().len() as u64;
    let mut records = Zeroizing::new(Vec::new());
    let bytes = sent.bytes as usize;
    for row in RowNumber::all(set.counts().read) {
        let Some((nth, senders)) = set.key_of(row).and_then(|key| payloads[key.index()]) else {
            continue;
        };
        let row = rows.row(row).get().to_le_bytes();
        for place in opened.payload(nth).chunks(bytes).take(senders.unwrap_or(1)) {
            records.extend_from_slice(&row);
            match senders {
                Some(_) => records.extend_from_slice(place),
                None => records.extend(std::iter::repeat_n(0, bytes)),
            }
        }
    }
    JoinPiece { matches, unreadable, records }
}

/// Combines the pieces of a receiver.
///
/// # Errors
/// [`Error::Output`] of the directory.
pub(super) fn joined(pieces: FoundPieces<JoinPiece>, call: Call) -> Result<Joined> {
    let Call { sent, types, unmatched, rows: table_rows, .. } = call;
    let sent = sent.ok_or(Error::bug("a join sends columns"))?;
    let directory = pieces.directory().to_owned();
    let unwritten = |source| Error::Output { path: directory.clone(), source };
    let layout = JoinLayout { place: sent.bytes as usize, rows: table_rows };
    let record = layout.record();
    let mut filling = Filling::create(&directory, BUCKETS as usize, record)?;
    let (mut matches, mut unreadable) = (0, 0);
    for piece in pieces.of_all() {
        let piece = piece?;
        matches += piece.matches;
        unreadable += piece.unreadable;
        for record in piece.records.chunks_exact(record) {
            let bucket =
                u128::from(row_of(record).get()) * u128::from(BUCKETS) / u128::from(table_rows);
            filling.push(bucket as usize, record)?;
        }
    }
    drop(pieces);
    let buckets = filling.finish()?;
    let mut spill = Spill::create(&directory).map_err(unwritten)?;
    let mut rows = Vec::new();
    for bucket in 0..buckets.count() {
        let mut records = Zeroizing::new(Vec::with_capacity(buckets.records(bucket) * record));
        buckets.read(bucket, |record| {
            records.extend_from_slice(record);
            Ok(())
        })?;
        // Rows that match the same row stay in their order.
        let mut records: Vec<_> = records.chunks_exact(record).collect();
        records.sort_by_key(|record| row_of(record));
        for record in records {
            rows.push(row_of(record));
            spill.write_all(&record[record.len() - layout.place..]).map_err(unwritten)?;
        }
    }
    let spilled = spill.finish().map_err(unwritten)?;
    let with_values = unmatched.then(|| with_others(&mut rows, table_rows));
    let received = Kept { sent, types, spilled, with_values, directory };
    let rows = Matched { rows, received: Some(Box::new(received)), ..Matched::default() };
    Ok(Joined { matches, unreadable, rows })
}

/// Adds every other row of a table once, and returns the positions of the earlier rows.
fn with_others(rows: &mut Vec<RowNumber>, table_rows: u64) -> Vec<u64> {
    let mut found = std::mem::take(rows).into_iter().peekable();
    let mut before = Vec::new();
    for row in RowNumber::all(table_rows) {
        if found.peek() != Some(&row) {
            rows.push(row);
        }
        while found.next_if_eq(&row).is_some() {
            before.push(rows.len() as u64);
            rows.push(row);
        }
    }
    before
}

/// The payloads of the rows, in order, on disk.
struct Kept {
    sent: SentColumns,
    types: Vec<SentType>,
    spilled: Spilled,
    /// The positions of the written rows with received values; `None` for all.
    with_values: Option<Vec<u64>>,
    directory: std::path::PathBuf,
}

impl Received for Kept {
    fn names(&self) -> &[String] {
        &self.sent.columns
    }

    fn types(&self) -> &[SentType] {
        &self.types
    }

    fn values(&self, nth: usize) -> Result<Vec<Option<Cow<'_, str>>>> {
        let nothing = || vec![None; self.sent.columns.len()];
        let place = match &self.with_values {
            None => Some(nth),
            Some(rows) => rows.binary_search(&(nth as u64)).ok(),
        };
        let Some(place) = place else { return Ok(nothing()) };
        let mut bytes = Zeroizing::new(vec![0; self.sent.bytes as usize]);
        let read = read_exact(&self.spilled, place as u64 * bytes.len() as u64, &mut bytes);
        read.map_err(|source| Error::Output { path: self.directory.clone(), source })?;
        let values = self.sent.row(&bytes, 0);
        let owned = |value: Option<&str>| value.map(|value| Cow::Owned(value.to_owned()));
        Ok(values.map_or_else(nothing, |values| values.into_iter().map(owned).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmatched_rows_are_added_in_order() {
        let numbered = |rows: &[u64]| rows.iter().copied().map(RowNumber::new).collect::<Vec<_>>();
        for (found, all, before) in [
            (&[][..], &[0, 1, 2][..], &[][..]),
            (&[0, 2], &[0, 1, 2], &[0, 2]),
            (&[1, 1, 1], &[0, 1, 1, 1, 2], &[1, 2, 3]),
        ] {
            let mut rows = numbered(found);
            assert_eq!(with_others(&mut rows, 3), before);
            assert_eq!(rows, numbered(all));
        }
    }
}
