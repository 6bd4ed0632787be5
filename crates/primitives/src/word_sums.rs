//! Sums of many blocks, word by word, from which sums of numbers of any width can be computed.

use zeroize::Zeroizing;

use crate::{
    Block,
    arch::{Backend, opaque},
};

/// Pairs that are added to in one pass over the sums.
const AT_ONCE: usize = 32;

/// Blocks of a section: the place of a pair is its section and its place there.
const SECTION: usize = 16;

/// A sum of blocks for each of many places: the sums of their four 32-bit words, each in 64 bits. Of fewer than 2^32
/// blocks none carries into the next, so that they serve numbers of all widths.
pub struct WordSums {
    even: Zeroizing<Vec<u64>>,
    odd: Zeroizing<Vec<u64>>,
}

impl WordSums {
    /// Zeros for this number of places.
    pub fn new(places: usize) -> Self {
        let zeros = || Zeroizing::new(vec![0; 2 * places]);
        Self { even: zeros(), odd: zeros() }
    }

    /// The sums of words 0 to 3 at a place.
    pub fn get(&self, place: usize) -> [u64; 4] {
        let (even, odd) = (&self.even[2 * place..], &self.odd[2 * place..]);
        [even[0], odd[0], even[1], odd[1]]
    }

    /// Adds one block to each place from `first` on, and the words of all of them to `totals`.
    ///
    /// # Panics
    /// If there are more blocks than places.
    pub fn add(&mut self, first: usize, blocks: &[Block], totals: &mut [u64; 4]) {
        let range = 2 * first..2 * (first + blocks.len());
        let (even, odd) = (&mut self.even[range.clone()], &mut self.odd[range]);
        Backend::current().add_words(even, odd, blocks, totals);
    }

    /// Adds other sums, place by place.
    ///
    /// # Panics
    /// If they have more or fewer places.
    pub fn add_all(&mut self, other: &Self) {
        for (sums, others) in [(&mut self.even, &other.even), (&mut self.odd, &other.odd)] {
            assert_eq!(sums.len(), others.len(), "as many places");
            sums.iter_mut().zip(others.iter()).for_each(|(sum, other)| *sum += other);
        }
    }

    /// Adds `blocks[k]` to places 2·`pairs[k]` and 2·`pairs[k]` + 1, for each k. Neither time nor memory accesses
    /// depend on `pairs`.
    ///
    /// # Panics
    /// If there are not as many pairs of blocks as numbers of pairs, or the number of places is not a power of two from
    /// 2 on.
    pub fn add_pairs(&mut self, pairs: &[u32], blocks: &[[Block; 2]]) {
        assert_eq!(pairs.len(), blocks.len(), "blocks for each pair");
        let places = self.even.len() / 2;
        assert!(places >= 2 && places.is_power_of_two(), "sections of equal size");
        let (section, backend) = (SECTION.min(places), Backend::current());
        let pairs_of_section = section / 2;
        let mut values = [(); 2].map(|()| Zeroizing::new(vec![0; AT_ONCE * 2 * section]));
        for (pairs, blocks) in pairs.chunks(AT_ONCE).zip(blocks.chunks(AT_ONCE)) {
            let [even, odd] = &mut values;
            let vectors = even.as_chunks_mut::<4>().0.iter_mut().zip(odd.as_chunks_mut::<4>().0);
            let wanted = pairs.iter().zip(blocks).flat_map(|(pair, blocks)| {
                let words: [u64; 4] = bytemuck::cast(*blocks);
                let within = *pair as usize % pairs_of_section;
                (0..pairs_of_section).map(move |i| (words, mask_if_equal(i, within)))
            });
            for ((even, odd), (words, mask)) in vectors.zip(wanted) {
                *even = words.map(|word| word & u64::from(u32::MAX) & mask);
                *odd = words.map(|word| word >> 32 & mask);
            }
            let sums = self.even.chunks_exact_mut(2 * section);
            for (number, (evens, odds)) in
                sums.zip(self.odd.chunks_exact_mut(2 * section)).enumerate()
            {
                let mut masks = [0; AT_ONCE];
                for (mask, pair) in masks.iter_mut().zip(pairs) {
                    *mask = mask_if_equal(number, *pair as usize / pairs_of_section);
                }
                let masks = &masks[..pairs.len()];
                backend.add_masked(evens, even, masks);
                backend.add_masked(odds, odd, masks);
            }
        }
    }
}

/// Adds `change`, by exclusive or, to pair number `pair` of blocks, whose number is a power of two. Neither time nor
/// memory accesses depend on `pair`.
///
/// # Panics
/// If there are fewer than two blocks, or their number is not a power of two.
pub fn change_pair(blocks: &mut [Block], pair: u32, change: [Block; 2]) {
    assert!(blocks.len() >= 2 && blocks.len().is_power_of_two(), "sections of equal size");
    /// Masks that are made at a time.
    const MASKS: usize = 16;
    let section = SECTION.min(blocks.len());
    let (pairs, pair, backend) = (section / 2, pair as usize, Backend::current());
    let mut pattern = Zeroizing::new([Block::ZERO; SECTION]);
    for (i, at) in pattern.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let mask = mask_if_equal(i, pair % pairs);
        *at = change.map(|block| block & Block(u128::from(mask) << 64 | u128::from(mask)));
    }
    for (i, blocks) in blocks.chunks_mut(MASKS * section).enumerate() {
        let mut masks = [0; MASKS];
        let masks = &mut masks[..blocks.len() / section];
        for (number, mask) in (i * MASKS..).zip(&mut *masks) {
            *mask = mask_if_equal(number, pair / pairs);
        }
        backend.xor_masked(blocks, &pattern[..section], masks);
    }
}

/// All ones if the two are equal, otherwise zeros; without a branch. For numbers below 2^63.
#[inline(always)]
fn mask_if_equal(a: usize, b: usize) -> u64 {
    opaque(((a ^ b) as u64).wrapping_sub(1) >> 63).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    fn words(block: Block) -> [u64; 4] {
        std::array::from_fn(|i| (block.0 >> (32 * i)) as u64 & u64::from(u32::MAX))
    }

    fn add(sum: &mut [u64; 4], block: Block) {
        sum.iter_mut().zip(words(block)).for_each(|(sum, word)| *sum += word);
    }

    #[test]
    fn words_are_added_at_their_places() {
        let rng = &mut StdRng::seed_from_u64(1);
        for places in [2, 4, 8, 16, 32, 128] {
            let mut sums = WordSums::new(places);
            let mut expected = vec![[0; 4]; places];
            let (mut totals, mut of_all) = ([0; 4], [0; 4]);
            for first in [0, places / 2, 1, 0] {
                let blocks: Vec<Block> = (first..places).map(|_| Block::random(rng)).collect();
                sums.add(first, &blocks, &mut totals);
                for (sum, block) in expected[first..].iter_mut().zip(&blocks) {
                    add(sum, *block);
                    add(&mut of_all, *block);
                }
            }
            assert_eq!(totals, of_all);
            for count in [1, 31, 32, 33, 100] {
                let pairs: Vec<u32> =
                    (0..count).map(|_| rng.random_range(0..places as u32 / 2)).collect();
                let blocks: Vec<[Block; 2]> =
                    pairs.iter().map(|_| [Block::random(rng), Block::random(rng)]).collect();
                sums.add_pairs(&pairs, &blocks);
                for (pair, blocks) in pairs.iter().zip(blocks) {
                    add(&mut expected[2 * *pair as usize], blocks[0]);
                    add(&mut expected[2 * *pair as usize + 1], blocks[1]);
                }
            }
            let mut twice = WordSums::new(places);
            twice.add_all(&sums);
            twice.add_all(&sums);
            for (place, expected) in expected.iter().enumerate() {
                assert_eq!(sums.get(place), *expected, "{places} places");
                assert_eq!(twice.get(place), expected.map(|sum| 2 * sum));
            }
        }
    }

    #[test]
    fn one_pair_changes() {
        let rng = &mut StdRng::seed_from_u64(2);
        for len in [2, 4, 16, 32, 512, 1024] {
            let before: Vec<Block> = (0..len).map(|_| Block::random(rng)).collect();
            let change = [Block(1), Block(2)];
            for pair in [0, len / 4, len / 2 - 1] {
                let mut blocks = before.clone();
                change_pair(&mut blocks, pair as u32, change);
                blocks[2 * pair] ^= change[0];
                blocks[2 * pair + 1] ^= change[1];
                assert!(blocks == before, "pair {pair} of {len} blocks");
            }
        }
    }
}
