//! AES-128 with VAES and 512-bit registers: four blocks per instruction.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_aesenc_epi128, _mm512_aesenclast_epi128,
    _mm512_broadcast_i32x4, _mm512_loadu_si512, _mm512_set_epi64, _mm512_setzero_si512,
    _mm512_slli_epi64, _mm512_storeu_si512, _mm512_ternarylogic_epi64, _mm512_xor_si512,
};

use super::aes::{self, Keys, ROUNDS};
use crate::Block;

/// Vectors in flight at once: enough to hide the latency of one round.
const BATCH: usize = 8;

/// Blocks of a vector.
const WIDTH: usize = 4;

/// Same as [`aes::encrypt_counter_wide`].
///
/// # Safety
/// The processor must have VAES, AVX-512 F, AVX2 and AES-NI.
#[target_feature(enable = "vaes,avx512f,avx2,aes")]
pub unsafe fn encrypt_counter(keys: &Keys, first: u64, out: &mut [Block]) {
    let wide_keys = widen(keys);
    let (batches, rest) = out.as_chunks_mut::<{ WIDTH * BATCH }>();
    let mut numbers = {
        let first = first as i64;
        _mm512_set_epi64(0, first + 3, 0, first + 2, 0, first + 1, 0, first)
    };
    let step = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
    let done = batches.len() * WIDTH * BATCH;
    for batch in batches {
        let mut states = [_mm512_setzero_si512(); BATCH];
        for state in &mut states {
            *state = numbers;
            numbers = _mm512_add_epi64(numbers, step);
        }
        encrypt(&wide_keys, &mut states);
        store(batch, &states);
    }
    // SAFETY: the caller guarantees VAES, AVX2 and AES-NI.
    unsafe { aes::encrypt_counter_wide(keys, first + done as u64, rest) };
}

/// Same as [`aes::feed_forward_wide`].
///
/// # Safety
/// The processor must have VAES, AVX-512 F, AVX2 and AES-NI.
#[target_feature(enable = "vaes,avx512f,avx2,aes")]
pub unsafe fn feed_forward(keys: &Keys, blocks: &mut [Block]) {
    let wide_keys = widen(keys);
    let (batches, rest) = blocks.as_chunks_mut::<{ WIDTH * BATCH }>();
    for batch in batches {
        let inputs = load(batch);
        let mut states = inputs;
        encrypt(&wide_keys, &mut states);
        for (state, input) in states.iter_mut().zip(inputs) {
            *state = _mm512_xor_si512(*state, input);
        }
        store(batch, &states);
    }
    // SAFETY: the caller guarantees VAES, AVX2 and AES-NI.
    unsafe { aes::feed_forward_wide(keys, rest) };
}

/// Same as [`AesKeys::add_bits`](super::super::AesKeys::add_bits), for whole batches of points; returns their number.
/// Points, states and sums stay in registers.
///
/// # Safety
/// The processor must have VAES and AVX-512 F.
#[target_feature(enable = "vaes,avx512f")]
pub unsafe fn add_bits(keys: &[&Keys], points: &[Block], sums: &mut [Block]) -> usize {
    /// a ⊕ (b ∧ c), as a table.
    const ADD_MASKED: i32 = 0x78;
    let points = points.as_chunks::<{ WIDTH * BATCH }>().0;
    let sums = sums.as_chunks_mut::<{ WIDTH * BATCH }>().0;
    for (points, sums) in points.iter().zip(&mut *sums) {
        let inputs = load(points);
        let mut outputs = load(sums);
        for (half, keys) in keys.chunks(64).enumerate() {
            let mut bit = if half == 0 {
                _mm512_set_epi64(0, 1, 0, 1, 0, 1, 0, 1)
            } else {
                _mm512_set_epi64(1, 0, 1, 0, 1, 0, 1, 0)
            };
            for key in keys {
                let key = key.rounds();
                let mut states = inputs;
                let first = _mm512_broadcast_i32x4(key[0]);
                for state in &mut states {
                    *state = _mm512_xor_si512(*state, first);
                }
                for round in &key[1..ROUNDS] {
                    let round = _mm512_broadcast_i32x4(*round);
                    for state in &mut states {
                        *state = _mm512_aesenc_epi128(*state, round);
                    }
                }
                let last = _mm512_broadcast_i32x4(key[ROUNDS]);
                for (state, output) in states.iter().zip(&mut outputs) {
                    let image = _mm512_aesenclast_epi128(*state, last);
                    *output = _mm512_ternarylogic_epi64::<ADD_MASKED>(*output, image, bit);
                }
                bit = _mm512_slli_epi64::<1>(bit);
            }
        }
        store(sums, &outputs);
    }
    points.len().min(sums.len()) * WIDTH * BATCH
}

/// Each round key in all quarters of a vector.
#[target_feature(enable = "avx512f")]
#[inline]
fn widen(keys: &Keys) -> [__m512i; ROUNDS + 1] {
    let mut wide_keys = [_mm512_setzero_si512(); ROUNDS + 1];
    for (wide, key) in wide_keys.iter_mut().zip(keys.rounds()) {
        *wide = _mm512_broadcast_i32x4(*key);
    }
    wide_keys
}

#[target_feature(enable = "vaes,avx512f")]
#[inline]
fn encrypt(keys: &[__m512i; ROUNDS + 1], states: &mut [__m512i; BATCH]) {
    for state in &mut *states {
        *state = _mm512_xor_si512(*state, keys[0]);
    }
    for key in &keys[1..ROUNDS] {
        for state in &mut *states {
            *state = _mm512_aesenc_epi128(*state, *key);
        }
    }
    for state in states {
        *state = _mm512_aesenclast_epi128(*state, keys[ROUNDS]);
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(blocks: &[Block; WIDTH * BATCH]) -> [__m512i; BATCH] {
    let mut vectors = [_mm512_setzero_si512(); BATCH];
    for (vector, blocks) in vectors.iter_mut().zip(blocks.as_chunks::<WIDTH>().0) {
        // SAFETY: four blocks have the 64 bytes that are loaded; the load needs no alignment.
        *vector = unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) };
    }
    vectors
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(blocks: &mut [Block; WIDTH * BATCH], vectors: &[__m512i; BATCH]) {
    for (vector, blocks) in vectors.iter().zip(blocks.as_chunks_mut::<WIDTH>().0) {
        // SAFETY: as in `load`; the blocks are borrowed mutably.
        unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), *vector) };
    }
}
