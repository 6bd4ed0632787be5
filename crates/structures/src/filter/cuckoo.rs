//! Cuckoo filters: a tag's two buckets differ, as numbers, by a hash of the tag (FAKM14, and KRSSW19
//! for the one with three slots).

use vesica_params::filter::CuckooShape;
use vesica_primitives::Block;

use super::{
    BuildError, DecodeError, Filter,
    buckets::{FilterBuckets, Pairing, Size, other_in_chunk},
    sorted,
};

/// Tags in buckets of `SLOTS`, which the shape must have too.
pub struct Paired<const SLOTS: usize>(FilterBuckets<SLOTS, Xor>);

/// The cuckoo filter: four tags a bucket.
pub type Cuckoo = Paired<4>;

/// The filter of mobile contact discovery: three tags a bucket.
pub type MobileCuckoo = Paired<3>;

/// All buckets form one chunk, so their number is a power of two.
#[derive(Clone, Copy)]
struct Xor {
    buckets: usize,
}

impl Xor {
    fn new<const SLOTS: usize>(shape: &CuckooShape) -> Self {
        assert!(
            shape.slots == SLOTS && shape.buckets.is_power_of_two(),
            "a shape of {SLOTS} slots"
        );
        Self { buckets: shape.buckets }
    }
}

impl Pairing for Xor {
    fn buckets(&self) -> usize {
        self.buckets
    }

    fn other(&self, bucket: usize, tag: u128) -> usize {
        other_in_chunk(bucket, tag, self.buckets)
    }
}

impl<const SLOTS: usize> Filter for Paired<SLOTS> {
    type Shape = CuckooShape;

    fn build(items: &[Block], shape: CuckooShape) -> Result<Self, BuildError> {
        FilterBuckets::build(&sorted(items, &shape)?, size(&shape), Xor::new::<SLOTS>(&shape))
            .map(Self)
    }

    fn contains(&self, value: Block) -> bool {
        self.0.contains(value)
    }

    fn encoded_len(shape: &CuckooShape) -> usize {
        FilterBuckets::<SLOTS, _>::encoded_len(size(shape), Xor::new::<SLOTS>(shape))
    }

    fn encode(&self) -> Vec<u8> {
        self.0.encode()
    }

    fn decode(bytes: &[u8], shape: CuckooShape) -> Result<Self, DecodeError> {
        FilterBuckets::decode(bytes, size(&shape), Xor::new::<SLOTS>(&shape)).map(Self)
    }
}

fn size(shape: &CuckooShape) -> Size {
    Size { items: shape.items, tag_bits: shape.tag_bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_pairs() {
        for buckets in [1, 2, 4, 64] {
            let xor = Xor { buckets };
            for tag in 0..1000 {
                for bucket in 0..buckets {
                    let other = xor.other(bucket, tag);
                    assert!(other < buckets && xor.other(other, tag) == bucket);
                    assert!(buckets == 1 || other != bucket);
                }
            }
        }
    }
}
