//! A Reed–Solomon code whose symbols are encoded again: for words too long for the BCH code of 511 places.

use super::{
    LinearCode,
    sums::{Sums, add},
};
use crate::Block;

/// The code \[579, 128\] of distance at least 128 that is the concatenation of
///
/// - the Reed–Solomon code \[53, 22, 32\] over GF(64): values of a polynomial of degree below 22 at 53 places, with at
///   most 21 zeros;
/// - the shortened extended Hamming code \[11, 6, 4\] for each of the 53 symbols,
///
/// so two codewords differ in at least 32 symbols, and in at least 4 places of each of these. Both encodings
/// are systematic: the word is the first 128 of the 132 bits of the first 22 symbols. The other four are always
/// 0 and omitted.
///
/// Places are the word's bits, then the bits of the other symbols, then the 5 checks of each symbol.
pub struct Concatenated {
    /// The bits of the symbols that do not belong to the word.
    others: Sums<GROUPS>,
}

const WORD_BITS: usize = 128;

const GROUPS: usize = Sums::<0>::groups(WORD_BITS);

/// Bits of a symbol.
const SYMBOL: usize = 6;

const SYMBOLS: usize = 53;

/// Symbols that hold the word.
const WORD_SYMBOLS: usize = WORD_BITS.div_ceil(SYMBOL);

/// The bits of all symbols except those that are always 0.
const SYMBOL_BITS: usize = WORD_BITS + (SYMBOLS - WORD_SYMBOLS) * SYMBOL;

/// Checks of a symbol.
const CHECKS: usize = 5;

/// The checks to which each bit of a symbol is added: three each, a different three for every bit.
const CHECKED: [u8; SYMBOL] = [0b00111, 0b01011, 0b10011, 0b01101, 0b10101, 0b11001];

impl Concatenated {
    /// Computes the matrix of the code.
    pub fn new() -> Self {
        let mut others = [0u128; SYMBOL_BITS - WORD_BITS];
        for (symbol, others) in (WORD_SYMBOLS..).zip(others.chunks_mut(SYMBOL)) {
            for i in 0..WORD_SYMBOLS {
                let coefficient = lagrange(i as u8, symbol as u8);
                for (bit, at) in (SYMBOL * i..WORD_BITS).take(SYMBOL).enumerate() {
                    let product = times(coefficient, 1 << bit);
                    let sums = others.iter_mut().enumerate();
                    sums.for_each(|(j, sum)| *sum |= u128::from(product >> j & 1) << at);
                }
            }
        }
        Self { others: Sums::new(others.into_iter()) }
    }
}

impl Default for Concatenated {
    fn default() -> Self {
        Self::new()
    }
}

/// The value at `point` of the polynomial that is 1 at `i` and 0 at the word's other places. The places are the
/// first elements of the field, in numerical order.
fn lagrange(i: u8, point: u8) -> u8 {
    let others = (0..WORD_SYMBOLS as u8).filter(|k| *k != i);
    let products = |(above, below), k| (times(above, point ^ k), times(below, i ^ k));
    let (above, below) = others.fold((1, 1), products);
    times(above, inverse(below))
}

/// The product in GF(64) = GF(2)\[x\]/(x^6 + x + 1).
const fn times(a: u8, b: u8) -> u8 {
    let (mut product, mut power, mut bit) = (0, a, 0);
    while bit < SYMBOL {
        if b >> bit & 1 == 1 {
            product ^= power;
        }
        power = power << 1 ^ if power >> (SYMBOL - 1) & 1 == 1 { 0b100_0011 } else { 0 };
        bit += 1;
    }
    product
}

/// The inverse: a^62, the square of a^31.
fn inverse(a: u8) -> u8 {
    let root = (0..5).fold(1, |power, _| times(times(power, power), a));
    times(root, root)
}

impl LinearCode for Concatenated {
    type Row = [Block; 5];

    const DIMENSION: usize = WORD_BITS;

    const WIDTH: usize = SYMBOL_BITS + SYMBOLS * CHECKS;

    const DISTANCE: usize = (SYMBOLS - WORD_SYMBOLS + 1) * 4;

    fn spread<const T: usize>(&self, bits: &[[Block; T]], places: &mut [[Block; T]]) {
        let (symbols, checks) = places.split_at_mut(SYMBOL_BITS);
        let (word, others) = symbols.split_at_mut(WORD_BITS);
        word.copy_from_slice(bits);
        self.others.add_up(bits, others);
        // The last symbol of the word is shorter.
        let symbols = word.chunks(SYMBOL).chain(others.chunks(SYMBOL));
        for (symbol, checks) in symbols.zip(checks.chunks_exact_mut(CHECKS)) {
            for (i, check) in checks.iter_mut().enumerate() {
                let of_check = symbol.iter().zip(CHECKED).filter(|(_, of)| of >> i & 1 == 1);
                *check = of_check.fold([Block::ZERO; T], |sum, (bit, _)| add(&sum, bit));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;
    use crate::code::linear::tests::{codeword, conforms, weight};

    fn bit(row: &[Block; 5], place: usize) -> u8 {
        (row[place / 128].0 >> (place % 128) & 1) as u8
    }

    /// The symbols of a codeword, and the checks of each.
    fn symbols(row: &[Block; 5]) -> Vec<(u8, u8)> {
        let bits: Vec<u8> = (0..WORD_BITS)
            .map(|place| bit(row, place))
            .chain([0; 4])
            .chain((WORD_BITS..SYMBOL_BITS).map(|place| bit(row, place)))
            .collect();
        let checks: Vec<u8> =
            (SYMBOL_BITS..Concatenated::WIDTH).map(|place| bit(row, place)).collect();
        let number = |bits: &[u8]| bits.iter().rev().fold(0, |number, bit| number << 1 | bit);
        bits.chunks(SYMBOL).map(number).zip(checks.chunks(CHECKS).map(number)).collect()
    }

    #[test]
    fn conforms_to_what_it_claims() {
        assert_eq!((Concatenated::WIDTH, Concatenated::DISTANCE), (579, 128));
        conforms(&Concatenated::new());
    }

    /// GF(64) is a field with a generator of order 63, so a product is 0 only if a factor is: a polynomial has
    /// no more zeros than its degree.
    #[test]
    fn symbols_are_those_of_a_field() {
        let powers: Vec<u8> = (0..63)
            .scan(1, |power, _| {
                *power = times(*power, 2);
                Some(*power)
            })
            .collect();
        let mut sorted = powers.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(1..64));
        for (i, a) in powers.iter().enumerate() {
            assert_eq!(times(*a, inverse(*a)), 1);
            for (j, b) in powers.iter().enumerate() {
                assert_eq!(times(*a, *b), powers[(i + j + 1) % 63]);
            }
        }
    }

    /// Both parts of the code from their definitions.
    #[test]
    fn symbols_are_values_of_a_polynomial_and_far_apart() {
        let code = Concatenated::new();
        let rng = &mut StdRng::seed_from_u64(1);
        let mut lightest = usize::MAX;
        for trial in 0..2000 {
            // Choose the last coefficients so that the omitted bits are 0: the last symbol has only two bits.
            let mut polynomial: Vec<u8> =
                (0..WORD_SYMBOLS).map(|_| rng.random_range(0..64)).collect();
            // Some zeros among the word's symbols, for light words.
            if trial % 2 == 0 {
                polynomial = vec![rng.random_range(1..64)];
                for zero in 0..WORD_SYMBOLS as u8 - 1 {
                    let shifted = [&[0], &polynomial[..]].concat();
                    let scaled = polynomial.iter().map(|c| times(*c, zero)).chain([0]);
                    polynomial = shifted.iter().zip(scaled).map(|(a, b)| a ^ b).collect();
                }
            }
            let value = |at: u8| polynomial.iter().rev().fold(0, |sum, c| times(sum, at) ^ c);
            let expected: Vec<u8> = (0..SYMBOLS as u8).map(value).collect();
            if expected[WORD_SYMBOLS - 1] >= 4 {
                continue;
            }
            let word = expected[..WORD_SYMBOLS].iter().rev();
            let word = word.fold(0u128, |word, symbol| word << SYMBOL | u128::from(*symbol));
            let row = codeword(&code, word);
            let symbols = symbols(&row);
            assert!(symbols.iter().map(|(symbol, _)| *symbol).eq(expected), "trial {trial}");
            lightest = lightest.min(weight(&row));
        }
        assert!((128..200).contains(&lightest), "{lightest}");
        // Each symbol with its checks has at least four ones, or none.
        for symbol in 1u8..64 {
            let row = codeword(&code, u128::from(symbol));
            let (found, checks) = symbols(&row)[0];
            assert_eq!(found, symbol);
            assert!(symbol.count_ones() + checks.count_ones() >= 4, "{symbol:06b} {checks:05b}");
        }
    }
}
