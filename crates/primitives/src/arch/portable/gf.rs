//! GF(2^64) and GF(2^128) on top of any carry-less multiplication of 64-bit polynomials.
//!
//! Everything here is inlined into the backend that provides the multiplication.

use crate::Block;

/// The product in GF(2^64) modulo x^64 + x^4 + x^3 + x + 1.
#[inline(always)]
pub fn multiply64(clmul: impl Fn(u64, u64) -> u128, a: u64, b: u64) -> u64 {
    reduce64(clmul(a, b))
}

/// A polynomial of degree below 128 modulo x^64 + x^4 + x^3 + x + 1.
#[inline(always)]
pub fn reduce64(product: u128) -> u64 {
    // x^64 = x^4 + x^3 + x + 1; folding the upper half leaves a few bits above x^64, which are folded once
    // more.
    let fold = |high: u64| {
        let high = u128::from(high);
        high ^ high << 1 ^ high << 3 ^ high << 4
    };
    let once = fold((product >> 64) as u64);
    let twice = fold((once >> 64) as u64);
    (product ^ once ^ twice) as u64
}

/// The product in GF(2^128) modulo x^128 + x^7 + x^2 + x + 1.
#[inline(always)]
pub fn multiply128(clmul: impl Fn(u64, u64) -> u128, a: u128, b: u128) -> u128 {
    let [low, middle, high] = product128(clmul, a, b);
    reduce128(low ^ middle << 64, high ^ middle >> 64)
}

/// The inner product of two vectors over GF(2^128), reduced once.
#[inline(always)]
pub fn inner_product128(clmul: impl Fn(u64, u64) -> u128, a: &[Block], b: &[Block]) -> u128 {
    let [low, middle, high] = a.iter().zip(b).fold([0; 3], |sum, (a, b)| {
        let product = product128(&clmul, a.0, b.0);
        std::array::from_fn(|i| sum[i] ^ product[i])
    });
    reduce128(low ^ middle << 64, high ^ middle >> 64)
}

/// The product of two polynomials of degree below 128, in three parts that overlap by 64 bits.
#[inline(always)]
fn product128(clmul: impl Fn(u64, u64) -> u128, a: u128, b: u128) -> [u128; 3] {
    let (a0, a1) = (a as u64, (a >> 64) as u64);
    let (b0, b1) = (b as u64, (b >> 64) as u64);
    let (low, high) = (clmul(a0, b0), clmul(a1, b1));
    [low, clmul(a0 ^ a1, b0 ^ b1) ^ low ^ high, high]
}

/// Adds `factor` times each of `x` to `sums`, in GF(2^128).
#[inline(always)]
pub fn add_products128(
    clmul: impl Fn(u64, u64) -> u128,
    sums: &mut [Block],
    x: &[Block],
    factor: Block,
) {
    for (sum, x) in sums.iter_mut().zip(x) {
        *sum ^= Block(multiply128(&clmul, x.0, factor.0));
    }
}

/// Adds `factor` times each of `x`, polynomials of degree below 64, to `sums`, in GF(2^128).
#[inline(always)]
pub fn add_products64(
    clmul: impl Fn(u64, u64) -> u128,
    sums: &mut [Block],
    x: &[u64],
    factor: Block,
) {
    for (sum, x) in sums.iter_mut().zip(x) {
        let (low, high) = (clmul(*x, factor.low()), clmul(*x, factor.high()));
        *sum ^= Block(reduce128(low ^ high << 64, high >> 64));
    }
}

/// Multiplies each of `values` by its factor, in GF(2^128).
#[inline(always)]
pub fn multiply_each128(clmul: impl Fn(u64, u64) -> u128, values: &mut [Block], factors: &[Block]) {
    for (value, factor) in values.iter_mut().zip(factors) {
        *value = Block(multiply128(&clmul, value.0, factor.0));
    }
}

/// Multiplies each of `values` by its factor, in GF(2^64).
#[inline(always)]
pub fn multiply_each64(clmul: impl Fn(u64, u64) -> u128, values: &mut [u64], factors: &[u64]) {
    for (value, factor) in values.iter_mut().zip(factors) {
        *value = multiply64(&clmul, *value, *factor);
    }
}

/// `low` + x^128 · `high` modulo x^128 + x^7 + x^2 + x + 1.
#[inline(always)]
pub fn reduce128(low: u128, high: u128) -> u128 {
    // x^128 = x^7 + x^2 + x + 1; the bits that fold above x^128 are the upper seven of `high`.
    let over = high >> 127 ^ high >> 126 ^ high >> 121;
    let high = high ^ over;
    low ^ high ^ high << 1 ^ high << 2 ^ high << 7
}
