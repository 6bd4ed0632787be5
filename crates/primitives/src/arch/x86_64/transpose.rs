//! Transposition of a 128 × 128 bit matrix with AVX2: first within squares of 8 × 8 bits, then the 16 × 16
//! squares among each other, which is a transposition of bytes.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_loadu_si256, _mm256_permute2x128_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256,
    _mm256_unpackhi_epi8, _mm256_unpacklo_epi8, _mm256_xor_si256,
};

use crate::Block;

/// Same as [`transpose`](super::super::portable::transpose::transpose) of the portable backend.
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn transpose(rows: &mut [Block; 128]) {
    // Vector i holds rows 2i and 2i + 1.
    let address: *mut __m256i = rows.as_mut_ptr().cast();
    for group in 0..16 {
        let mut vectors = [_mm256_setzero_si256(); 4];
        for (i, vector) in vectors.iter_mut().enumerate() {
            // SAFETY: the rows are 64 vectors of 32 bytes, and loads need no alignment.
            *vector = unsafe { _mm256_loadu_si256(address.add(4 * group + i)) };
        }
        for (i, vector) in transpose_bits(vectors).into_iter().enumerate() {
            // SAFETY: as for the loads; `rows` is borrowed mutably.
            unsafe { _mm256_storeu_si256(address.add(4 * group + i), vector) };
        }
    }
    // The rows whose number is 2·column or 2·column + 1 modulo 8.
    for column in 0..4 {
        let mut vectors = [_mm256_setzero_si256(); 16];
        for (i, vector) in vectors.iter_mut().enumerate() {
            // SAFETY: as above.
            *vector = unsafe { _mm256_loadu_si256(address.add(4 * i + column)) };
        }
        for (i, vector) in transpose_bytes(vectors).into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(address.add(4 * i + column), vector) };
        }
    }
}

/// Transposes each square of 8 × 8 bits, one byte wide, in eight rows, two per vector.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose_bits([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (a, c) = swap::<4>(a, c, _mm256_set1_epi8(0x0f));
    let (b, d) = swap::<4>(b, d, _mm256_set1_epi8(0x0f));
    let (a, b) = swap::<2>(a, b, _mm256_set1_epi8(0x33));
    let (c, d) = swap::<2>(c, d, _mm256_set1_epi8(0x33));
    let (a, b) = swap_neighbours(a, b);
    let (c, d) = swap_neighbours(c, d);
    [a, b, c, d]
}

/// The last step of [`transpose_bits`], between the two rows of each vector.
#[target_feature(enable = "avx2")]
#[inline]
fn swap_neighbours(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
    let even = _mm256_permute2x128_si256::<0x20>(a, b);
    let odd = _mm256_permute2x128_si256::<0x31>(a, b);
    let (even, odd) = swap::<1>(even, odd, _mm256_set1_epi8(0x55));
    (_mm256_permute2x128_si256::<0x20>(even, odd), _mm256_permute2x128_si256::<0x31>(even, odd))
}

/// Swaps the upper bits of each group of 2·SIZE in `above` with the lower bits, selected by `low`, of `below`.
#[target_feature(enable = "avx2")]
#[inline]
fn swap<const SIZE: i32>(above: __m256i, below: __m256i, low: __m256i) -> (__m256i, __m256i) {
    let shifted = _mm256_srli_epi64::<SIZE>(above);
    let differ = _mm256_and_si256(_mm256_xor_si256(shifted, below), low);
    let back = _mm256_slli_epi64::<SIZE>(differ);
    (_mm256_xor_si256(above, back), _mm256_xor_si256(below, differ))
}

/// Transposes 16 × 16 bytes in each half of the vectors. A round interleaves the first eight vectors byte by
/// byte with the last eight, which rotates the eight bits of a byte's place by one; four rounds turn the
/// vector's index into the place within it.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose_bytes(mut vectors: [__m256i; 16]) -> [__m256i; 16] {
    for _ in 0..4 {
        let before = vectors;
        for i in 0..8 {
            vectors[2 * i] = _mm256_unpacklo_epi8(before[i], before[i + 8]);
            vectors[2 * i + 1] = _mm256_unpackhi_epi8(before[i], before[i + 8]);
        }
    }
    vectors
}
