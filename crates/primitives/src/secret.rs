//! Secrets: no `Debug`, no `Copy`, zeroized on drop, read only through explicit calls.

use rand::Rng;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Block;

/// A secret block: the seed of a generator or the key of a cipher.
#[derive(Clone, Default, Zeroize, ZeroizeOnDrop)]
pub struct Seed(Block);

impl Seed {
    /// Takes a block as a seed.
    pub fn new(block: Block) -> Self {
        Self(block)
    }

    /// A fresh seed.
    pub fn random(rng: &mut (impl Rng + ?Sized)) -> Self {
        Self(Block::random(rng))
    }

    /// The block itself.
    pub fn expose(&self) -> &Block {
        &self.0
    }
}

/// The secret offset Δ of a correlated OT or of a VOLE, in blocks of 128 bits.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Delta(Vec<Block>);

impl Delta {
    /// A fresh offset of `bits` bits; those above, up to the end of the last block, are 0.
    pub fn random(bits: usize, rng: &mut (impl Rng + ?Sized)) -> Self {
        let mut blocks: Vec<Block> = (0..bits.div_ceil(128)).map(|_| Block::random(rng)).collect();
        if let (Some(last), 1..) = (blocks.last_mut(), bits % 128) {
            last.0 &= (1 << (bits % 128)) - 1;
        }
        Self(blocks)
    }

    /// The same offset with bit 0 set.
    pub fn with_lowest_bit(&self) -> Self {
        let mut delta = self.clone();
        delta.0[0].0 |= 1;
        delta
    }

    /// The offset's blocks.
    pub fn expose(&self) -> &[Block] {
        &self.0
    }

    /// Bit `i`.
    pub fn bit(&self, i: usize) -> u8 {
        (self.0[i / 128].0 >> (i % 128) & 1) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delta_has_no_bits_beyond_its_width() {
        let mut rng = rand::rng();
        for bits in [1, 127, 128, 129, 440] {
            let delta = Delta::random(bits, &mut rng);
            assert_eq!(delta.expose().len(), bits.div_ceil(128));
            assert!((bits..delta.expose().len() * 128).all(|i| delta.bit(i) == 0));
        }
    }
}
