//! The vacuum filter (WZSQ19): a cuckoo filter for any number of buckets.
//!
//! With many items, buckets form chunks of a power of two, and both buckets of a tag lie in one chunk. Tags
//! of four classes have chunks of four sizes, most of them small for the sake of the processor's caches; the
//! largest even out crowding in the small ones. With fewer items, the numbers of a pair of buckets add up to
//! an odd number modulo the number of buckets, which is even, so that the two differ.

use vesica_params::filter::VacuumShape;
use vesica_primitives::Block;

use super::{
    BuildError, DecodeError, Filter,
    buckets::{FilterBuckets, Pairing, Size, other_in_chunk, spread},
    sorted,
};

/// Tags in buckets of four.
pub struct Vacuum(FilterBuckets<{ VacuumShape::SLOTS }, Chunks>);

#[derive(Clone, Copy)]
struct Chunks {
    buckets: usize,
    chunks: Option<[usize; 4]>,
}

impl Chunks {
    fn new(shape: &VacuumShape) -> Self {
        let (buckets, chunks) = (shape.buckets, shape.chunks);
        let fits = |chunk: &usize| chunk.is_power_of_two() && buckets.is_multiple_of(*chunk);
        let fit = chunks.map_or(buckets.is_multiple_of(2), |chunks| chunks.iter().all(fits));
        assert!(fit, "whole chunks, or an even number of buckets");
        Self { buckets, chunks }
    }
}

impl Pairing for Chunks {
    fn buckets(&self) -> usize {
        self.buckets
    }

    fn other(&self, bucket: usize, tag: u128) -> usize {
        match self.chunks {
            Some(chunks) => other_in_chunk(bucket, tag, chunks[(tag % 4) as usize]),
            None => {
                let sum = 2 * spread(tag, self.buckets / 2) + 1;
                (sum + self.buckets - bucket) % self.buckets
            }
        }
    }
}

impl Filter for Vacuum {
    type Shape = VacuumShape;

    fn build(items: &[Block], shape: VacuumShape) -> Result<Self, BuildError> {
        FilterBuckets::build(&sorted(items, &shape)?, size(&shape), Chunks::new(&shape)).map(Self)
    }

    fn contains(&self, value: Block) -> bool {
        self.0.contains(value)
    }

    fn encoded_len(shape: &VacuumShape) -> usize {
        FilterBuckets::<{ VacuumShape::SLOTS }, _>::encoded_len(size(shape), Chunks::new(shape))
    }

    fn encode(&self) -> Vec<u8> {
        self.0.encode()
    }

    fn decode(bytes: &[u8], shape: VacuumShape) -> Result<Self, DecodeError> {
        FilterBuckets::decode(bytes, size(&shape), Chunks::new(&shape)).map(Self)
    }
}

fn size(shape: &VacuumShape) -> Size {
    Size { items: shape.items, tag_bits: shape.tag_bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_pairs_and_keep_to_their_chunk() {
        let chunked = Chunks { buckets: 192, chunks: Some([64, 16, 4, 1]) };
        for pairing in [chunked, Chunks { buckets: 38, chunks: None }] {
            for tag in 0..1000 {
                for bucket in 0..pairing.buckets {
                    let other = pairing.other(bucket, tag);
                    assert!(other < pairing.buckets && pairing.other(other, tag) == bucket);
                    let chunk = pairing.chunks.map_or(64, |chunks| chunks[(tag % 4) as usize]);
                    assert!(other / chunk == bucket / chunk);
                    assert!(other != bucket || chunk == 1);
                }
            }
        }
    }
}
