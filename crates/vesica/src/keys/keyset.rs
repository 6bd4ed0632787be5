//! A table's keys as a set: each distinct key once, and which row bears which.

use std::hash::{BuildHasher, RandomState};

use vesica_psi::payload::Payloads;

use crate::{
    error::{Error, InputFault, Result},
    keys::{
        digest::{Digest, Digester},
        findings::{Findings, Tally},
        key::{Duplicates, Extractor, Key, KeyColumn, Nulls},
        null_values::NullValues,
        numbers::Numbers,
        profile::Profile,
        survey::{ColumnFindings, Survey},
    },
    table::rows::{Scan, Table},
    task::columns::{Packer, SentColumns},
};

/// Stands in the place of a key's number where a row has no key.
pub(crate) const NO_KEY: u32 = u32::MAX;

/// How many rows went which way. Where a row has one identifier, `read` is the sum of the others; of several
/// identifiers, a row may bring several keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RowCounts {
    /// Data rows in the input.
    pub read: u64,
    /// Rows without a key.
    pub null: u64,
    /// Rows whose keys are all borne by earlier rows.
    pub duplicate: u64,
    /// Distinct keys: the size of the set.
    pub used: u64,
}

/// The distinct keys of a table, in the order of the rows that first bear them.
pub struct KeySet {
    digests: Vec<Digest>,
    /// How many identifiers a row has, at least 1.
    identifiers: usize,
    /// For each row, the number of the key of each of its identifiers.
    keys_of_rows: Vec<u32>,
    counts: RowCounts,
    /// What the values of each key's rows add up to; empty where there is no column of values.
    values: Vec<i64>,
    /// What is sent with each key, where columns are sent.
    payloads: Vec<u8>,
    /// Bytes of each.
    payload_len: usize,
    /// What the keys look like, where that was asked for.
    profile: Option<Profile>,
    /// What the normalisation makes of each key column, where that was asked for.
    survey: Vec<ColumnFindings>,
}

/// What is read of a table, and what is refused.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The key columns.
    pub keys: Vec<KeyColumn>,
    /// How many of them each identifier has, in order; empty where all make up one.
    pub identifiers: Vec<u8>,
    /// Values of key columns that count as empty.
    pub null_values: NullValues,
    /// The column of values and the number of their decimal places, if there is one.
    pub values: Option<(String, u8)>,
    /// The columns that are sent to the other side, if any are.
    pub sends: Option<SentColumns>,
    /// What becomes of rows without a key, and of empty values.
    pub nulls: Nulls,
    /// What becomes of rows that bear the same key.
    pub duplicates: Duplicates,
    /// Whether to find out what the keys look like.
    pub(crate) profile: bool,
    /// Whether to find out what the normalisation makes of each key column.
    pub(crate) survey: bool,
}

impl Reading {
    fn number_of_identifiers(&self) -> usize {
        self.identifiers.len().max(1)
    }

    /// What makes a row's keys, one for each identifier.
    fn extractors(&self, scan: &Scan) -> Result<Vec<Extractor>> {
        let extractor = |keys: &[KeyColumn]| -> Result<Extractor> {
            let extractor = Extractor::new(scan, keys, self.null_values.clone())?;
            Ok(if self.profile { extractor.with_kinds() } else { extractor })
        };
        if self.identifiers.is_empty() {
            return Ok(vec![extractor(&self.keys)?]);
        }
        let mut rest = &self.keys[..];
        let mut extractors = Vec::with_capacity(self.identifiers.len());
        for (number, columns) in (0..).zip(&self.identifiers) {
            let split = rest.split_at_checked(usize::from(*columns));
            let (columns, others) = split.ok_or(Error::Bug("identifiers lack columns"))?;
            extractors.push(extractor(columns)?.of_identifier(number));
            rest = others;
        }
        Ok(extractors)
    }
}

/// The keys of rows as they come, distinct or not.
pub struct Collector {
    identifiers: usize,
    /// One for each identifier of a row.
    digests: Vec<Digest>,
    digester: Digester,
    /// [`NO_KEY`] where there is no key, anything else where there is one.
    keys_of_rows: Vec<u32>,
}

impl Default for Collector {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Collector {
    /// For rows with so many identifiers.
    pub fn new(identifiers: usize) -> Self {
        let (digests, digester, keys_of_rows) = Default::default();
        Self { identifiers, digests, digester, keys_of_rows }
    }

    /// Takes the encoding of the key of the next identifier, or of the next row's first one.
    pub fn push(&mut self, key: Option<&[u8]>) {
        match key {
            Some(key) => self.digester.push(key, &mut self.digests),
            None => self.digests.push(Digest::BLANK),
        }
        self.keys_of_rows.push(if key.is_some() { 0 } else { NO_KEY });
    }

    /// How many rows there were so far.
    pub fn rows(&self) -> usize {
        self.digests.len() / self.identifiers
    }

    /// The place of the next key.
    fn next(&self) -> u32 {
        self.digests.len() as u32
    }

    /// The set of these keys.
    pub fn finish(mut self) -> KeySet {
        self.digester.settle(&mut self.digests);
        KeySet::distinct(self.digests, self.keys_of_rows, self.identifiers)
    }
}

impl KeySet {
    /// Reads every row, and shows now and then how many are done and which part of the table that is. Where there is
    /// a column of values, a key's value is the sum over the rows that bear it.
    ///
    /// # Errors
    /// Whatever is wrong with the table, and what the policies refuse.
    pub fn read(
        scan: Scan,
        reading: &Reading,
        mut show: impl FnMut(u64, f64),
    ) -> Result<(Table, Self, Findings)> {
        const SHOW_EVERY: usize = 1 << 14;
        let (width, nulls) = (scan.header().len(), reading.nulls);
        let mut extractors = reading.extractors(&scan)?;
        let (mut keys, mut tally) =
            (Collector::new(extractors.len()), Tally::new(extractors.len()));
        let numbers = |(column, scale): &(String, u8)| Numbers::new(&scan, column, *scale, nulls);
        let numbers = reading.values.as_ref().map(numbers).transpose()?.flatten();
        let (mut of_rows, mut kinds) = (Vec::new(), Vec::new());
        let packer = reading.sends.as_ref().map(|sent| Packer::new(&scan, sent));
        let packer = packer.transpose()?.flatten();
        let mut payloads = Vec::new();
        let survey = || Survey::new(&scan, &reading.keys, &reading.null_values);
        let mut survey = reading.survey.then(survey).transpose()?;
        let table = scan.rows(|row| {
            if let Some(survey) = &mut survey {
                survey.see(|position| row.field(position));
            }
            if let Some(numbers) = &numbers {
                of_rows.push(numbers.of(&row)?);
            }
            let (mut is_keyed, mut has_null_value) = (false, false);
            for (identifier, extractor) in extractors.iter_mut().enumerate() {
                let is_last = identifier + 1 == reading.number_of_identifiers();
                match extractor.key(&row)? {
                    Key::Present(key) => {
                        let place = keys.next();
                        keys.push(Some(key));
                        is_keyed = true;
                        if let Some(packer) = &packer {
                            packer.pack(&row, &mut payloads)?;
                        }
                        tally.see(identifier, place, extractor.look(), extractor.raw(&row));
                        kinds.extend_from_slice(extractor.kinds().unwrap_or_default());
                    }
                    Key::Missing { column, null_value } => {
                        has_null_value |= null_value;
                        if nulls == Nulls::Error && is_last && !is_keyed {
                            let column = column.to_owned();
                            let place = row.place();
                            let fault = InputFault::NullKey { place, column, null_value };
                            return Err(row.fault(fault));
                        }
                        keys.push(None);
                        if reading.profile {
                            kinds.resize(kinds.len() + reading.keys.len(), 0);
                        }
                    }
                }
            }
            if !is_keyed && has_null_value {
                tally.see_null_value();
            }
            if keys.rows().is_multiple_of(SHOW_EVERY) {
                show(keys.rows() as u64, row.fraction());
            }
            Ok(())
        })?;
        show(keys.rows() as u64, 1.0);
        let mut set = keys.finish();
        if let Some(sent) = &reading.sends {
            set.payload_len = sent.bytes as usize;
            set.payloads = payloads;
            set.keep_first_payloads();
        }
        if let Some((column, _)) = &reading.values {
            set.add_up(&of_rows).map_err(|row| {
                let (place, column) = (table.place(row), column.to_owned());
                table.fault(InputFault::SumTooLarge { place, column })
            })?;
        }
        if reading.duplicates == Duplicates::Error {
            set.refuse_duplicates(&table)?;
        }
        if reading.profile {
            let columns = reading.keys.len();
            let of_row = |row: u32| kinds.iter().skip(row as usize * columns).take(columns);
            let of_keys = set.first_rows().into_iter().flat_map(of_row).copied();
            set.profile = Some(Profile::of(columns, of_keys));
        }
        set.survey = survey.map(Survey::finish).unwrap_or_default();
        let findings = tally.finish(width, set.counts, &set.keys_of_rows, &table);
        Ok((table, set, findings))
    }

    fn refuse_duplicates(&self, table: &Table) -> Result<()> {
        let Some((first, second)) = self.first_repetition() else { return Ok(()) };
        let fault = InputFault::DuplicateKey {
            first: table.place(first),
            second: table.place(second),
            rows: self.counts.duplicate,
        };
        Err(table.fault(fault))
    }

    /// Numbers the distinct keys. `digests` has one for each identifier of a row, `keys_of_rows` is [`NO_KEY`] where
    /// there is no key and anything else where there is one.
    fn distinct(mut digests: Vec<Digest>, mut keys_of_rows: Vec<u32>, identifiers: usize) -> Self {
        let rows = digests.len() / identifiers;
        let mut counts = RowCounts { read: rows as u64, ..RowCounts::default() };
        let mut places = Places::new(digests.len());
        let mut used = 0;
        for row in 0..rows {
            let (mut is_keyed, mut is_new) = (false, false);
            // A key's digest moves to the place of its number, which is never behind the row.
            for at in row * identifiers..(row + 1) * identifiers {
                if keys_of_rows[at] == NO_KEY {
                    continue;
                }
                is_keyed = true;
                let digest = digests[at];
                digests[used] = digest;
                let key = places.find_or_insert(&digest, used as u32, &digests);
                if key as usize == used {
                    used += 1;
                    is_new = true;
                }
                keys_of_rows[at] = key;
            }
            counts.null += u64::from(!is_keyed);
            counts.duplicate += u64::from(is_keyed && !is_new);
        }
        digests.truncate(used);
        digests.shrink_to_fit();
        counts.used = used as u64;
        Self {
            digests,
            identifiers,
            keys_of_rows,
            counts,
            values: Vec::new(),
            payloads: Vec::new(),
            payload_len: 0,
            profile: None,
            survey: Vec::new(),
        }
    }

    /// Gives each key the sum of the values of its rows, of which there is one a row with one identifier; or else says with which
    /// row the magnitudes add up to more than 2^63 − 1.
    fn add_up(&mut self, of_rows: &[i64]) -> std::result::Result<(), usize> {
        self.values = vec![0; self.counts.used as usize];
        let mut magnitudes: u64 = 0;
        for (row, (value, key)) in of_rows.iter().zip(&self.keys_of_rows).enumerate() {
            if let Some(sum) = self.values.get_mut(*key as usize) {
                let total = magnitudes.checked_add(value.unsigned_abs());
                magnitudes = total.filter(|total| *total <= i64::MAX as u64).ok_or(row)?;
                *sum += value;
            }
        }
        Ok(())
    }

    /// Keeps for each key the payload of its first row, of those of all rows with a key.
    fn keep_first_payloads(&mut self) {
        let len = self.payload_len;
        let mut kept = 0;
        // Keys are numbered in the order of the rows that first bear them.
        let of_rows = self.keys_of_rows.iter().filter(|key| **key != NO_KEY);
        for (nth, key) in of_rows.enumerate() {
            if *key as usize == kept {
                self.payloads.copy_within(nth * len..(nth + 1) * len, kept * len);
                kept += 1;
            }
        }
        self.payloads.truncate(kept * len);
        self.payloads.shrink_to_fit();
    }

    /// What is sent with each distinct key, in the order of the digests.
    ///
    /// # Panics
    /// Where no columns are sent.
    pub(crate) fn payloads(&self) -> Payloads<'_> {
        Payloads::new(self.payload_len, &self.payloads)
    }

    /// The number of the key that a row bears, counted from 0.
    pub(crate) fn key_of(&self, row: u32) -> u32 {
        self.keys_of_rows[row as usize]
    }

    /// The value of each distinct key, in the order of the digests; empty where no column of values was
    /// read.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// The digest of every distinct key. They are not needed to find rows, and so they can be dropped
    /// when they have served.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        std::mem::take(&mut self.digests)
    }

    /// What the keys look like, where that was asked for.
    pub(crate) fn take_profile(&mut self) -> Option<Profile> {
        self.profile.take()
    }

    /// What the normalisation makes of each key column, where that was asked for.
    pub(crate) fn take_survey(&mut self) -> Vec<ColumnFindings> {
        std::mem::take(&mut self.survey)
    }

    /// How many rows went which way.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }

    /// The rows, counted from 0 and in order, that bear one of these keys, which are given by their
    /// positions among the digests.
    pub fn rows_of(&self, keys: &[u32]) -> Vec<u32> {
        let wanted = self.wanted(keys);
        let matches = |key: &u32| *key != NO_KEY && wanted[*key as usize];
        let rows = (0u32..).zip(self.keys_of_rows.chunks_exact(self.identifiers));
        rows.filter(|(_, keys)| keys.iter().any(matches)).map(|(row, _)| row).collect()
    }

    /// How many of these keys are of each identifier.
    pub fn keys_of_identifiers(&self, keys: &[u32]) -> Vec<u64> {
        let wanted = self.wanted(keys);
        let mut counts = vec![0; self.identifiers];
        for (key, at) in self.first_places().zip(0u32..).map(|(at, key)| (key, at)) {
            counts[at % self.identifiers] += u64::from(wanted[key as usize]);
        }
        counts
    }

    fn wanted(&self, keys: &[u32]) -> Vec<bool> {
        let mut wanted = vec![false; self.counts.used as usize];
        keys.iter().for_each(|key| wanted[*key as usize] = true);
        wanted
    }

    /// The places among the keys of all rows where a key occurs first, in the order of the digests.
    fn first_places(&self) -> impl Iterator<Item = usize> {
        let mut next = 0;
        self.keys_of_rows.iter().enumerate().filter_map(move |(at, key)| {
            // Keys are numbered in the order of the rows that first bear them.
            let is_first = *key == next && *key != NO_KEY;
            next += u32::from(is_first);
            is_first.then_some(at)
        })
    }

    /// The first row that bears each key, counted from 0, in the order of the digests.
    pub fn first_rows(&self) -> Vec<u32> {
        let mut rows = Vec::with_capacity(self.counts.used as usize);
        rows.extend(self.first_places().map(|at| (at / self.identifiers) as u32));
        rows
    }

    /// The first row whose key an earlier row bears, after that earlier row.
    fn first_repetition(&self) -> Option<(usize, usize)> {
        // Keys are numbered in order, so a row that brings a new key brings the next number.
        let mut next = 0;
        for (at, key) in self.keys_of_rows.iter().enumerate() {
            match *key {
                NO_KEY => {}
                key if key == next => next += 1,
                key => {
                    let first = self.keys_of_rows.iter().position(|k| *k == key)?;
                    return Some((first / self.identifiers, at / self.identifiers));
                }
            }
        }
        None
    }
}

/// Which digests were there already: a hash table of numbers.
struct Places {
    /// A number, and beside it bits of its digest that spare most looks at the digests.
    slots: Vec<(u32, u32)>,
    shift: u32,
    /// Random, so that whoever chose the keys cannot have them crowd in one place.
    factor: u64,
}

impl Places {
    /// With room for so many. At least half of the slots stay free.
    fn new(most: usize) -> Self {
        let slots = (2 * most).next_power_of_two().max(2);
        let factor = RandomState::new().hash_one(0) | 1;
        Self { slots: vec![(NO_KEY, 0); slots], shift: 64 - slots.ilog2(), factor }
    }

    /// The number of the digest, which is `next` if it is new.
    fn find_or_insert(&mut self, digest: &Digest, next: u32, digests: &[Digest]) -> u32 {
        let spread = digest.prefix().wrapping_mul(self.factor);
        let check = spread as u32;
        let mut place = (spread >> self.shift) as usize;
        loop {
            match self.slots[place] {
                (NO_KEY, _) => {
                    self.slots[place] = (next, check);
                    return next;
                }
                (key, bits) if bits == check && digests[key as usize] == *digest => return key,
                _ => place = (place + 1) & (self.slots.len() - 1),
            }
        }
    }
}

#[cfg(test)]
mod tests;
