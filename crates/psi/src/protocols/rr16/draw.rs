//! Uniform draws from a seed, the same on both sides.

use vesica_primitives::{Bits, Block, Seed, aes::Prg};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Blocks of the stream that are made together.
const BATCH: usize = 64;

/// Uniform numbers from a seed's stream.
pub(super) struct Draws {
    stream: Prg,
    ahead: Ahead,
}

/// The next blocks of the stream, and the number used so far. Secret if the seed is.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Ahead([Block; BATCH], usize);

impl Draws {
    pub(super) fn new(seed: &Seed) -> Self {
        Self { stream: Prg::new(seed), ahead: Ahead([Block::ZERO; BATCH], BATCH) }
    }

    /// A number below `bound`, from 96 bits: uniform up to a statistical distance of
    /// `bound`·2^-97, which is 2^-41 in sum over 2^28 draws below 2^28.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let Ahead(blocks, used) = &mut self.ahead;
        if *used == BATCH {
            self.stream.fill(blocks);
            *used = 0;
        }
        let block = blocks[*used];
        *used += 1;
        (((block.0 >> 32) * u128::from(bound)) >> 96) as u32
    }
}

/// A uniform subset of `size` numbers below `of`, as bits: each number is taken with its conditional
/// probability, given how many were taken before.
pub(super) fn subset(of: usize, size: usize, seed: &Seed) -> Bits {
    assert!(size <= of && u32::try_from(of).is_ok(), "a part of numbers of 32 bits");
    let mut draws = Draws::new(seed);
    let (mut left, mut missing) = (of as u32, size as u32);
    let mut blocks = Vec::with_capacity(of.div_ceil(128));
    while left > 0 {
        let mut block = 0;
        for bit in 0..left.min(128) {
            let taken = u32::from(draws.below(left) < missing);
            block |= u128::from(taken) << bit;
            left -= 1;
            missing -= taken;
        }
        blocks.push(Block(block));
    }
    Bits::from_blocks(blocks, of)
}

/// Puts numbers into a uniform order.
pub(super) fn shuffle(numbers: &mut [u32], draws: &mut Draws) {
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, draws.below(last as u32 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(number: usize) -> Seed {
        Seed::new(Block(number as u128))
    }

    /// Whether counts are close to 1000 each, with a standard deviation of at most 32.
    fn is_even(counts: impl IntoIterator<Item = usize>) -> bool {
        counts.into_iter().all(|count| count.abs_diff(1000) < 5 * 32)
    }

    #[test]
    fn subsets_have_their_size() {
        for of in [0, 1, 2, 127, 128, 129, 1000] {
            for size in [0, 1, of / 3, of].map(|size| size.min(of)) {
                let subset = subset(of, size, &seed(of));
                assert_eq!(subset.len(), of);
                assert_eq!(subset.iter().filter(|bit| *bit == 1).count(), size);
            }
        }
    }

    #[test]
    fn every_subset_is_as_likely() {
        // Two of five: ten subsets.
        let mut counts = [0; 32];
        for i in 0..10_000 {
            counts[subset(5, 2, &seed(i)).blocks()[0].0 as usize] += 1;
        }
        let possible = (0..32usize).filter(|set| set.count_ones() == 2);
        assert!(is_even(possible.map(|set| counts[set])), "{counts:?}");
    }

    #[test]
    fn every_order_is_as_likely() {
        let mut draws = Draws::new(&seed(1));
        let mut counts = std::collections::HashMap::new();
        for _ in 0..24_000 {
            let mut order = [0, 1, 2, 3];
            shuffle(&mut order, &mut draws);
            *counts.entry(order).or_insert(0) += 1;
        }
        assert!(counts.len() == 24 && is_even(counts.into_values()));
    }
}
