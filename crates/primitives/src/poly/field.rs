//! The fields over which polynomials are defined.

use rand::{Rng, RngExt};

use crate::{
    Block,
    arch::Backend,
    block::add_to,
    gf::{add_products128, invert128, multiply64, multiply128},
};

/// An element of a finite field.
///
/// Products with slices are separate operations because fields with vector instructions for them take a
/// fraction of the time.
pub trait Field: Copy + Eq + Send + Sync + 'static {
    /// The neutral element of addition.
    const ZERO: Self;
    /// The neutral element of multiplication.
    const ONE: Self;

    /// The sum.
    fn add(self, other: Self) -> Self;

    /// The difference.
    fn subtract(self, other: Self) -> Self;

    /// The product.
    fn multiply(self, other: Self) -> Self;

    /// The sum of `count` copies of this element.
    fn times(self, count: u64) -> Self;

    /// The inverse; 0 for 0.
    fn invert(self) -> Self;

    /// A uniformly random element.
    fn random(rng: &mut (impl Rng + ?Sized)) -> Self;

    /// Adds `factor` · x_i to `sums`_i for each i that both have.
    fn add_products(sums: &mut [Self], x: &[Self], factor: Self) {
        sums.iter_mut().zip(x).for_each(|(sum, x)| *sum = sum.add(x.multiply(factor)));
    }

    /// Adds to each of `sums` the element at its position; the lengths must agree.
    #[inline]
    fn add_each(sums: &mut [Self], x: &[Self]) {
        sums.iter_mut().zip(x).for_each(|(sum, x)| *sum = sum.add(*x));
    }

    /// Multiplies each of `values` by the factor at its position.
    fn multiply_each(values: &mut [Self], factors: &[Self]) {
        values.iter_mut().zip(factors).for_each(|(value, x)| *value = value.multiply(*x));
    }
}

/// The inverses of nonzero elements, with three products each and one inversion in all; `None` if an element is 0.
pub fn invert_all<F: Field>(elements: &[F]) -> Option<Vec<F>> {
    /// Products side by side, if there are enough elements.
    const ROW: usize = 64;
    let mut inverses = Vec::with_capacity(elements.len());
    if elements.len() <= ROW {
        let mut product = F::ONE;
        for element in elements {
            inverses.push(product);
            product = product.multiply(*element);
        }
        if product == F::ZERO {
            return None;
        }
        let mut inverse = product.invert();
        for (slot, element) in inverses.iter_mut().zip(elements).rev() {
            *slot = slot.multiply(inverse);
            inverse = inverse.multiply(*element);
        }
        return Some(inverses);
    }
    let mut products = vec![F::ONE; ROW];
    for row in elements.chunks(ROW) {
        inverses.extend_from_slice(&products[..row.len()]);
        F::multiply_each(&mut products, row);
    }
    let mut of_products = invert_all(&products)?;
    for (slots, row) in inverses.chunks_mut(ROW).zip(elements.chunks(ROW)).rev() {
        F::multiply_each(slots, &of_products);
        F::multiply_each(&mut of_products, row);
    }
    Some(inverses)
}

/// GF(2^128), as in [`crate::gf`].
impl Field for Block {
    const ZERO: Self = Self(0);
    const ONE: Self = Self(1);

    fn add(self, other: Self) -> Self {
        self ^ other
    }

    fn subtract(self, other: Self) -> Self {
        self ^ other
    }

    fn multiply(self, other: Self) -> Self {
        multiply128(self, other)
    }

    fn times(self, count: u64) -> Self {
        if count & 1 == 1 { self } else { Self::ZERO }
    }

    fn invert(self) -> Self {
        invert128(self)
    }

    fn random(rng: &mut (impl Rng + ?Sized)) -> Self {
        Self::random(rng)
    }

    fn add_products(sums: &mut [Self], x: &[Self], factor: Self) {
        let len = sums.len().min(x.len());
        add_products128(&mut sums[..len], &x[..len], factor);
    }

    fn add_each(sums: &mut [Self], x: &[Self]) {
        add_to(sums, x);
    }

    fn multiply_each(values: &mut [Self], factors: &[Self]) {
        Backend::current().multiply_each128(values, factors);
    }
}

/// An element of GF(2^64), as in [`crate::gf`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Gf64(pub u64);

impl Field for Gf64 {
    const ZERO: Self = Self(0);
    const ONE: Self = Self(1);

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    fn subtract(self, other: Self) -> Self {
        self.add(other)
    }

    fn multiply(self, other: Self) -> Self {
        Self(multiply64(self.0, other.0))
    }

    fn times(self, count: u64) -> Self {
        if count & 1 == 1 { self } else { Self::ZERO }
    }

    /// a^(2^64 − 2), the product of a^(2^i) for i from 1 to 63.
    fn invert(self) -> Self {
        let (mut power, mut inverse) = (self, Self::ONE);
        for _ in 1..64 {
            power = power.multiply(power);
            inverse = inverse.multiply(power);
        }
        inverse
    }

    fn random(rng: &mut (impl Rng + ?Sized)) -> Self {
        Self(rng.random())
    }

    fn add_products(sums: &mut [Self], x: &[Self], factor: Self) {
        let (sums, x) = (bytemuck::cast_slice_mut(sums), bytemuck::cast_slice(x));
        Backend::current().add_products_gf64(sums, x, factor.0);
    }

    fn multiply_each(values: &mut [Self], factors: &[Self]) {
        let (values, factors) = (bytemuck::cast_slice_mut(values), bytemuck::cast_slice(factors));
        Backend::current().multiply_each64(values, factors);
    }
}

/// An element of the prime field with p = 2^64 − 2^32 + 1, which has roots of unity of order 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fp64(u64);

impl Fp64 {
    /// The prime.
    pub const P: u64 = 0xffff_ffff_0000_0001;

    /// A number modulo p.
    pub const fn new(number: u64) -> Self {
        Self(if number >= Self::P { number - Self::P } else { number })
    }

    /// The element as a number below p.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Half the element.
    pub(super) fn half(self) -> Self {
        // p is added to an odd number: (a + p) / 2 = ⌊a / 2⌋ + (p + 1) / 2.
        Self((self.0 >> 1) + ((self.0 & 1).wrapping_neg() & Self::P.div_ceil(2)))
    }

    /// A power.
    pub(super) fn power(self, mut exponent: u64) -> Self {
        let (mut square, mut power) = (self, Self::ONE);
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = power.multiply(square);
            }
            square = square.multiply(square);
            exponent >>= 1;
        }
        power
    }
}

impl Field for Fp64 {
    const ZERO: Self = Self(0);
    const ONE: Self = Self(1);

    #[inline]
    fn add(self, other: Self) -> Self {
        self.subtract(Self(Self::P - other.0))
    }

    #[inline]
    fn subtract(self, other: Self) -> Self {
        let (difference, borrow) = self.0.overflowing_sub(other.0);
        // P is subtracted from 0 at most: `other` may be P itself.
        Self(difference.wrapping_add(u64::from(borrow).wrapping_neg() & Self::P))
    }

    #[inline]
    fn multiply(self, other: Self) -> Self {
        // 2^64 = 2^32 − 1 and 2^96 = −1: low + 2^64 · middle + 2^96 · high.
        const EPSILON: u64 = (1 << 32) - 1;
        let product = u128::from(self.0) * u128::from(other.0);
        let (low, rest) = (product as u64, (product >> 64) as u64);
        let (middle, high) = (rest & EPSILON, rest >> 32);
        let (difference, borrow) = low.overflowing_sub(high);
        let difference = difference.wrapping_sub(u64::from(borrow).wrapping_neg() & EPSILON);
        let (sum, carry) = difference.overflowing_add(middle * EPSILON);
        Self::new(sum.wrapping_add(u64::from(carry).wrapping_neg() & EPSILON))
    }

    fn times(self, count: u64) -> Self {
        self.multiply(Self::new(count))
    }

    fn invert(self) -> Self {
        self.power(Self::P - 2)
    }

    fn random(rng: &mut (impl Rng + ?Sized)) -> Self {
        loop {
            let number = rng.random();
            if number < Self::P {
                return Self(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn the_prime_field_is_that_of_integers_modulo_p() {
        let mut rng = StdRng::seed_from_u64(1);
        let edges = [0, 1, 2, u64::from(u32::MAX), 1 << 32, Fp64::P / 2, Fp64::P - 2, Fp64::P - 1];
        let mut elements: Vec<Fp64> = edges.map(Fp64::new).to_vec();
        elements.extend((0..50).map(|_| Fp64::random(&mut rng)));
        let modulo = |x: u128| (x % u128::from(Fp64::P)) as u64;
        for a in &elements {
            let wide = u128::from(a.number());
            for b in &elements {
                let other = u128::from(b.number());
                assert_eq!(a.add(*b).number(), modulo(wide + other));
                assert_eq!(a.multiply(*b).number(), modulo(wide * other));
                let difference = wide + u128::from(Fp64::P) - other;
                assert_eq!(a.subtract(*b).number(), modulo(difference));
            }
            assert_eq!(a.half().add(a.half()), *a);
            let unit = if *a == Fp64::ZERO { Fp64::ZERO } else { Fp64::ONE };
            assert_eq!(a.multiply(a.invert()), unit);
        }
        assert_eq!(Fp64::new(Fp64::P), Fp64::ZERO);
        assert_eq!(Fp64::new(u64::MAX).number(), u64::MAX - Fp64::P);
    }
}
