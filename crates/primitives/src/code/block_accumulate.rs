//! Block–accumulate codes on the extended Golay code, transposed (eprint 2025/1828, CRYPTO 2026; the Golay
//! code as its block code: eprint 2026/1903).
//!
//! The code has length N, dimension N/2 and generator B·π_1·A·π_2·A···π_r·A. B is block diagonal: each block is
//! the generator (I ‖ P) of the extended Golay code [24, 12, 8]. Each π is a permutation of all N places, and A
//! replaces a word by its running sums. The number r of accumulators is a parameter. Multiplying the
//! *transposed* way compresses N entries to N/2, as a silent VOLE needs: running sums, permute, running sums,
//! permute, and so on; finally each group of 24 becomes 12, x_i + Σ_j P_ij·y_j.
//!
//! **Why this code.** Its minimum distance is not assumed. The weights of the Golay code are known, and the effect
//! of a permutation and an accumulator on a word depends only on the word's weight. The expected number of light
//! words, over the choice of the permutations, is therefore a sum that can be computed for every N.
//! `vesica_params::lpn` computes it and derives the amount of noise.
//!
//! **Why the permutations are constants.** They are drawn from AES under a key that is a fixed name, and all
//! are different. The bound says that all but a fraction of 2^-42 of the choices have no light word. The choice
//! must be independent of any attacker, and a fixed name leaves no room for a search. A fresh code for each run
//! would not be safer: each would be bad with this probability, and drawing a permutation would cost as much as
//! compressing. A constant lets an attacker study one code for a long time. If words of low weight do not
//! exist, no amount of time finds them; the time could matter for attacks that are not linear tests, but none
//! is known that gains by precomputation.
//!
//! **The order of places.** Entries form a matrix with a noise block in each row, and the first running sums go
//! down its columns: entry j of block b is place j·t + b of the code's words. (The output stays where it is in
//! memory, so that π_1 permutes numbers b·B + j; a uniform permutation remains uniform.) A word of few runs, as
//! an accumulator produces from a word with few ones, then has about the same weight in every block. With
//! contiguous blocks it would be all ones in some blocks and all zeros in others, and noise whose values are 1
//! would not cancel it. The order costs nothing: rows are summed side by side by vector instructions.

use crate::{BinaryVector, Words, arch::Backend, code::permutation::permutation};

/// Length of the block code.
pub const BLOCK: usize = 24;

/// Dimension of the block code.
pub const DIMENSION: usize = BLOCK / 2;

/// P of the extended Golay code (I ‖ P), by its zeros: row i < 11 has ones except in the columns (i + s) mod 11
/// for these s, the squares modulo 11; the last row has ones except in the last column.
pub(crate) const LACKING: [usize; 5] = [1, 3, 4, 5, 9];

/// A code of length N, determined by its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockAccumulate {
    length: usize,
    accumulators: u32,
}

impl BlockAccumulate {
    /// The code of length `length`, a multiple of 24 below 2^32, with `accumulators` accumulators, at least
    /// one.
    ///
    /// # Panics
    /// If these conditions do not hold.
    pub fn new(length: usize, accumulators: u32) -> Self {
        assert!(length.is_multiple_of(BLOCK), "blocks of 24");
        assert!(u32::try_from(length).is_ok(), "places have 32 bits");
        assert!(accumulators > 0, "at least one accumulator");
        Self { length, accumulators }
    }

    /// N, the number of entries to be compressed.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Bytes of its permutations, which are drawn once and kept.
    pub fn memory(&self) -> usize {
        self.accumulators as usize * self.length * size_of::<u32>()
    }

    /// N/2, the number of compressed entries.
    pub fn dimension(&self) -> usize {
        self.length / 2
    }

    /// Compresses the entries of `noise`, which consists of `blocks` blocks one after another; `out` gets the
    /// first of the compressed entries. Leaves sums of entries, which are as secret as the entries, in `noise`
    /// and in `scratch`.
    ///
    /// # Panics
    /// If lengths do not fit: `noise` and `scratch` have N entries, a multiple of `blocks`, and `out` at most
    /// half as many. Or if an entry does not have 8, 16 or 64 bytes.
    pub fn compress<V: BinaryVector>(
        &self,
        blocks: usize,
        noise: &mut [V],
        scratch: &mut [V],
        out: &mut [V],
    ) {
        let (sums, _) = self.accumulate(blocks, noise, scratch);
        self.compress_blocks(sums, out);
    }

    /// Like [`BlockAccumulate::compress`], but stores the result in `noise` or `scratch`: returns its first
    /// `len` entries.
    ///
    /// # Panics
    /// Same as [`BlockAccumulate::compress`].
    pub fn compress_within<'a, V: BinaryVector>(
        &self,
        blocks: usize,
        noise: &'a mut [V],
        scratch: &'a mut [V],
        len: usize,
    ) -> &'a mut [V] {
        let (sums, free) = self.accumulate(blocks, noise, scratch);
        let out = &mut free[..len];
        self.compress_blocks(sums, out);
        out
    }

    /// All steps but the last; returns the buffer with their result, and the one that is free again.
    fn accumulate<'a, V: BinaryVector>(
        &self,
        blocks: usize,
        noise: &'a mut [V],
        scratch: &'a mut [V],
    ) -> (&'a mut [V], &'a mut [V]) {
        assert_eq!([noise.len(), scratch.len()], [self.length; 2], "as many as the code has");
        assert!(self.length.is_multiple_of(blocks), "blocks of one length");
        match size_of::<V>() {
            8 => self.accumulate_words::<1, V>(blocks, noise, scratch),
            16 => self.accumulate_words::<2, V>(blocks, noise, scratch),
            64 => self.accumulate_words::<8, V>(blocks, noise, scratch),
            bytes => unreachable!("entries are not of {bytes} bytes"),
        }
        if self.accumulators % 2 == 1 { (noise, scratch) } else { (scratch, noise) }
    }

    fn accumulate_words<const W: usize, V: BinaryVector>(
        &self,
        blocks: usize,
        noise: &mut [V],
        scratch: &mut [V],
    ) {
        let backend = Backend::current();
        let mut from: &mut [Words<W>] = bytemuck::cast_slice_mut(noise);
        let mut to: &mut [Words<W>] = bytemuck::cast_slice_mut(scratch);
        backend.accumulate_columns(from, self.length / blocks);
        for round in 1..self.accumulators {
            backend.accumulate_permuted(from, &permutation(self.length, round), to);
            (from, to) = (to, from);
        }
    }

    /// The last step.
    fn compress_blocks<V: BinaryVector>(&self, sums: &[V], out: &mut [V]) {
        assert!(out.len() <= self.dimension(), "no more than are left");
        match size_of::<V>() {
            8 => self.compress_blocks_of_words::<1, V>(sums, out),
            16 => self.compress_blocks_of_words::<2, V>(sums, out),
            64 => self.compress_blocks_of_words::<8, V>(sums, out),
            bytes => unreachable!("entries are not of {bytes} bytes"),
        }
    }

    fn compress_blocks_of_words<const W: usize, V: BinaryVector>(&self, sums: &[V], out: &mut [V]) {
        let (sums, out) = (bytemuck::cast_slice(sums), bytemuck::cast_slice_mut(out));
        Backend::current().golay::<W>(sums, &permutation(self.length, 0), out);
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::{Block, CacheLine};

    /// P: bit j of row i. The first eleven rows are the complement of a circulant of the squares modulo 11,
    /// bordered by ones.
    fn parity() -> [u16; DIMENSION] {
        let is_square = |x: usize| (1..11).any(|root| root * root % 11 == x);
        std::array::from_fn(|i| {
            let is_one = |j: usize| match (i, j) {
                (11, _) | (_, 11) => i != j,
                _ => !is_square((j + 11 - i) % 11),
            };
            (0..DIMENSION).map(|j| u16::from(is_one(j)) << j).sum()
        })
    }

    /// The extended Golay code is the only code with these parameters, and these are its weights.
    #[test]
    fn the_block_code_is_the_golay_code() {
        let mut weights = [0; BLOCK + 1];
        for word in 0u32..1 << DIMENSION {
            let parity = parity();
            let rows = parity.iter().enumerate().filter(|(i, _)| word >> i & 1 == 1);
            let parity = rows.fold(0, |sum, (_, row)| sum ^ row);
            weights[(word.count_ones() + parity.count_ones()) as usize] += 1;
        }
        let mut expected = [0; BLOCK + 1];
        for (weight, words) in [(0, 1), (8, 759), (12, 2576), (16, 759), (24, 1)] {
            expected[weight] = words;
        }
        assert_eq!(weights, expected);
    }

    /// A matrix over GF(2), by rows.
    type Matrix = Vec<Vec<bool>>;

    fn matrix(rows: usize, columns: usize, bit: impl Fn(usize, usize) -> bool) -> Matrix {
        (0..rows).map(|i| (0..columns).map(|j| bit(i, j)).collect()).collect()
    }

    fn product(a: &Matrix, b: &Matrix) -> Matrix {
        matrix(a.len(), b[0].len(), |i, j| {
            (0..b.len()).filter(|k| a[i][*k] && b[*k][j]).count() % 2 == 1
        })
    }

    /// The generator by its definition, the product of the matrices of all steps; columns are entries of noise
    /// in memory order.
    fn generator(code: BlockAccumulate, blocks: usize) -> Matrix {
        let n = code.length;
        let parity = parity();
        let golay = matrix(n / 2, n, |i, j| {
            let (row, column) = (i % DIMENSION, j % BLOCK);
            i / DIMENSION == j / BLOCK
                && (column == row
                    || column >= DIMENSION && parity[row] >> (column - DIMENSION) & 1 == 1)
        });
        let accumulator = matrix(n, n, |i, j| j <= i);
        let stride = matrix(n, n, |place, entry| {
            place == entry % (n / blocks) * blocks + entry / (n / blocks)
        });
        let unstride = matrix(n, n, |entry, place| stride[place][entry]);
        let mut steps = product(&unstride, &product(&accumulator, &stride));
        for round in (1..code.accumulators).chain([0]) {
            let places = permutation(n, round);
            steps = product(&matrix(n, n, |i, j| places[i] as usize == j), &steps);
            if round > 0 {
                steps = product(&accumulator, &steps);
            }
        }
        product(&golay, &steps)
    }

    fn compressed<V: BinaryVector>(
        code: BlockAccumulate,
        blocks: usize,
        noise: &[V],
        len: usize,
    ) -> Vec<V> {
        let (mut noise, mut scratch) = (noise.to_vec(), noise.to_vec());
        let mut out = vec![V::default(); len];
        code.compress(blocks, &mut noise, &mut scratch, &mut out);
        out
    }

    fn compression_is_by_the_matrix<V: BinaryVector>() {
        let rng = &mut StdRng::seed_from_u64(1);
        for (n, blocks, accumulators) in
            [(24, 24, 1), (48, 1, 2), (120, 24, 1), (240, 48, 2), (240, 24, 3), (264, 264, 4)]
        {
            let code = BlockAccumulate::new(n, accumulators);
            let noise: Vec<V> = (0..n).map(|_| V::random(rng)).collect();
            let expected = generator(code, blocks).into_iter().map(|row| {
                let entries = row.iter().zip(&noise).filter(|(bit, _)| **bit);
                entries.fold(V::default(), |sum, (_, entry)| sum ^ *entry)
            });
            let expected: Vec<V> = expected.collect();
            for len in [0, 1, 11, 12, n / 2 - 1, n / 2].into_iter().filter(|len| *len <= n / 2) {
                assert!(compressed(code, blocks, &noise, len) == expected[..len], "{len} of {n}");
            }
        }
    }

    #[test]
    fn compression_is_by_the_matrix_for_every_kind_of_entry() {
        compression_is_by_the_matrix::<u64>();
        compression_is_by_the_matrix::<Block>();
        compression_is_by_the_matrix::<CacheLine>();
    }

    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Vectors from another program in another language, including permutations and AES: the first two entries,
    /// the last, and a digest of all.
    #[test]
    fn compressed_entries_are_those_of_another_program() {
        for (n, blocks, accumulators, expected) in [
            (
                48,
                24,
                1,
                [
                    0x4311_a7c2_8aa9_bddd,
                    0xa69d_fb8a_982d_dded,
                    0x2a53_2252_133d_d274,
                    0x0a68_be0e_4a02_a125,
                ],
            ),
            (
                240,
                24,
                2,
                [
                    0xa56f_aa6a_d632_aafb,
                    0xf810_9cf3_dae1_c887,
                    0x16d5_cfd6_8cf5_e52f,
                    0xd6f6_7a99_555e_0a17,
                ],
            ),
            (
                240,
                48,
                3,
                [
                    0x1bb4_fe6e_0938_0470,
                    0xc2dd_cd01_9fe1_7383,
                    0xe2d4_9e62_cbb3_42a2,
                    0x6f30_39bf_7dc6_146f,
                ],
            ),
            (
                1008,
                168,
                3,
                [
                    0xb9f7_04f0_c6c7_3708,
                    0xd40a_3a6d_0a64_b9ad,
                    0xa232_632a_1f27_079c,
                    0x273d_9882_e0f3_b284,
                ],
            ),
            (
                16_608,
                24,
                3,
                [
                    0x67a0_795b_b202_7c36,
                    0x47ff_e2cb_4dd1_43ec,
                    0x854c_dc49_b800_6284,
                    0x4df7_c141_4c2b_0098_u64,
                ],
            ),
        ] {
            let noise: Vec<u64> = (1..=n as u64).map(|i| i.wrapping_mul(MIX)).collect();
            let out = compressed(BlockAccumulate::new(n, accumulators), blocks, &noise, n / 2);
            let digest = out.iter().fold(0u64, |digest, entry| {
                let mixed = (digest ^ entry).wrapping_mul(MIX);
                mixed ^ mixed >> 32
            });
            assert_eq!([out[0], out[1], out[n / 2 - 1], digest], expected, "{n}");
        }
    }

    /// Encodes 64 words at a time, word j in bit j of each number: from words to codewords, by the definition.
    fn encode(code: BlockAccumulate, words: &[u64]) -> Vec<u64> {
        let parity = parity();
        let mut codewords: Vec<u64> = Vec::with_capacity(code.length);
        for words in words.chunks_exact(DIMENSION) {
            codewords.extend(words);
            codewords.extend((0..DIMENSION).map(|j| {
                let rows = words.iter().zip(parity).filter(|(_, row)| row >> j & 1 == 1);
                rows.fold(0, |sum, (word, _)| sum ^ word)
            }));
        }
        // The transposes of the compression steps, in reverse order.
        for round in [0].into_iter().chain((1..code.accumulators).rev()) {
            let mut permuted = vec![0; code.length];
            let places = permutation(code.length, round);
            places.iter().zip(codewords).for_each(|(place, word)| permuted[*place as usize] = word);
            let mut sum = 0;
            permuted.iter_mut().rev().for_each(|word| {
                sum ^= *word;
                *word = sum;
            });
            codewords = permuted;
        }
        codewords
    }

    /// The number of ones in each of 64 words.
    fn weights(codewords: &[u64]) -> [u32; 64] {
        // Counters of 32 bits, in bit slices.
        let mut counters = [0u64; 32];
        for word in codewords {
            let mut carry = *word;
            for counter in &mut counters {
                (*counter, carry) = (*counter ^ carry, *counter & carry);
                if carry == 0 {
                    break;
                }
            }
        }
        std::array::from_fn(|j| (0..32).map(|bit| ((counters[bit] >> j & 1) as u32) << bit).sum())
    }

    #[test]
    fn encoding_is_the_transposed_of_compressing() {
        let rng = &mut StdRng::seed_from_u64(2);
        for (n, accumulators) in [(48, 1), (240, 2), (2_040, 3)] {
            let code = BlockAccumulate::new(n, accumulators);
            let words: Vec<u64> = (0..n / 2).map(|_| u64::random(rng)).collect();
            let noise: Vec<u64> = (0..n).map(|_| u64::random(rng)).collect();
            let sum = |a: &[u64], b: &[u64]| {
                a.iter().zip(b).fold([0; 64], |sum: [u64; 64], (a, b)| {
                    std::array::from_fn(|j| sum[j] ^ b & (a >> j & 1).wrapping_neg())
                })
            };
            let out = compressed(code, 1, &noise, n / 2);
            assert_eq!(sum(&encode(code, &words), &noise), sum(&words, &out), "{n}");
        }
    }

    /// The smallest and the largest weight of all words with one active block, which dominate the bound on
    /// light words in long codes.
    fn extreme_weights(code: BlockAccumulate) -> [u32; 2] {
        let mut extremes = [u32::MAX, 0];
        let mut words = vec![0; code.dimension()];
        for block in 0..code.length / BLOCK {
            for high in 0u64..64 {
                let of_block = &mut words[DIMENSION * block..][..DIMENSION];
                // All values of six bits, side by side, with the other six bits fixed.
                let low = [
                    0xaaaa_aaaa_aaaa_aaaa,
                    0xcccc_cccc_cccc_cccc,
                    0xf0f0_f0f0_f0f0_f0f0,
                    0xff00_ff00_ff00_ff00,
                    0xffff_0000_ffff_0000,
                    0xffff_ffff_0000_0000,
                ];
                of_block[..6].copy_from_slice(&low);
                (0..6).for_each(|bit| of_block[6 + bit] = (high >> bit & 1).wrapping_neg());
                let weights = weights(&encode(code, &words));
                // The very first word is zero.
                let weights = &weights[usize::from(high == 0)..];
                extremes[0] = extremes[0].min(*weights.iter().min().unwrap());
                extremes[1] = extremes[1].max(*weights.iter().max().unwrap());
            }
            words.fill(0);
        }
        extremes
    }

    /// With one accumulator some words have very low weight; with two or three, no word of one block is lighter
    /// or heavier than the noise can tolerate.
    #[test]
    fn no_word_of_one_block_is_light() {
        for n in [2_040, 4_080] {
            let relative = |accumulators| {
                extreme_weights(BlockAccumulate::new(n, accumulators))
                    .map(|weight| f64::from(weight) / n as f64)
            };
            assert!(relative(1)[0] < 0.05);
            for accumulators in [2, 3] {
                let [least, largest] = relative(accumulators);
                assert!(
                    least > 0.1092 && largest < 1.0 - 0.1092,
                    "{n}, {accumulators}: {least}, {largest}"
                );
            }
        }
    }
}
