//! A table's keys as a set: each distinct key once, and the rows that have it.

use rand::CryptoRng;
use vesica_core::error::{InputFault, Result};
use vesica_normalize::digest::Digest;
use vesica_table::rows::Table;

use crate::{
    ambiguous::Ambiguity,
    brought::{Brought, Linked},
    collector::Collector,
    counts::RowCounts,
    key_rows::{ExcessRow, KeyRows, Repetition},
    profile::Profile,
    rule_findings::RuleFindings,
    sketch::{Sketch, SketchSecret},
    survey::ColumnFindings,
};

/// The distinct keys of a table, and its rows with them.
pub struct KeySet {
    /// The digests, in the order of the first rows that have them.
    digests: Vec<Digest>,
    rows: KeyRows,
    /// The features of the keys, if requested.
    profile: Option<Profile>,
    sketch: Option<Sketch>,
    /// The effect of the normalisation on each key column, if requested.
    survey: Vec<ColumnFindings>,
    /// The numbers by rule, if rules make the keys.
    rules: Vec<RuleFindings>,
}

impl KeySet {
    /// Leaves out ambiguous keys, and what rows contribute to them.
    pub(super) fn leave_out_ambiguous(&mut self, of_rows: &mut Vec<u8>, linked: &Linked) {
        let rules = self.rows.identifiers();
        let (rows, digests, rule) = (&mut self.rows, &mut self.digests, |place| place % rules);
        self.rules = Ambiguity::leave_out(rows, digests, of_rows, linked, rules, rule);
    }

    /// Returns the numbers by rule; none if columns make the keys.
    pub(crate) fn rules(&self) -> &[RuleFindings] {
        &self.rules
    }

    /// Adds random keys that match nothing, up to this total number.
    pub(super) fn pad(&mut self, keys: usize, rng: &mut dyn CryptoRng) {
        self.digests.resize_with(keys.max(self.digests.len()), || {
            let mut digest = [0; 32];
            rng.fill_bytes(&mut digest);
            Digest::from_bytes(digest)
        });
        self.rows.pad(self.digests.len());
    }

    /// Keeps the features of the keys.
    pub(super) fn keep_profile(&mut self, profile: Profile) {
        self.profile = Some(profile);
    }

    /// Keeps the effect of the normalisation on each key column.
    pub(super) fn keep(&mut self, survey: Vec<ColumnFindings>) {
        self.survey = survey;
    }

    /// Returns the digest of each distinct key, followed by the random ones.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    pub(super) fn refuse_duplicates(&self, table: &Table) -> Result<()> {
        let Some(Repetition { first, again }) = self.rows.first_repetition() else { return Ok(()) };
        let fault = InputFault::DuplicateKey {
            first: table.place(first),
            second: table.place(again),
            rows: self.counts().duplicate,
        };
        Err(table.fault(fault))
    }

    /// Makes the set of these keys.
    pub(super) fn of(keys: Collector) -> Self {
        let (digests, keys_of_rows, identifiers) = keys.finish();
        let (digests, rows) = KeyRows::distinct(digests, keys_of_rows, identifiers);
        Self { digests, rows, profile: None, sketch: None, survey: Vec::new(), rules: Vec::new() }
    }

    /// Returns the rows of each key.
    pub fn rows(&self) -> &KeyRows {
        &self.rows
    }

    /// Returns the numbers of rows by outcome.
    pub fn counts(&self) -> RowCounts {
        self.rows.counts()
    }

    /// Takes the contributions of the rows with a key, as [`KeyRows::bring`] does.
    pub(super) fn bring(
        &mut self,
        brought: &Brought,
        of_rows: Vec<u8>,
    ) -> std::result::Result<(), ExcessRow> {
        self.rows.bring(brought, of_rows)
    }

    /// Returns the digests and the rows. Nobody needs the digests once they are items.
    pub fn into_parts(self) -> (Vec<Digest>, KeyRows) {
        (self.digests, self.rows)
    }

    /// Sketches the set under this secret.
    pub(super) fn make_sketch(&mut self, secret: &SketchSecret) {
        self.sketch = Some(Sketch::of(secret, &self.digests));
    }

    /// Removes and returns the sketch, if requested.
    pub(super) fn take_sketch(&mut self) -> Option<Sketch> {
        self.sketch.take()
    }

    /// Removes and returns the features of the keys, if requested.
    pub(crate) fn take_profile(&mut self) -> Option<Profile> {
        self.profile.take()
    }

    /// Removes and returns the effect of the normalisation on each key column, if requested.
    pub fn take_survey(&mut self) -> Vec<ColumnFindings> {
        std::mem::take(&mut self.survey)
    }
}

#[cfg(test)]
mod tests {
    use vesica_normalize::normalize::Normalize;
    use vesica_table::{
        row_number::RowNumber,
        source::{Delimiter, Source},
    };

    use super::*;
    use crate::{
        findings::{Findings, FrequentKey},
        key::{Duplicates, KeyColumn, Nulls},
        key_number::KeyNumber,
        reading::Reading,
    };

    fn all_of(text: &str, reading: Reading) -> Result<(KeySet, Findings)> {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let keys = vec![KeyColumn { name: "k".into(), normalize: Normalize::LOWER }];
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
        Ok(all_of(text, Reading { values, nulls, ..Reading::default() })?
            .0
            .rows()
            .values()
            .to_vec())
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
            warned.contains("3 of 204 rows (1.5 %) have the same key")
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
        // Each fits, and so does their sum, but the sum of the positive ones does not.
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

    fn rows_of(rows: &KeyRows, keys: &[u32]) -> Vec<u64> {
        rows.rows_of(KeyNumber::at_all(keys)).into_iter().map(RowNumber::get).collect()
    }

    fn first_rows(rows: &KeyRows) -> Vec<u64> {
        rows.first_rows().iter().map(RowNumber::get).collect()
    }

    #[test]
    fn every_row_is_counted_once() {
        let set = read(TEXT, Nulls::Skip, Duplicates::First).unwrap();
        assert_eq!(set.counts(), RowCounts { read: 8, null: 2, duplicate: 3, used: 3 });
        assert_eq!(set.digests.len(), 3);
    }

    #[test]
    fn every_row_with_a_matched_key_matches() {
        let set = read(TEXT, Nulls::Skip, Duplicates::First).unwrap();
        assert_eq!(rows_of(set.rows(), &[0]), [0, 3, 7]);
        assert_eq!(rows_of(set.rows(), &[1, 2]), [1, 4, 5]);
        assert_eq!(rows_of(set.rows(), &[]), [0; 0]);
        assert_eq!(rows_of(set.rows(), &[0, 1, 2]), [0, 1, 3, 4, 5, 7]);
        assert_eq!(first_rows(set.rows()), [0, 1, 4]);
    }

    /// Reads keys of two identifiers: a mail address, and a name with a number.
    fn several(text: &str, nulls: Nulls, duplicates: Duplicates) -> Result<(KeySet, Findings)> {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let column = |(name, normalize): (&str, _)| KeyColumn { name: name.into(), normalize };
        let columns = [("m", Normalize::EMAIL), ("n", Normalize::LOWER), ("p", Normalize::LOWER)];
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
        assert_eq!(rows_of(set.rows(), &[0]), [0, 2, 5]);
        assert_eq!(rows_of(set.rows(), &[1]), [0, 1, 5, 6]);
        assert_eq!(rows_of(set.rows(), &[2]), [3, 6]);
        assert_eq!(rows_of(set.rows(), &[0, 2]), [0, 2, 3, 5, 6]);
        assert_eq!(set.rows().keys_of_identifiers(KeyNumber::at_all(&[0, 1, 2])), [2, 1]);
        assert_eq!(set.rows().keys_of_identifiers(KeyNumber::at_all(&[1])), [0, 1]);
        assert_eq!(first_rows(set.rows()), [0, 0, 3]);
        assert_eq!(findings.null_values, 1);
        let refused =
            |text, nulls, duplicates| several(text, nulls, duplicates).err().unwrap().to_string();
        let message = refused(text, Nulls::Error, Duplicates::First);
        assert!(message.starts_with("t: row 5 (line 6), column `p`: "), "{message}");
        let message = refused(text, Nulls::Skip, Duplicates::Error);
        assert!(
            message.starts_with("t: row 2 (line 3) has the same key as row 1 (line 2)"),
            "{message}"
        );
        assert!(several("", Nulls::Skip, Duplicates::First).is_ok());
    }

    #[test]
    fn equal_values_of_different_identifiers_are_different_keys() {
        let keys =
            ["k", "l"].map(|name| KeyColumn { name: name.into(), normalize: Normalize::NONE });
        let digests = |identifiers: Vec<u8>| {
            let source = Source::Memory { name: "t".into(), bytes: b"k,l\nx,x\n".to_vec() };
            let scan = source.open(Delimiter::Comma).unwrap().read().unwrap();
            let reading = Reading { keys: keys.to_vec(), identifiers, ..Reading::default() };
            KeySet::read(scan, &reading, |_, _| {}).unwrap().1.into_parts().0
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
            "t: row 4 (line 5) has the same key as row 1 (line 2); 3 rows repeat the key of an \
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
        let keys = vec![y, x, y, x, x];
        let key = Some(KeyNumber::FIRST);
        let (digests, rows) = KeyRows::distinct(keys, [key, key, key, None, key].to_vec(), 1);
        assert_eq!(rows.counts(), RowCounts { read: 5, null: 1, duplicate: 2, used: 2 });
        assert_eq!(digests, [y, x]);
        assert_eq!(rows_of(&rows, &[0]), [0, 2]);
        assert_eq!(rows_of(&rows, &[1]), [1, 4]);
    }
}
