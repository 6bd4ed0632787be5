//! Bloom filters: classic, with distinct positions, and sparse as in RR16; they differ only in shape.
//!
//! A filter for 2^-60 needs sixty positions that are practically independent. The customary two hashes that
//! span an arithmetic progression are not enough: two items agree in both with probability bits^-2, which is
//! 2^-53 at 2^20 items, and 2^-33 per query. Positions are therefore drawn from a stream of hashes π(x ⊕ i) ⊕ x
//! ⊕ i.

use vesica_params::filter::BloomShape;
use vesica_primitives::{Block, aes::CorrelationRobust};

use super::{BuildError, DecodeError, Filter, check_len, check_padding, sorted};

/// Blocks of the stream made at a time: for a value that is not in the filter, the second position shows this
/// on average, so a query rarely needs more.
const BATCH: usize = 4;

/// The positions of the bits that items set.
pub struct Positions {
    shape: BloomShape,
    hash: CorrelationRobust,
}

impl Positions {
    /// The positions of a shape.
    pub fn new(shape: BloomShape) -> Self {
        assert!(shape.hashes < shape.bits, "distinct positions are found in a few draws each");
        Self { shape, hash: CorrelationRobust::new(Block::ZERO) }
    }

    /// Calls `visit` with each position of a pseudo-random item in turn until it returns false; returns whether
    /// it never did.
    pub fn all(&self, item: Block, mut visit: impl FnMut(usize) -> bool) -> bool {
        let mut seen = Vec::with_capacity(if self.shape.distinct { self.shape.hashes } else { 0 });
        let mut left = self.shape.hashes;
        for batch in 0.. {
            let mut stream: [Block; BATCH] =
                std::array::from_fn(|i| Block(item.0 ^ (batch * BATCH + i) as u128));
            self.hash.apply(&mut stream);
            for draw in stream.iter().flat_map(|block| [block.low(), block.high()]) {
                let position = ((u128::from(draw) * self.shape.bits as u128) >> 64) as usize;
                if self.shape.distinct {
                    if seen.contains(&position) {
                        continue;
                    }
                    seen.push(position);
                }
                if !visit(position) {
                    return false;
                }
                left -= 1;
                if left == 0 {
                    return true;
                }
            }
        }
        unreachable!("the stream does not end")
    }
}

/// A bit for each position; the bits at the items' positions are set.
pub struct Bloom {
    positions: Positions,
    bytes: Vec<u8>,
}

impl Filter for Bloom {
    type Shape = BloomShape;

    fn build(items: &[Block], shape: BloomShape) -> Result<Self, BuildError> {
        let positions = Positions::new(shape);
        let mut bytes = vec![0; Self::encoded_len(&shape)];
        for item in sorted(items, &shape)? {
            positions.all(item, |position| {
                bytes[position / 8] |= 1 << (position % 8);
                true
            });
        }
        Ok(Self { positions, bytes })
    }

    fn contains(&self, value: Block) -> bool {
        self.positions.all(value, |position| self.bytes[position / 8] >> (position % 8) & 1 == 1)
    }

    fn encoded_len(shape: &BloomShape) -> usize {
        shape.bits.div_ceil(8)
    }

    fn encode(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// Refuses more bits than the items can set. Fewer are possible, because positions may coincide.
    fn decode(bytes: &[u8], shape: BloomShape) -> Result<Self, DecodeError> {
        check_len(bytes, Self::encoded_len(&shape))?;
        check_padding(bytes, shape.bits)?;
        let set: usize = bytes.iter().map(|byte| byte.count_ones() as usize).sum();
        if set > shape.items.saturating_mul(shape.hashes) {
            return Err(DecodeError::Count);
        }
        Ok(Self { positions: Positions::new(shape), bytes: bytes.to_vec() })
    }
}
