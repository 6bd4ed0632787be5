//! Packed bits, such as the choices of an OT receiver.

use rand::Rng;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Block;

/// A vector of bits, 128 to a block, bit `i` being bit `i % 128` of block `i / 128`. Bits beyond the
/// length are 0. Zeroized when dropped, because choices are secret.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Bits {
    blocks: Vec<Block>,
    len: usize,
}

impl Bits {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { blocks: vec![Block::ZERO; len.div_ceil(128)], len }
    }

    /// `len` random bits.
    pub fn random(len: usize, rng: &mut (impl Rng + ?Sized)) -> Self {
        let blocks = (0..len.div_ceil(128)).map(|_| Block::random(rng)).collect();
        Self::from_blocks(blocks, len)
    }

    /// Creates `len` bits; bit i is `bit(i)`, 0 or 1. Unlike with an iterator, no branch depends on secret bits.
    pub fn from_fn(len: usize, bit: impl Fn(usize) -> u8) -> Self {
        let mut bits = Self::zeros(len);
        (0..len).for_each(|i| bits.set(i, bit(i)));
        bits
    }

    /// The first `len` bits of `blocks`, which must be ⌈len / 128⌉ blocks.
    pub fn from_blocks(mut blocks: Vec<Block>, len: usize) -> Self {
        assert_eq!(blocks.len(), len.div_ceil(128), "one block for each 128 bits");
        if let (Some(last), 1..) = (blocks.last_mut(), len % 128) {
            last.0 &= (1 << (len % 128)) - 1;
        }
        Self { blocks, len }
    }

    /// The number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has zero bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bit `i`, 0 or 1.
    pub fn get(&self, i: usize) -> u8 {
        debug_assert!(i < self.len);
        (self.blocks[i / 128].0 >> (i % 128) & 1) as u8
    }

    /// Sets bit `i` to 0 or 1.
    pub fn set(&mut self, i: usize, bit: u8) {
        debug_assert!(i < self.len && bit <= 1);
        let block = &mut self.blocks[i / 128].0;
        *block = *block & !(1 << (i % 128)) | u128::from(bit) << (i % 128);
    }

    /// Every bit in order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..self.len).map(|i| self.get(i))
    }

    /// The blocks that hold the bits.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}

impl FromIterator<bool> for Bits {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        let bits = bits.into_iter();
        let mut packed = Self::zeros(bits.size_hint().0);
        packed.len = 0;
        for bit in bits {
            if packed.len / 128 == packed.blocks.len() {
                // Without `Vec`'s own growth, so that the old buffer is zeroized.
                let mut longer = vec![Block::ZERO; 2 * packed.blocks.len() + 1];
                longer[..packed.blocks.len()].copy_from_slice(&packed.blocks);
                std::mem::replace(&mut packed.blocks, longer).zeroize();
            }
            packed.len += 1;
            packed.set(packed.len - 1, bit.into());
        }
        packed.blocks.truncate(packed.len.div_ceil(128));
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_where_they_were_put() {
        for len in [0, 1, 127, 128, 129, 1000] {
            let pattern = |i: usize| i.is_multiple_of(3) || i % 7 == 1;
            let bits: Bits = (0..len).map(pattern).collect();
            assert_eq!(bits.len(), len);
            assert!(bits.iter().enumerate().all(|(i, bit)| bit == u8::from(pattern(i))));
            let ones: u32 = bits.blocks().iter().map(|b| b.0.count_ones()).sum();
            assert_eq!(ones as usize, (0..len).filter(|i| pattern(*i)).count());
            let mut cleared = bits.clone();
            (0..len).for_each(|i| cleared.set(i, 0));
            assert!(cleared == Bits::zeros(len));
        }
    }
}
