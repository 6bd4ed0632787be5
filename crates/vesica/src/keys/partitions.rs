//! The keys of a table in partitions, for sets that are compared part by part.
//!
//! The partition of a key is determined by its image under the seed that both sides draw once their sets are fixed. So
//! neither can have its keys, or the other's, crowd in one. Each partition is filled up to a size that both sides know, with
//! random items that match nothing: sizes tell nothing but those of the whole sets.

use std::path::Path;

use rand::CryptoRng;
use vesica_params::{LAMBDA, bins::simple};
use vesica_psi::{DigestLength, Set};

use crate::{
    agree::seed::Seed,
    error::{Error, Result},
    keys::{
        buckets::{Buckets, Filling},
        counts::NO_KEY,
        digest::Digest,
        keyset::KeySet,
        table_keys::TableKeys,
    },
};

/// Bytes of a row's number.
const ROW: usize = size_of::<u32>();

/// Digests of which images are made at a time.
const CHUNK: usize = 1 << 12;

/// The number of items to which each of so many partitions of so many keys is filled up: the least such that some partition
/// has more keys with a probability of at most 2^-λ.
pub(crate) fn capacity(keys: usize, partitions: usize) -> usize {
    simple::max_load(keys, partitions, LAMBDA)
}

/// Bytes of memory that a partition of so many items takes besides what the protocol does.
pub(crate) fn memory(capacity: usize) -> f64 {
    // The image and the row of each key, its number, and the table that finds equal ones.
    const OF_AN_ITEM: usize = 32 + 8 + 4 + 32;
    /// Chunks of buckets that are being filled or read.
    const FIXED: f64 = (48 << 20) as f64;
    FIXED + (OF_AN_ITEM * capacity) as f64
}

/// All partitions of a table's keys.
pub(crate) struct Partitions {
    buckets: Buckets,
    /// Items of each.
    capacity: usize,
    length: DigestLength,
}

/// Bytes of an item.
fn item_bytes(length: DigestLength) -> usize {
    match length {
        DigestLength::Short => 16,
        DigestLength::Long => 32,
    }
}

/// A partition, filled up.
pub(crate) struct Partition {
    /// Its keys, on rows of its own.
    pub(crate) set: KeySet,
    /// Its items.
    pub(crate) items: Set,
    /// For each of its rows that of the table, counted from 0.
    pub(crate) rows: Vec<u32>,
}

/// Puts images into partitions.
struct Sorter<'a> {
    seed: &'a Seed,
    filling: Filling,
    length: DigestLength,
    digests: Vec<Digest>,
    rows: Vec<u32>,
}

impl Sorter<'_> {
    fn push(&mut self, digest: Digest, row: u32) -> Result<()> {
        self.digests.push(digest);
        self.rows.push(row);
        if self.digests.len() == CHUNK { self.settle() } else { Ok(()) }
    }

    fn settle(&mut self) -> Result<()> {
        let Self { seed, filling, length, digests, rows } = self;
        let mut done = Ok(());
        let (mut record, item) = ([0; 32 + ROW], item_bytes(*length));
        seed.images(digests, |i, image| {
            record[..item].copy_from_slice(&image[..item]);
            record[item..item + ROW].copy_from_slice(&rows[i].to_le_bytes());
            if done.is_ok() {
                done = filling.push(partition_of(image, filling.len()), &record[..item + ROW]);
            }
        });
        digests.clear();
        rows.clear();
        done
    }
}

/// The partition of an image. It takes the last bits, which short items do not have.
fn partition_of(image: &[u8; 32], partitions: usize) -> usize {
    let mut bits = [0; 8];
    bits.copy_from_slice(&image[24..]);
    ((u128::from(u64::from_le_bytes(bits)) * partitions as u128) >> 64) as usize
}

impl TableKeys {
    /// The keys in so many partitions, as items of this length, in a file in this directory.
    ///
    /// # Errors
    /// [`Error::Output`] of the directory.
    pub(crate) fn partition(
        self,
        seed: &Seed,
        partitions: usize,
        length: DigestLength,
        directory: &Path,
    ) -> Result<Partitions> {
        let capacity = capacity(self.counts().used as usize, partitions);
        let filling = Filling::create(directory, partitions, item_bytes(length) + ROW)?;
        let mut sorter = Sorter { seed, filling, length, digests: Vec::new(), rows: Vec::new() };
        match self {
            Self::Held(set) => {
                let rows = set.numbers().iter().zip(0..).filter(|(key, _)| **key != NO_KEY);
                for (key, row) in rows {
                    sorter.push(set.digests()[*key as usize], row)?;
                }
            }
            Self::Spilled(keys) => keys.read(|digest, row| sorter.push(digest, row as u32))?,
        }
        sorter.settle()?;
        Ok(Partitions { buckets: sorter.filling.finish()?, capacity, length })
    }
}

impl Partitions {
    /// For another number of items, which may be too few.
    #[cfg(test)]
    pub(crate) fn with_capacity(self, capacity: usize) -> Self {
        Self { capacity, ..self }
    }

    /// A partition, counted from 0.
    ///
    /// # Errors
    /// [`Error::StatisticalFailure`] where it has more keys than it was to have, and [`Error::Output`] of the directory.
    pub(crate) fn load(&self, partition: usize, rng: &mut dyn CryptoRng) -> Result<Partition> {
        let records = self.buckets.records(partition);
        let (mut images, mut rows) = (Vec::with_capacity(records), Vec::with_capacity(records));
        self.buckets.read(partition, |record| {
            let (item, row) = record.split_at(item_bytes(self.length));
            let mut image = [0; 32];
            image[..item.len()].copy_from_slice(item);
            images.push(Digest::from_bytes(image));
            rows.push(u32::from_le_bytes(row.try_into().unwrap_or_default()));
            Ok(())
        })?;
        let mut set = KeySet::distinct(images, vec![0; records], 1);
        let fits = set.pad(self.capacity, || {
            let mut random = [0; 32];
            rng.fill_bytes(&mut random);
            Digest::from_bytes(random)
        });
        if !fits {
            return Err(Error::StatisticalFailure(vesica_psi::Error::HashingFailure));
        }
        let items = Seed::items_of(set.digests(), self.length);
        Ok(Partition { set, items, rows })
    }
}
