//! Domains on which polynomials are evaluated at once.
//!
//! The domain V_k has 2^k points and is the first half of V_(k+1); the other half is its coset. Its
//! vanishing polynomial s_k has degree 2^k and leading coefficient 1, is 0 on V_k and the same constant
//! on the coset; its highest power apart, it has no power above half its degree. Moving between
//! coefficients, values on V_k and values on the coset takes O(k · 2^k) operations. That is all the rest
//! of this module knows of a domain.
//!
//! **Over GF(2^64) and GF(2^128)**, V_k is the span of β_0 to β_(k−1) over GF(2), where β_0 = 1 and
//! β_(i+1)² + β_(i+1) = β_i (Cantor 1989; Gao and Mateer 2010). There s_(k+1) = s_k² + s_k, and s_i
//! maps β_j to β_(j−i), so that the twiddle of a block is the sum of the β that the bits of its number
//! name. The transform is that of Lin, Chung and Han (FOCS 2014) in the basis of the products of s_i;
//! between that and powers of x only additions are needed, because s_i has coefficients in GF(2), 2^w
//! of them not zero where i has w bits that are 1.
//!
//! **Over the prime field**, V_k are the roots of x^(2^k) = 1, and s_k = x^(2^k) − 1 is −2 on the
//! coset.

use std::sync::LazyLock;

use super::field::{Field, Fp64, Gf64};
use crate::{
    Block,
    arch::{
        Backend,
        transform::{self, Direction, LAYERS, Twiddles},
    },
};

/// The logarithm of the size of the largest domain.
pub const MAX_LOG: usize = LAYERS;

/// A field with domains. Slices that hold several nodes hold 2^k values for each, one after the
/// other.
pub trait Domains: Field {
    /// What s_k is on the coset of V_k, for every k.
    const ON_COSET: Self;

    /// The inverse of [`Domains::ON_COSET`].
    const ON_COSET_INVERSE: Self;

    /// Turns the coefficients of a polynomial, as many as V_k has points, into its values on V_k.
    fn to_values(polynomial: &mut [Self]);

    /// The inverse of [`Domains::to_values`].
    fn to_coefficients(values: &mut [Self]);

    /// Turns the values on V_k of polynomials of degree below 2^k into those on the coset.
    fn to_coset(values: &mut [Self], k: usize);

    /// The inverse of [`Domains::to_coset`].
    fn from_coset(values: &mut [Self], k: usize);
}

/// The k of the domain that has as many points as there are elements.
///
/// # Panics
/// If there is no such domain.
fn log_of<T>(elements: &[T]) -> usize {
    assert!(elements.len().is_power_of_two(), "a domain has a power of two of points");
    let log = elements.len().ilog2() as usize;
    assert!(log <= MAX_LOG, "a domain has at most 2^{MAX_LOG} points");
    log
}

impl Domains for Block {
    const ON_COSET: Self = Self(1);
    const ON_COSET_INVERSE: Self = Self(1);

    fn to_values(polynomial: &mut [Self]) {
        cantor::to_domain_basis(polynomial);
        additive128(polynomial, log_of(polynomial), false, Direction::Forward);
    }

    fn to_coefficients(values: &mut [Self]) {
        additive128(values, log_of(values), false, Direction::Backward);
        cantor::from_domain_basis(values);
    }

    fn to_coset(values: &mut [Self], k: usize) {
        additive128(values, k, false, Direction::Backward);
        additive128(values, k, true, Direction::Forward);
    }

    fn from_coset(values: &mut [Self], k: usize) {
        additive128(values, k, true, Direction::Backward);
        additive128(values, k, false, Direction::Forward);
    }
}

fn additive128(values: &mut [Block], log: usize, coset: bool, direction: Direction) {
    static TWIDDLES: LazyLock<Twiddles<Block>> = LazyLock::new(|| cantor::twiddles(128, |i| Block(1 << i), |x| x));
    Backend::current().additive128(&TWIDDLES, values, log, coset, direction);
}

impl Domains for Gf64 {
    const ON_COSET: Self = Self(1);
    const ON_COSET_INVERSE: Self = Self(1);

    fn to_values(polynomial: &mut [Self]) {
        cantor::to_domain_basis(polynomial);
        additive64(polynomial, log_of(polynomial), false, Direction::Forward);
    }

    fn to_coefficients(values: &mut [Self]) {
        additive64(values, log_of(values), false, Direction::Backward);
        cantor::from_domain_basis(values);
    }

    fn to_coset(values: &mut [Self], k: usize) {
        additive64(values, k, false, Direction::Backward);
        additive64(values, k, true, Direction::Forward);
    }

    fn from_coset(values: &mut [Self], k: usize) {
        additive64(values, k, true, Direction::Backward);
        additive64(values, k, false, Direction::Forward);
    }
}

fn additive64(values: &mut [Gf64], log: usize, coset: bool, direction: Direction) {
    static TWIDDLES: LazyLock<Twiddles<u64>> =
        LazyLock::new(|| cantor::twiddles(64, |i| Gf64(1 << i), |x| x.0));
    let values = bytemuck::cast_slice_mut(values);
    Backend::current().additive64(&TWIDDLES, values, log, coset, direction);
}

impl Domains for Fp64 {
    const ON_COSET: Self = Self::new(Self::P - 2);
    // (p − 1) / 2 times −2 is 1 − p.
    const ON_COSET_INVERSE: Self = Self::new((Self::P - 1) / 2);

    fn to_values(polynomial: &mut [Self]) {
        roots_forward(polynomial, log_of(polynomial), false);
    }

    fn to_coefficients(values: &mut [Self]) {
        roots_backward(values, log_of(values), false);
    }

    fn to_coset(values: &mut [Self], k: usize) {
        roots_backward(values, k, false);
        roots_forward(values, k, true);
    }

    fn from_coset(values: &mut [Self], k: usize) {
        roots_backward(values, k, true);
        roots_forward(values, k, false);
    }
}

fn roots_forward(values: &mut [Fp64], log: usize, coset: bool) {
    static TWIDDLES: LazyLock<Twiddles<Fp64>> = LazyLock::new(|| root_twiddles(false));
    let butterfly = |low: &mut [Fp64], high: &mut [Fp64], twiddle: Fp64| {
        for (low, high) in low.iter_mut().zip(high) {
            let (a, b) = (*low, high.multiply(twiddle));
            (*low, *high) = (a.add(b), a.subtract(b));
        }
    };
    transform::forward(&TWIDDLES, values, log, coset, Fp64::multiply, butterfly);
}

fn roots_backward(values: &mut [Fp64], log: usize, coset: bool) {
    static TWIDDLES: LazyLock<Twiddles<Fp64>> = LazyLock::new(|| root_twiddles(true));
    let butterfly = |low: &mut [Fp64], high: &mut [Fp64], twiddle: Fp64| {
        for (low, high) in low.iter_mut().zip(high) {
            let (a, b) = (*low, *high);
            (*low, *high) = (a.add(b).half(), a.subtract(b).half().multiply(twiddle));
        }
    };
    transform::backward(&TWIDDLES, values, log, coset, Fp64::multiply, butterfly);
}

/// Block c, whose bits are c_0, c_1 and so on, has the root of unity with the exponent Σ c_i / 2^(i+2)
/// of a full turn, or its inverse.
fn root_twiddles(inverse: bool) -> Twiddles<Fp64> {
    /// Has no square root: generates the group.
    const GENERATOR: Fp64 = Fp64::new(7);
    let part = |log: usize| {
        let root = GENERATOR.power((Fp64::P - 1) >> log);
        if inverse { root.invert() } else { root }
    };
    let powers: [Fp64; LAYERS] = std::array::from_fn(|i| part(i + 2));
    let lower = |i: usize| powers[..i].iter().fold(Fp64::ONE, |product, x| product.multiply(*x));
    let steps = std::array::from_fn(|i| powers[i].multiply(lower(i).invert()));
    Twiddles { first: Fp64::ONE, powers, steps }
}

/// The domains of fields of characteristic 2.
mod cantor {
    use super::{Field, LAYERS, Twiddles};

    /// Block c, whose bits are c_0, c_1 and so on, has Σ c_i β_(i+1).
    pub fn twiddles<F: Field, T>(
        bits: u32,
        element: impl Fn(u32) -> F,
        inner: impl Fn(F) -> T,
    ) -> Twiddles<T> {
        let basis = basis(bits, element);
        let powers: [F; LAYERS] = std::array::from_fn(|i| basis[i + 1]);
        let sum = |i: usize| powers[..=i].iter().fold(F::ZERO, |sum, x| sum.add(*x));
        Twiddles {
            first: inner(F::ZERO),
            powers: powers.map(&inner),
            steps: std::array::from_fn(sum).map(&inner),
        }
    }

    /// β_0 to β_LAYERS, in a field with a basis of `bits` elements over GF(2), a power of two above
    /// LAYERS.
    pub fn basis<F: Field>(bits: u32, element: impl Fn(u32) -> F) -> Vec<F> {
        let square = |x: F| x.multiply(x);
        let trace = |x: F| {
            let powers = std::iter::successors(Some(x), |x| Some(square(*x)));
            powers.take(bits as usize).fold(F::ZERO, F::add)
        };
        let mut elements = (0..bits).map(element);
        let unit = elements.find(|x| trace(*x) == F::ONE).expect("the trace is not 0 everywhere");
        // With the trace of u equal to 1 and that of c equal to 0, z² + z = c has the solution
        // z = Σ_i (Σ_(j > i) u^(2^j)) c^(2^i).
        let root = |c: F| {
            let (mut tail, mut power_of_u) = (F::ONE, unit);
            let (mut sum, mut power_of_c) = (F::ZERO, c);
            for _ in 1..bits {
                tail = tail.add(power_of_u);
                sum = sum.add(tail.multiply(power_of_c));
                power_of_u = square(power_of_u);
                power_of_c = square(power_of_c);
            }
            sum
        };
        std::iter::successors(Some(F::ONE), |beta| Some(root(*beta))).take(LAYERS + 1).collect()
    }

    /// The exponents of x in s_i without the highest, 2^i: all 2^j where C(i, j) is odd.
    fn exponents(i: usize) -> impl Iterator<Item = usize> + Clone {
        (0..i).filter(move |j| j & !i == 0).map(|j| 1 << j)
    }

    /// From powers of x to products of s_i: divides by s_i, from the largest to s_0 = x.
    pub fn to_domain_basis<F: Field>(polynomial: &mut [F]) {
        for i in (1..polynomial.len().ilog2() as usize).rev() {
            let half = 1 << i;
            for block in polynomial.chunks_exact_mut(2 * half) {
                for t in (0..half).rev() {
                    let quotient = block[half + t];
                    for exponent in exponents(i) {
                        let x = &mut block[exponent + t];
                        *x = x.add(quotient);
                    }
                }
            }
        }
    }

    /// The inverse of [`to_domain_basis`], step by step.
    pub fn from_domain_basis<F: Field>(polynomial: &mut [F]) {
        for i in 1..polynomial.len().ilog2() as usize {
            let half = 1 << i;
            for block in polynomial.chunks_exact_mut(2 * half) {
                for t in 0..half {
                    let quotient = block[half + t];
                    for exponent in exponents(i) {
                        let x = &mut block[exponent + t];
                        *x = x.subtract(quotient);
                    }
                }
            }
        }
    }
}
