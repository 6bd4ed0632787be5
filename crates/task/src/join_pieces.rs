//! Rows of a join of sets in partitions, on disk until they are written.

use std::{borrow::Cow, io::Write, path::Path};

use vesica_core::error::{Error, Result};
use vesica_keyset::{buckets::Filling, partitions::Partition};
use vesica_psi::payload::Opened;
use vesica_table::{
    pieces::read_exact,
    row_number::RowNumber,
    sent_columns::SentColumns,
    sent_types::SentType,
    spill::{Spill, Spilled},
    written::{Matched, Numbering, Received},
};
use zeroize::Zeroizing;

use crate::{
    gather::FoundPieces,
    interface::{Call, WantedRows},
    joined::{Joined, OfRules},
    one_to_one::OneToOne,
    piece::{JoinLayout, JoinPiece, JoinRecord},
};

/// Ranges of rows that are sorted one after the other.
const BUCKETS: u64 = 256;

/// Returns the piece of a receiver in a partition.
pub(super) fn piece(opened: &Opened, call: &Call, partition: &Partition) -> JoinPiece {
    let sent = call.sent.as_ref().expect("a join sends columns");
    let Partition { set, rows, .. } = partition;
    let skip = JoinLayout::of(call).token;
    let mut payloads = vec![None; set.counts().used as usize];
    let mut unreadable = 0u64;
    for (nth, key) in opened.positions().iter().enumerate() {
        let senders = sent.rows_of(&opened.payload(nth)[skip..]);
        unreadable += u64::from(senders.is_none());
        payloads[*key as usize] = Some((nth, senders));
    }
    let matches = opened.positions().len() as u64;
    let mut records = Zeroizing::new(Vec::new());
    let bytes = sent.bytes as usize;
    for row in RowNumber::all(set.counts().read) {
        let payload = set.key_of(row).and_then(|key| match call.is_by_rules() {
            // Rows with one key have equal fields, and the first stands for all.
            true => payloads[key.index()].take(),
            false => payloads[key.index()],
        });
        let Some((nth, senders)) = payload else { continue };
        let (token, values) = opened.payload(nth).split_at(skip);
        for values in values.chunks(bytes).take(senders.unwrap_or(1)) {
            records.extend_from_slice(&rows.place(row).to_le_bytes());
            records.extend_from_slice(token);
            match senders {
                Some(_) => records.extend_from_slice(values),
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
    let layout = JoinLayout::of(&call);
    let Call { sent, types, wanted, rows: table_rows, .. } = call;
    let sent = sent.ok_or(Error::bug("a join sends columns"))?;
    let directory = pieces.directory().to_owned();
    let unwritten = |source| Error::Output { path: directory.clone(), source };
    let record = layout.record();
    let mut filling = Filling::create(&directory, BUCKETS as usize, record)?;
    let mut take = |record: &[u8]| {
        let row = layout.read(record).row.get();
        let bucket = u128::from(row) * u128::from(BUCKETS) / u128::from(table_rows);
        filling.push(bucket as usize, record)
    };
    let (mut matches, mut unreadable) = (0, 0);
    let mut of_rules = (layout.token > 0).then(|| ByRules::new(layout, &directory)).transpose()?;
    for piece in pieces.of_all() {
        let piece = piece?;
        matches += piece.matches;
        unreadable += piece.unreadable;
        for record in piece.records.chunks_exact(record) {
            match &mut of_rules {
                Some(of_rules) => of_rules.push(record)?,
                None => take(record)?,
            }
        }
    }
    drop(pieces);
    let of_rules = of_rules.map(|of_rules| of_rules.link(wanted, &mut take)).transpose()?;
    let buckets = filling.finish()?;
    let mut spill = Spill::create(&directory).map_err(unwritten)?;
    let (mut rows, mut ids) = (Vec::new(), Vec::new());
    for bucket in 0..buckets.count() {
        let mut records = Zeroizing::new(Vec::with_capacity(buckets.records(bucket) * record));
        buckets.read(bucket, |record| {
            records.extend_from_slice(record);
            Ok(())
        })?;
        // Rows that match the same row stay in their order.
        let mut records: Vec<_> = records.chunks_exact(record).collect();
        records.sort_by_key(|record| layout.read(record).row);
        for record in records {
            let JoinRecord { row, rule, values, .. } = layout.read(record);
            rows.push(row);
            ids.push(rule as u64 + 1);
            spill.write_all(values).map_err(unwritten)?;
        }
    }
    let spilled = spill.finish().map_err(unwritten)?;
    let with_values = wanted.unmatched.then(|| with_others(&mut rows, table_rows));
    if let Some(places) = &with_values {
        let linked = std::mem::replace(&mut ids, vec![0; rows.len()]);
        places.iter().zip(linked).for_each(|(place, rule)| ids[*place as usize] = rule);
    }
    let received: Option<Box<dyn Received>> =
        Some(Box::new(Kept { sent, types, spilled, with_values, directory }));
    let rows = match of_rules {
        Some(_) => Matched { rows, ids: Some(ids), numbering: Numbering::Rules, received },
        None => Matched { rows, received, ..Matched::default() },
    };
    Ok(Joined { matches, unreadable, of_rules, rows })
}

/// The records of matches by rules, on disk, rule by rule.
struct ByRules {
    layout: JoinLayout,
    filling: Filling,
}

impl ByRules {
    fn new(layout: JoinLayout, directory: &Path) -> Result<Self> {
        let filling = Filling::create(directory, layout.identifiers, layout.record())?;
        Ok(Self { layout, filling })
    }

    fn push(&mut self, record: &[u8]) -> Result<()> {
        self.filling.push(self.layout.read(record).rule, record)
    }

    /// Shows the records of rows that are linked, and returns the numbers of each rule.
    fn link(
        self,
        wanted: WantedRows,
        mut show: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<OfRules> {
        let Self { layout, filling } = self;
        let buckets = filling.finish()?;
        let mut numbers = OfRules::new(layout.identifiers);
        let mut links = OneToOne::new(layout.rows);
        for rule in 0..buckets.count() {
            numbers.matches[rule] = buckets.records(rule) as u64;
            buckets.read(rule, |record| {
                let JoinRecord { row, token, .. } = layout.read(record);
                if wanted.by_rule(rule) && links.link(row, token) {
                    numbers.rows[rule] += 1;
                    show(record)?;
                }
                Ok(())
            })?;
        }
        Ok(numbers)
    }
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
