//! GF(2^128) with the carry-less multiplication of FEAT_PMULL: PMULL multiplies the lower elements of two vectors,
//! PMULL2 the upper ones.

use std::arch::aarch64::{
    uint64x2_t, vdupq_n_u64, veorq_u64, vextq_u64, vgetq_lane_u64, vmull_high_p64, vmull_p64,
    vreinterpretq_p64_u64, vreinterpretq_u64_p128, vzip1q_u64, vzip2q_u64,
};

use super::super::portable::{
    sums,
    transform::{self, Direction, Twiddles},
};
use crate::Block;

/// x^128 modulo x^128 + x^7 + x^2 + x + 1.
const MODULUS: u64 = 0x87;

/// Same as [`gf::multiply128`](super::super::portable::gf::multiply128).
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn multiply128(a: Block, b: Block) -> Block {
    bytemuck::cast(product(load(a), load(b)))
}

/// Same as [`gf::add_products128`](super::super::portable::gf::add_products128).
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn add_products128(sums: &mut [Block], x: &[Block], factor: Block) {
    let factor = Factor::new(factor);
    for (sum, x) in sums.iter_mut().zip(x) {
        *sum = bytemuck::cast(veorq_u64(load(*sum), times(load(*x), factor)));
    }
}

/// Same as [`gf::add_products64`](super::super::portable::gf::add_products64).
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn add_products64(sums: &mut [Block], x: &[u64], factor: Block) {
    let len = sums.len().min(x.len());
    let (pairs, rest) = sums[..len].as_chunks_mut::<2>();
    let (x, rest_x) = x[..len].as_chunks::<2>();
    let (lower, upper) = (vdupq_n_u64(factor.low()), vdupq_n_u64(factor.high()));
    for (sums, x) in pairs.iter_mut().zip(x) {
        let x = bytemuck::cast(*x);
        let first = reduce192(multiply_lower(x, lower), multiply_lower(x, upper));
        let second = reduce192(multiply_upper(x, lower), multiply_upper(x, upper));
        sums[0] = bytemuck::cast(veorq_u64(load(sums[0]), first));
        sums[1] = bytemuck::cast(veorq_u64(load(sums[1]), second));
    }
    for (sum, x) in rest.iter_mut().zip(rest_x) {
        let x = vdupq_n_u64(*x);
        let product = reduce192(multiply_lower(x, lower), multiply_lower(x, upper));
        *sum = bytemuck::cast(veorq_u64(load(*sum), product));
    }
}

/// Same as [`gf::inner_product128`](super::super::portable::gf::inner_product128).
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn inner_product128(a: &[Block], b: &[Block]) -> Block {
    let mut sums = [vdupq_n_u64(0); 3];
    for (a, b) in a.iter().zip(b) {
        for (sum, part) in sums.iter_mut().zip(unreduced(load(*a), load(*b))) {
            *sum = veorq_u64(*sum, part);
        }
    }
    bytemuck::cast(reduce256(sums))
}

/// Same as [`gf::multiply_each128`](super::super::portable::gf::multiply_each128).
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn multiply_each128(values: &mut [Block], factors: &[Block]) {
    for (value, factor) in values.iter_mut().zip(factors) {
        *value = bytemuck::cast(product(load(*value), load(*factor)));
    }
}

/// Same as [`transform::additive_by`].
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn additive128(
    twiddles: &Twiddles<Block>,
    values: &mut [Block],
    log: usize,
    coset: bool,
    direction: Direction,
) {
    // Closures, because functions with target features do not have the type of those without.
    let split = |low: &mut [Block], high: &mut [Block], twiddle| split(low, high, twiddle);
    let join = |low: &mut [Block], high: &mut [Block], twiddle| join(low, high, twiddle);
    transform::additive(split, join, twiddles, values, log, coset, direction);
}

/// Same as [`transform::split`]. Inlined into functions that enable the instructions.
#[target_feature(enable = "aes,neon")]
#[inline]
fn split(low: &mut [Block], high: &mut [Block], twiddle: Block) {
    if twiddle == Block::ZERO {
        // The first block of each layer.
        sums::add_to(high, low);
        return;
    }
    let twiddle = Factor::new(twiddle);
    for (low, high) in low.iter_mut().zip(high) {
        let b = load(*high);
        let a = veorq_u64(load(*low), times(b, twiddle));
        *low = bytemuck::cast(a);
        *high = bytemuck::cast(veorq_u64(a, b));
    }
}

/// Same as [`transform::join`]. Inlined into functions that enable the instructions.
#[target_feature(enable = "aes,neon")]
#[inline]
fn join(low: &mut [Block], high: &mut [Block], twiddle: Block) {
    if twiddle == Block::ZERO {
        // The first block of each layer.
        sums::add_to(high, low);
        return;
    }
    let twiddle = Factor::new(twiddle);
    for (low, high) in low.iter_mut().zip(high) {
        let a = load(*low);
        let b = veorq_u64(a, load(*high));
        *low = bytemuck::cast(veorq_u64(a, times(b, twiddle)));
        *high = bytemuck::cast(b);
    }
}

/// A factor of many products: itself, and itself times x^64, with which a product has 192 bits instead of 256 before it
/// is reduced. The lower half of each is in one vector and the upper in another, so that each meets its half of the
/// other factor.
#[derive(Clone, Copy)]
struct Factor {
    lower: uint64x2_t,
    upper: uint64x2_t,
}

impl Factor {
    #[target_feature(enable = "aes,neon")]
    #[inline]
    fn new(factor: Block) -> Self {
        let itself = load(factor);
        let over = multiply_upper(itself, vdupq_n_u64(MODULUS));
        let shifted = veorq_u64(up_by_64(itself), over);
        Self { lower: vzip1q_u64(itself, shifted), upper: vzip2q_u64(itself, shifted) }
    }
}

/// The product of an element and a factor.
#[target_feature(enable = "aes,neon")]
#[inline]
fn times(x: uint64x2_t, factor: Factor) -> uint64x2_t {
    let low = veorq_u64(multiply_lower(x, factor.lower), multiply_upper(x, factor.lower));
    let high = veorq_u64(multiply_lower(x, factor.upper), multiply_upper(x, factor.upper));
    reduce192(low, high)
}

/// The product of two elements.
#[target_feature(enable = "aes,neon")]
#[inline]
fn product(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
    reduce256(unreduced(a, b))
}

/// The product of two polynomials of degree below 128, in three parts that overlap by 64 bits.
#[target_feature(enable = "aes,neon")]
#[inline]
fn unreduced(a: uint64x2_t, b: uint64x2_t) -> [uint64x2_t; 3] {
    let swapped = vextq_u64::<1>(b, b);
    let middle = veorq_u64(multiply_lower(a, swapped), multiply_upper(a, swapped));
    [multiply_lower(a, b), middle, multiply_upper(a, b)]
}

/// The element that is equal to such a product.
#[target_feature(enable = "aes,neon")]
#[inline]
fn reduce256([low, middle, high]: [uint64x2_t; 3]) -> uint64x2_t {
    // Words 3, 2, 1, 0 from the top: word 3 folds into 2 and 1, then word 2 into 1 and 0.
    let middle = veorq_u64(middle, multiply_upper(high, vdupq_n_u64(MODULUS)));
    reduce192(low, veorq_u64(middle, up_by_64(high)))
}

/// The element that is equal to `low` + x^64 · `high`.
#[target_feature(enable = "aes,neon")]
#[inline]
fn reduce192(low: uint64x2_t, high: uint64x2_t) -> uint64x2_t {
    let folded = multiply_upper(high, vdupq_n_u64(MODULUS));
    veorq_u64(low, veorq_u64(up_by_64(high), folded))
}

/// The lower half, in the place of the upper.
#[target_feature(enable = "neon")]
#[inline]
fn up_by_64(x: uint64x2_t) -> uint64x2_t {
    vextq_u64::<1>(vdupq_n_u64(0), x)
}

/// The product of the lower elements, without carries.
#[target_feature(enable = "aes,neon")]
#[inline]
pub fn multiply_lower(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
    vreinterpretq_u64_p128(vmull_p64(vgetq_lane_u64::<0>(a), vgetq_lane_u64::<0>(b)))
}

/// The product of the upper elements, without carries.
#[target_feature(enable = "aes,neon")]
#[inline]
pub fn multiply_upper(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
    let product = vmull_high_p64(vreinterpretq_p64_u64(a), vreinterpretq_p64_u64(b));
    vreinterpretq_u64_p128(product)
}

#[target_feature(enable = "neon")]
#[inline]
fn load(block: Block) -> uint64x2_t {
    bytemuck::cast(block)
}
