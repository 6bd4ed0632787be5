//! Buckets of tags, each tag in one of two: what cuckoo and vacuum filters have in common.
//!
//! A bucket holds `SLOTS` tags. The other bucket to which a tag may move follows from the tag and its bucket
//! alone, because the items are no longer available. Items are inserted in ascending order, and room is made
//! by the shortest sequence of moves, so that the buckets are a function of the set. If no sequence is found,
//! the build starts over with the items' next hashes. The number of restarts is the first byte on the wire;
//! it reveals nothing that the values themselves would not.
//!
//! On the wire: that byte; a bit for each slot that tells whether it is taken; the tags, without gaps. The
//! tags of a bucket are sorted and fill it from the start. The two fields are padded to whole bytes.

use vesica_params::filter::MAX_TAG_BITS;
use vesica_primitives::{
    Block,
    aes::CorrelationRobust,
    packed::{pack_into, packed_len, unpack},
};

use super::{BuildError, DecodeError, check_len, check_padding};

/// Bits of a block that find its first bucket, the lowest; the highest are its tag. With fewer than
/// 2^32 buckets, they are uniform up to 2^-12.
const BUCKET_BITS: u32 = 128 - MAX_TAG_BITS;

/// How many buckets one insertion looks at. A search meets a free slot after a dozen or two, even at a
/// load of 0.955, so that this many are only looked at where nearly no way out exists.
const MAX_SEARCH: usize = 4096;

/// Which buckets a tag may be in.
pub(super) trait Pairing: Copy {
    /// How many buckets there are.
    fn buckets(&self) -> usize;

    /// The other bucket of a tag in `bucket`; its other is `bucket` again.
    fn other(&self, bucket: usize, tag: u128) -> usize;
}

/// The other bucket of a tag in its chunk, where chunks are a power of two of buckets: the numbers of a
/// pair add up, bit by bit, to a nonzero number. A bucket that is all of its chunk is its own other.
pub(super) fn other_in_chunk(bucket: usize, tag: u128, chunk: usize) -> usize {
    bucket ^ (spread(tag, chunk - 1) + 1).min(chunk - 1)
}

/// A number below `bound` that depends on every bit of a tag's lower half: tags that are short, or
/// whose lowest bits choose a class, still lead everywhere.
pub(super) fn spread(tag: u128, bound: usize) -> usize {
    // An odd number without pattern: 2^64 over the golden ratio.
    let spread = (tag as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(spread) * bound as u128) >> 64) as usize
}

/// How much there is to hold.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) items: usize,
    pub(super) tag_bits: u32,
}

/// A taken slot is twice its tag plus one, an empty one is zero.
pub(super) struct Buckets<const SLOTS: usize, P> {
    pairing: P,
    size: Size,
    attempt: u8,
    hash: CorrelationRobust,
    slots: Vec<[u128; SLOTS]>,
}

impl<const SLOTS: usize, P: Pairing> Buckets<SLOTS, P> {
    /// Seats items, which are in ascending order.
    pub(super) fn build(items: &[Block], size: Size, pairing: P) -> Result<Self, BuildError> {
        if items.len() > SLOTS * pairing.buckets() {
            return Err(BuildError::Full);
        }
        let mut buckets = Self::empty(size, pairing);
        let mut search = Vec::new();
        for attempt in 0..=u8::MAX {
            buckets.attempt = attempt;
            if items.iter().all(|item| buckets.insert(*item, &mut search)) {
                // Free slots are the last of their buckets as they are zero.
                buckets.slots.iter_mut().for_each(|slots| slots.sort_unstable_by(|a, b| b.cmp(a)));
                return Ok(buckets);
            }
            buckets.slots.fill([0; SLOTS]);
        }
        Err(BuildError::Full)
    }

    pub(super) fn contains(&self, value: Block) -> bool {
        let (bucket, tag) = self.place(value);
        let slot = taken(tag);
        self.slots[bucket].contains(&slot)
            || self.slots[self.pairing.other(bucket, tag)].contains(&slot)
    }

    pub(super) fn encoded_len(size: Size, pairing: P) -> usize {
        1 + (pairing.buckets() * SLOTS).div_ceil(8) + packed_len(size.items, size.tag_bits)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::encoded_len(self.size, self.pairing) + 8);
        bytes.push(self.attempt);
        let slots = self.slots.as_flattened();
        let bit = |slot: &u128| u128::from(*slot != 0);
        pack_into(&mut bytes, slots.iter().map(bit), 1);
        let tags: Vec<u128> =
            slots.iter().filter(|slot| **slot != 0).map(|slot| slot >> 1).collect();
        pack_into(&mut bytes, tags.into_iter(), self.size.tag_bits);
        bytes
    }

    pub(super) fn decode(bytes: &[u8], size: Size, pairing: P) -> Result<Self, DecodeError> {
        check_len(bytes, Self::encoded_len(size, pairing))?;
        let slots = pairing.buckets() * SLOTS;
        let (map, tags) = bytes[1..].split_at(slots.div_ceil(8));
        check_padding(map, slots)?;
        check_padding(tags, size.items * size.tag_bits as usize)?;
        if map.iter().map(|byte| byte.count_ones() as usize).sum::<usize>() != size.items {
            return Err(DecodeError::Count);
        }
        let mut buckets = Self::empty(size, pairing);
        buckets.attempt = bytes[0];
        let mut tags = unpack(tags, size.items, size.tag_bits);
        for (bit, slot) in buckets.slots.as_flattened_mut().iter_mut().enumerate() {
            if map[bit / 8] >> (bit % 8) & 1 == 1 {
                // As many ones as tags were counted.
                *slot = tags.next().map_or(0, taken);
            }
        }
        for slots in &buckets.slots {
            let count = slots.iter().filter(|slot| **slot != 0).count();
            if slots[..count].contains(&0) {
                return Err(DecodeError::Gap);
            }
            if !slots.is_sorted_by(|a, b| a >= b) {
                return Err(DecodeError::Order);
            }
        }
        Ok(buckets)
    }

    fn empty(size: Size, pairing: P) -> Self {
        assert!((1..=MAX_TAG_BITS).contains(&size.tag_bits), "tags of 1 to {MAX_TAG_BITS} bits");
        assert!(pairing.buckets() > 0, "a bucket");
        let slots = vec![[0; SLOTS]; pairing.buckets()];
        Self { pairing, size, attempt: 0, hash: CorrelationRobust::new(Block::ZERO), slots }
    }

    /// The first bucket and the tag of an item in this attempt.
    fn place(&self, item: Block) -> (usize, u128) {
        let mut hash = [item];
        if self.attempt > 0 {
            hash[0].0 ^= u128::from(self.attempt);
            self.hash.apply(&mut hash);
        }
        let [hash] = hash;
        let field = hash.0 & ((1 << BUCKET_BITS) - 1);
        let bucket = ((field * self.pairing.buckets() as u128) >> BUCKET_BITS) as usize;
        (bucket, hash.0 >> (128 - self.size.tag_bits))
    }

    /// Seats an item, moving others where both of its buckets are full: breadth first, so that the
    /// first free slot found is at the end of a shortest path, which meets no bucket twice.
    fn insert(&mut self, item: Block, search: &mut Vec<Step>) -> bool {
        let (bucket, tag) = self.place(item);
        search.clear();
        let root = |bucket| Step { bucket, before: 0, slot: 0 };
        search.extend([bucket, self.pairing.other(bucket, tag)].map(root));
        let mut looked_at = 0;
        for before in 0.. {
            while let Some(step) = search.get(looked_at) {
                if let Some(free) = self.slots[step.bucket].iter().position(|slot| *slot == 0) {
                    self.shift(search, looked_at, free, taken(tag));
                    return true;
                }
                looked_at += 1;
            }
            if before == looked_at || looked_at > MAX_SEARCH {
                break;
            }
            let bucket = search[before].bucket;
            for (slot, tag) in self.slots[bucket].iter().enumerate() {
                let bucket = self.pairing.other(bucket, tag >> 1);
                search.push(Step { bucket, before: before as u32, slot: slot as u32 });
            }
        }
        false
    }

    /// Moves each tag along the path that ends in a free slot, and puts the new one where the path
    /// starts, in one of the first two steps.
    fn shift(&mut self, search: &[Step], mut at: usize, mut free: usize, new: u128) {
        while at >= 2 {
            let Step { bucket, before, slot } = search[at];
            let from = search[before as usize].bucket;
            self.slots[bucket][free] = self.slots[from][slot as usize];
            (at, free) = (before as usize, slot as usize);
        }
        self.slots[search[at].bucket][free] = new;
    }
}

/// A bucket on the way to a free slot, and the step and slot that a tag would come from.
#[derive(Clone, Copy)]
struct Step {
    bucket: usize,
    before: u32,
    slot: u32,
}

fn taken(tag: u128) -> u128 {
    tag << 1 | 1
}
