//! The fields GF(2^64) and GF(2^128).
//!
//! Bit i of a number is the coefficient of x^i (not the reflected order of GCM). Addition is exclusive or.
//! All operations are constant time.

use crate::{Block, arch::Backend};

/// The product in GF(2^64), modulo x^64 + x^4 + x^3 + x + 1.
pub fn multiply64(a: u64, b: u64) -> u64 {
    Backend::current().multiply64(a, b)
}

/// The product in GF(2^128), modulo x^128 + x^7 + x^2 + x + 1.
pub fn multiply128(a: Block, b: Block) -> Block {
    Backend::current().multiply128(a, b)
}

/// The inverse in GF(2^128); 0 for 0.
pub fn invert128(a: Block) -> Block {
    // a^(2^128 − 2), the product of a^(2^i) for i from 1 to 127.
    let (mut power, mut inverse) = (a, Block(1));
    for _ in 1..128 {
        power = multiply128(power, power);
        inverse = multiply128(inverse, power);
    }
    inverse
}

/// Adds `factor` · x_i to `sums`_i for every i, in GF(2^128).
///
/// # Panics
/// If there are not as many sums as factors.
pub fn add_products128(sums: &mut [Block], x: &[Block], factor: Block) {
    assert_eq!(sums.len(), x.len(), "a sum for each product");
    Backend::current().add_products128(sums, x, factor);
}

/// Adds `factor` · x_i to `sums`_i for every i, in GF(2^128), where the x_i have degree below 64.
///
/// # Panics
/// If there are not as many sums as factors.
pub fn add_products64(sums: &mut [Block], x: &[u64], factor: Block) {
    assert_eq!(sums.len(), x.len(), "a sum for each product");
    Backend::current().add_products64(sums, x, factor);
}

/// The inner product of two vectors over GF(2^128).
///
/// # Panics
/// If they are not of the same length.
pub fn inner_product128(a: &[Block], b: &[Block]) -> Block {
    Backend::current().inner_product128(a, b)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    /// Shift and reduce, one bit at a time.
    fn by_hand128(a: u128, b: u128) -> u128 {
        let double = |x: u128| x << 1 ^ if x >> 127 == 1 { 0x87 } else { 0 };
        (0..128).rev().fold(0, |sum, i| double(sum) ^ if b >> i & 1 == 1 { a } else { 0 })
    }

    fn by_hand64(a: u64, b: u64) -> u64 {
        let double = |x: u64| x << 1 ^ if x >> 63 == 1 { 0x1b } else { 0 };
        (0..64).rev().fold(0, |sum, i| double(sum) ^ if b >> i & 1 == 1 { a } else { 0 })
    }

    #[test]
    fn products_equal_those_by_hand() {
        let mut rng = StdRng::seed_from_u64(1);
        let mut pairs: Vec<(u128, u128)> = (0..500).map(|_| (rng.random(), rng.random())).collect();
        let edge = [0, 1, 2, 1 << 63, 1 << 64, 1 << 127, u128::MAX];
        pairs.extend(edge.iter().flat_map(|a| edge.map(|b| (*a, b))));
        for backend in Backend::available() {
            for (a, b) in &pairs {
                let product = backend.multiply128(Block(*a), Block(*b));
                assert_eq!(product.0, by_hand128(*a, *b), "{backend:?}");
                let (a, b) = (*a as u64 ^ (*a >> 64) as u64, *b as u64 ^ (*b >> 64) as u64);
                assert_eq!(backend.multiply64(a, b), by_hand64(a, b), "{backend:?}");
            }
        }
    }

    #[test]
    fn an_element_times_its_inverse_is_1() {
        let mut rng = StdRng::seed_from_u64(3);
        let random = (0..100).map(|_| Block(rng.random()));
        for a in random.chain([1, 2, 0x87, 1 << 127, u128::MAX].map(Block)) {
            assert!(multiply128(a, invert128(a)) == Block(1));
        }
        assert!(invert128(Block::ZERO) == Block::ZERO);
    }

    #[test]
    fn sums_of_products_equal_products() {
        let mut rng = StdRng::seed_from_u64(2);
        let narrow: Vec<u64> = (0..100).map(|_| rng.random()).collect();
        let wide: Vec<Block> = (0..100).map(|_| Block::random(&mut rng)).collect();
        let (before, factor) = (Block::random(&mut rng), Block::random(&mut rng));
        for backend in Backend::available() {
            let mut sums = [before; 100];
            backend.add_products128(&mut sums, &wide, factor);
            assert!((0..100).all(|i| sums[i] == before ^ multiply128(wide[i], factor)));
            let mut sums = [before; 100];
            backend.add_products64(&mut sums, &narrow, factor);
            let embedded = |i: usize| Block(narrow[i].into());
            assert!((0..100).all(|i| sums[i] == before ^ multiply128(embedded(i), factor)));
        }
    }

    #[test]
    fn products_value_by_value_equal_those_by_hand_at_every_length_around_a_vector() {
        let mut rng = StdRng::seed_from_u64(4);
        for n in 0..10 {
            let [a, b] = [(); 2].map(|()| (0..n).map(|_| Block(rng.random())).collect::<Vec<_>>());
            let (low_a, low_b): (Vec<u64>, Vec<u64>) =
                a.iter().zip(&b).map(|(a, b)| (a.low(), b.low())).unzip();
            for backend in Backend::available() {
                let mut products = a.clone();
                backend.multiply_each128(&mut products, &b);
                assert!((0..n).all(|i| products[i].0 == by_hand128(a[i].0, b[i].0)), "{backend:?}");
                let mut sums = a.clone();
                backend.add_products128(&mut sums, &b, Block(u128::MAX));
                let expected = |i: usize| a[i].0 ^ by_hand128(b[i].0, u128::MAX);
                assert!((0..n).all(|i| sums[i].0 == expected(i)), "{backend:?}");
                let mut products = low_a.clone();
                backend.multiply_each64(&mut products, &low_b);
                assert!((0..n).all(|i| products[i] == by_hand64(low_a[i], low_b[i])));
                let mut sums = low_a.clone();
                backend.add_products_gf64(&mut sums, &low_b, 7 << 61);
                let expected = |i: usize| low_a[i] ^ by_hand64(low_b[i], 7 << 61);
                assert!((0..n).all(|i| sums[i] == expected(i)), "{backend:?}");
            }
        }
    }

    #[test]
    fn inner_products_are_sums_of_products_at_every_length_around_a_vector() {
        let mut rng = StdRng::seed_from_u64(2);
        for n in 0..40 {
            let [a, b] = [(); 2].map(|()| (0..n).map(|_| Block(rng.random())).collect::<Vec<_>>());
            let products = a.iter().zip(&b).map(|(a, b)| by_hand128(a.0, b.0));
            let expected = products.fold(0, |sum, product| sum ^ product);
            for backend in Backend::available() {
                assert_eq!(backend.inner_product128(&a, &b).0, expected, "{backend:?}, {n}");
            }
        }
    }
}
