//! Learning parity with noise: how much noise a compressing code needs.

use crate::KAPPA;

/// A code and the noise that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lpn {
    /// Ones in a row of the expander of an expand–convolute code with 24 random diagonals.
    pub weight: usize,
    /// Assumed minimum distance of the code, as hundredths of its length.
    pub distance_percent: u32,
    /// Blocks of the noise, each with one entry that is not zero.
    pub blocks: usize,
}

/// Expander weight 7, memory 24: the default.
///
/// Raghuraman, Rindal and Tanguy (eprint 2023/882) extrapolate distances from codes small enough to
/// search; implementations disagree on what to read off (0.15 or 0.25 of the length), and this takes
/// the lower. It is an assumption, not a proof.
pub const FAST: Lpn = lpn(7, 15, 256);

/// Expander weight 21, memory 24: more work for a larger assumed distance (0.20, again the lower of
/// the figures in use).
pub const CONSERVATIVE: Lpn = lpn(21, 20, 176);

const fn lpn(weight: usize, distance_percent: u32, blocks: usize) -> Lpn {
    Lpn { weight, distance_percent, blocks }
}

impl Lpn {
    /// Blocks that the linear-test bound asks for: with regular noise, the best linear test against
    /// a code of relative distance δ has bias (1 − 2δ)^t, which has to be at most 2^-κ; rounded up to
    /// a multiple of 8.
    pub fn blocks_needed(&self) -> usize {
        let bias = 1.0 - f64::from(2 * self.distance_percent) / 100.0;
        let blocks = libm::ceil(f64::from(KAPPA) / -libm::log2(bias));
        (blocks as usize).next_multiple_of(8)
    }

    /// Entries of a noise block such that at least `length` entries are left after compressing all
    /// blocks to half.
    pub fn block_len(&self, length: usize) -> usize {
        // The code's dimension is a multiple of 8 at any block length, for the number of blocks is
        // one of 16.
        (2 * length).div_ceil(self.blocks).max(MIN_BLOCK)
    }

    /// The dimension of the code for blocks of this length.
    pub fn dimension(&self, block_len: usize) -> usize {
        self.blocks * block_len / 2
    }
}

/// The shortest noise block: shorter ones would tell too much of where their entry is.
const MIN_BLOCK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_meets_the_linear_test_bound() {
        for lpn in [FAST, CONSERVATIVE] {
            assert_eq!(lpn.blocks, lpn.blocks_needed(), "{lpn:?}");
            assert!(lpn.blocks.is_multiple_of(16));
        }
    }

    #[test]
    fn there_is_always_enough_left() {
        for lpn in [FAST, CONSERVATIVE] {
            for length in [0, 1, 100, 1000, 85_000, 1_373_000] {
                let block = lpn.block_len(length);
                assert!(lpn.dimension(block) >= length);
                assert!(lpn.dimension(block).is_multiple_of(8));
            }
        }
    }
}
