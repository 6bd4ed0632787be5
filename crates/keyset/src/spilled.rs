//! The keys of a table, on disk because they exceed the memory.
//!
//! Digests go to buckets with the numbers of their rows. The bucket depends on the digest, so equal digests share one.

use std::{
    hash::{BuildHasher, RandomState},
    path::Path,
    slice::ChunksExact,
};

use rayon::prelude::*;
use vesica_core::error::{Error, Result};
use vesica_normalize::digest::Digest;
use vesica_table::row_number::RowNumber;

use crate::{
    ambiguous::Ambiguity,
    brought::Brought,
    buckets::{Buckets, Filling, Sorted, Unsorted},
    counts::RowCounts,
    findings::Tally,
    key_number::KeyNumber,
    key_rows::{ExcessRow, KeyRows, Repetition},
    maker::Made,
    profile::{Profile, Profiling},
    reading::Exceeded,
    rule_findings::{self, RuleFindings},
    sketch::{Sketch, SketchSecret},
};

/// The number of buckets. With these, each bucket of any table that can be processed fits into memory.
const BUCKETS: usize = 256;

/// The bytes of a place among the keys of all rows.
pub(super) const PLACE: usize = 5;

/// The maximum number of places.
pub(super) const MAX_PLACES: u64 = 1 << (8 * PLACE);

/// The bytes of a record before the row's contribution: the digest, the place, and a hash of the key before
/// normalisation, or 0 if it did not change.
const HEAD: usize = 32 + PLACE + size_of::<u32>();

/// The number of keys that are sorted at a time, which fits into the second-level cache.
const SORTED: usize = 1 << 12;

/// Keys on their way to the disk.
pub(super) struct Spilling {
    filling: Filling,
    layout: Layout,
    counts: RowCounts,
    brought: Brought,
    /// The number of keys of all identifiers of all rows so far.
    places: u64,
}

/// The layout of records.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// A random factor, so that nobody can choose keys that crowd in one bucket.
    factor: u64,
    identifiers: usize,
    /// The bytes that a row contributes.
    brought: usize,
    /// The number of columns for which each key has its kinds.
    columns: usize,
}

/// The number of rows, and of rows without a key.
#[derive(Default)]
pub(super) struct Rows {
    all: u64,
    null: u64,
}

/// The keys of consecutive rows, on their way to the disk.
pub(super) struct Records {
    sorted: Vec<Sorted>,
    rows: Rows,
}

/// The keys of a table, on disk.
pub struct SpilledKeys {
    buckets: Buckets,
    counts: RowCounts,
    identifiers: usize,
    brought: Brought,
    profile: Option<Profile>,
    sketch: Option<Sketch>,
    /// The numbers by rule, if rules make the keys.
    rules: Vec<RuleFindings>,
    /// Whether random keys are added, one for each missing or repeated one.
    is_padded: bool,
}

/// The faults in a table: for each, the first such row, and an earlier row with the same key.
#[derive(Default)]
pub(super) struct Repetitions {
    /// The first row that repeats an earlier row's key.
    pub(super) any: Option<Repetition>,
    /// The first row that contributes something other than allowed to its key, and the limit.
    pub(super) too_many: Option<(Repetition, Exceeded)>,
}

/// A record of a bucket.
struct Record<'a> {
    digest: Digest,
    place: u64,
    /// A hash of the key before normalisation, if that changed it.
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

/// One bit for each row.
#[derive(Default)]
struct RowBits(Vec<u64>);

impl RowBits {
    fn set(&mut self, row: RowNumber) {
        let (word, bit) = (row.index() / 64, row.get() % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

impl Layout {
    /// Returns the bytes of a record.
    fn record(self) -> usize {
        HEAD + self.brought + self.columns * size_of::<u16>()
    }

    /// Shows the records of the rows' keys, some at a time. `first` is the place of the first key among the keys of all
    /// rows. The keys, the contributions of their rows and their kinds are removed from `made`.
    ///
    /// # Errors
    /// Any error of `show`, and [`Error::Bug`] if the contributions do not match the keys.
    fn sort(
        self,
        first: u64,
        made: &mut Made,
        mut show: impl FnMut(Sorted) -> Result<()>,
    ) -> Result<Rows> {
        let Made { keys, tally, of_rows, kinds, .. } = made;
        let mut changed = tally.take_changed().into_iter().peekable();
        let mut bring = of_rows.chunks_exact(self.brought.max(1));
        let (mut rows, mut is_keyed) = (Rows::default(), false);
        let mut unsorted = Unsorted::new(self.record(), BUCKETS, SORTED);
        let mut record = Vec::with_capacity(self.record());
        keys.drain(|at, digest| {
            let identifier = at as usize % self.identifiers;
            is_keyed = digest.is_some() || identifier > 0 && is_keyed;
            if identifier + 1 == self.identifiers {
                rows.all += 1;
                rows.null += u64::from(!is_keyed);
            }
            let Some(digest) = digest else { return Ok(()) };
            let form = changed.next_if(|(changed, _)| *changed == at).map(|(_, form)| form.max(1));
            record.clear();
            record.extend_from_slice(digest.as_bytes());
            record.extend_from_slice(&(first + u64::from(at)).to_le_bytes()[..PLACE]);
            record.extend_from_slice(&form.unwrap_or_default().to_le_bytes());
            if self.brought > 0 {
                record.extend_from_slice(
                    bring.next().ok_or(Error::bug("a row contributes too little"))?,
                );
            }
            let kinds = kinds.iter().skip(at as usize * self.columns).take(self.columns);
            record.extend(kinds.flat_map(|kinds| kinds.to_le_bytes()));
            let bucket = digest.prefix().wrapping_mul(self.factor) >> (64 - BUCKETS.ilog2());
            unsorted.push(bucket as usize, &record);
            if unsorted.len() == SORTED { show(unsorted.sort()) } else { Ok(()) }
        })?;
        show(unsorted.sort())?;
        of_rows.clear();
        kinds.clear();
        Ok(rows)
    }

    /// Returns the records of the rows' keys, as [`Layout::sort`] shows them.
    ///
    /// # Errors
    /// [`Error::Bug`] if the contributions do not match the keys.
    pub(super) fn records(self, first: u64, made: &mut Made) -> Result<Records> {
        let mut sorted = Vec::new();
        let rows = self.sort(first, made, |some| {
            sorted.push(some);
            Ok(())
        })?;
        Ok(Records { sorted, rows })
    }
}

impl Spilling {
    /// Writes keys into a file in this directory. Rows have this many identifiers, and each key this many kinds.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn begin(
        directory: &Path,
        identifiers: usize,
        brought: Brought,
        columns: usize,
    ) -> Result<Self> {
        let factor = RandomState::new().hash_one(0) | 1;
        let layout = Layout { factor, identifiers, brought: brought.len(), columns };
        let filling = Filling::create(directory, BUCKETS, layout.record())?;
        Ok(Self { filling, layout, counts: RowCounts::default(), brought, places: 0 })
    }

    /// Returns the layout of its records.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Moves the keys of the rows that follow to the disk, with the rows' contributions and the kinds of the keys.
    ///
    /// # Errors
    /// As [`Spilling::begin`], and [`Error::Bug`] if the contributions do not match the keys.
    pub(super) fn take(&mut self, made: &mut Made) -> Result<()> {
        let Self { filling, layout, places, .. } = self;
        let append = |sorted: Sorted| filling.append(&sorted);
        let rows = layout.sort(*places, made, append)?;
        self.count(&rows);
        Ok(())
    }

    /// Moves the keys of the rows that follow to the disk.
    ///
    /// # Errors
    /// As [`Spilling::begin`].
    pub(super) fn append(&mut self, records: &Records) -> Result<()> {
        self.count(&records.rows);
        records.sorted.iter().try_for_each(|sorted| self.filling.append(sorted))
    }

    fn count(&mut self, rows: &Rows) {
        self.counts.read += rows.all;
        self.counts.null += rows.null;
        self.places += rows.all * self.layout.identifiers as u64;
    }

    /// Counts the distinct keys, some buckets at a time in about this much memory, and sketches them under a secret.
    /// Also returns the rows that repeat the key of earlier ones.
    ///
    /// # Errors
    /// As [`Spilling::begin`].
    pub(super) fn finish(
        self,
        tally: &mut Tally,
        memory: u64,
        sketch: Option<&SketchSecret>,
    ) -> Result<(SpilledKeys, Repetitions)> {
        let Self { filling, layout, mut counts, brought, .. } = self;
        let Layout { identifiers, columns, .. } = layout;
        let buckets = filling.finish()?;
        let of_key = (2 * (HEAD + brought.len()) + 64) as u64;
        let largest = (0..buckets.count()).map(|bucket| buckets.records(bucket)).max().unwrap_or(0);
        let fit = memory / (of_key * largest as u64).max(1);
        let at_a_time = (rayon::current_num_threads() as u64).clamp(1, fit.max(1)) as usize;
        let mut keys = SpilledKeys {
            buckets,
            counts: RowCounts::default(),
            identifiers,
            brought,
            profile: None,
            sketch: sketch.map(|_| Sketch::default()),
            rules: Vec::new(),
            is_padded: false,
        };
        let mut repetitions = Repetitions::default();
        let mut profiling = Profiling::new(columns);
        let mut with_new_key = RowBits::default();
        let all: Vec<usize> = (0..keys.buckets.count()).collect();
        for some in all.chunks(at_a_time) {
            let counted = some
                .par_iter()
                .map(|bucket| keys.count(*bucket, columns, tally.like(), sketch))
                .collect::<Result<Vec<_>>>()?;
            for counted in counted {
                keys.sketch.iter_mut().for_each(|sketch| sketch.append(&counted.sketch));
                counts.used += counted.used;
                counts.duplicate += counted.duplicate;
                rule_findings::append(&mut keys.rules, &counted.rules);
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

/// The counts of a bucket.
struct BucketCounts {
    used: u64,
    duplicate: u64,
    repetitions: Repetitions,
    profiling: Profiling,
    /// Rows with a new key, if rows have several identifiers.
    with_new_key: Vec<RowNumber>,
    sketch: Sketch,
    tally: Tally,
    rules: Vec<RuleFindings>,
}

impl Repetitions {
    fn take(&mut self, other: Self) {
        let any = self.any.into_iter().chain(other.any);
        self.any = any.min_by_key(|repetition| repetition.again);
        let too_many = self.too_many.into_iter().chain(other.too_many);
        self.too_many = too_many.min_by_key(|(repetition, _)| repetition.again);
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
    ) -> Result<BucketCounts> {
        let Self { buckets, identifiers, brought, .. } = self;
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
        let (mut digests, mut set) =
            KeyRows::distinct(digests, vec![Some(KeyNumber::FIRST); records], 1);
        let row = |record: RowNumber| RowNumber::new(places[record.index()] / *identifiers as u64);
        let rows =
            |Repetition { first, again }| Repetition { first: row(first), again: row(again) };
        let with_new_key = match identifiers {
            1 => Vec::new(),
            _ => set.first_rows().iter().map(row).collect(),
        };
        let mut rules = Vec::new();
        if let Brought::Linked(linked) = brought {
            let rule = |record: usize| (places[record] % *identifiers as u64) as usize;
            rules = Ambiguity::leave_out(
                &mut set,
                &mut digests,
                &mut of_rows,
                linked,
                *identifiers,
                rule,
            );
        }
        let mut repetitions = Repetitions { any: set.first_repetition().map(rows), too_many: None };
        if let Brought::Columns(..) | Brought::Query(_) = brought
            && let Err(ExcessRow { row: again, of }) = set.bring(brought, of_rows)
        {
            let repetition = rows(Repetition { first: set.first_row_like(again), again });
            repetitions.too_many = Some((repetition, of));
        }
        let mut profiling = Profiling::new(columns);
        if columns > 0 {
            set.profile(&mut profiling, &kinds);
        }
        tally.group(set.numbers(), set.counts().used, changed, |at| row(RowNumber::at(at)));
        let RowCounts { used, duplicate, .. } = set.counts();
        let sketch = secret.map_or_else(Sketch::default, |secret| Sketch::of(secret, &digests));
        Ok(BucketCounts {
            sketch,
            used,
            duplicate,
            repetitions,
            profiling,
            with_new_key,
            tally,
            rules,
        })
    }
}

impl SpilledKeys {
    /// Returns the numbers of rows by outcome.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }

    /// Returns the numbers by rule; none if columns make the keys.
    pub(super) fn rules(&self) -> &[RuleFindings] {
        &self.rules
    }

    /// Adds random keys that match nothing, up to one for each row and identifier.
    pub(super) fn pad(&mut self) {
        self.is_padded = true;
    }

    /// Returns the number of keys, including random ones.
    pub(super) fn len(&self) -> u64 {
        match self.is_padded {
            true => self.counts.read * self.identifiers as u64,
            false => self.counts.used,
        }
    }

    /// Returns the number of identifiers of a row.
    pub(super) fn identifiers(&self) -> usize {
        self.identifiers
    }

    /// Returns the contribution of each row.
    pub(super) fn brought(&self) -> &Brought {
        &self.brought
    }

    /// Removes and returns the sketch of the set, if requested.
    pub(super) fn take_sketch(&mut self) -> Option<Sketch> {
        self.sketch.take()
    }

    /// Removes and returns the features of the keys, if requested.
    pub(super) fn take_profile(&mut self) -> Option<Profile> {
        self.profile.take()
    }

    /// Applies a function to all keys, some at a time and on all threads, and shows the results in an order that keeps
    /// equal keys in the order of their rows. `make` receives the digest of each key, its place among the keys of all
    /// rows, and its row's contribution.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output), and any error of `show`.
    pub(super) fn read_all<T: Send>(
        &self,
        make: impl Fn(&mut dyn Iterator<Item = (Digest, u64, &[u8])>) -> T + Sync,
        show: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let brought = self.brought.len();
        let make = |records: ChunksExact<'_, u8>| {
            make(&mut records.map(|record| {
                let Record { digest, place, brought, .. } = Record::read(record, brought);
                (digest, place, brought)
            }))
        };
        self.buckets.read_all(make, show)
    }
}
