//! A table's keys as a set: each distinct key once, and which row bears which.

use rayon::prelude::*;

use crate::{
    digest::Digest,
    error::{Error, InputFault, Result},
    key::{Duplicates, Extractor, Key, KeyColumn, Nulls},
    table::{Scan, Table},
};

/// Stands in the place of a key's number where a row has no key.
const NO_KEY: u32 = u32::MAX;

/// How many rows went which way. `read` is the sum of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RowCounts {
    /// Data rows in the input.
    pub read: u64,
    /// Rows without a key.
    pub null: u64,
    /// Rows whose key an earlier row bears.
    pub duplicate: u64,
    /// Rows that brought a new key: the size of the set.
    pub used: u64,
}

/// The distinct keys of a table, in the order of the rows that first bear them.
pub struct KeySet {
    digests: Vec<Digest>,
    key_of_row: Vec<u32>,
    counts: RowCounts,
}

/// The keys of rows as they come, distinct or not.
#[derive(Default)]
pub struct Collector {
    /// One a row.
    digests: Vec<Digest>,
    /// [`NO_KEY`] for rows without a key, anything else for the others.
    key_of_row: Vec<u32>,
}

impl Collector {
    /// Takes the next row's key.
    pub fn push(&mut self, key: Option<Digest>) {
        self.digests.push(key.unwrap_or(Digest::BLANK));
        self.key_of_row.push(if key.is_some() { 0 } else { NO_KEY });
    }

    /// How many rows there were so far.
    pub fn rows(&self) -> usize {
        self.digests.len()
    }

    /// The set of these keys.
    pub fn finish(self) -> KeySet {
        KeySet::distinct(self.digests, self.key_of_row)
    }
}

impl KeySet {
    /// Reads every row, and shows how many are done now and then.
    ///
    /// # Errors
    /// Whatever is wrong with the table, and what the policies refuse.
    pub fn read(
        scan: Scan,
        columns: &[KeyColumn],
        nulls: Nulls,
        duplicates: Duplicates,
        mut show: impl FnMut(u64),
    ) -> Result<(Table, Self)> {
        const SHOW_EVERY: usize = 1 << 14;
        let mut extractor = Extractor::new(&scan, columns)?;
        let mut keys = Collector::default();
        let table = scan.rows(|row| {
            match extractor.key(&row)? {
                Key::Present(digest) => keys.push(Some(digest)),
                Key::Missing(column) if nulls == Nulls::Error => {
                    let column = column.to_owned();
                    return Err(row.fault(InputFault::NullKey { place: row.place(), column }));
                }
                Key::Missing(_) => keys.push(None),
            }
            if keys.rows().is_multiple_of(SHOW_EVERY) {
                show(keys.rows() as u64);
            }
            Ok(())
        })?;
        show(keys.rows() as u64);
        let set = keys.finish();
        match set.first_repetition() {
            Some((first, second)) if duplicates == Duplicates::Error => {
                let fault = InputFault::DuplicateKey {
                    first: table.place(first),
                    second: table.place(second),
                    rows: set.counts.duplicate,
                };
                Err(Error::Input { file: table.text().name().to_owned(), fault })
            }
            _ => Ok((table, set)),
        }
    }

    /// Numbers the distinct keys. `digests` has one a row, `key_of_row` is [`NO_KEY`] for rows
    /// without a key and anything else for the others.
    fn distinct(mut digests: Vec<Digest>, mut key_of_row: Vec<u32>) -> Self {
        let mut order: Vec<(u64, u32)> = digests
            .iter()
            .zip(0u32..)
            .filter(|(_, row)| key_of_row[*row as usize] != NO_KEY)
            .map(|(digest, row)| (digest.prefix(), row))
            .collect();
        let digest = |row: u32| &digests[row as usize];
        order.par_sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| digest(a.1).cmp(digest(b.1))).then(a.1.cmp(&b.1))
        });
        // Of the rows that bear one key, the first stands for all.
        let mut first = 0;
        for (i, (_, row)) in order.iter().enumerate() {
            if i == 0 || digest(order[i - 1].1) != digest(*row) {
                first = *row;
            }
            key_of_row[*row as usize] = first;
        }
        let mut counts = RowCounts { read: digests.len() as u64, ..RowCounts::default() };
        let mut used = 0;
        for row in 0..digests.len() {
            match key_of_row[row] {
                NO_KEY => counts.null += 1,
                first if first as usize == row => {
                    digests[used] = digests[row];
                    key_of_row[row] = used as u32;
                    used += 1;
                }
                first => {
                    key_of_row[row] = key_of_row[first as usize];
                    counts.duplicate += 1;
                }
            }
        }
        digests.truncate(used);
        digests.shrink_to_fit();
        counts.used = used as u64;
        Self { digests, key_of_row, counts }
    }

    /// The digest of every distinct key.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// How many rows went which way.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }

    /// The rows, counted from 0 and in order, that bear one of these keys, which are given by their
    /// positions in [`KeySet::digests`].
    pub fn rows_of(&self, keys: &[u32]) -> Vec<u32> {
        let mut wanted = vec![false; self.digests.len()];
        keys.iter().for_each(|key| wanted[*key as usize] = true);
        let bears = |key: &u32| *key != NO_KEY && wanted[*key as usize];
        (0u32..).zip(&self.key_of_row).filter(|(_, key)| bears(key)).map(|(row, _)| row).collect()
    }

    /// The first row whose key an earlier row bears, after that earlier row.
    fn first_repetition(&self) -> Option<(usize, usize)> {
        // Keys are numbered in order, so a row that brings a new key brings the next number.
        let mut next = 0;
        for (row, key) in self.key_of_row.iter().enumerate() {
            match *key {
                NO_KEY => {}
                key if key == next => next += 1,
                key => return Some((self.key_of_row.iter().position(|k| *k == key)?, row)),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        key::Normalize,
        source::{Delimiter, Source},
    };

    fn read(text: &str, nulls: Nulls, duplicates: Duplicates) -> Result<KeySet> {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let scan = Scan::new(source.read()?, Delimiter::Comma)?;
        let columns = [KeyColumn { name: "k".into(), normalize: Normalize::Lower }];
        Ok(KeySet::read(scan, &columns, nulls, duplicates, |_| {})?.1)
    }

    const TEXT: &str = "k,v\nb,1\na,2\n,3\nB,4\nc,5\n a,6\n\" \",7\nb,8\n";

    #[test]
    fn every_row_is_counted_once() {
        let set = read(TEXT, Nulls::Skip, Duplicates::First).unwrap();
        assert_eq!(set.counts(), RowCounts { read: 8, null: 2, duplicate: 3, used: 3 });
        assert_eq!(set.digests().len(), 3);
    }

    #[test]
    fn every_row_that_bears_a_matched_key_matches() {
        let set = read(TEXT, Nulls::Skip, Duplicates::First).unwrap();
        assert_eq!(set.rows_of(&[0]), [0, 3, 7]);
        assert_eq!(set.rows_of(&[1, 2]), [1, 4, 5]);
        assert_eq!(set.rows_of(&[]), [0; 0]);
        assert_eq!(set.rows_of(&[0, 1, 2]), [0, 1, 3, 4, 5, 7]);
    }

    #[test]
    fn policies_refuse_with_row_numbers_only() {
        let error = |nulls, duplicates| read(TEXT, nulls, duplicates).err().unwrap().to_string();
        assert_eq!(
            error(Nulls::Error, Duplicates::First),
            "t: row 3 (line 4), column `k`: the key is empty; fill it, or skip rows without a key"
        );
        assert_eq!(
            error(Nulls::Skip, Duplicates::Error),
            "t: row 4 (line 5) bears the same key as row 1 (line 2); rows that repeat an earlier \
             row's key: 3; remove them, or let each key take part once"
        );
    }

    #[test]
    fn equal_prefixes_of_different_digests_stay_apart() {
        let (x, y) = (Digest::forged(7, 1), Digest::forged(7, 2));
        let set = KeySet::distinct(vec![y, x, y, x, x], vec![0, 0, 0, NO_KEY, 0]);
        assert_eq!(set.counts(), RowCounts { read: 5, null: 1, duplicate: 2, used: 2 });
        assert_eq!(set.digests(), [y, x]);
        assert_eq!(set.rows_of(&[0]), [0, 2]);
        assert_eq!(set.rows_of(&[1]), [1, 4]);
    }
}
