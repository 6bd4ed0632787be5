//! The buckets and tags of cuckoo and vacuum filters.

use super::{Rate, Refused, Shape};

/// The longest tag of a cuckoo or vacuum filter, in bits; the rest of a block finds its bucket.
pub const MAX_TAG_BITS: u32 = 84;

/// Tags of LIANG22: the 43 bits that 2^-40 takes, in whole bytes.
const LIANG22_TAG_BITS: u32 = 48;

/// The most a bucketed filter may be loaded: the load that cuckoo filters with four slots are made for.
pub const MAX_LOAD: f64 = 0.955;

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

impl Rate {
    /// Bits of the tags of `items` in `buckets`: as many as the rate asks for, or as published.
    fn tag_bits(self, published: u32, items: usize, buckets: usize) -> Result<u32, Refused> {
        if self.published {
            return Ok(published);
        }
        let bits = libm::ceil(self.bits + log2_compared(items, buckets)).max(1.0) as u32;
        if bits > MAX_TAG_BITS { Err(Refused::TooStrict) } else { Ok(bits) }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adversary, LAMBDA};

    fn sound(queries: usize) -> Rate {
        Rate::sound(Adversary::SemiHonest, queries, LAMBDA).unwrap()
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
