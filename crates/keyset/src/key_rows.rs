//! The rows of each key: which row has which key, and the values and columns that rows contribute to their keys.

use vesica_core::error::Result;
use vesica_psi::payload::Payloads;
use vesica_table::sent_columns::SentColumns;

use crate::{
    brought::Brought,
    counts::{NO_KEY, RowCounts},
    key::Duplicates,
    places::{Hashed, Places},
    profile::Profiling,
};

/// The rows of the distinct keys of a table or of a partition. Keys are numbered in the order of the first rows that
/// have them.
pub struct KeyRows {
    /// The number of identifiers of a row, at least 1.
    identifiers: usize,
    /// For each row, the number of the key of each of its identifiers.
    keys_of_rows: Vec<u32>,
    counts: RowCounts,
    /// The number of keys, including those that no row has.
    all: usize,
    /// The sum of the values of each key's rows; empty without a column of values.
    values: Vec<i64>,
    /// The payload of each key, if columns are sent.
    payloads: Vec<u8>,
    /// The bytes of each payload.
    payload_len: usize,
    /// The contribution of each row.
    brought: Brought,
}

impl KeyRows {
    /// Numbers the distinct keys, and returns them in the order of their numbers. `keys` has one for each identifier of
    /// a row; `keys_of_rows` is [`NO_KEY`] for a missing key and any other value for a key.
    pub(crate) fn distinct<K: Hashed>(
        mut keys: Vec<K>,
        mut keys_of_rows: Vec<u32>,
        identifiers: usize,
    ) -> (Vec<K>, Self) {
        /// The distance at which the place of a key is prefetched before it is looked for.
        const AHEAD: usize = 16;
        let read = keys.len() / identifiers;
        let mut counts = RowCounts { read: read as u64, ..RowCounts::default() };
        let mut places = Places::new(keys.len());
        let mut used = 0;
        for row in 0..read {
            let (mut is_keyed, mut is_new) = (false, false);
            // A key moves to the place of its number, which never comes after the row.
            for at in row * identifiers..(row + 1) * identifiers {
                if keys_of_rows[at] == NO_KEY {
                    continue;
                }
                is_keyed = true;
                if let Some(later) = keys.get(at + AHEAD) {
                    places.prefetch(later);
                }
                let hashed = keys[at];
                keys[used] = hashed;
                let key = places.find_or_insert(&hashed, used as u32, &keys);
                if key as usize == used {
                    used += 1;
                    is_new = true;
                }
                keys_of_rows[at] = key;
            }
            counts.null += u64::from(!is_keyed);
            counts.duplicate += u64::from(is_keyed && !is_new);
        }
        keys.truncate(used);
        keys.shrink_to_fit();
        counts.used = used as u64;
        let rows = Self {
            identifiers,
            keys_of_rows,
            counts,
            all: used,
            values: Vec::new(),
            payloads: Vec::new(),
            payload_len: 0,
            brought: Brought::Nothing,
        };
        (keys, rows)
    }

    /// Adds keys that no row has, up to this total number.
    pub(crate) fn pad(&mut self, keys: usize) {
        self.all = keys;
    }

    /// Returns the contribution of its rows.
    pub(crate) fn brought(&self) -> &Brought {
        &self.brought
    }

    /// Returns the number of identifiers of a row.
    pub(crate) fn identifiers(&self) -> usize {
        self.identifiers
    }

    /// Returns the number of the key of each identifier of each row.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.keys_of_rows
    }

    /// Returns the numbers of rows by outcome.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }

    /// Takes the contributions of the rows with a key, in their order. If a key has more rows than may be sent, returns
    /// the first row that is one too many.
    pub(crate) fn bring(
        &mut self,
        brought: &Brought,
        of_rows: Vec<u8>,
    ) -> std::result::Result<(), usize> {
        match brought {
            Brought::Nothing => {}
            Brought::Number => {
                let numbers = of_rows.as_chunks().0.iter();
                self.add_up(numbers.map(|number| i64::from_le_bytes(*number)));
            }
            Brought::Columns(sent, duplicates) => self.gather(of_rows, sent, *duplicates)?,
        }
        self.brought = brought.clone();
        Ok(())
    }

    /// Shows, for each row with a key, the number of the key, its place among the keys of all rows, and a contribution.
    /// The contributions of a key's rows add up to the key's own.
    ///
    /// # Errors
    /// Any error of `show`.
    pub fn rows_with_keys(
        &self,
        mut show: impl FnMut(u32, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let len = self.brought.len();
        let nothing = vec![0; len];
        let mut rows = vec![0; if len > 0 { self.all } else { 0 }];
        let keyed = self.keys_of_rows.iter().zip(0..).filter(|(key, _)| **key != NO_KEY);
        for (key, place) in keyed {
            let at = *key as usize;
            let nth = rows.get_mut(at).map_or(0, |rows| std::mem::replace(rows, *rows + 1));
            let number = self.values.get(at).filter(|_| nth == 0).map(|value| value.to_le_bytes());
            let brings = match (&self.brought, &number) {
                (Brought::Number, Some(number)) => number,
                (Brought::Columns(..), _) => {
                    let payload = &self.payloads[at * self.payload_len..][..self.payload_len];
                    payload.chunks_exact(len).nth(nth).unwrap_or(&nothing)
                }
                _ => &nothing[..],
            };
            show(*key, place, brings)?;
        }
        Ok(())
    }

    /// Adds the features of the keys to a profile. `kinds` has one entry for each row and column.
    pub(crate) fn profile(&self, profiling: &mut Profiling, kinds: &[u16]) {
        let columns = profiling.columns();
        let of_row = |row: u32| kinds.iter().skip(row as usize * columns).take(columns);
        self.first_rows().into_iter().for_each(|row| profiling.add(of_row(row).copied()));
    }

    /// Gives each key the sum of its rows' numbers. `numbers` has one for each row with a key.
    fn add_up(&mut self, numbers: impl Iterator<Item = i64>) {
        self.values = vec![0; self.all];
        let keyed = self.keys_of_rows.iter().filter(|key| **key != NO_KEY);
        keyed.zip(numbers).for_each(|(key, number)| self.values[*key as usize] += number);
    }

    /// Gives each key a payload, from the places of all rows with a key, or returns the first row that is one too many.
    fn gather(
        &mut self,
        mut places: Vec<u8>,
        sent: &SentColumns,
        duplicates: Duplicates,
    ) -> std::result::Result<(), usize> {
        let (len, bytes) = (sent.payload_len(), sent.bytes as usize);
        self.payload_len = len;
        if sent.rows == 1 && self.counts.duplicate == 0 {
            places.resize(self.all * len, 0);
            self.payloads = places;
            return Ok(());
        }
        self.payloads = vec![0; self.all * len];
        let mut rows = vec![0u32; self.all];
        let keyed = self.keys_of_rows.iter().enumerate().filter(|(_, key)| **key != NO_KEY);
        for ((row, key), place) in keyed.zip(places.chunks_exact(bytes)) {
            let rows = &mut rows[*key as usize];
            if *rows < sent.rows {
                let at = *key as usize * len + *rows as usize * bytes;
                self.payloads[at..at + bytes].copy_from_slice(place);
                *rows += 1;
            } else if duplicates == Duplicates::All {
                return Err(row);
            }
        }
        Ok(())
    }

    /// Returns the first row with the same key as this row.
    pub(crate) fn first_row_like(&self, row: usize) -> usize {
        let key = self.keys_of_rows[row];
        self.keys_of_rows.iter().position(|other| *other == key).unwrap_or(row)
    }

    /// Returns the bytes of each key's payload; 0 if no columns are sent.
    pub fn payload_len(&self) -> usize {
        self.payload_len
    }

    /// Returns the payload of each distinct key, in the order of their numbers.
    ///
    /// # Panics
    /// If no columns are sent.
    pub fn payloads(&self) -> Payloads<'_> {
        Payloads::new(self.payload_len, &self.payloads)
    }

    /// Returns the number of a row's key, counted from 0; `None` if it has none.
    pub fn key_of(&self, row: u64) -> Option<u32> {
        Some(self.keys_of_rows[row as usize]).filter(|key| *key != NO_KEY)
    }

    /// Returns the value of each distinct key, in the order of their numbers; empty if no column of values was read.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// Returns the rows, counted from 0 and in order, that have one of these keys. The keys are given by their numbers.
    pub fn rows_of(&self, keys: &[u32]) -> Vec<u64> {
        let wanted = self.wanted(keys);
        let matches = |key: &u32| *key != NO_KEY && wanted[*key as usize];
        let rows = (0u64..).zip(self.keys_of_rows.chunks_exact(self.identifiers));
        rows.filter(|(_, keys)| keys.iter().any(matches)).map(|(row, _)| row).collect()
    }

    /// Returns the number of these keys that belong to each identifier.
    pub fn keys_of_identifiers(&self, keys: &[u32]) -> Vec<u64> {
        let wanted = self.wanted(keys);
        let mut counts = vec![0; self.identifiers];
        for (key, at) in self.first_places().zip(0u32..).map(|(at, key)| (key, at)) {
            counts[at % self.identifiers] += u64::from(wanted[key as usize]);
        }
        counts
    }

    fn wanted(&self, keys: &[u32]) -> Vec<bool> {
        let mut wanted = vec![false; self.all];
        keys.iter().for_each(|key| wanted[*key as usize] = true);
        wanted
    }

    /// Returns the first place of each key among the keys of all rows, in the order of their numbers.
    fn first_places(&self) -> impl Iterator<Item = usize> {
        let mut next = 0;
        self.keys_of_rows.iter().enumerate().filter_map(move |(at, key)| {
            // Keys are numbered in the order of the first rows that have them.
            let is_first = *key == next && *key != NO_KEY;
            next += u32::from(is_first);
            is_first.then_some(at)
        })
    }

    /// Returns the first row of each key, counted from 0, in the order of their numbers.
    pub fn first_rows(&self) -> Vec<u32> {
        let mut rows = Vec::with_capacity(self.counts.used as usize);
        rows.extend(self.first_places().map(|at| (at / self.identifiers) as u32));
        rows
    }

    /// Returns the first row that repeats an earlier row's key, after that earlier row.
    pub(crate) fn first_repetition(&self) -> Option<(usize, usize)> {
        // Keys are numbered in order, so a row with a new key has the next number.
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
