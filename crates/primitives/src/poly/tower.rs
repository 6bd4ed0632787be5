//! GF(2^64) and GF(2^128) as a tower of fields, in which factors of small subfields cost little.
//!
//! The points of small domains and the twiddles of most blocks are in small subfields, because β_0 to β_(2^m−1)
//! span GF(2^(2^m)). In the form of [`crate::gf`] that does not help; in a tower ([`crate::arch`]) a product by
//! an element of GF(2^8) is one instruction for 64 bytes on some processors. There polynomials are computed in
//! this form: points and values go through an isomorphism once, and results back. The results are the same.

use std::sync::LazyLock;

use bytemuck::Pod;
use rand::{Rng, RngExt};

use super::{
    Domains, Field, Gf64,
    cantor::{self, Roots},
    domain::log_of,
};
use crate::{
    Block,
    arch::{Backend, Direction, Map, Patterns, TOWER_G, pattern},
};

/// An element of the tower's field with as many bits as the word has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Tower<W>(W);

/// A word that holds an element: `u64` or `u128`.
pub trait Word: Pod + Eq + std::ops::BitXorAssign + std::fmt::Debug + Send + Sync {
    /// Its bits.
    const BITS: u32;

    /// The element 0.
    const ZERO: Self;

    /// The element 1.
    const ONE: Self;

    /// A random word.
    fn random(rng: &mut (impl Rng + ?Sized)) -> Self;

    /// Multiplies each value by the factor at its position.
    fn multiply_each(values: &mut [Self], factors: &[Self]);

    /// Transforms each node of 2^`log` elements.
    fn additive(values: &mut [Self], log: usize, coset: bool, direction: Direction);

    /// Moves each node from a domain to its coset, or back.
    fn exchange_coset(values: &mut [Self], log: usize, to_coset: bool);

    /// Converts elements of the field in the form of [`crate::gf`], or back.
    fn convert(elements: &mut [Self], back: bool);
}

impl Word for u64 {
    const BITS: u32 = 64;
    const ZERO: Self = 0;
    const ONE: Self = 1;

    fn random(rng: &mut (impl Rng + ?Sized)) -> Self {
        rng.random()
    }

    fn multiply_each(values: &mut [Self], factors: &[Self]) {
        Backend::current().multiply_each_tower64(values, factors);
    }

    fn additive(values: &mut [Self], log: usize, coset: bool, direction: Direction) {
        Backend::current().additive_tower::<8, _>(&TWIDDLES, values, log, coset, direction);
    }

    fn exchange_coset(values: &mut [Self], log: usize, to_coset: bool) {
        Backend::current().exchange_coset_tower::<8, _>(&TWIDDLES, values, log, to_coset);
    }

    fn convert(elements: &mut [Self], back: bool) {
        static MAPS: LazyLock<[Map<8>; 2]> =
            LazyLock::new(|| isomorphism(64, |i| Gf64(1 << i), |x| x.0.into()).map(Map::new));
        Backend::current().map64(&MAPS[usize::from(back)], elements);
    }
}

impl Word for u128 {
    const BITS: u32 = 128;
    const ZERO: Self = 0;
    const ONE: Self = 1;

    fn random(rng: &mut (impl Rng + ?Sized)) -> Self {
        rng.random()
    }

    fn multiply_each(values: &mut [Self], factors: &[Self]) {
        Backend::current().multiply_each_tower128(values, factors);
    }

    fn additive(values: &mut [Self], log: usize, coset: bool, direction: Direction) {
        Backend::current().additive_tower::<16, _>(&TWIDDLES, values, log, coset, direction);
    }

    fn exchange_coset(values: &mut [Self], log: usize, to_coset: bool) {
        Backend::current().exchange_coset_tower::<16, _>(&TWIDDLES, values, log, to_coset);
    }

    fn convert(elements: &mut [Self], back: bool) {
        static MAPS: LazyLock<[Map<16>; 2]> =
            LazyLock::new(|| isomorphism(128, |i| Block(1 << i), |x| x.0).map(Map::new));
        Backend::current().map128(&MAPS[usize::from(back)], elements);
    }
}

/// β_1 to β_31 are in GF(2^32), thus the same for both words.
static TWIDDLES: LazyLock<Patterns> = LazyLock::new(|| {
    cantor::twiddles(64, |i| Tower(1u64 << i), |x| pattern(u32::try_from(x.0).expect("GF(2^32)")))
});

impl<W: Word> Tower<W> {
    /// Elements in this form.
    pub fn of(elements: &[W]) -> Vec<Self> {
        let mut elements = elements.to_vec();
        W::convert(&mut elements, false);
        bytemuck::cast_vec(elements)
    }

    /// The inverse of [`Tower::of`].
    pub fn back(elements: Vec<Self>) -> Vec<W> {
        let mut elements = bytemuck::cast_vec(elements);
        W::convert(&mut elements, true);
        elements
    }

    fn words(elements: &mut [Self]) -> &mut [W] {
        bytemuck::cast_slice_mut(elements)
    }
}

/// The images of single bits under an isomorphism of a field of this many bits and the tower's, in both directions.
fn isomorphism<F: Field>(
    bits: u32,
    element: impl Fn(u32) -> F,
    number: impl Fn(F) -> u128,
) -> [Vec<u128>; 2] {
    let power = |x: F, exponent: usize| (0..exponent).fold(F::ONE, |power, _| power.multiply(x));
    let roots = Roots::new(bits, &element);
    // A root of the polynomial of AES, in the span of β_0 to β_7.
    let basis = cantor::basis(bits, element);
    let span = (1u32..256).map(|bits| {
        (0..8).filter(|i| bits >> i & 1 == 1).fold(F::ZERO, |sum, i| sum.add(basis[i]))
    });
    let of_byte = |x: F, byte: u128| {
        (0..9).filter(|i| byte >> i & 1 == 1).fold(F::ZERO, |sum, i| sum.add(power(x, i)))
    };
    let mut byte_roots = span.filter(|x| of_byte(*x, 0x11b) == F::ZERO);
    let root = byte_roots.next().expect("GF(2^8) is a subfield");
    // Each X solves X² = a X + 1, where a is g for the first and then the X before it.
    let mut generators: Vec<F> = Vec::new();
    for _ in 0..(bits / 8).ilog2() {
        let a = generators.last().copied().unwrap_or(of_byte(root, TOWER_G.into()));
        let inverse = a.invert();
        generators.push(a.multiply(roots.root(inverse.multiply(inverse))));
    }
    let from: Vec<u128> = (0..bits as usize)
        .map(|bit| {
            let of_bytes = generators.iter().enumerate().filter(|(l, _)| (bit / 8) >> l & 1 == 1);
            let product =
                of_bytes.fold(power(root, bit % 8), |product, (_, x)| product.multiply(*x));
            number(product)
        })
        .collect();
    // Images with their preimages: once the images are single bits, the others are the inverse.
    let mut pairs: Vec<[u128; 2]> = from.iter().enumerate().map(|(i, x)| [*x, 1 << i]).collect();
    for bit in 0..pairs.len() {
        let found = (bit..pairs.len()).find(|i| pairs[*i][0] >> bit & 1 == 1);
        pairs.swap(bit, found.expect("a basis"));
        let [image, source] = pairs[bit];
        for (i, pair) in pairs.iter_mut().enumerate() {
            if i != bit && pair[0] >> bit & 1 == 1 {
                *pair = [pair[0] ^ image, pair[1] ^ source];
            }
        }
    }
    [pairs.into_iter().map(|[_, source]| source).collect(), from]
}

impl<W: Word> Field for Tower<W> {
    const ZERO: Self = Self(W::ZERO);
    const ONE: Self = Self(W::ONE);

    #[inline]
    fn add(mut self, other: Self) -> Self {
        self.0 ^= other.0;
        self
    }

    #[inline]
    fn subtract(self, other: Self) -> Self {
        self.add(other)
    }

    fn multiply(self, other: Self) -> Self {
        let mut product = [self.0];
        W::multiply_each(&mut product, &[other.0]);
        Self(product[0])
    }

    fn times(self, count: u64) -> Self {
        if count & 1 == 1 { self } else { Self::ZERO }
    }

    /// The product of a^(2^i) for i from 1 to one less than the bits.
    fn invert(self) -> Self {
        let (mut power, mut inverse) = (self, Self::ONE);
        for _ in 1..W::BITS {
            power = power.multiply(power);
            inverse = inverse.multiply(power);
        }
        inverse
    }

    fn random(rng: &mut (impl Rng + ?Sized)) -> Self {
        Self(W::random(rng))
    }

    fn add_products(sums: &mut [Self], x: &[Self], factor: Self) {
        /// As many as fill a product's vectors.
        const BATCH: usize = 64;
        let factors = [factor; BATCH];
        for (sums, x) in sums.chunks_mut(BATCH).zip(x.chunks(BATCH)) {
            let mut products = [Self::ZERO; BATCH];
            let len = sums.len().min(x.len());
            let products = &mut products[..len];
            products.copy_from_slice(&x[..len]);
            Self::multiply_each(products, &factors);
            Self::add_each(&mut sums[..len], products);
        }
    }

    fn multiply_each(values: &mut [Self], factors: &[Self]) {
        W::multiply_each(Self::words(values), bytemuck::cast_slice(factors));
    }
}

impl<W: Word> Domains for Tower<W> {
    const ON_COSET: Self = Self::ONE;
    const ON_COSET_INVERSE: Self = Self::ONE;

    fn to_values(polynomial: &mut [Self]) {
        cantor::to_domain_basis(polynomial);
        let log = log_of(polynomial);
        W::additive(Self::words(polynomial), log, false, Direction::Forward);
    }

    fn to_coefficients(values: &mut [Self]) {
        let log = log_of(values);
        W::additive(Self::words(values), log, false, Direction::Backward);
        cantor::from_domain_basis(values);
    }

    fn to_coset(values: &mut [Self], k: usize) {
        W::exchange_coset(Self::words(values), k, true);
    }

    fn from_coset(values: &mut [Self], k: usize) {
        W::exchange_coset(Self::words(values), k, false);
    }

    type Twin = Self;

    fn to_twins(elements: &[Self]) -> Vec<Self> {
        elements.to_vec()
    }

    fn from_twins(twins: Vec<Self>) -> Vec<Self> {
        twins
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::{
        arch::{multiply_by_pattern, multiply_tower},
        gf::{multiply64, multiply128},
    };

    fn random<T>(n: usize, random: impl Fn(&mut StdRng) -> T) -> Vec<T> {
        let mut rng = StdRng::seed_from_u64(n as u64);
        (0..n).map(|_| random(&mut rng)).collect()
    }

    #[test]
    fn the_other_form_is_isomorphic() {
        let values = random(300, |rng| rng.random::<u64>());
        for [a, b] in values.array_windows() {
            let forms = Tower::of(&[*a, *b, a ^ b, multiply64(*a, *b), 1]);
            assert_eq!(forms[0].add(forms[1]), forms[2]);
            assert_eq!(forms[0].multiply(forms[1]), forms[3]);
            assert_eq!(forms[4], Tower::ONE);
            assert_eq!(Tower::back(forms)[0], *a);
        }
        let values = random(300, Block::random);
        for [a, b] in values.array_windows() {
            let forms = Tower::of(&[a.0, b.0, a.0 ^ b.0, multiply128(*a, *b).0, 1]);
            assert_eq!(forms[0].add(forms[1]), forms[2]);
            assert_eq!(forms[0].multiply(forms[1]), forms[3]);
            assert_eq!(forms[4], Tower::ONE);
            assert_eq!(Tower::back(forms)[0], a.0);
        }
    }

    /// Small domains are in small fields, as the patterns of twiddles assume.
    #[test]
    fn the_first_of_a_basis_span_subfields() {
        let basis = cantor::basis(64, |i| Tower(1u64 << i));
        for (i, x) in basis.iter().enumerate() {
            let bits = (i + 1).next_power_of_two().max(8);
            assert!(x.0 >> bits == 0, "{i}");
        }
        let wide = cantor::basis(128, |i| Tower(1u128 << i));
        let solves = |[a, b]: &[Tower<u128>; 2]| b.multiply(*b).add(*b) == *a;
        let narrow: Vec<Tower<u128>> = basis.iter().map(|x| Tower(x.0.into())).collect();
        assert!(wide.array_windows().all(solves) && narrow.array_windows().all(solves));
    }

    #[test]
    fn patterns_are_products() {
        for (x, factor) in random(200, |rng| (rng.random::<u128>(), rng.random::<u32>())) {
            for factor in [factor, factor & 0xff, factor & 0xffff, 1] {
                let pattern = pattern(factor);
                let small = factor <= 0xff;
                assert_eq!(small, pattern >> 32 == 0);
                let product = multiply_tower(x, factor.into(), 4);
                assert_eq!(multiply_by_pattern(x, pattern), product);
            }
        }
    }

    #[test]
    fn backends_agree_on_products_and_maps() {
        for n in [0, 1, 7, 8, 9, 63, 64, 65, 200] {
            let wide = random(2 * n, |rng| rng.random::<u128>());
            let narrow: Vec<u64> = wide.iter().map(|x| *x as u64).collect();
            let map64 = Map::new(random(64, |rng| rng.random::<u64>().into()));
            let map128 = Map::new(random(128, |rng| rng.random()));
            let results = Backend::available().into_iter().map(|backend| {
                let (mut a, mut b) = (wide[..n].to_vec(), narrow[..n].to_vec());
                backend.multiply_each_tower128(&mut a, &wide[n..]);
                backend.multiply_each_tower64(&mut b, &narrow[n..]);
                let (mut c, mut d) = (wide.clone(), narrow.clone());
                backend.map128(&map128, &mut c);
                backend.map64(&map64, &mut d);
                (a, b, c, d)
            });
            let results: Vec<_> = results.collect();
            assert!(results.array_windows().all(|[a, b]| a == b), "{n}");
            let product = wide[..n].iter().zip(&wide[n..]).map(|(a, b)| multiply_tower(*a, *b, 4));
            assert!(product.eq(results[0].0.iter().copied()), "{n}");
        }
    }

    /// From less than a vector to more than the cache holds, and to twiddles of GF(2^16) and beyond.
    #[test]
    fn backends_transform_alike() {
        for log in (0..12).chain([15, 17]) {
            let nodes = if log < 8 { 5 } else { 1 };
            let wide = random(nodes << log, |rng| rng.random::<u128>());
            let narrow: Vec<u64> = wide.iter().map(|x| *x as u64).collect();
            for coset in [false, true] {
                for direction in [Direction::Forward, Direction::Backward] {
                    let results = Backend::available().into_iter().map(|backend| {
                        let (mut wide, mut narrow) = (wide.clone(), narrow.clone());
                        backend
                            .additive_tower::<16, _>(&TWIDDLES, &mut wide, log, coset, direction);
                        backend.additive_tower::<8, _>(
                            &TWIDDLES,
                            &mut narrow,
                            log,
                            coset,
                            direction,
                        );
                        (wide, narrow)
                    });
                    let results: Vec<_> = results.collect();
                    let exchanged = |backend: Backend| {
                        let (mut wide, mut narrow) = (wide.clone(), narrow.clone());
                        backend.exchange_coset_tower::<16, _>(&TWIDDLES, &mut wide, log, coset);
                        backend.exchange_coset_tower::<8, _>(&TWIDDLES, &mut narrow, log, coset);
                        (wide, narrow)
                    };
                    let moved: Vec<_> = Backend::available().into_iter().map(exchanged).collect();
                    assert!(moved.array_windows().all(|[a, b]| a == b), "2^{log}, coset: {coset}");
                    // Not by `assert_eq`, which would print them all.
                    let alike = results.array_windows().all(|[a, b]| a == b);
                    assert!(alike, "2^{log}, coset: {coset}, {direction:?}");
                }
            }
        }
    }
}
