//! An estimate of the difference between a set and an earlier one, from 4 KiB kept for each.
//!
//! A sketch has 512 counters. Each key adds +1 or -1 to one of them, by a hash under a secret of this side. The
//! contributions of keys that two sets share cancel out: the mean of the sum of the squared differences is the number
//! of keys that only one of the two sets has. Its standard deviation is at most √(2/512), a sixteenth, of the mean (the
//! "fast AMS" sketch: Charikar, Chen and Farach-Colton, *Finding frequent items in data streams*, 2002; Thorup and
//! Zhang, 2004). Equality of two sets is not estimated: a sketch also has the sum of all keys' hashes, which differs
//! for different sets.
//!
//! A sketch never leaves this side; without the secret it reveals only the approximate size of a set. Each agreement
//! has its own secret, so a program that computes sketches for it, such as a cluster, cannot test the sets of another.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use vesica_net::Identity;
use vesica_normalize::digest::Digest;
use zeroize::{Zeroize, ZeroizeOnDrop};

const COUNTERS: usize = 512;

/// The number of words in the sum of hashes.
const SUM: usize = 4;

/// This side's secret for the sketches of one agreement.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SketchSecret([u8; 32]);

impl SketchSecret {
    /// Returns the secret with these bytes.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Returns the secret of this party for the agreement with this hash.
    pub fn of(me: &Identity, agreement: &str) -> Self {
        let secret = me.derive("vesica 2 sketches of sets");
        Self(*blake3::keyed_hash(&secret, agreement.as_bytes()).as_bytes())
    }

    /// Returns the secret itself, for a cluster that computes sketches for this party.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for SketchSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SketchSecret(..)")
    }
}

/// The sketch of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    counters: Box<[i64; COUNTERS]>,
    /// The hashes of all keys, added word by word.
    sum: [u64; SUM],
}

impl Default for Sketch {
    fn default() -> Self {
        Self { counters: Box::new([0; COUNTERS]), sum: [0; SUM] }
    }
}

impl Sketch {
    /// Returns the sketch of these distinct keys.
    pub fn of(secret: &SketchSecret, keys: &[Digest]) -> Self {
        const AT_A_TIME: usize = 1 << 14;
        let part = |keys: &[Digest]| {
            let mut sketch = Self::default();
            keys.iter().for_each(|key| sketch.add(secret, key));
            sketch
        };
        let together = |mut sketch: Self, other: Self| {
            sketch.append(&other);
            sketch
        };
        keys.par_chunks(AT_A_TIME).map(part).reduce(Self::default, together)
    }

    fn add(&mut self, secret: &SketchSecret, key: &Digest) {
        let hash = blake3::keyed_hash(&secret.0, key.as_bytes());
        let [low, high, sign, ..] = *hash.as_bytes();
        let counter = usize::from(u16::from_le_bytes([low, high])) % COUNTERS;
        self.counters[counter] += if sign & 1 == 0 { 1 } else { -1 };
        let (words, _) = hash.as_bytes().as_chunks();
        self.add_sum(&words.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>());
    }

    fn add_sum(&mut self, words: &[u64]) {
        self.sum.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
    }

    /// Adds the keys of another part of the same set.
    pub fn append(&mut self, other: &Self) {
        let counters = self.counters.iter_mut().zip(&*other.counters);
        counters.for_each(|(mine, theirs)| *mine = mine.wrapping_add(*theirs));
        self.add_sum(&other.sum);
    }

    /// Estimates the number of keys that only one of the two sets has; 0 only if they are equal.
    pub fn difference(&self, other: &Self) -> u64 {
        if self.sum == other.sum {
            return 0;
        }
        let square = |(one, other): (&i64, &i64)| u128::from(one.abs_diff(*other)).pow(2);
        let sum: u128 = self.counters.iter().zip(&*other.counters).map(square).sum();
        u64::try_from(sum).unwrap_or(u64::MAX).max(1)
    }
}

/// In JSON a sketch is the base64 of its counters and the sum.
impl Serialize for Sketch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counters = self.counters.iter().flat_map(|counter| counter.to_le_bytes());
        let sum = self.sum.iter().flat_map(|word| word.to_le_bytes());
        serializer.serialize_str(&STANDARD_NO_PAD.encode(counters.chain(sum).collect::<Vec<u8>>()))
    }
}

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let none = || de::Error::custom("not a sketch");
        let bytes =
            STANDARD_NO_PAD.decode(String::deserialize(deserializer)?).map_err(|_| none())?;
        let (words, rest) = bytes.as_chunks();
        let words: Vec<_> = words.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
        if words.len() != COUNTERS + SUM || !rest.is_empty() {
            return Err(none());
        }
        let (counters, sum) = words.split_at(COUNTERS);
        let mut sketch = Self::default();
        sketch.counters.copy_from_slice(counters);
        sketch.sum.iter_mut().zip(sum).for_each(|(word, read)| *word = *read as u64);
        Ok(sketch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: std::ops::Range<u32>) -> Sketch {
        let keys: Vec<_> = keys.map(|key| Digest::of(&key.to_le_bytes())).collect();
        Sketch::of(&SketchSecret::new([7; 32]), &keys)
    }

    /// The bound is five standard deviations.
    #[test]
    fn a_difference_is_estimated_for_any_overlap() {
        let sets = [(0..20_000, 0..20_000, 0), (0..20_000, 0..20_001, 1)];
        for (one, other, difference) in sets {
            assert_eq!(of(one).difference(&of(other)), difference);
        }
        for (one, other, difference) in [
            (0..20_000, 100..20_000, 100),
            (0..20_000, 5_000..25_000, 10_000),
            (0..0, 0..3_000, 3_000),
        ] {
            let estimated = of(one).difference(&of(other));
            let error = estimated.abs_diff(difference) as f64 / difference as f64;
            assert!(error < 5.0 / 16.0, "{estimated} of {difference}");
        }
    }

    /// Two keys replace two others with the same counters and signs.
    #[test]
    fn sets_with_the_same_counters_are_not_equal() {
        let mut pairs = std::collections::HashMap::new();
        let (one, other) = (0..)
            .find_map(|key| {
                let sketch = of(key..key + 1);
                pairs.insert(sketch.counters.to_vec(), key).map(|earlier| (earlier, key))
            })
            .unwrap();
        let [one, other] = [one, other].map(|key| of(key..key + 1));
        assert_eq!(one.counters, other.counters);
        assert_eq!(one.difference(&other), 1);
        assert_eq!(one.difference(&one), 0);
    }

    #[test]
    fn each_agreement_has_a_secret_of_its_own() {
        let me = Identity::generate().unwrap();
        let secrets = ["a", "b"].map(|agreement| *SketchSecret::of(&me, agreement).as_bytes());
        assert_ne!(secrets[0], secrets[1]);
        assert_eq!(secrets[0], *SketchSecret::of(&me, "a").as_bytes());
    }

    #[test]
    fn parts_add_up_and_text_holds_all() {
        let mut whole = of(0..500);
        whole.append(&of(500..1000));
        assert_eq!(whole, of(0..1000));
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Sketch>(&text).unwrap(), whole);
        assert!(serde_json::from_str::<Sketch>("\"AAAA\"").is_err());
    }

    #[test]
    fn another_secret_makes_another_sketch() {
        let key = [Digest::of(b"key")];
        let of = |secret: u8| Sketch::of(&SketchSecret::new([secret; 32]), &key);
        assert!((1..20).any(|secret| of(secret) != of(0)));
    }
}
