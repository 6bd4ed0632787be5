//! Carry-less multiplication with PCLMULQDQ.

use std::arch::x86_64::{__m128i, _mm_clmulepi64_si128, _mm_cvtsi64_si128};

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

#[target_feature(enable = "pclmulqdq,sse2")]
#[inline]
fn clmul(a: u64, b: u64) -> u128 {
    let product: __m128i =
        _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(a as i64), _mm_cvtsi64_si128(b as i64));
    bytemuck::cast(product)
}
