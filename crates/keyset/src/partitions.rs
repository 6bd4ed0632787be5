//! The keys of a table in partitions, for sets that are compared part by part.
//!
//! The partition of a key depends on its image under the seed that both sides draw once their sets are fixed. So
//! neither can make its own keys, or the other's, crowd in one partition. Random items that match nothing fill each
//! partition up to a size that both sides know, so partition sizes reveal only the sizes of the whole sets.

use std::path::Path;

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_core::error::{Error, Result};
use vesica_normalize::digest::Digest;
use vesica_params::{LAMBDA, bins::simple};
use vesica_psi::{DigestLength, Set};
use vesica_table::row_number::RowNumber;
use zeroize::Zeroizing;

use crate::{
    ambiguous::Ambiguity,
    brought::Brought,
    buckets::{Buckets, Filling, Sorted, Unsorted},
    key_number::KeyNumber,
    key_rows::KeyRows,
    query_columns::QueryColumns,
    seed::{Image, Seed},
    spilled::PLACE,
    table_keys::TableKeys,
};

/// The number of digests whose images are made at a time, on all threads.
const CHUNK: usize = 1 << 16;

/// The share of one thread.
const IMAGES: usize = 1 << 11;

/// The division of all sets of a run into partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Division {
    /// The number of partitions of each set.
    pub partitions: usize,
    /// The number of sets.
    pub sets: usize,
}

impl Division {
    /// Returns the division of two sets.
    pub fn of_two(partitions: usize) -> Self {
        Self { partitions, sets: 2 }
    }

    /// Returns the number of items to which each partition of a set with these keys is filled up: the least such that
    /// some partition has more keys with a probability of at most 2^-λ. This is for each of two sets by itself, and
    /// for all sets of a run together if there are more.
    pub fn capacity(self, keys: usize) -> usize {
        simple::max_load(keys, self.partitions, self.lambda())
    }

    fn lambda(self) -> u32 {
        match self.sets {
            ..=2 => LAMBDA,
            sets => LAMBDA + sets.next_power_of_two().ilog2(),
        }
    }
}

/// Returns the memory, in bytes, that a partition of `capacity` items takes besides the protocol's, if each row
/// contributes `brought` bytes.
pub fn memory(capacity: usize, brought: usize) -> f64 {
    // The image and the row of each key, its number, and the table that finds equal keys.
    const OF_AN_ITEM: usize = 32 + 8 + 4 + 32;
    /// Chunks of buckets that are being filled or read.
    const FIXED: f64 = (48 << 20) as f64;
    FIXED + ((OF_AN_ITEM + brought) * capacity) as f64
}

/// All partitions of a table's keys.
pub struct Partitions {
    buckets: Buckets,
    /// The number of identifiers of a row.
    identifiers: usize,
    /// The contribution of each row.
    brought: Brought,
    /// The number of items of each partition.
    capacity: usize,
    length: DigestLength,
}

/// Returns the bytes of an item.
pub fn item_bytes(length: DigestLength) -> usize {
    match length {
        DigestLength::Short => 16,
        DigestLength::Long => 32,
    }
}

/// A partition, filled up.
pub struct Partition {
    /// The images of its keys, followed by those that fill it up.
    images: Vec<Image>,
    /// The rows of its keys, numbered within the partition.
    pub set: KeyRows,
    /// Its items.
    pub items: Set,
    /// The rows of the table that its rows stand for.
    pub rows: PartitionRows,
}

/// Returns the distinct images, and the rows that have them.
fn distinct(images: Vec<Image>) -> (Vec<Image>, KeyRows) {
    let rows = images.len();
    KeyRows::distinct(images, vec![Some(KeyNumber::FIRST); rows], 1)
}

/// Fills up a partition.
///
/// # Errors
/// [`Error::StatisticalFailure`] if there are more keys than its capacity.
fn fill_up(
    images: &mut Vec<Image>,
    set: &mut KeyRows,
    capacity: usize,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    if images.len() > capacity {
        return Err(Error::StatisticalFailure(vesica_psi::Error::HashingFailure));
    }
    images.resize_with(capacity, || Image::random(rng));
    set.pad(capacity);
    Ok(())
}

impl Partition {
    /// Returns the images of its keys, in the order of their numbers.
    pub fn images(&self) -> &[Image] {
        &self.images[..self.set.counts().used as usize]
    }

    /// Makes a partition of these keys, whose rows are numbered in their order.
    ///
    /// # Errors
    /// [`Error::StatisticalFailure`] if it has more keys than its capacity.
    pub fn of(
        digests: &[Digest],
        seed: &Seed,
        capacity: usize,
        length: DigestLength,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let item = item_bytes(length);
        let mut images = Vec::with_capacity(digests.len());
        // The length that images have when they come back from the disk.
        let short = |image: &Image| Image::of_prefix(&image.as_bytes()[..item]);
        seed.images(digests, |_, image| images.push(short(image)));
        let (mut images, mut set) = distinct(images);
        fill_up(&mut images, &mut set, capacity, rng)?;
        let items = Seed::items_of(&images, length);
        let rows = PartitionRows { places: (0..digests.len() as u64).collect(), identifiers: 1 };
        Ok(Self { images, set, items, rows })
    }
}

/// A maker of hiding commitments to the keys of partitions. Equal keys have equal commitments, in any order.
pub struct Commitments(Zeroizing<[u8; 32]>);

impl Commitments {
    /// Makes commitments under a secret that this side has for the run.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(Zeroizing::new(secret))
    }

    /// Returns the commitment to the keys of a partition, without the items that fill it up.
    pub fn of(&self, number: u32, partition: &Partition) -> [u8; 32] {
        let mut images = partition.images().to_vec();
        images.par_sort_unstable();
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&number.to_le_bytes());
        for image in &images {
            hasher.update(image.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

/// The rows of a partition. Each is one identifier of a row of the table.
pub struct PartitionRows {
    /// The places among the keys of all rows.
    places: Vec<u64>,
    /// The number of identifiers of a row.
    identifiers: usize,
}

impl PartitionRows {
    /// Returns the place, among the keys of all rows of the table, for which this row of the partition stands.
    pub fn place(&self, row: RowNumber) -> u64 {
        self.places[row.index()]
    }

    /// Returns the row of the table that this row of the partition stands for.
    pub fn row(&self, row: RowNumber) -> RowNumber {
        RowNumber::new(self.places[row.index()] / self.identifiers as u64)
    }

    /// Returns the identifier that this row of the partition stands for, counted from 0.
    pub fn identifier(&self, row: RowNumber) -> usize {
        self.places[row.index()] as usize % self.identifiers
    }

    /// Returns the identifier of each of these keys.
    pub fn identifiers_of(
        &self,
        set: &KeyRows,
        keys: impl Iterator<Item = KeyNumber>,
    ) -> Vec<usize> {
        if self.identifiers == 1 {
            return keys.map(|_| 0).collect();
        }
        let first_rows = set.first_rows();
        let places = keys.filter_map(|key| Some(self.places[first_rows.of(key)?.index()]));
        places.map(|place| place as usize % self.identifiers).collect()
    }
}

/// A sorter of images into partitions.
#[derive(Clone, Copy)]
struct Sorter<'a> {
    seed: &'a Seed,
    partitions: usize,
    length: DigestLength,
    brought: usize,
}

/// Keys whose images are made together.
#[derive(Default)]
struct Keys {
    digests: Vec<Digest>,
    places: Vec<u64>,
    of_rows: Vec<u8>,
}

impl Keys {
    fn push(&mut self, digest: Digest, place: u64, brought: &[u8]) {
        self.digests.push(digest);
        self.places.push(place);
        self.of_rows.extend_from_slice(brought);
    }
}

impl Sorter<'_> {
    /// Returns the bytes of a record.
    fn record(self) -> usize {
        item_bytes(self.length) + PLACE + self.brought
    }

    /// Returns the records of keys, sorted by partition.
    fn sorted(self, digests: &[Digest], places: &[u64], of_rows: &[u8]) -> Sorted {
        let item = item_bytes(self.length);
        let mut unsorted = Unsorted::new(self.record(), self.partitions, digests.len());
        let mut record = Vec::with_capacity(self.record());
        self.seed.images(digests, |i, image| {
            record.clear();
            record.extend_from_slice(&image.as_bytes()[..item]);
            record.extend_from_slice(&places[i].to_le_bytes()[..PLACE]);
            record.extend_from_slice(&of_rows[i * self.brought..][..self.brought]);
            unsorted.push(partition_of(image, self.partitions), &record);
        });
        unsorted.sort()
    }

    /// Puts keys into their partitions, on all threads, and empties `keys`.
    fn settle(self, keys: &mut Keys, filling: &mut Filling) -> Result<()> {
        let parts = keys.digests.par_chunks(IMAGES).zip(keys.places.par_chunks(IMAGES)).enumerate();
        let sorted: Vec<Sorted> = parts
            .map(|(i, (digests, places))| {
                let of_rows = &keys.of_rows[i * IMAGES * self.brought..];
                self.sorted(digests, places, of_rows)
            })
            .collect();
        *keys = Keys::default();
        sorted.iter().try_for_each(|sorted| filling.append(sorted))
    }
}

/// Returns the partition of each of these keys.
pub fn partitions_of(seed: &Seed, digests: &[Digest], partitions: usize) -> Vec<u32> {
    let mut all = Vec::with_capacity(digests.len());
    seed.images(digests, |_, image| all.push(partition_of(image, partitions) as u32));
    all
}

/// Returns the partition of an image. It depends on the last bits, which short items do not have.
pub fn partition_of(image: &Image, partitions: usize) -> usize {
    let mut bits = [0; 8];
    bits.copy_from_slice(&image.as_bytes()[24..]);
    ((u128::from(u64::from_le_bytes(bits)) * partitions as u128) >> 64) as usize
}

impl TableKeys {
    /// Puts the keys into partitions, as items of this length, in a file in this directory.
    ///
    /// # Errors
    /// [`Error::Output`] of the directory.
    pub fn partition(
        self,
        seed: &Seed,
        division: Division,
        length: DigestLength,
        directory: &Path,
    ) -> Result<Partitions> {
        let capacity = division.capacity(self.len() as usize);
        let partitions = division.partitions;
        let (identifiers, brought) = match &self {
            Self::Held(set) => (set.rows().identifiers(), set.rows().brought().clone()),
            Self::Spilled(keys) => (keys.identifiers(), keys.brought().clone()),
        };
        let sorter = Sorter { seed, partitions, length, brought: brought.len() };
        let mut filling = Filling::create(directory, partitions, sorter.record())?;
        match self {
            Self::Held(set) => {
                let mut keys = Keys::default();
                set.rows().rows_with_keys(|key, place, brought| {
                    keys.push(set.digests()[key.index()], place, brought);
                    match keys.digests.len() {
                        CHUNK => sorter.settle(&mut keys, &mut filling),
                        _ => Ok(()),
                    }
                })?;
                sorter.settle(&mut keys, &mut filling)?;
            }
            Self::Spilled(all) => {
                let sorted = |some: &mut dyn Iterator<Item = (Digest, u64, &[u8])>| {
                    let mut keys = Keys::default();
                    some.for_each(|(digest, place, brought)| keys.push(digest, place, brought));
                    sorter.sorted(&keys.digests, &keys.places, &keys.of_rows)
                };
                all.read_all(sorted, |sorted| filling.append(&sorted))?;
            }
        }
        let buckets = filling.finish()?;
        Ok(Partitions { buckets, identifiers, brought, capacity, length })
    }
}

impl Partitions {
    /// Returns the partitions with another capacity, which may be too small. For tests of a run's behaviour then.
    #[doc(hidden)]
    pub fn with_capacity(self, capacity: usize) -> Self {
        Self { capacity, ..self }
    }

    /// Returns the columns of the query for which the keys were read, if it is one with columns.
    pub fn query(&self) -> Option<&QueryColumns> {
        match &self.brought {
            Brought::Query(columns) => Some(columns),
            _ => None,
        }
    }

    /// Returns the number of partitions.
    pub fn count(&self) -> usize {
        self.buckets.count()
    }

    /// Reads a partition, counted from 0.
    ///
    /// # Errors
    /// [`Error::StatisticalFailure`] if it has more keys than its capacity, and [`Error::Output`] of the directory.
    pub fn load(&self, partition: usize, rng: &mut dyn CryptoRng) -> Result<Partition> {
        let records = self.buckets.records(partition);
        let (mut images, mut places) = (Vec::with_capacity(records), Vec::with_capacity(records));
        let mut of_rows = Vec::with_capacity(records * self.brought.len());
        self.buckets.read(partition, |record| {
            let (item, rest) = record.split_at(item_bytes(self.length));
            let mut place = [0; 8];
            place[..PLACE].copy_from_slice(&rest[..PLACE]);
            images.push(Image::of_prefix(item));
            places.push(u64::from_le_bytes(place));
            of_rows.extend_from_slice(&rest[PLACE..]);
            Ok(())
        })?;
        let (mut images, mut set) = distinct(images);
        if let Brought::Linked(linked) = &self.brought {
            let rules = self.identifiers;
            let rule = |record: usize| (places[record] % rules as u64) as usize;
            Ambiguity::leave_out(&mut set, &mut images, &mut of_rows, linked, rules, rule);
        }
        fill_up(&mut images, &mut set, self.capacity, rng)?;
        // The number of rows of each key that are sent, and its label, have been checked already.
        let _ = set.bring(&self.brought, of_rows);
        let items = Seed::items_of(&images, self.length);
        let rows = PartitionRows { places, identifiers: self.identifiers };
        Ok(Partition { images, set, items, rows })
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    /// Two sets have places as ever; more sets have so many that all together overflow as rarely as one.
    #[test]
    fn partitions_of_all_sets_overflow_as_rarely_as_those_of_one() {
        for (keys, partitions) in [(3_000, 2), (100_000, 16), (10_000_000, 4096)] {
            let of = |sets| Division { partitions, sets }.capacity(keys);
            assert_eq!(Division::of_two(partitions).capacity(keys), of(1));
            assert_eq!(of(2), simple::max_load(keys, partitions, LAMBDA));
            for sets in [3, 4, 5, 32] {
                let failure = |capacity| {
                    simple::log2_failure(keys, partitions, capacity) + (sets as f64).log2()
                };
                assert!(failure(of(sets)) <= -f64::from(LAMBDA), "{sets}");
                assert!(failure(of(sets) - 1) > -f64::from(LAMBDA) - 1.0, "{sets}");
                assert!(failure(of(2)) > -f64::from(LAMBDA), "{sets}");
            }
        }
    }

    /// A partition has the agreed number of items for any number of keys, and nothing shows which items fill it up.
    #[test]
    fn partitions_are_filled_up() {
        let (seed, mut rng) = (Seed::of_run([7; 32]), StdRng::seed_from_u64(1));
        let keys: Vec<_> = (0..8).map(|key| Digest::from_bytes([key; 32])).collect();
        for length in [DigestLength::Short, DigestLength::Long] {
            for count in [0, 1, 6, 7] {
                let partition = Partition::of(&keys[..count], &seed, 7, length, &mut rng).unwrap();
                assert_eq!(partition.images.len(), 7);
                assert_eq!(partition.set.counts().used, count as u64);
                let again = Partition::of(&keys[..count], &seed, 7, length, &mut rng).unwrap();
                let (one, other) = (&partition.images, &again.images);
                assert!(one[..count] == other[..count]);
                assert!((count..7).all(|place| !other.contains(&one[place])));
                let commitments = Commitments::new([1; 32]);
                assert_eq!(commitments.of(0, &partition), commitments.of(0, &again));
                assert_ne!(commitments.of(0, &partition), commitments.of(1, &again));
            }
            let full = Partition::of(&keys, &seed, 7, length, &mut rng);
            assert!(matches!(full.err(), Some(Error::StatisticalFailure(_))));
        }
    }
}
