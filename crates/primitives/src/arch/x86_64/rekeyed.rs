//! A hash of blocks by AES under a key of their own for each index. The round keys of several indices
//! are made at once, each just before its round, and never written to memory.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_and_si128, _mm_set_epi64x,
    _mm_set1_epi32, _mm_setzero_si128, _mm_shuffle_epi8, _mm_shuffle_epi32, _mm_slli_si128,
    _mm_xor_si128, _mm256_aesenc_epi128, _mm256_aesenclast_epi128, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_shuffle_epi32, _mm256_slli_si256, _mm256_xor_si256,
};

use crate::Block;

/// The round constants of FIPS 197 §5.2.
const CONSTANTS: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Indices in flight at once, one an instruction.
const BATCH: usize = 4;

/// The same with two an instruction.
const WIDE_BATCH: usize = 2 * BATCH;

/// Puts the last word of a key, rotated by a byte, into all four.
#[target_feature(enable = "sse2")]
fn rotated_last_word() -> __m128i {
    _mm_set1_epi32(0x0c0f_0e0d)
}

#[target_feature(enable = "sse2")]
fn upper_half() -> __m128i {
    _mm_set_epi64x(-1, 0)
}

/// As [`portable::rekeyed::hash`](super::super::portable::rekeyed::hash), one block an instruction.
///
/// # Safety
/// The processor must have AES-NI and SSSE3.
#[target_feature(enable = "aes,sse2,ssse3")]
pub unsafe fn hash<const N: usize>(session: Block, first: u128, rows: &mut [[Block; N]]) {
    let (batches, rest) = rows.as_chunks_mut::<BATCH>();
    let mut index = first;
    for batch in batches {
        hash_batch(session, index, batch);
        index += BATCH as u128;
    }
    for row in rest {
        hash_batch(session, index, std::array::from_mut(row));
        index += 1;
    }
}

#[target_feature(enable = "aes,sse2,ssse3")]
fn hash_batch<const N: usize, const ROWS: usize>(
    session: Block,
    first: u128,
    rows: &mut [[Block; N]; ROWS],
) {
    let mut keys = [_mm_setzero_si128(); ROWS];
    for (key, index) in keys.iter_mut().zip(first..) {
        *key = load(session ^ Block(index));
    }
    let mut inputs = [[_mm_setzero_si128(); N]; ROWS];
    for (inputs, row) in inputs.iter_mut().zip(&*rows) {
        for (input, x) in inputs.iter_mut().zip(row) {
            let x = load(*x);
            let swapped = _mm_shuffle_epi32::<0x4e>(x);
            *input = _mm_xor_si128(swapped, _mm_and_si128(x, upper_half()));
        }
    }
    let mut states = inputs;
    for (states, key) in states.iter_mut().zip(&keys) {
        states.iter_mut().for_each(|state| *state = _mm_xor_si128(*state, *key));
    }
    for (round, constant) in CONSTANTS.into_iter().enumerate() {
        let constant = _mm_set1_epi32(constant);
        for (states, key) in states.iter_mut().zip(&mut keys) {
            // All columns are equal, so that shifting the rows changes nothing.
            let word = _mm_shuffle_epi8(*key, rotated_last_word());
            let word = _mm_aesenclast_si128(word, constant);
            *key = _mm_xor_si128(*key, _mm_slli_si128::<4>(*key));
            *key = _mm_xor_si128(*key, _mm_slli_si128::<8>(*key));
            *key = _mm_xor_si128(*key, word);
            for state in states {
                *state = match round {
                    9 => _mm_aesenclast_si128(*state, *key),
                    _ => _mm_aesenc_si128(*state, *key),
                };
            }
        }
    }
    for (row, (states, inputs)) in rows.iter_mut().zip(states.iter().zip(&inputs)) {
        for (out, (state, input)) in row.iter_mut().zip(states.iter().zip(inputs)) {
            *out = bytemuck::cast(_mm_xor_si128(*state, *input));
        }
    }
}

/// As [`hash`], two blocks an instruction.
///
/// # Safety
/// The processor must have VAES, AVX2, AES-NI and SSSE3.
#[target_feature(enable = "vaes,avx2,aes,sse2,ssse3")]
pub unsafe fn hash_wide<const N: usize>(session: Block, first: u128, rows: &mut [[Block; N]]) {
    let (batches, rest) = rows.as_chunks_mut::<WIDE_BATCH>();
    let mut index = first;
    for batch in batches {
        hash_wide_batch(session, index, batch);
        index += WIDE_BATCH as u128;
    }
    // SAFETY: the caller vouches for AES-NI and SSSE3.
    unsafe { hash(session, index, rest) };
}

#[target_feature(enable = "vaes,avx2,aes,sse2,ssse3")]
fn hash_wide_batch<const N: usize>(
    session: Block,
    first: u128,
    rows: &mut [[Block; N]; WIDE_BATCH],
) {
    let rotated = _mm256_broadcastsi128_si256(rotated_last_word());
    let upper = _mm256_broadcastsi128_si256(upper_half());
    let mut keys = [_mm256_setzero_si256(); BATCH];
    let mut inputs = [[_mm256_setzero_si256(); N]; BATCH];
    let (pairs, _) = rows.as_chunks::<2>();
    for (i, ((key, inputs), pair)) in keys.iter_mut().zip(&mut inputs).zip(pairs).enumerate() {
        let index = first + 2 * i as u128;
        *key = bytemuck::cast([session ^ Block(index), session ^ Block(index + 1)]);
        for (j, input) in inputs.iter_mut().enumerate() {
            let x: __m256i = bytemuck::cast([pair[0][j], pair[1][j]]);
            let swapped = _mm256_shuffle_epi32::<0x4e>(x);
            *input = _mm256_xor_si256(swapped, _mm256_and_si256(x, upper));
        }
    }
    let mut states = inputs;
    for (states, key) in states.iter_mut().zip(&keys) {
        states.iter_mut().for_each(|state| *state = _mm256_xor_si256(*state, *key));
    }
    for (round, constant) in CONSTANTS.into_iter().enumerate() {
        let constant = _mm256_set1_epi32(constant);
        for (states, key) in states.iter_mut().zip(&mut keys) {
            let word = _mm256_aesenclast_epi128(_mm256_shuffle_epi8(*key, rotated), constant);
            *key = _mm256_xor_si256(*key, _mm256_slli_si256::<4>(*key));
            *key = _mm256_xor_si256(*key, _mm256_slli_si256::<8>(*key));
            *key = _mm256_xor_si256(*key, word);
            for state in states {
                *state = match round {
                    9 => _mm256_aesenclast_epi128(*state, *key),
                    _ => _mm256_aesenc_epi128(*state, *key),
                };
            }
        }
    }
    let (pairs, _) = rows.as_chunks_mut::<2>();
    for (pair, (states, inputs)) in pairs.iter_mut().zip(states.iter().zip(&inputs)) {
        for j in 0..N {
            let out: [Block; 2] = bytemuck::cast(_mm256_xor_si256(states[j], inputs[j]));
            [pair[0][j], pair[1][j]] = out;
        }
    }
}

#[target_feature(enable = "sse2")]
fn load(block: Block) -> __m128i {
    _mm_set_epi64x(block.high() as i64, block.low() as i64)
}
