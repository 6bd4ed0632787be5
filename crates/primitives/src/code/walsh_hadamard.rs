//! The Walsh–Hadamard code of KK13.

use super::LinearCode;
use crate::Block;

/// The Walsh–Hadamard code \[256, 8, 128\]: place p of the codeword of v is the parity of v ∧ p. Any two
/// codewords differ in exactly half of all places.
#[derive(Debug, Clone, Copy, Default)]
pub struct WalshHadamard;

impl LinearCode for WalshHadamard {
    type Row = [Block; 2];

    const DIMENSION: usize = 8;

    const WIDTH: usize = 256;

    const DISTANCE: usize = 128;

    fn spread<const T: usize>(&self, bits: &[[Block; T]], places: &mut [[Block; T]]) {
        places[0] = [Block::ZERO; T];
        for (i, bit) in bits.iter().enumerate() {
            // Places whose highest bit is i equal those below plus bit i of the word.
            let (below, with) = places.split_at_mut(1 << i);
            for (with, below) in with.iter_mut().zip(below) {
                *with = std::array::from_fn(|t| below[t] ^ bit[t]);
            }
        }
    }

    /// The first 64 places are a sum of six patterns; the others repeat them or their complements.
    fn encode_rows(&self, words: &[Block], rows: &mut [[Block; 2]]) {
        for (word, row) in words.iter().zip(rows) {
            let repeated = |bit: usize| (word.low() >> bit & 1).wrapping_neg();
            let patterns = PATTERNS.iter().enumerate();
            let low = patterns.fold(0, |sum, (bit, pattern)| sum ^ pattern & repeated(bit));
            let [six, seven] = [repeated(6), repeated(7)];
            let block = |low: u64| Block(u128::from(low ^ six) << 64 | u128::from(low));
            *row = [block(low), block(low ^ seven)];
        }
    }
}

/// Bit p of pattern i is bit i of p.
const PATTERNS: [u64; 6] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{
        Row,
        linear::tests::{codeword, conforms, weight},
    };

    #[test]
    fn places_are_parities() {
        conforms(&WalshHadamard);
        for v in 0..256 {
            let row = codeword(&WalshHadamard, v);
            for p in 0..256 {
                let parity = (v & p as u128).count_ones() % 2;
                assert_eq!(row[p / 128].0 >> (p % 128) & 1, u128::from(parity), "{v}, place {p}");
            }
        }
    }

    #[test]
    fn all_codewords_are_equally_far_apart() {
        for v in 0..256 {
            for w in 0..v {
                let mut sum = codeword(&WalshHadamard, v);
                sum.add(&codeword(&WalshHadamard, w));
                assert_eq!(weight(&sum), 128);
            }
        }
    }
}
