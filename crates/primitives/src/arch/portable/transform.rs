//! Evaluation of polynomials on a domain of 2^k points and back, layer by layer; see [`crate::poly`].
//!
//! A domain is repeatedly cut into halves. On the two halves of each block, the splitting polynomial takes two
//! values that follow from the block's number. With these, a butterfly computes a polynomial's remainders on
//! both halves from its remainder on the block. The sequence of these values, the twiddles, is the same in each
//! layer, and the coset of a domain continues where the domain ends.
//!
//! Everything here is inlined into the backend that provides the arithmetic.

use std::ops::BitXorAssign;

/// The largest domain together with its coset has 2^LAYERS points.
pub const LAYERS: usize = 31;

/// The values from which the twiddles of all blocks are computed.
pub struct Twiddles<T> {
    /// The twiddle of block 0.
    pub first: T,
    /// The twiddle of block 2^i, for each i.
    pub powers: [T; LAYERS],
    /// The step from the twiddle of block c to the twiddle of block c + 1, if the lowest i bits of c are 1 and the
    /// next is 0.
    pub steps: [T; LAYERS],
}

impl<T: Copy> Twiddles<T> {
    /// For each block of a layer of 2^`depth` blocks, its halves and its twiddle.
    #[inline(always)]
    pub fn blocks<V>(
        &self,
        node: &mut [V],
        depth: usize,
        coset: bool,
        step: impl Fn(T, T) -> T,
        butterfly: impl Fn(&mut [V], &mut [V], T),
    ) {
        let half = node.len() >> (depth + 1);
        let mut twiddle = if coset { self.powers[depth] } else { self.first };
        for (number, block) in (0u32..).zip(node.chunks_exact_mut(2 * half)) {
            let (low, high) = block.split_at_mut(half);
            butterfly(low, high, twiddle);
            twiddle = step(twiddle, self.steps[number.trailing_ones() as usize]);
        }
    }
}

/// Converts coefficients in the domain's own basis to values on the domain or its coset, for each node of
/// 2^`log` values.
#[inline(always)]
pub fn forward<T: Copy, V>(
    twiddles: &Twiddles<T>,
    values: &mut [V],
    log: usize,
    coset: bool,
    step: impl Fn(T, T) -> T,
    butterfly: impl Fn(&mut [V], &mut [V], T),
) {
    for node in values.chunks_exact_mut(1 << log) {
        for depth in 0..log {
            twiddles.blocks(node, depth, coset, &step, &butterfly);
        }
    }
}

/// The inverse of [`forward`], given the inverse butterfly.
#[inline(always)]
pub fn backward<T: Copy, V>(
    twiddles: &Twiddles<T>,
    values: &mut [V],
    log: usize,
    coset: bool,
    step: impl Fn(T, T) -> T,
    butterfly: impl Fn(&mut [V], &mut [V], T),
) {
    for node in values.chunks_exact_mut(1 << log) {
        for depth in (0..log).rev() {
            twiddles.blocks(node, depth, coset, &step, &butterfly);
        }
    }
}

/// A direction of a transform over a field of characteristic 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From coefficients to values.
    Forward,
    /// From values to coefficients.
    Backward,
}

/// A transform over a field of characteristic 2, given the butterflies of each direction for a twiddle. Twiddles
/// may have another form than values.
#[inline(always)]
pub fn additive<T: Copy + BitXorAssign, V>(
    split: impl Fn(&mut [V], &mut [V], T),
    join: impl Fn(&mut [V], &mut [V], T),
    twiddles: &Twiddles<T>,
    values: &mut [V],
    log: usize,
    coset: bool,
    direction: Direction,
) {
    let step = |mut twiddle: T, difference: T| {
        twiddle ^= difference;
        twiddle
    };
    match direction {
        Direction::Forward => forward(twiddles, values, log, coset, step, split),
        Direction::Backward => backward(twiddles, values, log, coset, step, join),
    }
}

/// The butterfly from coefficients to values, given a product: on the first half, the polynomial
/// `low` + s · `high` with s equal to the twiddle, and on the second with s greater by 1.
#[inline(always)]
pub fn split<T: Copy, V: Copy + BitXorAssign>(
    multiply: impl Fn(V, T) -> V,
    low: &mut [V],
    high: &mut [V],
    twiddle: T,
) {
    for (low, high) in low.iter_mut().zip(high) {
        *low ^= multiply(*high, twiddle);
        *high ^= *low;
    }
}

/// The inverse of [`split`].
#[inline(always)]
pub fn join<T: Copy, V: Copy + BitXorAssign>(
    multiply: impl Fn(V, T) -> V,
    low: &mut [V],
    high: &mut [V],
    twiddle: T,
) {
    for (low, high) in low.iter_mut().zip(high) {
        *high ^= *low;
        *low ^= multiply(*high, twiddle);
    }
}

/// [`additive`] by any multiplication.
#[inline(always)]
pub fn additive_by<T: Copy + BitXorAssign, V: Copy + BitXorAssign>(
    multiply: impl Fn(V, T) -> V,
    twiddles: &Twiddles<T>,
    values: &mut [V],
    log: usize,
    coset: bool,
    direction: Direction,
) {
    let split = |low: &mut [V], high: &mut [V], twiddle| split(&multiply, low, high, twiddle);
    let join = |low: &mut [V], high: &mut [V], twiddle| join(&multiply, low, high, twiddle);
    additive(split, join, twiddles, values, log, coset, direction);
}
