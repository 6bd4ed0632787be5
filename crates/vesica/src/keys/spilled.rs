//! The keys of a table, on disk because they are more than may be in memory.
//!
//! Digests go to buckets with the numbers of their rows. The bucket depends on the digest, so equal ones meet in one.

use std::{
    hash::{BuildHasher, RandomState},
    path::Path,
};

use crate::{
    error::Result,
    keys::{
        buckets::{Buckets, Filling},
        collector::Collector,
        counts::RowCounts,
        digest::Digest,
        findings::Tally,
        keyset::KeySet,
    },
};

/// Buckets, so many that each of a table that can be processed at all fits into memory.
const BUCKETS: usize = 256;

/// A record: the digest, the row, and a hash of the key before normalisation where that changed it.
const RECORD: usize = 32 + ROW + 4;

/// Bytes of a row's number with the bit that says that the normalisation changed its key.
const ROW: usize = 5;

/// That bit.
const CHANGED: u64 = 1 << 39;

/// Keys on their way to the disk.
pub(super) struct Spilling {
    filling: Filling,
    /// Random, so that whoever chose the keys cannot have them crowd in one bucket.
    factor: u64,
    counts: RowCounts,
}

/// The keys of a table, on disk.
pub struct SpilledKeys {
    buckets: Buckets,
    counts: RowCounts,
}

impl Spilling {
    /// Into a file in this directory.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output).
    pub(super) fn begin(directory: &Path) -> Result<Self> {
        let filling = Filling::create(directory, BUCKETS, RECORD)?;
        let factor = RandomState::new().hash_one(0) | 1;
        Ok(Self { filling, factor, counts: RowCounts::default() })
    }

    /// Moves the keys of all rows so far to the disk.
    ///
    /// # Errors
    /// As [`Spilling::begin`].
    pub(super) fn take(&mut self, keys: &mut Collector, tally: &mut Tally) -> Result<()> {
        let mut changed = tally.take_changed().into_iter().peekable();
        keys.drain(|place, digest| {
            let row = self.counts.read;
            self.counts.read += 1;
            let Some(digest) = digest else {
                self.counts.null += 1;
                return Ok(());
            };
            let form = changed.next_if(|(at, _)| *at == place).map(|(_, form)| form);
            let row = if form.is_some() { row | CHANGED } else { row };
            let mut record = [0; RECORD];
            record[..32].copy_from_slice(digest.as_bytes());
            record[32..32 + ROW].copy_from_slice(&row.to_le_bytes()[..ROW]);
            record[32 + ROW..].copy_from_slice(&form.unwrap_or_default().to_le_bytes());
            let bucket = digest.prefix().wrapping_mul(self.factor) >> (64 - BUCKETS.ilog2());
            self.filling.push(bucket as usize, &record)
        })
    }

    /// Counts the distinct keys, bucket by bucket. Also returns the first row whose key an earlier row bears, after that
    /// earlier row; rows are counted from 0.
    ///
    /// # Errors
    /// As [`Spilling::begin`].
    pub(super) fn finish(self, tally: &mut Tally) -> Result<(SpilledKeys, Option<(u64, u64)>)> {
        let Self { filling, mut counts, .. } = self;
        let buckets = filling.finish()?;
        let mut repetition: Option<(u64, u64)> = None;
        for bucket in 0..buckets.len() {
            let records = buckets.records(bucket);
            let (mut digests, mut rows) =
                (Vec::with_capacity(records), Vec::with_capacity(records));
            let mut changed = Vec::new();
            buckets.read(bucket, |record| {
                let (digest, row, form) = parts(record);
                if row & CHANGED != 0 {
                    changed.push((digests.len() as u32, form));
                }
                digests.push(digest);
                rows.push(row & !CHANGED);
                Ok(())
            })?;
            let set = KeySet::distinct(digests, vec![0; records], 1);
            counts.used += set.counts().used;
            counts.duplicate += set.counts().duplicate;
            if let Some(found) = set.first_repetition() {
                let found = (rows[found.0], rows[found.1]);
                repetition = repetition.filter(|(_, second)| *second < found.1).or(Some(found));
            }
            tally.group(set.numbers(), set.counts().used, changed, |place| rows[place]);
        }
        Ok((SpilledKeys { buckets, counts }, repetition))
    }
}

fn parts(record: &[u8]) -> (Digest, u64, u32) {
    let (mut digest, mut row, mut form) = ([0; 32], [0; 8], [0; 4]);
    digest.copy_from_slice(&record[..32]);
    row[..ROW].copy_from_slice(&record[32..32 + ROW]);
    form.copy_from_slice(&record[32 + ROW..]);
    (Digest::from_bytes(digest), u64::from_le_bytes(row), u32::from_le_bytes(form))
}

impl SpilledKeys {
    /// How many rows went which way.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }

    /// Shows the digest of each row that has a key, and the row, counted from 0.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output), and what `show` returns.
    pub(super) fn read(&self, mut show: impl FnMut(Digest, u64) -> Result<()>) -> Result<()> {
        (0..self.buckets.len()).try_for_each(|bucket| {
            self.buckets.read(bucket, |record| {
                let (digest, row, _) = parts(record);
                show(digest, row & !CHANGED)
            })
        })
    }
}
