//! The features of a side's keys, in shares so coarse that they reveal little.
//!
//! If two sets share nothing, the reason is often that one side writes keys differently. A profile from each side can
//! show this without a look at the other's data. For each key column and each of [`KINDS`], a profile has the share of
//! the distinct keys that are of that kind, to the nearest 10 %. A side with fewer than [`LEAST_KEYS`] keys reveals
//! none. That is at most 45 bits a column.

use std::iter;

/// The number of kinds of values.
const COUNT: usize = 13;

/// The least number of keys with a profile: one of fewer keys would reveal single ones.
pub const LEAST_KEYS: u64 = 100;

/// Shares are in tenths.
const STEPS: u64 = 10;

/// Shares that differ by this many steps are reported.
const FAR: u8 = 3;

/// The kinds of values, as words that follow "of the keys".
pub const KINDS: [&str; COUNT] = [
    "have white space at an end",
    "have white space inside",
    "have capital letters",
    "have small letters",
    "are digits only",
    "have characters other than ASCII",
    "have an @",
    "have other punctuation",
    "are 32 or more hexadecimal digits, like a hash",
    "are up to 8 characters long",
    "are 9 to 16 characters long",
    "are 17 to 32 characters long",
    "are longer than 32 characters",
];

/// Returns the kinds of a normalised value, as bits in the order of [`KINDS`].
pub(crate) fn kinds(value: &str) -> u16 {
    let any = |is: fn(char) -> bool| value.chars().any(is);
    let all = |is: fn(&u8) -> bool| value.bytes().all(|byte| is(&byte));
    let length = value.chars().count();
    let is: [bool; COUNT] = [
        value.trim().len() != value.len(),
        value.trim().contains(char::is_whitespace),
        any(char::is_uppercase),
        any(char::is_lowercase),
        all(u8::is_ascii_digit),
        !value.is_ascii(),
        value.contains('@'),
        any(|c| c.is_ascii_punctuation() && c != '@'),
        length >= 32 && all(u8::is_ascii_hexdigit),
        length <= 8,
        (9..=16).contains(&length),
        (17..=32).contains(&length),
        length > 32,
    ];
    is.iter().enumerate().fold(0, |bits, (kind, is)| bits | u16::from(*is) << kind)
}

/// The share of a side's keys that is of each kind, for each key column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    columns: usize,
    /// Tenths; `None` if there are too few keys.
    shares: Option<Vec<[u8; COUNT]>>,
}

/// A profile under construction.
pub(crate) struct Profiling {
    counts: Vec<[u64; COUNT]>,
    keys: u64,
}

impl Profiling {
    /// Makes a profile of no keys.
    pub(crate) fn new(columns: usize) -> Self {
        Self { counts: vec![[0; COUNT]; columns], keys: 0 }
    }

    pub(crate) fn columns(&self) -> usize {
        self.counts.len()
    }

    /// Adds the kinds of the next key, one for each column.
    pub(crate) fn add(&mut self, kinds: impl Iterator<Item = u16>) {
        self.keys += 1;
        for (counts, kinds) in self.counts.iter_mut().zip(kinds) {
            let bits = counts.iter_mut().enumerate();
            bits.for_each(|(kind, count)| *count += u64::from(kinds >> kind & 1));
        }
    }

    /// Adds the counts of other keys.
    pub(crate) fn append(&mut self, other: &Self) {
        self.keys += other.keys;
        for (all, more) in self.counts.iter_mut().flatten().zip(other.counts.iter().flatten()) {
            *all += more;
        }
    }

    pub(crate) fn finish(self) -> Profile {
        let Self { counts, keys } = self;
        let tenths = |count: u64| ((STEPS * count + keys / 2) / keys) as u8;
        let shares = || counts.iter().map(|counts| counts.map(tenths)).collect();
        Profile { columns: counts.len(), shares: (keys >= LEAST_KEYS).then(shares) }
    }
}

impl Profile {
    /// Returns the length on the wire, in bytes, which is the same for all profiles of this many columns.
    pub fn encoded_len(columns: usize) -> usize {
        1 + columns * COUNT
    }

    /// Returns the bytes of the profile on the wire.
    pub fn encode(&self) -> Vec<u8> {
        let zeros = || vec![[0; COUNT]; self.columns];
        let shares = self.shares.clone().unwrap_or_else(zeros);
        iter::once(u8::from(self.shares.is_some())).chain(shares.into_iter().flatten()).collect()
    }

    /// Reads a profile of this many columns; `None` if the bytes are not one.
    pub fn decode(bytes: &[u8], columns: usize) -> Option<Self> {
        let (told, shares) = bytes.split_first()?;
        let (shares, left) = shares.as_chunks();
        let well_formed = *told <= 1
            && left.is_empty()
            && shares.len() == columns
            && shares.iter().flatten().all(|share| u64::from(*share) <= STEPS);
        let shares = (*told == 1).then(|| shares.to_vec());
        well_formed.then_some(Self { columns, shares })
    }

    /// Whether it has shares.
    pub fn is_told(&self) -> bool {
        self.shares.is_some()
    }

    /// Returns the differences between these keys and the other side's; `None` if either profile has no shares.
    pub fn differences(&self, there: &Self) -> Option<Vec<String>> {
        let (here, there) = (self.shares.as_ref()?, there.shares.as_ref()?);
        let mut found = Vec::new();
        for (column, (here, there)) in here.iter().zip(there).enumerate() {
            for ((kind, here), there) in KINDS.iter().zip(here).zip(there) {
                if here.abs_diff(*there) >= FAR {
                    let percent = |share: &u8| u32::from(*share) * 10;
                    found.push(format!(
                        "key column {}: about {} % of the keys here and {} % of the other side's {kind}",
                        column + 1,
                        percent(here),
                        percent(there)
                    ));
                }
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(value: &str) -> Vec<&'static str> {
        let bits = kinds(value);
        KINDS
            .iter()
            .enumerate()
            .filter(|(kind, _)| bits >> kind & 1 == 1)
            .map(|(_, k)| *k)
            .collect()
    }

    fn profile(values: &[String]) -> Profile {
        let mut profiling = Profiling::new(1);
        values.iter().for_each(|value| profiling.add(iter::once(kinds(value))));
        profiling.finish()
    }

    #[test]
    fn kinds_by_table() {
        for (value, expected) in [
            ("ann@x.org", &[3, 6, 7, 10][..]),
            (" Ann Lee", &[0, 1, 2, 3, 9]),
            ("0123456789", &[4, 10]),
            ("\u{e4}", &[3, 5, 9]),
            ("d41d8cd98f00b204e9800998ecf8427e", &[3, 8, 11]),
            (&"x".repeat(33), &[3, 12]),
        ] {
            let expected: Vec<_> = expected.iter().map(|kind| KINDS[*kind]).collect();
            assert_eq!(named(value), expected, "{value}");
        }
    }

    #[test]
    fn shares_are_coarse_and_few_keys_have_none() {
        let mails: Vec<_> = (0..LEAST_KEYS).map(|i| format!("u{i}@x.org")).collect();
        let before = profile(&mails);
        let mut other = mails.clone();
        other[0] = " A STRANGER ".into();
        assert_eq!(before, profile(&other), "one key in a hundred makes no difference");
        assert!(before.is_told() && !profile(&mails[1..]).is_told());
        assert!(!profile(&[]).is_told());
        for shown in [&before, &profile(&mails[1..])] {
            let bytes = shown.encode();
            assert_eq!(bytes.len(), Profile::encoded_len(1));
            assert_eq!(
                Profile::decode(&bytes, 1).as_ref().map(Profile::is_told),
                Some(shown.is_told())
            );
        }
    }

    #[test]
    fn malformed_profiles_are_refused() {
        let good = vec![1; Profile::encoded_len(2)];
        assert!(Profile::decode(&good, 2).is_some());
        assert!(Profile::decode(&good, 1).is_none() && Profile::decode(&good[1..], 2).is_none());
        for (at, value) in [(0, 2), (1, 11), (26, 255)] {
            let mut bad = good.clone();
            bad[at] = value;
            assert!(Profile::decode(&bad, 2).is_none(), "{at}");
        }
        assert!(Profile::decode(&[], 0).is_none());
    }

    #[test]
    fn differences_are_listed() {
        let mails: Vec<_> = (0..200).map(|i| format!("u{i}@x.org")).collect();
        let capitals: Vec<_> = mails.iter().map(|mail| mail.to_uppercase()).collect();
        let found = profile(&mails).differences(&profile(&capitals)).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        let first = "key column 1: about 0 % of the keys here and 100 % of the other side's have capital letters";
        assert_eq!(found[0], first);
        assert_eq!(profile(&mails).differences(&profile(&mails)), Some(vec![]));
        assert_eq!(profile(&mails).differences(&profile(&mails[..5])), None);
    }
}
