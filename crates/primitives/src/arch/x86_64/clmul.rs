//! Carry-less multiplication with PCLMULQDQ, and with VPCLMULQDQ where two products fit one
//! instruction.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_xor_si128,
    _mm256_castsi256_si128, _mm256_clmulepi64_epi128, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_setzero_si256, _mm256_xor_si256,
};

use super::super::portable::gf;
use crate::Block;

/// As [`gf::multiply64`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn multiply64(a: u64, b: u64) -> u64 {
    gf::multiply64(|a, b| clmul(a, b), a, b)
}

/// As [`gf::multiply128`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn multiply128(a: Block, b: Block) -> Block {
    Block(gf::multiply128(|a, b| clmul(a, b), a.0, b.0))
}

/// As [`gf::add_products128`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn add_products128(sums: &mut [Block], x: &[Block], factor: Block) {
    gf::add_products128(|a, b| clmul(a, b), sums, x, factor);
}

/// As [`gf::add_products64`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn add_products64(sums: &mut [Block], x: &[u64], factor: Block) {
    gf::add_products64(|a, b| clmul(a, b), sums, x, factor);
}

/// As [`gf::inner_product128`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn inner_product128(a: &[Block], b: &[Block]) -> Block {
    Block(gf::inner_product128(|a, b| clmul(a, b), a, b))
}

/// As [`gf::inner_product128`], two products an instruction.
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
fn clmul(a: u64, b: u64) -> u128 {
    let product: __m128i =
        _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(a as i64), _mm_cvtsi64_si128(b as i64));
    bytemuck::cast(product)
}
