//! Transposition of a 128 × 128 bit matrix with NEON: first within squares of 8 × 8 bits, then the 16 × 16
//! squares among each other, which is a transposition of bytes.

use std::arch::aarch64::{
    uint8x16_t, vbslq_u8, vdupq_n_u8, vshlq_n_u8, vshrq_n_u8, vsliq_n_u8, vsriq_n_u8, vzip1q_u8,
    vzip2q_u8,
};

use crate::Block;

/// Same as [`transpose`](super::super::portable::transpose::transpose) of the portable backend.
///
/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub unsafe fn transpose(rows: &mut [Block; 128]) {
    let rows: &mut [uint8x16_t; 128] = bytemuck::cast_mut(rows);
    for group in rows.as_chunks_mut::<8>().0 {
        *group = transpose_bits(*group);
    }
    // The rows whose number is `column` modulo 8.
    for column in 0..8 {
        let mut vectors = [vdupq_n_u8(0); 16];
        for (i, vector) in vectors.iter_mut().enumerate() {
            *vector = rows[8 * i + column];
        }
        for (i, vector) in transpose_bytes(vectors).into_iter().enumerate() {
            rows[8 * i + column] = vector;
        }
    }
}

/// Transposes each square of 8 × 8 bits, one byte wide, in eight rows.
#[target_feature(enable = "neon")]
#[inline]
fn transpose_bits(mut rows: [uint8x16_t; 8]) -> [uint8x16_t; 8] {
    for i in 0..4 {
        // Halves of a byte are shifted in from the other row.
        let (above, below) = (rows[i], rows[i + 4]);
        rows[i] = vsliq_n_u8::<4>(above, below);
        rows[i + 4] = vsriq_n_u8::<4>(below, above);
    }
    for i in [0, 1, 4, 5] {
        (rows[i], rows[i + 2]) = swap::<2>(rows[i], rows[i + 2], vdupq_n_u8(0x33));
    }
    for i in [0, 2, 4, 6] {
        (rows[i], rows[i + 1]) = swap::<1>(rows[i], rows[i + 1], vdupq_n_u8(0x55));
    }
    rows
}

/// Swaps the upper bits of each group of 2·SIZE in `above` with the lower bits, selected by `low`, of `below`.
#[target_feature(enable = "neon")]
#[inline]
fn swap<const SIZE: i32>(
    above: uint8x16_t,
    below: uint8x16_t,
    low: uint8x16_t,
) -> (uint8x16_t, uint8x16_t) {
    let (up, down) = (vshlq_n_u8::<SIZE>(below), vshrq_n_u8::<SIZE>(above));
    (vbslq_u8(low, above, up), vbslq_u8(low, down, below))
}

/// Transposes 16 × 16 bytes. A round interleaves the first eight vectors byte by byte with the last eight, which
/// rotates the eight bits of a byte's place by one; four rounds turn the vector's index into the place within it.
#[target_feature(enable = "neon")]
#[inline]
fn transpose_bytes(mut vectors: [uint8x16_t; 16]) -> [uint8x16_t; 16] {
    for _ in 0..4 {
        let before = vectors;
        for i in 0..8 {
            vectors[2 * i] = vzip1q_u8(before[i], before[i + 8]);
            vectors[2 * i + 1] = vzip2q_u8(before[i], before[i + 8]);
        }
    }
    vectors
}
