//! The BCH code of OOS17, complete and shortened.

use super::{LinearCode, sums::Sums};
use crate::Block;

/// The binary BCH code \[511, 76\] with designed distance 171, primitive and in the narrow sense, over
/// GF(2^9) = GF(2)\[x\]/(x^9 + x^4 + 1): the multiples of the polynomial that is 0 at α^1 … α^170.
///
/// Coefficient i of a codeword belongs to x^i. The encoding is systematic: bit i of the word is coefficient 435 + i,
/// and the coefficients below are the remainder that makes it a multiple. The coefficients, in order, are the places of
/// the codeword.
pub type Bch = CutBch<DIMENSION, 0>;

/// The code \[460, 68\] of distance at least 128 that [`Bch`] becomes when words are 8 bits shorter and the
/// lowest 43 coefficients are left out.
pub type ShortBch = CutBch<68, 43>;

/// [`Bch`] shortened and punctured. Words have `BITS` bits and the others are 0, which selects a subset of the
/// codewords; the coefficients that are then always 0 are left out. So are the lowest `LOWEST` coefficients,
/// which reduces the distance by at most that number.
pub struct CutBch<const BITS: usize, const LOWEST: usize> {
    /// The places that are not bits of the word.
    checks: Sums<GROUPS>,
}

/// The generator; bit i is the coefficient of x^i. A test recomputes it.
const GENERATOR: [u128; 4] = [
    0x6e7c_f2e2_c8aa_aae2_8d8c_59a7_e115_3e45,
    0x9b20_7848_ffad_3b37_7917_32ac_9184_a83a,
    0xb8a9_71bb_a5f0_c3b5_24c0_f6f9_1dbe_79d8,
    0x000a_d98b_f954_7f24,
];

/// The generator's degree.
const CHECKS: usize = 435;

const DIMENSION: usize = 76;

const DISTANCE: usize = 171;

const GROUPS: usize = Sums::<0>::groups(DIMENSION);

impl<const BITS: usize, const LOWEST: usize> CutBch<BITS, LOWEST> {
    /// Computes the matrix of the code.
    pub fn new() -> Self {
        let mut checks = vec![0u128; CHECKS - LOWEST];
        let mut remainder = GENERATOR;
        clear_leading(&mut remainder);
        // x^435, x^436 … modulo the generator.
        for bit in 0..BITS {
            for (i, check) in (LOWEST..).zip(&mut checks) {
                *check |= (remainder[i / 128] >> (i % 128) & 1) << bit;
            }
            remainder = times_x(remainder);
        }
        Self { checks: Sums::new(checks.into_iter()) }
    }
}

impl<const BITS: usize, const LOWEST: usize> Default for CutBch<BITS, LOWEST> {
    fn default() -> Self {
        Self::new()
    }
}

/// Clears the coefficient of x^435 by adding the generator.
fn clear_leading(polynomial: &mut [u128; 4]) {
    polynomial[CHECKS / 128] &= !(1 << (CHECKS % 128));
}

/// The product with x modulo the generator.
fn times_x(polynomial: [u128; 4]) -> [u128; 4] {
    let mut carry = 0;
    let mut product = polynomial.map(|block| {
        let doubled = block << 1 | carry;
        carry = block >> 127;
        doubled
    });
    if product[CHECKS / 128] >> (CHECKS % 128) & 1 == 1 {
        product.iter_mut().zip(GENERATOR).for_each(|(p, g)| *p ^= g);
    }
    product
}

impl<const BITS: usize, const LOWEST: usize> LinearCode for CutBch<BITS, LOWEST> {
    type Row = [Block; 4];

    const DIMENSION: usize = {
        assert!(BITS <= DIMENSION, "no more bits than the whole code has");
        BITS
    };

    const WIDTH: usize = CHECKS - LOWEST + BITS;

    const DISTANCE: usize = DISTANCE - LOWEST;

    fn spread<const T: usize>(&self, bits: &[[Block; T]], places: &mut [[Block; T]]) {
        let (checks, word) = places.split_at_mut(CHECKS - LOWEST);
        self.checks.add_up(bits, checks);
        word.copy_from_slice(bits);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;
    use crate::code::{
        Code,
        linear::tests::{codeword, conforms, random_words, weight},
    };

    /// Polynomials over GF(2), the coefficient of x^i at place i.
    fn bits_of(row: &[u128; 4]) -> Vec<u8> {
        (0..512).map(|i| (row[i / 128] >> (i % 128) & 1) as u8).collect()
    }

    fn product(a: &[u8], b: &[u8]) -> Vec<u8> {
        let mut product = vec![0; a.len() + b.len() - 1];
        for (i, a) in a.iter().enumerate() {
            b.iter().enumerate().for_each(|(j, b)| product[i + j] ^= a & b);
        }
        product
    }

    /// Long division, from the top.
    fn is_multiple(mut of: Vec<u8>, divisor: &[u8]) -> bool {
        for top in (divisor.len() - 1..of.len()).rev() {
            if of[top] == 1 {
                let low = top + 1 - divisor.len();
                divisor.iter().enumerate().for_each(|(i, d)| of[low + i] ^= d);
            }
        }
        of.iter().all(|c| *c == 0)
    }

    /// Powers of α, as numbers whose bit i is the coefficient of x^i.
    fn powers_of_alpha() -> Vec<u16> {
        let next = |x: &u16| Some(x << 1 ^ if x >> 8 == 1 { 0b10_0001_0001 } else { 0 });
        std::iter::successors(Some(1), next).take(511).collect()
    }

    /// The product of x − α^j over a cyclotomic class, which is the minimal polynomial of its members.
    fn minimal_polynomial(class: &[usize], powers: &[u16]) -> Vec<u8> {
        let log = |x: u16| powers.iter().position(|power| *power == x).unwrap();
        let times = |a: u16, b: u16| match (a, b) {
            (0, _) | (_, 0) => 0,
            _ => powers[(log(a) + log(b)) % 511],
        };
        let mut polynomial = vec![1];
        for j in class {
            let shifted = [&[0], &polynomial[..]].concat();
            let scaled = polynomial.iter().map(|c| times(*c, powers[*j])).chain([0]);
            polynomial = shifted.iter().zip(scaled).map(|(a, b)| a ^ b).collect();
        }
        assert!(polynomial.iter().all(|c| *c <= 1), "over GF(2)");
        polynomial.into_iter().map(|c| c as u8).collect()
    }

    #[test]
    fn the_generator_is_the_least_multiple_of_the_minimal_polynomials() {
        let powers = powers_of_alpha();
        let mut sorted = powers.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(1..512), "x^9 + x^4 + 1 is primitive");
        let (mut seen, mut generator) = ([false; 511], vec![1]);
        for i in 1..=170 {
            if !seen[i] {
                let mut class = vec![i];
                while class[class.len() - 1] * 2 % 511 != i {
                    class.push(class[class.len() - 1] * 2 % 511);
                }
                class.iter().for_each(|j| seen[*j] = true);
                generator = product(&generator, &minimal_polynomial(&class, &powers));
            }
        }
        assert_eq!(generator.len(), CHECKS + 1);
        generator.resize(512, 0);
        assert_eq!(bits_of(&GENERATOR), generator);
    }

    #[test]
    fn codewords_are_multiples_of_the_generator() {
        let generator = &bits_of(&GENERATOR)[..=CHECKS];
        let code = Bch::new();
        let words = random_words::<Bch>(500, 1);
        let single = (0..DIMENSION).map(|bit| Block(1 << bit));
        for word in words.into_iter().chain(single).chain([Block((1 << DIMENSION) - 1)]) {
            let row = codeword(&code, word.0);
            let bits = bits_of(&row.map(|block| block.0));
            assert!(is_multiple(bits.clone(), generator));
            let word_bits = (0..DIMENSION).map(|i| (word.0 >> i & 1) as u8);
            assert!(bits[CHECKS..511].iter().copied().eq(word_bits), "systematic");
        }
        assert!(!is_multiple(bits_of(&[1, 0, 0, 0]), generator));
    }

    #[test]
    fn conforms_to_what_it_claims() {
        conforms(&Bch::new());
        conforms(&ShortBch::new());
    }

    #[test]
    fn the_short_code_has_what_the_whole_one_has() {
        assert_eq!((ShortBch::WIDTH, ShortBch::DISTANCE), (460, 128));
        let (whole, short) = (Bch::new(), ShortBch::new());
        for word in random_words::<ShortBch>(100, 4) {
            let [whole, short] = [codeword(&whole, word.0), codeword(&short, word.0)];
            let [whole, short] = [whole, short].map(|row| bits_of(&row.map(|block| block.0)));
            assert_eq!(whole[43..503], short[..460]);
            assert!(whole[503..].iter().chain(&short[460..]).all(|bit| *bit == 0));
        }
    }

    /// Sums of up to three rows of the matrix, and random words: the lightest codewords that can be found
    /// cheaply.
    #[test]
    fn no_sampled_codeword_is_lighter_than_the_distance() {
        let code = Bch::new();
        let rng = &mut StdRng::seed_from_u64(2);
        let mut words: Vec<Block> = random_words::<Bch>(50_000, 3);
        for a in 0..DIMENSION {
            for b in 0..DIMENSION {
                words.push(Block(1 << a | 1 << b));
                words.push(Block(1 << a | 1 << b | 1 << rng.random_range(0..DIMENSION)));
            }
        }
        let mut rows = vec![[Block::ZERO; 4]; words.len()];
        code.encode(&words, &mut rows);
        let nonzero = words.iter().zip(&rows).filter(|(word, _)| **word != Block::ZERO);
        let least = nonzero.map(|(_, row)| weight(row)).min().unwrap();
        assert!((171..=210).contains(&least), "{least}");
    }

    #[test]
    #[should_panic(expected = "words of 76 bits")]
    fn longer_words_are_refused() {
        codeword(&Bch::new(), 1 << DIMENSION);
    }
}
