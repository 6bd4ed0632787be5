//! The buckets and tags of cuckoo and vacuum filters.

use super::{Rate, Refused, Shape};

/// The maximal length of a tag of a cuckoo or vacuum filter, in bits; the rest of a block selects its bucket.
pub const MAX_TAG_BITS: u32 = 84;

/// Tags of LIANG22: the 43 bits that 2^-40 requires, rounded up to whole bytes.
const LIANG22_TAG_BITS: u32 = 48;

/// The maximal load of a filter with buckets: that for which cuckoo filters with four slots are designed.
pub const MAX_LOAD: f64 = 0.955;

/// A cuckoo filter: each item's tag is in one of two buckets; the number of buckets is a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuckooShape {
    /// The number of items.
    pub items: usize,
    /// The number of buckets, a power of two.
    pub buckets: usize,
    /// Tags per bucket.
    pub slots: usize,
    /// Bits of a tag.
    pub tag_bits: u32,
}

impl CuckooShape {
    /// Four slots per bucket, with a load of at most [`MAX_LOAD`]; tags of 48 bits as published.
    ///
    /// # Errors
    /// [`Refused::TooStrict`].
    pub fn new(items: usize, rate: Rate) -> Result<Self, Refused> {
        let buckets = (buckets(items, 4, MAX_LOAD) + 1).next_power_of_two();
        let tag_bits = rate.tag_bits(LIANG22_TAG_BITS, items, buckets)?;
        Ok(Self { items, buckets, slots: 4, tag_bits })
    }

    /// The filter of mobile contact discovery (KRSSW19): three slots per bucket, with a load of at most 0.66;
    /// tags of 32 bits as published, for 2^-29 per query.
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

/// A vacuum filter: like a cuckoo filter with four slots, for any number of buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VacuumShape {
    /// The number of items.
    pub items: usize,
    /// The number of buckets: a multiple of the first chunk, or any even number.
    pub buckets: usize,
    /// The size of the chunk that contains both buckets of an item, a power of two for each class of tags;
    /// without chunks they may be anywhere.
    pub chunks: Option<[usize; 4]>,
    /// Bits of a tag.
    pub tag_bits: u32,
}

impl VacuumShape {
    /// Slots of a bucket.
    pub const SLOTS: usize = 4;

    /// Expected loads of the four classes of chunks, as corrected by LIANG22 §5.1; with the loads of the vacuum
    /// filter's authors, (1, 0.75, 0.5, 0.25), insertions fail.
    pub const CHUNK_LOADS: [f64; 4] = [1.0, 0.9, 0.7, 0.4];

    /// The number of items from which there are chunks.
    const CHUNKED: usize = 1 << 18;

    /// The shape for a rate; tags of 48 bits as published. Below 2^18 items chunks are not used, because a whole number
    /// of them would waste the space that the filter saves.
    ///
    /// # Errors
    /// [`Refused::TooStrict`].
    pub fn new(items: usize, rate: Rate) -> Result<Self, Refused> {
        if items >= Self::CHUNKED {
            return Self::chunked(items, rate);
        }
        // Few items may crowd into a few buckets by chance; two more buckets give them room.
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

    /// The smallest power of two of buckets for chunks such that `items` · `load` items, distributed over the
    /// chunks at random, are not expected to fill any beyond 0.97.
    pub fn chunk(items: usize, load: f64) -> usize {
        let room = |chunk: usize| 0.97 * (Self::SLOTS * chunk) as f64;
        let fullest = |chunk: usize| {
            let count = buckets(items, Self::SLOTS * chunk, MAX_LOAD) as f64;
            let mean = (Self::SLOTS * chunk) as f64 * load * MAX_LOAD;
            mean + 1.5 * libm::sqrt(2.0 * mean * libm::log(count))
        };
        // A single chunk is always large enough.
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

impl Rate {
    /// Bits of the tags of `items` in `buckets`: as many as the rate requires, or as published.
    fn tag_bits(self, published: u32, items: usize, buckets: usize) -> Result<u32, Refused> {
        if self.published {
            return Ok(published);
        }
        let bits = libm::ceil(self.bits + log2_compared(items, buckets)).max(1.0) as u32;
        if bits > MAX_TAG_BITS { Err(Refused::TooStrict) } else { Ok(bits) }
    }
}

/// log2 of the average number of tags with which a query is compared: each item is in one of the two buckets of
/// a query with the same tag with probability 2 / buckets.
fn log2_compared(items: usize, buckets: usize) -> f64 {
    libm::log2(2.0 * items as f64 / buckets as f64)
}

/// The number of buckets of `slots` that hold `items` at a load of at most `load`.
fn buckets(items: usize, slots: usize, load: f64) -> usize {
    (libm::ceil(items as f64 / (slots as f64 * load)) as usize).max(1)
}

/// Wire bits of a filter with buckets: the number of the attempt, one bit for each slot, and the tags of taken
/// slots.
fn bucketed_bits(items: usize, buckets: usize, slots: usize, tag_bits: u32) -> u128 {
    8 + (buckets * slots) as u128 + items as u128 * u128::from(tag_bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adversary, LAMBDA};

    fn sound(queries: usize) -> Rate {
        Rate::sound(Adversary::SemiHonest, queries, LAMBDA).unwrap()
    }

    #[test]
    fn tags_are_as_long_as_they_may_be() {
        let (items, buckets) = (1 << 12, 1 << 13);
        // A query is compared with one tag on average.
        let bits = |more: f64| {
            let rate = Rate { bits: f64::from(MAX_TAG_BITS) + more, published: false };
            rate.tag_bits(32, items, buckets)
        };
        assert_eq!(bits(0.0), Ok(MAX_TAG_BITS));
        assert_eq!(bits(0.01), Err(Refused::TooStrict));
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
