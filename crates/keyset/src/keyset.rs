//! A table's keys as a set: each distinct key once, and which row bears which.

use vesica_core::error::{InputFault, Result};
use vesica_normalize::digest::Digest;
use vesica_psi::payload::Payloads;
use vesica_table::{rows::Table, sent_columns::SentColumns};

use crate::{
    brought::Brought,
    collector::Collector,
    counts::{NO_KEY, RowCounts},
    key::Duplicates,
    places::Places,
    profile::{Profile, Profiling},
    sketch::{Sketch, SketchSecret},
    survey::ColumnFindings,
};

/// The distinct keys of a table, in the order of the rows that first bear them.
pub struct KeySet {
    digests: Vec<Digest>,
    /// How many identifiers a row has, at least 1.
    identifiers: usize,
    /// For each row, the number of the key of each of its identifiers.
    keys_of_rows: Vec<u32>,
    counts: RowCounts,
    /// How many keys there are, with those that no row bears.
    all: usize,
    /// What the values of each key's rows add up to; empty where there is no column of values.
    values: Vec<i64>,
    /// What is sent with each key, where columns are sent.
    payloads: Vec<u8>,
    /// Bytes of each.
    payload_len: usize,
    /// What the rows brought.
    brought: Brought,
    /// What the keys look like, where that was asked for.
    profile: Option<Profile>,
    sketch: Option<Sketch>,
    /// What the normalisation makes of each key column, where that was asked for.
    survey: Vec<ColumnFindings>,
}

impl KeySet {
    /// Adds what the keys look like to a profile. Each row has so many entries of `kinds`.
    pub(super) fn profile(&self, profiling: &mut Profiling, kinds: &[u16]) {
        let columns = profiling.columns();
        let of_row = |row: u32| kinds.iter().skip(row as usize * columns).take(columns);
        self.first_rows().into_iter().for_each(|row| profiling.add(of_row(row).copied()));
    }

    /// Keeps what the keys look like.
    pub(super) fn keep_profile(&mut self, profile: Profile) {
        self.profile = Some(profile);
    }

    /// Keeps what the normalisation makes of each key column.
    pub(super) fn keep(&mut self, survey: Vec<ColumnFindings>) {
        self.survey = survey;
    }

    /// Takes what the rows with a key bring, in their order. Where more rows of a key are to be sent than there may be, says
    /// which row is one too many.
    pub(super) fn bring(
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

    /// Shows the number of the key of each row that has one, its place among the keys of all rows, and something that the row
    /// may bring for all rows of the key to bring what they do.
    ///
    /// # Errors
    /// What `show` returns.
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

    /// Adds keys that no row bears, up to so many in all. Returns whether there are no more than that already.
    #[must_use]
    pub(super) fn pad(&mut self, keys: usize, mut draw: impl FnMut() -> Digest) -> bool {
        let fits = self.digests.len() <= keys;
        self.digests.resize_with(keys, &mut draw);
        self.all = self.digests.len();
        fits
    }

    /// The digest of each distinct key, and then those that were added, until they are
    /// [taken](KeySet::take_digests).
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    pub(super) fn refuse_duplicates(&self, table: &Table) -> Result<()> {
        let Some((first, second)) = self.first_repetition() else { return Ok(()) };
        let fault = InputFault::DuplicateKey {
            first: table.place(first),
            second: table.place(second),
            rows: self.counts.duplicate,
        };
        Err(table.fault(fault))
    }

    /// The set of these keys.
    pub(super) fn of(keys: Collector) -> Self {
        let (digests, keys_of_rows, identifiers) = keys.finish();
        Self::distinct(digests, keys_of_rows, identifiers)
    }

    /// How many identifiers a row has.
    pub(super) fn identifiers(&self) -> usize {
        self.identifiers
    }

    /// What its rows bring.
    pub(super) fn brought(&self) -> &Brought {
        &self.brought
    }

    /// The number of the key of each identifier of each row.
    pub(super) fn numbers(&self) -> &[u32] {
        &self.keys_of_rows
    }

    /// Numbers the distinct keys. `digests` has one for each identifier of a row, `keys_of_rows` is [`NO_KEY`] where
    /// there is no key and anything else where there is one.
    pub(super) fn distinct(
        mut digests: Vec<Digest>,
        mut keys_of_rows: Vec<u32>,
        identifiers: usize,
    ) -> Self {
        /// How many digests ahead of one that is looked for its place is prefetched.
        const AHEAD: usize = 16;
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
                if let Some(later) = digests.get(at + AHEAD) {
                    places.prefetch(later);
                }
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
            all: used,
            values: Vec::new(),
            payloads: Vec::new(),
            payload_len: 0,
            brought: Brought::Nothing,
            profile: None,
            sketch: None,
            survey: Vec::new(),
        }
    }

    /// Gives each key the sum of the numbers of its rows, of which there is one for each row with a key.
    fn add_up(&mut self, numbers: impl Iterator<Item = i64>) {
        self.values = vec![0; self.all];
        let keyed = self.keys_of_rows.iter().filter(|key| **key != NO_KEY);
        keyed.zip(numbers).for_each(|(key, number)| self.values[*key as usize] += number);
    }

    /// Gives each key a payload, from the places of all rows with a key; or else says which row is one too many.
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

    /// The first row that bears the key of this row.
    pub(super) fn first_row_like(&self, row: usize) -> usize {
        let key = self.keys_of_rows[row];
        self.keys_of_rows.iter().position(|other| *other == key).unwrap_or(row)
    }

    /// Bytes of what is sent with each key; 0 where nothing is.
    pub fn payload_len(&self) -> usize {
        self.payload_len
    }

    /// What is sent with each distinct key, in the order of the digests.
    ///
    /// # Panics
    /// Where no columns are sent.
    pub fn payloads(&self) -> Payloads<'_> {
        Payloads::new(self.payload_len, &self.payloads)
    }

    /// The number of the key that a row bears, counted from 0; `None` where it has none.
    pub fn key_of(&self, row: u64) -> Option<u32> {
        Some(self.keys_of_rows[row as usize]).filter(|key| *key != NO_KEY)
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

    /// Sketches the set under this secret.
    pub(super) fn make_sketch(&mut self, secret: &SketchSecret) {
        self.sketch = Some(Sketch::of(secret, &self.digests));
    }

    /// What is kept of the set, where that was asked for.
    pub(super) fn take_sketch(&mut self) -> Option<Sketch> {
        self.sketch.take()
    }

    /// What the keys look like, where that was asked for.
    pub(crate) fn take_profile(&mut self) -> Option<Profile> {
        self.profile.take()
    }

    /// What the normalisation makes of each key column, where that was asked for.
    pub fn take_survey(&mut self) -> Vec<ColumnFindings> {
        std::mem::take(&mut self.survey)
    }

    /// How many rows went which way.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }

    /// The rows, counted from 0 and in order, that bear one of these keys, which are given by their
    /// positions among the digests.
    pub fn rows_of(&self, keys: &[u32]) -> Vec<u64> {
        let wanted = self.wanted(keys);
        let matches = |key: &u32| *key != NO_KEY && wanted[*key as usize];
        let rows = (0u64..).zip(self.keys_of_rows.chunks_exact(self.identifiers));
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
        let mut wanted = vec![false; self.all];
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
    pub(super) fn first_repetition(&self) -> Option<(usize, usize)> {
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

#[cfg(test)]
mod tests {
    use vesica_normalize::normalize::Normalize;
    use vesica_table::source::{Delimiter, Source};

    use super::*;
    use crate::{
        findings::{Findings, FrequentKey},
        key::{KeyColumn, Nulls},
        reading::Reading,
    };

    fn all_of(text: &str, reading: Reading) -> Result<(KeySet, Findings)> {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let keys = vec![KeyColumn { name: "k".into(), normalize: Normalize::Lower }];
        let (_, set, findings) = KeySet::read(scan, &Reading { keys, ..reading }, |_, _| {})?;
        Ok((set, findings))
    }

    fn read(text: &str, nulls: Nulls, duplicates: Duplicates) -> Result<KeySet> {
        Ok(all_of(text, Reading { nulls, duplicates, ..Reading::default() })?.0)
    }

    fn sums(text: &str, nulls: Nulls) -> Result<Vec<i64>> {
        scaled_sums(text, nulls, 0)
    }

    fn scaled_sums(text: &str, nulls: Nulls, scale: u8) -> Result<Vec<i64>> {
        let values = Some(("v".to_owned(), scale));
        Ok(all_of(text, Reading { values, nulls, ..Reading::default() })?.0.values().to_vec())
    }

    #[test]
    fn values_may_have_decimal_places() {
        let sums = |text| scaled_sums(text, Nulls::Skip, 2);
        assert_eq!(sums("k,v\na,0.10\nb,-7\na,2.5\n").unwrap(), [260, -700]);
        let refused = sums("k,v\na,1.00\nb,1.005\n").unwrap_err().to_string();
        assert!(
            refused.contains("row 2 (line 3), column `v`: not a number with at most 2 decimal"),
            "{refused}"
        );
    }

    #[test]
    fn a_profile_counts_each_key_once() {
        let keys = |from: u32| (from..from + 100).map(|i| format!("KEY {i}\n")).collect::<String>();
        let text = format!("k\n{}\nNULL\n{}", "x\n".repeat(300), keys(0));
        let profile = |text: &str| {
            let asked = Reading { profile: true, ..Reading::default() };
            all_of(text, asked).unwrap().0.take_profile().unwrap()
        };
        assert_eq!(profile(&text), profile(&format!("k\n{}", keys(0))));
        assert!(all_of(&text, Reading::default()).unwrap().0.take_profile().is_none());
    }

    #[test]
    fn frequent_keys_are_found_by_their_first_row() {
        let rows = |from: u32| (from..from + 100).map(|i| format!("k{i}@x\n")).collect::<String>();
        let text = format!("k\n{}X-1\n{}x-1\nx-1 \nn/a\n{}", rows(0), rows(100), rows(0));
        let (_, findings) = all_of(&text, Reading::default()).unwrap();
        let expected = FrequentKey { first_row: 101, line: Some(102), rows: 3 };
        // Three of 304 rows are less than one in a hundred, three of 204 are more.
        assert_eq!(findings.frequent_keys, []);
        let text = text.replacen(&rows(100), "", 1);
        let (_, findings) = all_of(&text, Reading::default()).unwrap();
        assert_eq!(findings.frequent_keys, [expected]);
        assert_eq!((findings.null_values, findings.keys_changed, findings.keys_merged), (1, 2, 2));
        let warned = findings.warnings.join("\n");
        assert!(
            warned.contains("3 of 204 rows (1.5 %) bear the same key")
                && warned.contains("row 101 (line 102)")
        );
    }

    #[test]
    fn a_keys_value_is_the_sum_over_its_rows() {
        assert_eq!(sums(TEXT, Nulls::Skip).unwrap(), [13, 8, 5]);
        assert_eq!(sums("k,v\na,\nb, -7 \na,+3\n,9\n", Nulls::Skip).unwrap(), [3, -7]);
        assert_eq!(sums("", Nulls::Skip).unwrap(), [0; 0]);
        let most = format!("k,v\na,{}\nb,0\n", i64::MAX);
        assert_eq!(sums(&most, Nulls::Skip).unwrap(), [i64::MAX, 0]);
    }

    #[test]
    fn values_that_cannot_be_added_up_are_named_by_their_place() {
        let refused = |text: &str, nulls| sums(text, nulls).unwrap_err().to_string();
        assert_eq!(
            refused("k,v\na,1\nb,secret\n", Nulls::Skip),
            "t: row 2 (line 3), column `v`: not a whole number from -2^63 to 2^63 - 1; for decimals name a scale"
        );
        assert!(refused("k,v\na,1.5\n", Nulls::Skip).contains("row 1 (line 2), column `v`"));
        assert!(refused("k,v\na,9223372036854775808\n", Nulls::Skip).contains("whole number"));
        assert!(refused("k,v\na,\n", Nulls::Error).contains("the value is empty"));
        assert!(refused("k,w\na,1\n", Nulls::Skip).contains("no column `v`"));
        // Each fits, and so does their sum; but not that of the positive ones alone.
        let wide = format!("k,v\na,{}\nb,1\nc,-2\n", i64::MAX);
        assert_eq!(
            refused(&wide, Nulls::Skip),
            "t: row 2 (line 3), column `v`: the values up to here, signs aside, add up to more than \
             2^63 - 1; use fewer rows, or a larger unit"
        );
        let least = format!("k,v\n,9\na,{}\n", i64::MIN);
        assert!(refused(&least, Nulls::Skip).contains("row 2 (line 3), column `v`"));
    }

    const TEXT: &str = "k,v\nb,1\na,2\n,3\nB,4\nc,5\n a,6\n\" \",7\nb,8\n";

    #[test]
    fn keys_may_take_no_more_memory_than_allowed() {
        let text = (0..1 << 15).fold("k\n".to_owned(), |text, row| text + &format!("{row}\n"));
        let of = |memory| all_of(&text, Reading { memory, ..Reading::default() });
        [Some(1 << 22), None].into_iter().for_each(|memory| drop(of(memory).unwrap()));
        let message = of(Some(1 << 18)).err().unwrap().to_string();
        assert!(message.contains("holds more than 256.0 KiB"), "{message}");
    }

    #[test]
    fn every_row_is_counted_once() {
        let set = read(TEXT, Nulls::Skip, Duplicates::First).unwrap();
        assert_eq!(set.counts(), RowCounts { read: 8, null: 2, duplicate: 3, used: 3 });
        assert_eq!(set.digests.len(), 3);
    }

    #[test]
    fn every_row_that_bears_a_matched_key_matches() {
        let set = read(TEXT, Nulls::Skip, Duplicates::First).unwrap();
        assert_eq!(set.rows_of(&[0]), [0, 3, 7]);
        assert_eq!(set.rows_of(&[1, 2]), [1, 4, 5]);
        assert_eq!(set.rows_of(&[]), [0; 0]);
        assert_eq!(set.rows_of(&[0, 1, 2]), [0, 1, 3, 4, 5, 7]);
        assert_eq!(set.first_rows(), [0, 1, 4]);
    }

    /// Keys of two identifiers: a mail address, and a name with a number.
    fn several(text: &str, nulls: Nulls, duplicates: Duplicates) -> Result<(KeySet, Findings)> {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let column = |(name, normalize): (&str, _)| KeyColumn { name: name.into(), normalize };
        let columns = [("m", Normalize::Email), ("n", Normalize::Lower), ("p", Normalize::Lower)];
        let keys = columns.map(column).to_vec();
        let reading =
            Reading { keys, identifiers: vec![1, 2], nulls, duplicates, ..Reading::default() };
        let (_, set, findings) = KeySet::read(scan, &reading, |_, _| {})?;
        Ok((set, findings))
    }

    #[test]
    fn a_row_may_have_several_identifiers() {
        let text =
            "m,n,p\na@x,ann,1\n,ann,1\na@x,,9\nb@x,bob,NULL\nNULL,x,NULL\na@x,ann,1\nb@x,ann,1\n";
        let (set, findings) = several(text, Nulls::Skip, Duplicates::First).unwrap();
        // Keys: a@x, (ann, 1), b@x.
        assert_eq!(set.counts(), RowCounts { read: 7, null: 1, duplicate: 4, used: 3 });
        assert_eq!(set.rows_of(&[0]), [0, 2, 5]);
        assert_eq!(set.rows_of(&[1]), [0, 1, 5, 6]);
        assert_eq!(set.rows_of(&[2]), [3, 6]);
        assert_eq!(set.rows_of(&[0, 2]), [0, 2, 3, 5, 6]);
        assert_eq!(set.keys_of_identifiers(&[0, 1, 2]), [2, 1]);
        assert_eq!(set.keys_of_identifiers(&[1]), [0, 1]);
        assert_eq!(set.first_rows(), [0, 0, 3]);
        assert_eq!(findings.null_values, 1);
        let refused =
            |text, nulls, duplicates| several(text, nulls, duplicates).err().unwrap().to_string();
        let message = refused(text, Nulls::Error, Duplicates::First);
        assert!(message.starts_with("t: row 5 (line 6), column `p`: "), "{message}");
        let message = refused(text, Nulls::Skip, Duplicates::Error);
        assert!(
            message.starts_with("t: row 2 (line 3) bears the same key as row 1 (line 2)"),
            "{message}"
        );
        assert!(several("", Nulls::Skip, Duplicates::First).is_ok());
    }

    #[test]
    fn equal_values_of_different_identifiers_are_different_keys() {
        let keys =
            ["k", "l"].map(|name| KeyColumn { name: name.into(), normalize: Normalize::None });
        let digests = |identifiers: Vec<u8>| {
            let source = Source::Memory { name: "t".into(), bytes: b"k,l\nx,x\n".to_vec() };
            let scan = source.open(Delimiter::Comma).unwrap().read().unwrap();
            let reading = Reading { keys: keys.to_vec(), identifiers, ..Reading::default() };
            KeySet::read(scan, &reading, |_, _| {}).unwrap().1.take_digests()
        };
        let (one, two) = (digests(vec![]), digests(vec![1, 1]));
        assert!(one.len() == 1 && two.len() == 2 && two[0] != two[1] && !two.contains(&one[0]));
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
            "t: row 4 (line 5) bears the same key as row 1 (line 2); 3 rows repeat the key of an \
             earlier row: remove them, or let each key take part once"
        );
    }

    #[test]
    fn equal_prefixes_of_different_digests_stay_apart() {
        let forged = |rest: u8| {
            let mut bytes = [rest; 32];
            bytes[..8].copy_from_slice(&7u64.to_be_bytes());
            Digest::from_bytes(bytes)
        };
        let (x, y) = (forged(1), forged(2));
        let set = KeySet::distinct(vec![y, x, y, x, x], vec![0, 0, 0, NO_KEY, 0], 1);
        assert_eq!(set.counts(), RowCounts { read: 5, null: 1, duplicate: 2, used: 2 });
        assert_eq!(set.digests, [y, x]);
        assert_eq!(set.rows_of(&[0]), [0, 2]);
        assert_eq!(set.rows_of(&[1]), [1, 4]);
    }
}
