//! Filters that replace a sender's final list: the false-positive rate a protocol needs, and the shape of
//! each filter that achieves it.
//!
//! All hold `items` pseudo-random blocks of 128 bits. Rates are bounds for a query that is equally random and
//! not among them. Since two blocks may be equal, no filter is better than items · 2^-128.

mod bloom;
mod buckets;

use std::fmt;

pub use bloom::BloomShape;
pub use buckets::{CuckooShape, MAX_LOAD, MAX_TAG_BITS, VacuumShape};

use crate::{
    Adversary, log2,
    tag::{rice_parameter, sorted_list_bits},
};

/// The reason why no filter serves a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The sender may deviate.
    MaliciousSender,
    /// False positives must be rarer than blocks of 128 bits allow.
    TooStrict,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MaliciousSender => {
                "no filter is safe against a malicious sender, which could build one that contains \
                 everything; send whole values as a list"
            }
            Self::TooStrict => {
                "the false-positive rate is below what 128-bit values allow; ask for fewer queries \
                 or a smaller λ"
            }
        })
    }
}

impl std::error::Error for Refused {}

/// The required rarity of false positives, and its justification. Every shape requires a rate, and there is
/// none against malicious senders: the proof that a filter may replace a list (LIANG22 Theorem 1) requires that
/// each value that was not inserted is accepted with the filter's rate. That is true of a filter that was built
/// honestly, but a Bloom filter of ones accepts everything.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// −log2 of the rate.
    bits: f64,
    published: bool,
}

impl Rate {
    /// A rate ε with N ε ≤ 2^-λ for `queries` = N, the maximal number of values that a receiver tests in a run.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn sound(sender: Adversary, queries: usize, lambda: u32) -> Result<Self, Refused> {
        refuse_malicious(sender)?;
        let bits = f64::from(lambda) + log2(queries);
        if bits > 128.0 {
            return Err(Refused::TooStrict);
        }
        Ok(Self { bits, published: false })
    }

    /// The rate of LIANG22 §5.1: 2^-40 per query, for any number of queries. For more than a few queries it
    /// does not satisfy the paper's own Theorem 1; it is included to reproduce its figures.
    ///
    /// # Errors
    /// [`Refused::MaliciousSender`].
    pub fn liang22(sender: Adversary) -> Result<Self, Refused> {
        refuse_malicious(sender)?;
        Ok(Self { bits: 40.0, published: true })
    }

    /// log2 of the rate.
    pub fn log2(self) -> f64 {
        -self.bits
    }
}

fn refuse_malicious(sender: Adversary) -> Result<(), Refused> {
    if sender >= Adversary::MaliciousSender { Err(Refused::MaliciousSender) } else { Ok(()) }
}

/// The properties of all shapes.
pub trait Shape: Copy + Send + Sync + 'static {
    /// The number of items.
    fn items(&self) -> usize;

    /// log2 of a bound on the probability that a random block is mistaken for an item.
    fn log2_rate(&self) -> f64;

    /// Bits on the wire, before fields are rounded up to whole bytes or words.
    fn wire_bits(&self) -> u128;

    /// log2 of a bound on the probability that any of `queries` random blocks is mistaken for an item.
    fn log2_failure(&self, queries: usize) -> f64 {
        self.log2_rate() + log2(queries)
    }
}

/// A list of all items, each truncated to `bits` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListShape {
    /// The number of items.
    pub items: usize,
    /// Bits kept of each, 1 to 128.
    pub bits: u32,
}

impl ListShape {
    /// The shortest values with this rate. LIANG22's have the same length: λ + log n_x + log n_y bits.
    ///
    /// # Errors
    /// [`Refused::TooStrict`].
    pub fn new(items: usize, rate: Rate) -> Result<Self, Refused> {
        let bits = libm::ceil(rate.bits + log2(items)).max(1.0) as u32;
        if bits > 128 { Err(Refused::TooStrict) } else { Ok(Self { items, bits }) }
    }

    /// Whole values: the only shape for a malicious sender.
    pub fn whole(items: usize) -> Self {
        Self { items, bits: 128 }
    }
}

impl Shape for ListShape {
    fn items(&self) -> usize {
        self.items
    }

    fn log2_rate(&self) -> f64 {
        libm::log2(self.items as f64) - f64::from(self.bits)
    }

    fn wire_bits(&self) -> u128 {
        self.items as u128 * u128::from(self.bits)
    }
}

/// The same list in the code that [`crate::tag`] describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortedListShape(pub ListShape);

impl SortedListShape {
    /// Same as [`ListShape::new`].
    ///
    /// # Errors
    /// [`Refused::TooStrict`].
    pub fn new(items: usize, rate: Rate) -> Result<Self, Refused> {
        ListShape::new(items, rate).map(Self)
    }
}

impl Shape for SortedListShape {
    fn items(&self) -> usize {
        self.0.items
    }

    fn log2_rate(&self) -> f64 {
        self.0.log2_rate()
    }

    fn wire_bits(&self) -> u128 {
        let ListShape { items, bits } = self.0;
        sorted_list_bits(items, bits, rice_parameter(items, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LAMBDA;

    #[test]
    fn malicious_senders_get_no_filter() {
        assert_eq!(Rate::sound(Adversary::Malicious, 1, 40), Err(Refused::MaliciousSender));
        assert_eq!(Rate::sound(Adversary::MaliciousSender, 1, 40), Err(Refused::MaliciousSender));
        assert_eq!(Rate::liang22(Adversary::Malicious), Err(Refused::MaliciousSender));
        assert_eq!(ListShape::whole(7), ListShape { items: 7, bits: 128 });
    }

    #[test]
    fn rates_beyond_128_bits_are_refused() {
        let rate = |lambda| Rate::sound(Adversary::SemiHonest, 1 << 20, lambda);
        assert_eq!(rate(109), Err(Refused::TooStrict));
        let strict = rate(90).unwrap();
        assert_eq!(ListShape::new(1 << 20, strict), Err(Refused::TooStrict));
        assert_eq!(CuckooShape::new(1 << 20, strict), Err(Refused::TooStrict));
        assert_eq!(CuckooShape::mobile(1 << 20, strict), Err(Refused::TooStrict));
        assert_eq!(VacuumShape::new(1 << 20, strict), Err(Refused::TooStrict));
    }

    #[test]
    fn refusals_say_what_to_do() {
        assert!(Refused::MaliciousSender.to_string().contains("whole values as a list"));
        assert!(Refused::TooStrict.to_string().contains("fewer queries"));
    }

    #[test]
    fn lists_hold_their_items() {
        // 2^-128 a query, just possible.
        let rate = Rate::sound(Adversary::SemiHonest, 1 << 20, 108).unwrap();
        assert_eq!(ListShape::new(1, rate).unwrap().bits, 128);
        let rate = Rate::sound(Adversary::SemiHonest, 1 << 10, 40).unwrap();
        let list = ListShape::new(1 << 10, rate).unwrap();
        assert_eq!((list.bits, list.items(), list.wire_bits()), (60, 1 << 10, 60 << 10));
        let sorted = SortedListShape::new(1 << 10, rate).unwrap();
        assert_eq!((sorted.items(), sorted.log2_rate()), (1 << 10, -50.0));
        // 50 bits as they are, and 2 in unary.
        assert_eq!(sorted.wire_bits(), 52 << 10);
    }

    #[test]
    fn filters_take_their_slots_and_tags() {
        let rate = Rate::sound(Adversary::SemiHonest, 1 << 10, 40).unwrap();
        let cuckoo = CuckooShape::new(1000, rate).unwrap();
        assert_eq!((cuckoo.items(), cuckoo.buckets, cuckoo.tag_bits), (1000, 512, 52));
        assert_eq!(cuckoo.wire_bits(), 8 + 4 * 512 + 52 * 1000);
        let mobile = CuckooShape::mobile(1000, rate).unwrap();
        assert_eq!((mobile.items(), mobile.buckets, mobile.tag_bits), (1000, 512, 52));
        assert_eq!(mobile.wire_bits(), 8 + 3 * 512 + 52 * 1000);
        let vacuum = VacuumShape::new(1000, rate).unwrap();
        assert_eq!((vacuum.items(), vacuum.tag_bits), (1000, 53));
        assert_eq!(vacuum.wire_bits(), 8 + 4 * vacuum.buckets as u128 + 53 * 1000);
        let bloom = BloomShape::new(1000, rate);
        assert_eq!((bloom.items(), bloom.wire_bits()), (1000, bloom.bits as u128));
        // One bit more than there are hash functions, if there is nothing to hold.
        let none = BloomShape::new(0, rate);
        assert_eq!((none.hashes, none.bits), (50, 51));
    }

    /// Every secure shape satisfies N ε ≤ 2^-λ, and none wastes a bit of its tags.
    #[test]
    fn sound_shapes_meet_theorem_1() {
        for items in [0, 1, 2, 3, 5, 100, 255, 1000, 65_536, 99_991, 1 << 20, 1 << 24] {
            for queries in [0, 1, 3, 1000, 1 << 20, 1 << 24] {
                let rate = Rate::sound(Adversary::SemiHonest, queries, LAMBDA).unwrap();
                let fails = [
                    ListShape::new(items, rate).unwrap().log2_failure(queries),
                    BloomShape::new(items, rate).log2_failure(queries),
                    BloomShape::distinct(items, rate).log2_failure(queries),
                    CuckooShape::new(items, rate).unwrap().log2_failure(queries),
                    CuckooShape::mobile(items, rate).unwrap().log2_failure(queries),
                    VacuumShape::new(items, rate).unwrap().log2_failure(queries),
                ];
                assert!(fails.iter().all(|log2| *log2 <= -40.0 + 1e-9), "{items} {fails:?}");
                let tagged = [fails[0], fails[3], fails[4], fails[5]];
                assert!(items == 0 || tagged.iter().all(|log2| *log2 > -41.0), "{items} {fails:?}");
            }
        }
    }

    #[test]
    fn liang22_misses_its_own_theorem() {
        let rate = Rate::liang22(Adversary::SemiHonest).unwrap();
        let full = 4 * (1 << 18) * 955 / 1000 - 4;
        let shape = CuckooShape::new(full, rate).unwrap();
        // Table 1: 2^⌈log(0.26 n + 1)⌉ buckets, 48 bits.
        assert_eq!((shape.buckets, shape.tag_bits), (1 << 18, 48));
        assert!((shape.log2_rate() + 45.0).abs() < 0.1, "{}", shape.log2_rate());
        let failure = shape.log2_failure(1 << 20);
        assert!((failure + 25.0).abs() < 0.1, "2^{failure} a run, not 2^-40");
        assert_eq!(CuckooShape::mobile(1000, rate).unwrap().tag_bits, 32);
    }
}
