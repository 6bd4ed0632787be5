//! The keys of a table, on disk because they are more than may be in memory.
//!
//! Digests go to buckets with the numbers of their rows. The bucket depends on the digest, so equal ones meet in one.

use std::{
    hash::{BuildHasher, RandomState},
    path::Path,
};

use rayon::prelude::*;

use crate::{
    error::{Error, Result},
    keys::{
        brought::Brought,
        buckets::{Buckets, Filling},
        collector::Collector,
        counts::RowCounts,
        digest::Digest,
        findings::Tally,
        keyset::KeySet,
        profile::{Profile, Profiling},
    },
    partner::sketch::{Sketch, SketchSecret},
};

/// Buckets, so many that each of a table that can be processed at all fits into memory.
const BUCKETS: usize = 256;

/// Bytes of a place among the keys of all rows.
pub(super) const PLACE: usize = 5;

/// The most places.
pub(super) const MAX_PLACES: u64 = 1 << (8 * PLACE);

/// Bytes of a record before what the row brings: the digest, the place, and a hash of the key before normalisation, or 0
/// where that did not change it.
const HEAD: usize = 32 + PLACE + size_of::<u32>();

/// Keys on their way to the disk.
pub(super) struct Spilling {
    filling: Filling,
    /// Random, so that whoever chose the keys cannot have them crowd in one bucket.
    factor: u64,
    counts: RowCounts,
    identifiers: usize,
    brought: Brought,
    /// Columns of which each key has its kinds.
    columns: usize,
    /// Keys of all identifiers of all rows so far.
    places: u64,
    record: Vec<u8>,
}

/// The keys of a table, on disk.
pub struct SpilledKeys {
    buckets: Buckets,
    counts: RowCounts,
    identifiers: usize,
    brought: Brought,
    profile: Option<Profile>,
    sketch: Option<Sketch>,
}

/// What was found wrong with the rows of a table: for each, the first such row, after an earlier one that bears the same key.
/// Rows are counted from 0.
#[derive(Default)]
pub(super) struct Repetitions {
    /// The first row whose key an earlier row bears.
    pub(super) any: Option<(u64, u64)>,
    /// The first row that is one too many to be sent.
    pub(super) too_many: Option<(u64, u64)>,
}

/// A record of a bucket.
struct Record<'a> {
    digest: Digest,
    place: u64,
    /// A hash of the key before normalisation, where that changed it.
    form: Option<u32>,
    brought: &'a [u8],
}

impl<'a> Record<'a> {
    fn read(record: &'a [u8], brought: usize) -> Self {
        let (mut digest, mut place, mut form) = ([0; 32], [0; 8], [0; 4]);
        digest.copy_from_slice(&record[..32]);
        place[..PLACE].copy_from_slice(&record[32..32 + PLACE]);
        form.copy_from_slice(&record[32 + PLACE..HEAD]);
        Self {
            digest: Digest::from_bytes(digest),
            place: u64::from_le_bytes(place),
            form: Some(u32::from_le_bytes(form)).filter(|form| *form != 0),
            brought: &record[HEAD..HEAD + brought],
        }
    }
}

/// One bit for each of many rows.
#[derive(Default)]
struct RowBits(Vec<u64>);

impl RowBits {
    fn set(&mut self, row: u64) {
        let (word, bit) = ((row / 64) as usize, row % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

impl Spilling {
    /// Into a file in this directory. Rows have so many identifiers, and each key has so many kinds.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output).
    pub(super) fn begin(
        directory: &Path,
        identifiers: usize,
        brought: Brought,
        columns: usize,
    ) -> Result<Self> {
        let len = HEAD + brought.len() + columns * size_of::<u16>();
        let filling = Filling::create(directory, BUCKETS, len)?;
        let factor = RandomState::new().hash_one(0) | 1;
        let counts = RowCounts::default();
        let record = Vec::with_capacity(len);
        Ok(Self { filling, factor, counts, identifiers, brought, columns, places: 0, record })
    }

    /// Moves the keys of all rows so far to the disk, with what rows with a key bring and the kinds of all keys.
    ///
    /// # Errors
    /// As [`Spilling::begin`], and [`Error::Bug`](crate::Error::Bug) if there is not as much of these as there are keys.
    pub(super) fn take(
        &mut self,
        keys: &mut Collector,
        tally: &mut Tally,
        brought: &mut Vec<u8>,
        kinds: &mut Vec<u16>,
    ) -> Result<()> {
        let mut changed = tally.take_changed().into_iter().peekable();
        let mut bring = brought.chunks_exact(self.brought.len().max(1));
        let mut is_keyed = false;
        keys.drain(|at, digest| {
            let identifier = at as usize % self.identifiers;
            is_keyed = digest.is_some() || identifier > 0 && is_keyed;
            if identifier + 1 == self.identifiers {
                self.counts.read += 1;
                self.counts.null += u64::from(!is_keyed);
            }
            let place = self.places;
            self.places += 1;
            let Some(digest) = digest else { return Ok(()) };
            let form = changed.next_if(|(changed, _)| *changed == at).map(|(_, form)| form.max(1));
            self.record.clear();
            self.record.extend_from_slice(digest.as_bytes());
            self.record.extend_from_slice(&place.to_le_bytes()[..PLACE]);
            self.record.extend_from_slice(&form.unwrap_or_default().to_le_bytes());
            if self.brought.len() > 0 {
                let lacking = Error::Bug("a row brings too little");
                self.record.extend_from_slice(bring.next().ok_or(lacking)?);
            }
            let kinds = kinds.iter().skip(at as usize * self.columns).take(self.columns);
            self.record.extend(kinds.flat_map(|kinds| kinds.to_le_bytes()));
            let bucket = digest.prefix().wrapping_mul(self.factor) >> (64 - BUCKETS.ilog2());
            self.filling.push(bucket as usize, &self.record)
        })?;
        brought.clear();
        kinds.clear();
        Ok(())
    }

    /// Counts the distinct keys, some buckets at a time in about so many bytes of memory, and sketches them under a secret.
    /// Also returns which rows bear the key of earlier ones.
    ///
    /// # Errors
    /// As [`Spilling::begin`].
    pub(super) fn finish(
        self,
        tally: &mut Tally,
        memory: u64,
        sketch: Option<&SketchSecret>,
    ) -> Result<(SpilledKeys, Repetitions)> {
        let Self { filling, mut counts, identifiers, brought, columns, .. } = self;
        let buckets = filling.finish()?;
        let of_key = (2 * (HEAD + brought.len()) + 64) as u64;
        let largest = (0..buckets.len()).map(|bucket| buckets.records(bucket)).max().unwrap_or(0);
        let fit = memory / (of_key * largest as u64).max(1);
        let at_a_time = (rayon::current_num_threads() as u64).clamp(1, fit.max(1)) as usize;
        let mut keys = SpilledKeys {
            buckets,
            counts: RowCounts::default(),
            identifiers,
            brought,
            profile: None,
            sketch: sketch.map(|_| Sketch::default()),
        };
        let mut repetitions = Repetitions::default();
        let mut profiling = Profiling::new(columns);
        let mut with_new_key = RowBits::default();
        let all: Vec<usize> = (0..keys.buckets.len()).collect();
        for some in all.chunks(at_a_time) {
            let counted = some
                .par_iter()
                .map(|bucket| keys.count(*bucket, columns, tally.like(), sketch))
                .collect::<Result<Vec<_>>>()?;
            for counted in counted {
                keys.sketch.iter_mut().for_each(|sketch| sketch.append(&counted.sketch));
                counts.used += counted.used;
                counts.duplicate += counted.duplicate;
                repetitions.take(counted.repetitions);
                profiling.append(&counted.profiling);
                counted.with_new_key.into_iter().for_each(|row| with_new_key.set(row));
                tally.take_groups(&counted.tally);
            }
        }
        if identifiers > 1 {
            counts.duplicate = counts.read - counts.null - with_new_key.count();
        }
        let profile = (columns > 0).then(|| profiling.finish());
        Ok((SpilledKeys { counts, profile, ..keys }, repetitions))
    }
}

/// What was found in a bucket.
struct Counted {
    used: u64,
    duplicate: u64,
    repetitions: Repetitions,
    profiling: Profiling,
    /// Rows with a key that no earlier one bears, where a row has several.
    with_new_key: Vec<u64>,
    sketch: Sketch,
    tally: Tally,
}

impl Repetitions {
    fn take(&mut self, other: Self) {
        let first = |one: Option<(u64, u64)>, other| {
            one.into_iter().chain(other).min_by_key(|(_, second)| *second)
        };
        self.any = first(self.any, other.any);
        self.too_many = first(self.too_many, other.too_many);
    }
}

impl SpilledKeys {
    /// Counts the distinct keys of a bucket.
    fn count(
        &self,
        bucket: usize,
        columns: usize,
        mut tally: Tally,
        secret: Option<&SketchSecret>,
    ) -> Result<Counted> {
        let Self { buckets, identifiers, brought, .. } = self;
        let row = |place: u64| place / *identifiers as u64;
        let records = buckets.records(bucket);
        let (mut digests, mut places) = (Vec::with_capacity(records), Vec::with_capacity(records));
        let (mut changed, mut of_rows, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
        buckets.read(bucket, |bytes| {
            let record = Record::read(bytes, brought.len());
            let at = digests.len() as u32;
            changed.extend(record.form.map(|form| (at, form)));
            digests.push(record.digest);
            places.push(record.place);
            of_rows.extend_from_slice(record.brought);
            let entries = bytes[HEAD + brought.len()..].as_chunks().0.iter();
            kinds.extend(entries.map(|kinds| u16::from_le_bytes(*kinds)));
            Ok(())
        })?;
        let mut set = KeySet::distinct(digests, vec![0; records], 1);
        let rows = |(first, second): (usize, usize)| (row(places[first]), row(places[second]));
        let mut repetitions = Repetitions { any: set.first_repetition().map(rows), too_many: None };
        if let Brought::Columns(..) = brought
            && let Err(at) = set.bring(brought, of_rows)
        {
            repetitions.too_many = Some(rows((set.first_row_like(at), at)));
        }
        let mut profiling = Profiling::new(columns);
        if columns > 0 {
            set.profile(&mut profiling, &kinds);
        }
        let with_new_key = match identifiers {
            1 => Vec::new(),
            _ => set.first_rows().into_iter().map(|at| row(places[at as usize])).collect(),
        };
        tally.group(set.numbers(), set.counts().used, changed, |at| row(places[at]));
        let RowCounts { used, duplicate, .. } = set.counts();
        let sketch =
            secret.map_or_else(Sketch::default, |secret| Sketch::of(secret, &set.take_digests()));
        Ok(Counted { sketch, used, duplicate, repetitions, profiling, with_new_key, tally })
    }
}

impl SpilledKeys {
    /// How many rows went which way.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }

    /// How many identifiers a row has.
    pub(super) fn identifiers(&self) -> usize {
        self.identifiers
    }

    /// What each row brings.
    pub(super) fn brought(&self) -> &Brought {
        &self.brought
    }

    /// What is kept of the set, where that was asked for.
    pub(super) fn take_sketch(&mut self) -> Option<Sketch> {
        self.sketch.take()
    }

    /// What the keys look like, where that was asked for.
    pub(super) fn take_profile(&mut self) -> Option<Profile> {
        self.profile.take()
    }

    /// Shows the digest of each key, its place among the keys of all rows, and what its row brings.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output), and what `show` returns.
    pub(super) fn read(
        &self,
        mut show: impl FnMut(Digest, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        (0..self.buckets.len()).try_for_each(|bucket| {
            self.buckets.read(bucket, |record| {
                let record = Record::read(record, self.brought.len());
                show(record.digest, record.place, record.brought)
            })
        })
    }
}
