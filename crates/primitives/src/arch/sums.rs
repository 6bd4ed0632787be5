//! The kernels of sums of vectors, by backend.

use super::{Backend, portable::sums};
use crate::Block;

#[cfg(target_arch = "aarch64")]
use super::aarch64;
#[cfg(target_arch = "x86_64")]
use super::x86_64;

impl Backend {
    /// Adds `from` to `to`, block by block, up to the end of the shorter slice.
    pub(crate) fn add_to(self, to: &mut [Block], from: &[Block]) {
        // AArch64 has no other than the portable loop, which compilers can vectorise for NEON.
        kernel!(
            self,
            _ => sums::add_to(to, from),
            "x86_64" Avx2 | Vaes | Avx512 => x86_64::sums::add_to(to, from),
        )
    }

    /// See [`crate::block::sums_by_bit`], for `S` streams, a power of two.
    pub(crate) fn sums_by_bit<const S: usize>(
        self,
        streams: &[Block],
        columns: &mut [Block],
        total: &mut [Block],
    ) {
        kernel!(
            self,
            _ => sums::sums_by_bit::<S>(streams, columns, total, 0),
            "x86_64" Avx2 | Vaes | Avx512 => {
                let done = x86_64::sums::sums_by_bit::<S>(streams, columns, total);
                sums::sums_by_bit::<S>(streams, columns, total, done);
            },
            "aarch64" Neon => aarch64::sums::sums_by_bit::<S>(streams, columns, total),
        )
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    fn random(n: usize, rng: &mut StdRng) -> Vec<Block> {
        (0..n).map(|_| Block::random(rng)).collect()
    }

    /// `S` streams of `len` blocks, and columns for some of the bits of their numbers.
    fn sums_are_those_of_the_definition<const S: usize>(len: usize, bits: usize) {
        let rng = &mut StdRng::seed_from_u64(len as u64);
        let (streams, before) = (random(S * len, rng), random(bits * len, rng));
        let sum = |j: usize, of: &dyn Fn(usize) -> bool| {
            let terms = (0..S).filter(|i| of(*i)).map(|i| streams[i * len + j]);
            terms.fold(Block::ZERO, |sum, term| sum ^ term)
        };
        for backend in Backend::available() {
            let (mut columns, mut total) = (before.clone(), vec![Block(9); len]);
            backend.sums_by_bit::<S>(&streams, &mut columns, &mut total);
            for j in 0..len {
                assert_eq!(total[j], sum(j, &|_| true), "{backend:?}, {S} of {len} blocks");
                for b in 0..bits {
                    let expected = before[b * len + j] ^ sum(j, &|i| i >> b & 1 == 1);
                    assert_eq!(columns[b * len + j], expected, "{backend:?}, {S}, bit {b}");
                }
            }
        }
    }

    #[test]
    fn backends_agree() {
        for len in (0..20).chain([32, 33]) {
            for bits in 0..=1 {
                sums_are_those_of_the_definition::<2>(len, bits);
            }
            for bits in 0..=2 {
                sums_are_those_of_the_definition::<4>(len, bits);
            }
            for bits in 0..=3 {
                sums_are_those_of_the_definition::<8>(len, bits);
            }
            let rng = &mut StdRng::seed_from_u64(1);
            let (before, other) = (random(len, rng), random(len, rng));
            for backend in Backend::available() {
                let mut both = before.clone();
                backend.add_to(&mut both, &other);
                let expected = before.iter().zip(&other).map(|(a, b)| *a ^ *b);
                assert!(both.into_iter().eq(expected), "{backend:?}, {len} blocks");
            }
        }
    }
}
