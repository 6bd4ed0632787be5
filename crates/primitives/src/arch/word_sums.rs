//! The kernels of sums of 32-bit words, by backend. AArch64 has no others than the portable loops, which compilers can
//! vectorise for NEON.

use super::{Backend, portable::word_sums};
use crate::Block;

#[cfg(target_arch = "x86_64")]
use super::x86_64;

impl Backend {
    /// Adds the words of blocks to sums of their own, and to totals: see [`crate::WordSums`].
    pub(crate) fn add_words(
        self,
        even: &mut [u64],
        odd: &mut [u64],
        blocks: &[Block],
        totals: &mut [u64; 4],
    ) {
        kernel!(
            self,
            _ => word_sums::add(even, odd, blocks, totals),
            "x86_64" Avx2 | Vaes => x86_64::word_sums::add(even, odd, blocks, totals),
            "x86_64" Avx512 => x86_64::word_sums::add_long(even, odd, blocks, totals),
        )
    }

    /// Adds one vector of `values` for each mask, where the mask is all ones.
    pub(crate) fn add_masked(self, sums: &mut [u64], values: &[u64], masks: &[u64]) {
        kernel!(
            self,
            _ => {
                let len = sums.len();
                word_sums::add_masked(sums, 0, len, values, masks);
            },
            "x86_64" Avx2 | Vaes => x86_64::word_sums::add_masked(sums, values, masks),
            "x86_64" Avx512 => x86_64::word_sums::add_masked_long(sums, values, masks),
        )
    }

    /// Adds `pattern`, by exclusive or, to the sections of `blocks` of its length whose mask is all ones.
    pub(crate) fn xor_masked(self, blocks: &mut [Block], pattern: &[Block], masks: &[u64]) {
        kernel!(
            self,
            _ => word_sums::xor_masked(blocks, pattern, masks),
            "x86_64" Avx2 | Vaes | Avx512 => x86_64::word_sums::xor_masked(blocks, pattern, masks),
        )
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn backends_agree() {
        let rng = &mut StdRng::seed_from_u64(1);
        for len in (0..20).chain([64, 67]) {
            let mut random = |n: usize| -> Vec<u64> { (0..n).map(|_| rng.random()).collect() };
            let [even, odd] = [random(2 * len), random(2 * len)];
            let words = random(2 * len);
            let blocks: Vec<Block> =
                words.as_chunks::<2>().0.iter().map(|words| bytemuck::cast(*words)).collect();
            let low = |word: u64| word & u64::from(u32::MAX);
            for backend in Backend::available() {
                let (mut evens, mut odds, mut totals) = (even.clone(), odd.clone(), [5; 4]);
                backend.add_words(&mut evens, &mut odds, &blocks, &mut totals);
                let mut expected = [5; 4];
                for (i, word) in words.iter().enumerate() {
                    assert_eq!(evens[i], even[i].wrapping_add(low(*word)), "{backend:?}, {len}");
                    assert_eq!(odds[i], odd[i].wrapping_add(word >> 32), "{backend:?}, {len}");
                    expected[2 * (i % 2)] += low(*word);
                    expected[2 * (i % 2) + 1] += word >> 32;
                }
                assert_eq!(totals, expected, "{backend:?}, {len} blocks");
            }
        }
    }

    #[test]
    fn only_what_the_masks_select_is_added() {
        let rng = &mut StdRng::seed_from_u64(2);
        for len in [1, 4, 8, 13, 32] {
            for count in [0, 1, 5, 32] {
                let sums: Vec<u64> = (0..len).map(|_| rng.random()).collect();
                let values: Vec<u64> = (0..len * count).map(|_| rng.random()).collect();
                let masks: Vec<u64> =
                    (0..count as u64).map(|i| (i % 3 % 2).wrapping_neg()).collect();
                let before: Vec<Block> = (0..len * count).map(|_| Block::random(rng)).collect();
                let pattern: Vec<Block> = (0..len).map(|_| Block::random(rng)).collect();
                for backend in Backend::available() {
                    let mut added = sums.clone();
                    backend.add_masked(&mut added, &values, &masks);
                    let selected = (0..count).filter(|i| masks[*i] != 0);
                    for (i, sum) in added.iter().enumerate() {
                        let expected = selected.clone().map(|v| values[v * len + i]);
                        let expected = expected.fold(sums[i], u64::wrapping_add);
                        assert_eq!(*sum, expected, "{backend:?}, {count} of {len}");
                    }
                    let mut blocks = before.clone();
                    backend.xor_masked(&mut blocks, &pattern, &masks);
                    for (i, block) in blocks.iter().enumerate() {
                        let change = Block(u128::from(masks[i / len] & 1).wrapping_neg());
                        let expected = before[i] ^ (pattern[i % len] & change);
                        assert_eq!(*block, expected, "{backend:?}, {count} of {len}");
                    }
                }
            }
        }
    }
}
