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
    /// The most entries that are compressed together. Where more are asked for, there are several
    /// pieces, each with its own noise of as many blocks: an expander's reads are all over a piece, and
    /// this many entries stay in a processor's cache. A piece is LPN with fewer samples than the whole
    /// would be.
    pub piece: usize,
}

/// Entries of a piece by default: 768 trees of 512 leaves make twice as many.
const PIECE: usize = 768 * 512 / 2;

/// Expander weight 7, memory 24: the default.
///
/// The assumed distance is that of a random code of rate 1/2 (Gilbert–Varshamov), below every figure
/// that Raghuraman, Rindal and Tanguy (eprint 2023/882) and implementations extrapolate. It is an
/// assumption, not a proof, and it is one about the code *with* the interleaver between its
/// convolutions (`vesica_primitives::code::ExpandConvolute`): without it, there are words of 0.064 of
/// the length at dimension 1.4·10^6, and worse attacks than those that distance stands for.
pub const FAST: Lpn = lpn(7, 11, 768);

/// Expander weight 21, memory 24: more work for a code that is closer to a random one.
pub const CONSERVATIVE: Lpn = lpn(21, 11, 768);

/// For noise whose values are all 1, as silent OT has it, with the code of [`FAST`].
///
/// Then [`Lpn::blocks_needed`] does not apply: nothing is drawn but places, and a linear test has bias
/// (1 − 2δ)^t. That each block adds up to 1 is public: t equations beside the k in 2k unknowns that a
/// compressed vector is anyway.
///
/// A sender that may guess sets of places and is caught otherwise gains more by a guess here than it
/// costs: with all 368 blocks guessed to miss a word of least weight, it would tell the vector from random
/// with probability 0.89^368, about 2^-62, if it had such a word. That is below 2^-λ, and no way to find such
/// a word is known.
pub const BITS: Lpn = lpn(7, 11, 368);

const fn lpn(weight: usize, distance_percent: u32, blocks: usize) -> Lpn {
    Lpn { weight, distance_percent, blocks, piece: PIECE }
}

impl Lpn {
    /// With pieces of up to `piece` entries: fewer bytes the fewer pieces there are.
    pub const fn with_piece(self, piece: usize) -> Self {
        Self { piece, ..self }
    }

    /// Pieces for `length` entries, all of one length.
    pub fn pieces(&self, length: usize) -> usize {
        length.div_ceil(self.piece).max(1)
    }

    /// Blocks needed for noise whose values are uniform in a space of `bits` bits, rounded up to a
    /// multiple of 16.
    ///
    /// Two bounds, each at most 2^-κ. A linear test has bias (1 − δ)^t at relative distance δ: a block
    /// with a value that is uniform, instead of always 1, cancels the test. And because code and test
    /// are binary, a compressed vector is `bits` syndromes with common positions: an information set
    /// that misses enough of them leaves the values linearly dependent. For a code of rate 1/2 without
    /// structure that has probability 2^bits · (3/4)^t, that is 0.415 bits a block; the best set known for
    /// this code, which makes use of windows in both convolutions, leaves 0.389. A party that may guess
    /// `g` bits of the positions and is caught otherwise is covered by `bits + g`; the first bound is
    /// then one on what it wins in all, guessing included.
    ///
    /// Neither is a proof: both are the best attacks that two readings of the code have found.
    pub fn blocks_needed(&self, bits: u32) -> usize {
        let linear = f64::from(KAPPA) / -libm::log2(1.0 - f64::from(self.distance_percent) / 100.0);
        let interleaved = f64::from(KAPPA + bits) / 0.389;
        (libm::ceil(linear.max(interleaved)) as usize).next_multiple_of(16)
    }

    /// Blocks needed for noise whose values are all 1, rounded up to a multiple of 16: a linear test has
    /// bias (1 − 2δ)^t, at most 2^-κ.
    pub fn blocks_needed_for_ones(&self) -> usize {
        let linear = 1.0 - 2.0 * f64::from(self.distance_percent) / 100.0;
        (libm::ceil(f64::from(KAPPA) / -libm::log2(linear)) as usize).next_multiple_of(16)
    }

    /// The same code with at least as many blocks, such that a power of two of entries a block is
    /// enough for `length` and no more than a quarter is left over. More blocks, and shorter ones, only
    /// add noise.
    pub fn with_full_blocks(self, length: usize) -> Self {
        let least = self.block_len(length);
        if 4 * least.next_power_of_two() <= 5 * least {
            return self;
        }
        // The largest power of two that is not above.
        let block = 1 << least.ilog2();
        let blocks = (2 * length).div_ceil(block).next_multiple_of(16);
        Self { blocks: blocks.max(self.blocks), ..self }
    }

    /// Entries of a noise block such that at least `length` entries are left after compressing all
    /// blocks to half.
    pub fn block_len(&self, length: usize) -> usize {
        // A multiple of 4, as the number of blocks is one of 16, makes the code's dimension one of 32.
        (2 * length).div_ceil(self.blocks).max(MIN_BLOCK).next_multiple_of(4)
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
    use crate::LAMBDA;

    #[test]
    fn noise_meets_its_bounds() {
        for lpn in [FAST, CONSERVATIVE] {
            let needed = [60, 64, 128, 128 + LAMBDA].map(|bits| lpn.blocks_needed(bits));
            assert_eq!(needed, [768; 4]);
            assert_eq!(lpn.blocks, 768);
            assert!(lpn.blocks.is_multiple_of(16));
        }
        assert_eq!(BITS.blocks_needed_for_ones(), BITS.blocks);
        assert!(0.78f64.powi(357) > 2f64.powi(-128) && 0.78f64.powi(358) < 2f64.powi(-128));
    }

    #[test]
    fn there_is_always_enough_left() {
        for lpn in [FAST, CONSERVATIVE] {
            for length in [0, 1, 100, 1000, 85_000, 1_373_000] {
                let block = lpn.block_len(length);
                assert!(lpn.dimension(block) >= length);
                assert!(lpn.dimension(block).is_multiple_of(32));
            }
        }
    }
}
