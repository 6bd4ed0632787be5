//! Carry-less multiplication with PCLMULQDQ, and with VPCLMULQDQ for two products per instruction.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_xor_si128,
    _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_clmulepi64_epi128,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_slli_si256, _mm256_storeu_si256, _mm256_xor_si256,
};

use super::super::portable::{
    gf,
    transform::{self, Direction, Twiddles},
};
use crate::Block;

/// Same as [`gf::multiply128`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn multiply128(a: Block, b: Block) -> Block {
    Block(gf::multiply128(|a, b| clmul(a, b), a.0, b.0))
}

/// Same as [`gf::add_products128`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn add_products128(sums: &mut [Block], x: &[Block], factor: Block) {
    gf::add_products128(|a, b| clmul(a, b), sums, x, factor);
}

/// Same as [`gf::add_products64`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn add_products64(sums: &mut [Block], x: &[u64], factor: Block) {
    gf::add_products64(|a, b| clmul(a, b), sums, x, factor);
}

/// Same as [`gf::inner_product128`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn inner_product128(a: &[Block], b: &[Block]) -> Block {
    Block(gf::inner_product128(|a, b| clmul(a, b), a, b))
}

/// Like [`gf::inner_product128`], two products per instruction.
///
/// # Safety
/// The processor must have VPCLMULQDQ, PCLMULQDQ and AVX2.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
pub unsafe fn inner_product128_wide(a: &[Block], b: &[Block]) -> Block {
    let (pairs_a, rest_a) = a.as_chunks::<2>();
    let (pairs_b, rest_b) = b.as_chunks::<2>();
    let [mut low, mut middle, mut high] = [_mm256_setzero_si256(); 3];
    for (a, b) in pairs_a.iter().zip(pairs_b) {
        let (a, b) = (load(a), load(b));
        low = _mm256_xor_si256(low, _mm256_clmulepi64_epi128::<0x00>(a, b));
        high = _mm256_xor_si256(high, _mm256_clmulepi64_epi128::<0x11>(a, b));
        let one = _mm256_clmulepi64_epi128::<0x01>(a, b);
        let other = _mm256_clmulepi64_epi128::<0x10>(a, b);
        middle = _mm256_xor_si256(middle, _mm256_xor_si256(one, other));
    }
    let [low, middle, high] = [low, middle, high].map(|sums| fold(sums));
    let pairs = gf::reduce128(low ^ middle << 64, high ^ middle >> 64);
    Block(pairs ^ gf::inner_product128(|a, b| clmul(a, b), rest_a, rest_b))
}

/// Like [`gf::add_products128`], two products per instruction.
///
/// # Safety
/// The processor must have VPCLMULQDQ, PCLMULQDQ and AVX2.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
pub unsafe fn add_products128_wide(sums: &mut [Block], x: &[Block], factor: Block) {
    let len = sums.len().min(x.len());
    let (pairs, rest) = sums[..len].as_chunks_mut::<2>();
    let (x, rest_x) = x[..len].as_chunks::<2>();
    let factors = Factor::new(factor);
    for (sum, x) in pairs.iter_mut().zip(x) {
        let product = times(load(x), factors);
        store(sum, _mm256_xor_si256(load(sum), product));
    }
    gf::add_products128(|a, b| clmul(a, b), rest, rest_x, factor);
}

/// Same as [`gf::multiply_each128`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn multiply_each128(values: &mut [Block], factors: &[Block]) {
    gf::multiply_each128(|a, b| clmul(a, b), values, factors);
}

/// Like [`gf::multiply_each128`], two products per instruction.
///
/// # Safety
/// The processor must have VPCLMULQDQ, PCLMULQDQ and AVX2.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
pub unsafe fn multiply_each128_wide(values: &mut [Block], factors: &[Block]) {
    let len = values.len().min(factors.len());
    let (pairs, rest) = values[..len].as_chunks_mut::<2>();
    let (factors, rest_factors) = factors[..len].as_chunks::<2>();
    let modulus = _mm256_set1_epi64x(0x87);
    for (pair, factor) in pairs.iter_mut().zip(factors) {
        let (a, b) = (load(pair), load(factor));
        let low = _mm256_clmulepi64_epi128::<0x00>(a, b);
        let high = _mm256_clmulepi64_epi128::<0x11>(a, b);
        let middle = _mm256_xor_si256(
            _mm256_clmulepi64_epi128::<0x01>(a, b),
            _mm256_clmulepi64_epi128::<0x10>(a, b),
        );
        // Words 3, 2, 1, 0 from the top: word 3 folds into 2 and 1, then word 2 into 1 and 0.
        let folded = _mm256_clmulepi64_epi128::<0x01>(high, modulus);
        let middle = _mm256_xor_si256(middle, folded);
        let top = _mm256_xor_si256(_mm256_slli_si256::<8>(high), middle);
        let folded = _mm256_clmulepi64_epi128::<0x01>(top, modulus);
        let bottom = _mm256_xor_si256(low, _mm256_slli_si256::<8>(middle));
        store(pair, _mm256_xor_si256(bottom, folded));
    }
    gf::multiply_each128(|a, b| clmul(a, b), rest, rest_factors);
}

/// Same as [`transform::additive_by`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn additive128(
    twiddles: &Twiddles<Block>,
    values: &mut [Block],
    log: usize,
    coset: bool,
    direction: Direction,
) {
    let multiply = |a: Block, b: Block| Block(gf::multiply128(|a, b| clmul(a, b), a.0, b.0));
    transform::additive_by(multiply, twiddles, values, log, coset, direction);
}

/// Like [`transform::additive_by`], two products per instruction.
///
/// # Safety
/// The processor must have VPCLMULQDQ, PCLMULQDQ and AVX2.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
pub unsafe fn additive128_wide(
    twiddles: &Twiddles<Block>,
    values: &mut [Block],
    log: usize,
    coset: bool,
    direction: Direction,
) {
    // Closures, because functions with target features do not have the type of those without.
    let split = |low: &mut [Block], high: &mut [Block], twiddle| split_wide(low, high, twiddle);
    let join = |low: &mut [Block], high: &mut [Block], twiddle| join_wide(low, high, twiddle);
    transform::additive(split, join, twiddles, values, log, coset, direction);
}

/// Same as [`transform::split`]. Inlined into functions that enable the instructions.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
#[inline]
fn split_wide(low: &mut [Block], high: &mut [Block], twiddle: Block) {
    if twiddle == Block::ZERO {
        // The first block of each layer.
        high.iter_mut().zip(low).for_each(|(high, low)| *high ^= *low);
        return;
    }
    let (low_pairs, low_rest) = low.as_chunks_mut::<2>();
    let (high_pairs, high_rest) = high.as_chunks_mut::<2>();
    let twiddles = Factor::new(twiddle);
    for (low, high) in low_pairs.iter_mut().zip(high_pairs) {
        let b = load(high);
        let a = _mm256_xor_si256(load(low), times(b, twiddles));
        store(low, a);
        store(high, _mm256_xor_si256(a, b));
    }
    let multiply = |a: Block, b: Block| Block(gf::multiply128(|a, b| clmul(a, b), a.0, b.0));
    transform::split(multiply, low_rest, high_rest, twiddle);
}

/// Same as [`transform::join`]. Inlined into functions that enable the instructions.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
#[inline]
fn join_wide(low: &mut [Block], high: &mut [Block], twiddle: Block) {
    if twiddle == Block::ZERO {
        // The first block of each layer.
        high.iter_mut().zip(low).for_each(|(high, low)| *high ^= *low);
        return;
    }
    let (low_pairs, low_rest) = low.as_chunks_mut::<2>();
    let (high_pairs, high_rest) = high.as_chunks_mut::<2>();
    let twiddles = Factor::new(twiddle);
    for (low, high) in low_pairs.iter_mut().zip(high_pairs) {
        let a = load(low);
        let b = _mm256_xor_si256(a, load(high));
        store(low, _mm256_xor_si256(a, times(b, twiddles)));
        store(high, b);
    }
    let multiply = |a: Block, b: Block| Block(gf::multiply128(|a, b| clmul(a, b), a.0, b.0));
    transform::join(multiply, low_rest, high_rest, twiddle);
}

/// A factor of many products: itself, and itself times x^64, with which a product has 192 bits instead of 256
/// before it is reduced.
#[derive(Clone, Copy)]
struct Factor {
    itself: __m256i,
    shifted: __m256i,
    modulus: __m256i,
}

impl Factor {
    #[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
    #[inline]
    fn new(factor: Block) -> Self {
        let modulus = _mm256_set1_epi64x(0x87);
        let itself = _mm256_broadcastsi128_si256(bytemuck::cast(factor));
        let over = _mm256_clmulepi64_epi128::<0x01>(itself, modulus);
        let shifted = _mm256_xor_si256(_mm256_slli_si256::<8>(itself), over);
        Self { itself, shifted, modulus }
    }
}

/// The products of a pair and a factor.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
#[inline]
fn times(x: __m256i, factor: Factor) -> __m256i {
    let low = _mm256_xor_si256(
        _mm256_clmulepi64_epi128::<0x00>(x, factor.itself),
        _mm256_clmulepi64_epi128::<0x01>(x, factor.shifted),
    );
    let high = _mm256_xor_si256(
        _mm256_clmulepi64_epi128::<0x10>(x, factor.itself),
        _mm256_clmulepi64_epi128::<0x11>(x, factor.shifted),
    );
    let folded = _mm256_clmulepi64_epi128::<0x01>(high, factor.modulus);
    _mm256_xor_si256(low, _mm256_xor_si256(_mm256_slli_si256::<8>(high), folded))
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(pair: &mut [Block; 2], values: __m256i) {
    // SAFETY: the pair is 32 bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(pair.as_mut_ptr().cast(), values) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(pair: &[Block; 2]) -> __m256i {
    // SAFETY: the pair is 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(pair.as_ptr().cast()) }
}

/// The sum of the two halves.
#[target_feature(enable = "avx2")]
#[inline]
fn fold(sums: __m256i) -> u128 {
    let (low, high) = (_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    bytemuck::cast(_mm_xor_si128(low, high))
}

#[target_feature(enable = "pclmulqdq,sse2")]
#[inline]
pub fn clmul(a: u64, b: u64) -> u128 {
    let product: __m128i =
        _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(a as i64), _mm_cvtsi64_si128(b as i64));
    bytemuck::cast(product)
}
