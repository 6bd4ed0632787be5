//! How much a set differs from that of an earlier run, from 4 KiB that are kept of each.
//!
//! A sketch has 512 counters. Each key adds +1 or -1 to one of them, by a hash under a secret of this side. Counters that
//! two sets share cancel out: the sum of the squares of the differences has the number of keys that only one of the two
//! sets has as its mean, with a standard deviation of at most √(2/512), a sixteenth, of it (the "fast AMS" sketch: Charikar,
//! Chen and Farach-Colton, *Finding frequent items in data streams*, 2002; Thorup and Zhang, 2004). Equal sets give 0. A
//! sketch never leaves this side; without the secret it tells about how large a set is, and nothing else.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::keys::digest::Digest;

const COUNTERS: usize = 512;

/// The secret of this side under which sketches are made.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct SketchSecret([u8; 32]);

impl SketchSecret {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }
}

impl std::fmt::Debug for SketchSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SketchSecret(..)")
    }
}

/// What is kept of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch(Box<[i64; COUNTERS]>);

impl Default for Sketch {
    fn default() -> Self {
        Self(Box::new([0; COUNTERS]))
    }
}

impl Sketch {
    /// The sketch of these distinct keys.
    pub(crate) fn of(secret: &SketchSecret, keys: &[Digest]) -> Self {
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
        self.0[counter] += if sign & 1 == 0 { 1 } else { -1 };
    }

    /// Adds the keys of another part of the same set.
    pub(crate) fn append(&mut self, other: &Self) {
        self.0.iter_mut().zip(&*other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// About how many keys only one of the two sets has; 0 if they are equal.
    pub(crate) fn difference(&self, other: &Self) -> u64 {
        let square = |(one, other): (&i64, &i64)| u128::from(one.abs_diff(*other)).pow(2);
        let sum: u128 = self.0.iter().zip(&*other.0).map(square).sum();
        u64::try_from(sum).unwrap_or(u64::MAX)
    }
}

/// In JSON a sketch is base64 of its counters.
impl Serialize for Sketch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|counter| counter.to_le_bytes()).collect();
        serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let none = || de::Error::custom("not a sketch");
        let bytes =
            STANDARD_NO_PAD.decode(String::deserialize(deserializer)?).map_err(|_| none())?;
        let (counters, rest) = bytes.as_chunks();
        let counters: Vec<_> = counters.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
        let counters: Box<[i64; COUNTERS]> = counters.try_into().map_err(|_| none())?;
        if rest.is_empty() { Ok(Self(counters)) } else { Err(none()) }
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
    fn a_difference_is_estimated_whatever_the_sets_have_in_common() {
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
