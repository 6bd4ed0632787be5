//! Filters that stand in for a sender's final list: the rate a protocol needs, and the shape of each
//! filter that has it.
//!
//! All hold `items` pseudo-random blocks of 128 bits. Rates are bounds for a query that is as random
//! and not among them; since two blocks may be equal, no filter is better than items · 2^-128.

use std::fmt;

use crate::{
    Adversary, log2,
    tag::{rice_parameter, sorted_list_bits},
};

/// Why there is no filter for a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The sender may do anything.
    MaliciousSender,
    /// A false positive would have to be rarer than blocks of 128 bits allow.
    TooStrict,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MaliciousSender => {
                "no filter is safe against a malicious sender, who could build one that contains \
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

/// How rare false positives have to be, and on which authority. Every shape asks for one, and there
/// is none against malicious senders: the proof that a filter may replace a list (LIANG22 Theorem 1)
/// has each value that was not inserted accepted with the filter's rate, which holds of a filter that
/// was built honestly; a Bloom filter of ones accepts all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// −log2 of the rate.
    bits: f64,
    published: bool,
}

impl Rate {
    /// A rate ε with N ε ≤ 2^-λ for `queries` = N, the most values a receiver tests in a run.
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

    /// The rate of LIANG22 §5.1: 2^-40 a query, however many there are. It misses the paper's own
    /// Theorem 1 for more than a few queries, and is here to reproduce its figures.
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

    /// Bits of the tags of `items` in `buckets`: as many as the rate asks for, or as published.
    fn tag_bits(self, published: u32, items: usize, buckets: usize) -> Result<u32, Refused> {
        if self.published {
            return Ok(published);
        }
        let bits = libm::ceil(self.bits + log2_compared(items, buckets)).max(1.0) as u32;
        if bits > MAX_TAG_BITS { Err(Refused::TooStrict) } else { Ok(bits) }
    }
}

fn refuse_malicious(sender: Adversary) -> Result<(), Refused> {
    if sender >= Adversary::Malicious { Err(Refused::MaliciousSender) } else { Ok(()) }
}

/// What all shapes tell.
pub trait Shape: Copy {
    /// How many items there are.
    fn items(&self) -> usize;

    /// log2 of a bound on the probability that a random block is taken for one of the items.
    fn log2_rate(&self) -> f64;

    /// Bits on the wire, before fields are rounded up to whole bytes or words.
    fn wire_bits(&self) -> u128;

    /// log2 of a bound on the probability that any of `queries` random blocks is taken for an item.
    fn log2_failure(&self, queries: usize) -> f64 {
        self.log2_rate() + log2(queries)
    }
}

/// A list of all items, each cut to `bits` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListShape {
    /// How many items.
    pub items: usize,
    /// Bits kept of each, 1 to 128.
    pub bits: u32,
}

impl ListShape {
    /// The shortest values with a rate. LIANG22's are as long: λ + log n_x + log n_y bits.
    ///
    /// # Errors
    /// [`Refused::TooStrict`].
    pub fn new(items: usize, rate: Rate) -> Result<Self, Refused> {
        let bits = libm::ceil(rate.bits + log2(items)).max(1.0) as u32;
        if bits > 128 { Err(Refused::TooStrict) } else { Ok(Self { items, bits }) }
    }

    /// Whole values: the only shape for a sender who may do anything.
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
    /// As [`ListShape::new`].
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

/// A Bloom filter: each item sets `hashes` of `bits` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomShape {
    /// How many items.
    pub items: usize,
    /// Bits of the filter.
    pub bits: usize,
    /// Positions an item has.
    pub hashes: usize,
    /// Whether an item's positions all differ.
    pub distinct: bool,
}

impl BloomShape {
    /// The classic filter. A position may come up twice for an item, which makes false positives
    /// likelier than fill^hashes; sound shapes of few items have some more bits for that.
    pub fn new(items: usize, rate: Rate) -> Self {
        Self::with_rate(items, rate, false)
    }

    /// The filter whose items have distinct positions.
    pub fn distinct(items: usize, rate: Rate) -> Self {
        Self::with_rate(items, rate, true)
    }

    /// The sparse filter of RR16, made for its cut-and-choose: so empty that a receiver who cheats on
    /// some bits gains nothing. Positions and bits per item are its authors' (RR16's code; there is no
    /// formula), with positions of the next larger row and bits per item of the next smaller.
    pub fn sparse(items: usize) -> Self {
        const ROWS: [(u32, usize, usize); 8] = [
            (8, 94, 88_627),
            (10, 94, 302_436),
            (12, 94, 1_121_959),
            (13, 92, 2_181_857),
            (14, 93, 4_270_964),
            (16, 91, 16_579_297),
            (18, 90, 65_163_755),
            (20, 90, 257_635_123),
        ];
        let hashes = ROWS.iter().find(|row| items <= 1 << row.0).map_or(90, |row| row.1);
        let below = ROWS.iter().rfind(|row| items >= 1 << row.0).unwrap_or(&ROWS[0]);
        let bits = (items as u128 * below.2 as u128).div_ceil(1 << below.0) as usize;
        Self { items, bits: bits.max(hashes + 1), hashes, distinct: true }
    }

    fn with_rate(items: usize, rate: Rate, distinct: bool) -> Self {
        let hashes = libm::ceil(rate.bits).max(1.0) as usize;
        let classic = libm::ceil((items * hashes) as f64 / std::f64::consts::LN_2) as usize;
        let shape = |bits| Self { items, bits, hashes, distinct };
        let mut low = hashes + 1;
        if rate.published {
            return shape(classic.max(low));
        }
        let enough = |bits: usize| shape(bits).log2_rate() <= rate.log2();
        let mut high = classic.max(low);
        while !enough(high) {
            (low, high) = (high + 1, high * 2);
        }
        while low < high {
            let middle = low.midpoint(high);
            if enough(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        shape(high)
    }

    /// The expected part of bits that are set.
    pub fn fill(&self) -> f64 {
        let (items, bits) = (self.items as f64, self.bits as f64);
        let missed = if self.distinct {
            items * libm::log1p(-(self.hashes as f64) / bits)
        } else {
            items * self.hashes as f64 * libm::log1p(-1.0 / bits)
        };
        -libm::expm1(missed)
    }
}

impl Shape for BloomShape {
    fn items(&self) -> usize {
        self.items
    }

    /// Set bits are negatively associated, so d distinct ones are all set with probability at most
    /// fill^d. With positions that may be equal, the mean of that over how many distinct ones a query
    /// has.
    fn log2_rate(&self) -> f64 {
        let fill = self.fill();
        if self.distinct {
            return self.hashes as f64 * libm::log2(fill);
        }
        // `of[d]` is the probability that the positions so far are d distinct ones.
        let mut of = vec![0.0; self.hashes + 1];
        of[0] = 1.0;
        for drawn in 1..=self.hashes {
            for d in (1..=drawn).rev() {
                let seen = |d: usize| d as f64 / self.bits as f64;
                of[d] = of[d] * seen(d) + of[d - 1] * (1.0 - seen(d - 1));
            }
            of[0] = 0.0;
        }
        let hit = |d: usize| of[d] * libm::pow(fill, d as f64);
        libm::log2((0..=self.hashes).map(hit).sum())
    }

    fn wire_bits(&self) -> u128 {
        self.bits as u128
    }
}

/// The longest tag of a cuckoo or vacuum filter, in bits; the rest of a block finds its bucket.
pub const MAX_TAG_BITS: u32 = 84;

/// Tags of LIANG22: the 43 bits that 2^-40 takes, in whole bytes.
const LIANG22_TAG_BITS: u32 = 48;

/// The most a bucketed filter may be loaded: the load that cuckoo filters with four slots are made for.
pub const MAX_LOAD: f64 = 0.955;

/// log2 of how many tags a query is compared with on average: each item sits in one of the two
/// buckets of a query that has its tag with probability 2 / buckets.
fn log2_compared(items: usize, buckets: usize) -> f64 {
    libm::log2(2.0 * items as f64 / buckets as f64)
}

/// Buckets of `slots` that hold `items` at no more than `load`.
fn buckets(items: usize, slots: usize, load: f64) -> usize {
    (libm::ceil(items as f64 / (slots as f64 * load)) as usize).max(1)
}

/// Wire bits of a bucketed filter: which attempt it was, a bit for each slot, the tags of those taken.
fn bucketed_bits(items: usize, buckets: usize, slots: usize, tag_bits: u32) -> u128 {
    8 + (buckets * slots) as u128 + items as u128 * u128::from(tag_bits)
}

/// A cuckoo filter: each item's tag sits in one of two buckets, a power of two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuckooShape {
    /// How many items.
    pub items: usize,
    /// Buckets, a power of two.
    pub buckets: usize,
    /// Tags a bucket has room for.
    pub slots: usize,
    /// Bits of a tag.
    pub tag_bits: u32,
}

impl CuckooShape {
    /// Four slots a bucket, loaded to at most [`MAX_LOAD`]; tags of 48 bits as published.
    ///
    /// # Errors
    /// [`Refused::TooStrict`].
    pub fn new(items: usize, rate: Rate) -> Result<Self, Refused> {
        let buckets = (buckets(items, 4, MAX_LOAD) + 1).next_power_of_two();
        let tag_bits = rate.tag_bits(LIANG22_TAG_BITS, items, buckets)?;
        Ok(Self { items, buckets, slots: 4, tag_bits })
    }

    /// The filter of mobile contact discovery (KRSSW19): three slots a bucket, loaded to at most 0.66;
    /// tags of 32 bits as published, for 2^-29 a query.
    ///
    /// # Errors
    /// [`Refused::TooStrict`].
    pub fn mobile(items: usize, rate: Rate) -> Result<Self, Refused> {
        let buckets = buckets(items, 3, 0.66).next_power_of_two();
        let tag_bits = rate.tag_bits(32, items, buckets)?;
        Ok(Self { items, buckets, slots: 3, tag_bits })
    }
}

impl Shape for CuckooShape {
    fn items(&self) -> usize {
        self.items
    }

    fn log2_rate(&self) -> f64 {
        log2_compared(self.items, self.buckets) - f64::from(self.tag_bits)
    }

    fn wire_bits(&self) -> u128 {
        bucketed_bits(self.items, self.buckets, self.slots, self.tag_bits)
    }
}

/// A vacuum filter: as a cuckoo filter with four slots, but for any number of buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VacuumShape {
    /// How many items.
    pub items: usize,
    /// Buckets: a multiple of the first chunk, or any even number.
    pub buckets: usize,
    /// Buckets in the chunk that both buckets of an item lie in, a power of two for each class of
    /// tags; without chunks they lie anywhere.
    pub chunks: Option<[usize; 4]>,
    /// Bits of a tag.
    pub tag_bits: u32,
}

impl VacuumShape {
    /// Slots of a bucket.
    pub const SLOTS: usize = 4;

    /// Expected loads of the four classes of chunks, as LIANG22 §5.1 corrects those of the vacuum
    /// filter's authors, (1, 0.75, 0.5, 0.25), under which insertions fail.
    pub const CHUNK_LOADS: [f64; 4] = [1.0, 0.9, 0.7, 0.4];

    /// From how many items on there are chunks.
    const CHUNKED: usize = 1 << 18;

    /// The shape for a rate; tags of 48 bits as published. Without chunks below 2^18 items, where a
    /// whole number of chunks would waste what the filter is to save.
    ///
    /// # Errors
    /// [`Refused::TooStrict`].
    pub fn new(items: usize, rate: Rate) -> Result<Self, Refused> {
        if items >= Self::CHUNKED {
            return Self::chunked(items, rate);
        }
        // Few items may crowd at a few buckets by chance; two more buckets give them room.
        let buckets = (buckets(items, Self::SLOTS, MAX_LOAD) + 2).next_multiple_of(2);
        let tag_bits = rate.tag_bits(LIANG22_TAG_BITS, items, buckets)?;
        Ok(Self { items, buckets, chunks: None, tag_bits })
    }

    /// The shape with chunks, for any number of items.
    ///
    /// # Errors
    /// [`Refused::TooStrict`].
    pub fn chunked(items: usize, rate: Rate) -> Result<Self, Refused> {
        let chunks = Self::CHUNK_LOADS.map(|load| Self::chunk(items, load));
        let buckets = buckets(items, Self::SLOTS, MAX_LOAD).next_multiple_of(chunks[0]);
        let tag_bits = rate.tag_bits(LIANG22_TAG_BITS, items, buckets)?;
        Ok(Self { items, buckets, chunks: Some(chunks), tag_bits })
    }

    /// The least power of two of buckets for chunks in which `items` · `load` items, spread over the
    /// chunks at random, are not expected to fill any beyond 0.97.
    pub fn chunk(items: usize, load: f64) -> usize {
        let room = |chunk: usize| 0.97 * (Self::SLOTS * chunk) as f64;
        let fullest = |chunk: usize| {
            let count = buckets(items, Self::SLOTS * chunk, MAX_LOAD) as f64;
            let mean = (Self::SLOTS * chunk) as f64 * load * MAX_LOAD;
            mean + 1.5 * libm::sqrt(2.0 * mean * libm::log(count))
        };
        // One chunk is always large enough.
        let mut chunk = 1;
        while fullest(chunk) >= room(chunk) {
            chunk *= 2;
        }
        chunk
    }
}

impl Shape for VacuumShape {
    fn items(&self) -> usize {
        self.items
    }

    fn log2_rate(&self) -> f64 {
        log2_compared(self.items, self.buckets) - f64::from(self.tag_bits)
    }

    fn wire_bits(&self) -> u128 {
        bucketed_bits(self.items, self.buckets, Self::SLOTS, self.tag_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LAMBDA;

    fn sound(queries: usize) -> Rate {
        Rate::sound(Adversary::SemiHonest, queries, LAMBDA).unwrap()
    }

    #[test]
    fn malicious_senders_get_no_filter() {
        assert_eq!(Rate::sound(Adversary::Malicious, 1, 40), Err(Refused::MaliciousSender));
        assert_eq!(Rate::liang22(Adversary::Malicious), Err(Refused::MaliciousSender));
        assert_eq!(ListShape::whole(7), ListShape { items: 7, bits: 128 });
    }

    #[test]
    fn what_128_bits_cannot_give_is_refused() {
        let rate = |lambda| Rate::sound(Adversary::SemiHonest, 1 << 20, lambda);
        assert_eq!(rate(109), Err(Refused::TooStrict));
        let strict = rate(90).unwrap();
        assert_eq!(ListShape::new(1 << 20, strict), Err(Refused::TooStrict));
        assert_eq!(CuckooShape::new(1 << 20, strict), Err(Refused::TooStrict));
        assert_eq!(CuckooShape::mobile(1 << 20, strict), Err(Refused::TooStrict));
        assert_eq!(VacuumShape::new(1 << 20, strict), Err(Refused::TooStrict));
    }

    /// Every sound shape keeps N ε ≤ 2^-λ, and none wastes a bit of its tags.
    #[test]
    fn sound_shapes_meet_theorem_1() {
        for items in [0, 1, 2, 3, 5, 100, 255, 1000, 65_536, 99_991, 1 << 20, 1 << 24] {
            for queries in [0, 1, 3, 1000, 1 << 20, 1 << 24] {
                let rate = sound(queries);
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

    #[test]
    fn bloom_filters_of_many_items_are_the_classic_ones() {
        let shape = BloomShape::new(1 << 20, sound(1 << 20));
        assert_eq!(shape.hashes, 60);
        let bits = shape.bits as f64 / f64::from(1 << 20);
        assert!((bits - 86.6).abs() < 0.05, "{bits} bits an item");
        // Table 1: n λ / ln 2 bits.
        let published = BloomShape::new(1000, Rate::liang22(Adversary::SemiHonest).unwrap());
        assert_eq!((published.hashes, published.bits), (40, 57_708));
        // Of few items, equal positions count: the classic filter of one item has far more than
        // 2^-40, one of distinct positions is better than fill^40 promises.
        let classic = BloomShape { items: 1, bits: 58, hashes: 40, distinct: false };
        assert!(classic.log2_rate() > -38.0, "{}", classic.log2_rate());
        assert!(BloomShape::new(1, sound(1)).bits > 58);
    }

    #[test]
    fn the_rate_of_few_positions_is_the_sum_by_hand() {
        // Two positions out of three: equal with probability 1/3; one item fills 5/9 on average.
        let shape = BloomShape { items: 1, bits: 3, hashes: 2, distinct: false };
        let fill: f64 = 5.0 / 9.0;
        let by_hand = fill / 3.0 + fill * fill * 2.0 / 3.0;
        assert!((shape.log2_rate() - libm::log2(by_hand)).abs() < 1e-12);
    }

    #[test]
    fn sparse_filters_equal_the_table_and_are_sparse() {
        let at = |e: u32| (BloomShape::sparse(1 << e).hashes, BloomShape::sparse(1 << e).bits);
        assert_eq!([8, 14, 20].map(at), [(94, 88_627), (93, 4_270_964), (90, 257_635_123)]);
        for items in [0, 1, 2, 3, 100, 1000, 5000, 65_537, 3_000_000] {
            let shape = BloomShape::sparse(items);
            assert!(shape.log2_rate() < -128.0, "{items}: 2^{}", shape.log2_rate());
            assert!(shape.fill() < 0.32, "{items}: {}", shape.fill());
        }
    }

    #[test]
    fn chunks_are_those_of_range_selection() {
        let rate = sound(1 << 20);
        let shape = VacuumShape::new(1 << 20, rate).unwrap();
        // By hand: 4,775 ln c < L for the first, 79 ln c, 8.3 ln c and 1.24 ln c for the others.
        assert_eq!(shape.chunks, Some([16_384, 512, 128, 16]));
        assert_eq!(shape.buckets, 17 * 16_384);
        assert_eq!(shape.tag_bits, 63);
        assert_eq!(VacuumShape::new(1 << 17, rate).unwrap().chunks, None);
    }

    #[test]
    fn a_vacuum_filter_has_no_jumps() {
        for items in (1 << 8..1 << 16).step_by(997) {
            let shape = VacuumShape::new(items, sound(items)).unwrap();
            let load = items as f64 / (4 * shape.buckets) as f64;
            assert!((0.90..=MAX_LOAD).contains(&load), "{items}: {load}");
        }
    }
}
