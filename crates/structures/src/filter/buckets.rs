//! Buckets of tags, each tag in one of two: the part that cuckoo and vacuum filters share.
//!
//! A bucket holds `SLOTS` tags. The other bucket to which a tag may move follows from only the tag and its bucket,
//! because the items are not available any more. Items are inserted in ascending order, and room is made by the
//! shortest sequence of moves, so that the buckets are a function of the set. If no sequence is found, the build starts
//! over with the items' next hashes. The number of restarts is the first byte on the wire; it reveals nothing that the
//! values themselves would not.
//!
//! On the wire: that byte; a bit for each slot that says whether it is taken; the tags, without gaps. The
//! tags of a bucket are sorted and fill it from the start. The two fields are padded to whole bytes.

use vesica_params::filter::MAX_TAG_BITS;
use vesica_primitives::{
    Block,
    aes::CorrelationRobust,
    packed::{pack_into, packed_len, unpack},
};

use super::{BuildError, DecodeError, check_len, check_padding};

/// The lowest bits of a block, which select its first bucket; the highest bits are its tag. With fewer than
/// 2^32 buckets, the selection is uniform up to 2^-12.
const BUCKET_BITS: u32 = 128 - MAX_TAG_BITS;

/// The number of buckets that one insertion may visit. Even at a load of 0.955 a search finds a free slot after
/// a dozen or two, so it reaches this number only if hardly any free slot is reachable.
const MAX_SEARCH: usize = 4096;

/// The buckets that a tag may be in.
pub(super) trait Pairing: Copy {
    /// The number of buckets.
    fn buckets(&self) -> usize;

    /// The other bucket of a tag in `bucket`; applied twice, this gives `bucket` again.
    fn other(&self, bucket: usize, tag: u128) -> usize;
}

/// The other bucket of a tag within its chunk, whose number of buckets is a power of two: the exclusive or of
/// the two numbers is a nonzero number. In a chunk of one bucket, that bucket is its own other.
pub(super) fn other_in_chunk(bucket: usize, tag: u128, chunk: usize) -> usize {
    bucket ^ (spread(tag, chunk - 1) + 1).min(chunk - 1)
}

/// A number below `bound` that depends on every bit of a tag's lower half, so that short tags, and tags whose
/// lowest bits choose a class, still reach every number.
pub(super) fn spread(tag: u128, bound: usize) -> usize {
    // An odd number without a pattern: 2^64 over the golden ratio.
    let spread = (tag as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(spread) * bound as u128) >> 64) as usize
}

/// The sizes of a filter.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) items: usize,
    pub(super) tag_bits: u32,
}

/// A taken slot holds twice its tag plus one, an empty one zero.
pub(super) struct FilterBuckets<const SLOTS: usize, P> {
    pairing: P,
    size: Size,
    attempt: u8,
    hash: CorrelationRobust,
    slots: Vec<[u128; SLOTS]>,
}

impl<const SLOTS: usize, P: Pairing> FilterBuckets<SLOTS, P> {
    /// Inserts items, which are in ascending order.
    pub(super) fn build(items: &[Block], size: Size, pairing: P) -> Result<Self, BuildError> {
        if items.len() > SLOTS * pairing.buckets() {
            return Err(BuildError::Full);
        }
        let mut buckets = Self::empty(size, pairing);
        let mut search = Vec::new();
        for attempt in 0..=u8::MAX {
            buckets.attempt = attempt;
            if items.iter().all(|item| buckets.insert(*item, &mut search)) {
                // Empty slots are zero and so come last in their buckets.
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
                // There are as many ones as counted tags.
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

    /// Inserts an item, moving others if both of its buckets are full. The search is breadth first, so the
    /// first free slot found is at the end of a shortest path, which visits no bucket twice.
    fn insert(&mut self, item: Block, search: &mut Vec<BucketStep>) -> bool {
        let (bucket, tag) = self.place(item);
        search.clear();
        let root = |bucket| BucketStep { bucket, before: 0, slot: 0 };
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
                search.push(BucketStep { bucket, before: before as u32, slot: slot as u32 });
            }
        }
        false
    }

    /// Moves each tag along the path that ends in a free slot, and puts the new one at the start of the path,
    /// which is one of the first two steps.
    fn shift(&mut self, search: &[BucketStep], mut at: usize, mut free: usize, new: u128) {
        while at >= 2 {
            let BucketStep { bucket, before, slot } = search[at];
            let from = search[before as usize].bucket;
            self.slots[bucket][free] = self.slots[from][slot as usize];
            (at, free) = (before as usize, slot as usize);
        }
        self.slots[search[at].bucket][free] = new;
    }
}

/// A bucket on the way to a free slot, and the step and slot from which a tag would move there.
#[derive(Clone, Copy)]
struct BucketStep {
    bucket: usize,
    before: u32,
    slot: u32,
}

fn taken(tag: u128) -> u128 {
    tag << 1 | 1
}
