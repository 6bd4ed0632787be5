//! The domains of fields of characteristic 2; see [`super::domain`].

use super::field::Field;
use crate::arch::{Twiddles, transform::LAYERS};

/// The twiddle of block c, whose bits are c_0, c_1 and so on, is Σ c_i β_(i+1).
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

/// β_0 to β_LAYERS, in a field with a basis of `bits` elements over GF(2), a power of two above LAYERS.
pub fn basis<F: Field>(bits: u32, element: impl Fn(u32) -> F) -> Vec<F> {
    let roots = Roots::new(bits, element);
    std::iter::successors(Some(F::ONE), |beta| Some(roots.root(*beta))).take(LAYERS + 1).collect()
}

/// Solutions of quadratic equations.
pub struct Roots<F> {
    bits: u32,
    /// An element whose trace is 1.
    unit: F,
}

impl<F: Field> Roots<F> {
    /// For a field with a basis of `bits` elements over GF(2), a power of two.
    pub fn new(bits: u32, element: impl Fn(u32) -> F) -> Self {
        let trace = |x: F| {
            let powers = std::iter::successors(Some(x), |x| Some(x.multiply(*x)));
            powers.take(bits as usize).fold(F::ZERO, F::add)
        };
        let mut elements = (0..bits).map(element);
        let unit = elements.find(|x| trace(*x) == F::ONE).expect("the trace is not 0 everywhere");
        Self { bits, unit }
    }

    /// A solution of z² + z = c, for an element whose trace is 0.
    pub fn root(&self, c: F) -> F {
        // With the trace of u being 1, z = Σ_i (Σ_(j > i) u^(2^j)) c^(2^i).
        let (mut tail, mut power_of_u) = (F::ONE, self.unit);
        let (mut sum, mut power_of_c) = (F::ZERO, c);
        for _ in 1..self.bits {
            tail = tail.add(power_of_u);
            sum = sum.add(tail.multiply(power_of_c));
            power_of_u = power_of_u.multiply(power_of_u);
            power_of_c = power_of_c.multiply(power_of_c);
        }
        sum
    }
}

/// From powers of x to products of s_i.
pub fn to_domain_basis<F: Field>(polynomial: &mut [F]) {
    let log = polynomial.len().ilog2() as usize;
    convert(polynomial, log, 0, true);
}

/// The inverse of [`to_domain_basis`], step by step.
pub fn from_domain_basis<F: Field>(polynomial: &mut [F]) {
    let log = polynomial.len().ilog2() as usize;
    convert(polynomial, log, 0, false);
}

/// Values that are converted in all steps before the next ones are: this many stay in the first-level cache.
const NEAR: usize = 1 << 10;

/// Converts polynomials whose 2^`log` coefficients are rows of 2^`row` elements each, one after another.
///
/// With t = 2^m, s_t = x^(2^t) + x, and s_(t+i) is s_i of s_t. So a polynomial is first written in powers of s_t
/// with coefficients of degree below 2^t (Gao and Mateer 2010); then these coefficients are converted, and the
/// polynomial in s_t.
fn convert<F: Field>(polynomial: &mut [F], log: usize, row: usize, forward: bool) {
    if log < 2 {
        return;
    }
    // The largest power of two below `log`.
    let t = log.next_power_of_two() / 2;
    if forward {
        (0..log - t).rev().for_each(|i| divide(polynomial, t, i, row, forward));
    }
    for coefficients in polynomial.chunks_mut(NEAR.max(1 << (t + row))) {
        convert(coefficients, t, row, forward);
    }
    convert(polynomial, log - t, t + row, forward);
    if !forward {
        (0..log - t).for_each(|i| divide(polynomial, t, i, row, forward));
    }
}

/// Divides each block of 2^(t+i+1) rows by s_t^(2^i) = x^(2^(t+i)) + x^(2^i), or the inverse.
fn divide<F: Field>(polynomial: &mut [F], t: usize, i: usize, row: usize, forward: bool) {
    /// For lengths known at compile time, with which a block is a few instructions.
    fn short<const QUARTER: usize, F: Field>(
        polynomial: &mut [F],
        exponent: usize,
        halves: [usize; 2],
    ) {
        for block in polynomial.as_chunks_mut::<QUARTER>().0.as_chunks_mut::<4>().0 {
            let block = block.as_flattened_mut();
            for half in halves {
                for at in half * QUARTER..(half + 1) * QUARTER {
                    block[at + exponent] = block[at + exponent].add(block[at + 2 * QUARTER]);
                }
            }
        }
    }
    let (quarter, exponent) = (1 << (t + i + row) >> 1, 1 << (i + row));
    // The upper half of the quotient is in place; subtracting its multiple gives the lower half. No coefficient is
    // both read and written for a half, because the exponent is at most a quarter.
    let halves = if forward { [1, 0] } else { [0, 1] };
    match quarter {
        1 => short::<1, F>(polynomial, exponent, halves),
        2 => short::<2, F>(polynomial, exponent, halves),
        4 => short::<4, F>(polynomial, exponent, halves),
        8 => short::<8, F>(polynomial, exponent, halves),
        _ => {
            for block in polynomial.chunks_exact_mut(4 * quarter) {
                for half in halves {
                    let (written, read) = block.split_at_mut((2 + half) * quarter);
                    let sums = &mut written[half * quarter + exponent..][..quarter];
                    F::add_each(sums, &read[..quarter]);
                }
            }
        }
    }
}
