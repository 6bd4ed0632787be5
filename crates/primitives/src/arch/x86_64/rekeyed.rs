//! A hash of blocks by AES under a separate key for each index. The round keys of several indices are
//! computed at once, each just before its round, and never written to memory.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_and_si128, _mm_set_epi64x,
    _mm_set1_epi32, _mm_setzero_si128, _mm_shuffle_epi8, _mm_shuffle_epi32, _mm_slli_si128,
    _mm_xor_si128, _mm256_aesenc_epi128, _mm256_aesenclast_epi128, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_set_m128i, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_shuffle_epi32, _mm256_slli_si256, _mm256_xor_si256,
};

use crate::Block;

/// The round constants of FIPS 197 §5.2.
const CONSTANTS: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Indices in flight at once, one per instruction.
const BATCH: usize = 4;

/// The same with two per instruction.
const WIDE_BATCH: usize = 2 * BATCH;

/// A shuffle that puts the last word of a key, rotated by a byte, into all four words.
#[target_feature(enable = "sse2")]
#[inline]
fn rotated_last_word() -> __m128i {
    _mm_set1_epi32(0x0c0f_0e0d)
}

#[target_feature(enable = "sse2")]
#[inline]
fn upper_half() -> __m128i {
    _mm_set_epi64x(-1, 0)
}

/// Like [`portable::rekeyed::hash`](super::super::portable::rekeyed::hash), one block per instruction.
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
    let mut inputs = [[_mm_setzero_si128(); N]; ROWS];
    let mut states = inputs;
    for i in 0..ROWS {
        keys[i] = load(session ^ Block(first + i as u128));
        for j in 0..N {
            let x = load(rows[i][j]);
            let swapped = _mm_shuffle_epi32::<0x4e>(x);
            inputs[i][j] = _mm_xor_si128(swapped, _mm_and_si128(x, upper_half()));
            states[i][j] = _mm_xor_si128(inputs[i][j], keys[i]);
        }
    }
    let (last, constants) = CONSTANTS.split_last().expect("ten rounds");
    for constant in constants {
        for i in 0..ROWS {
            keys[i] = next_key(keys[i], *constant);
            for state in &mut states[i] {
                *state = _mm_aesenc_si128(*state, keys[i]);
            }
        }
    }
    for i in 0..ROWS {
        keys[i] = next_key(keys[i], *last);
        for j in 0..N {
            let image = _mm_aesenclast_si128(states[i][j], keys[i]);
            rows[i][j] = bytemuck::cast(_mm_xor_si128(image, inputs[i][j]));
        }
    }
}

/// The key of the next round (FIPS 197 §5.2): word i becomes the sum of words 0 to i and of the last word,
/// rotated and substituted.
#[target_feature(enable = "aes,sse2,ssse3")]
#[inline]
fn next_key(key: __m128i, constant: i32) -> __m128i {
    // All columns are equal, so shifting the rows changes nothing.
    let word = _mm_shuffle_epi8(key, rotated_last_word());
    let word = _mm_aesenclast_si128(word, _mm_set1_epi32(constant));
    let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    let key = _mm_xor_si128(key, _mm_slli_si128::<8>(key));
    _mm_xor_si128(key, word)
}

/// Like [`hash`], two blocks per instruction.
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
    // SAFETY: the caller guarantees AES-NI and SSSE3.
    unsafe { hash(session, index, rest) };
}

#[target_feature(enable = "vaes,avx2,aes,sse2,ssse3")]
fn hash_wide_batch<const N: usize>(
    session: Block,
    first: u128,
    rows: &mut [[Block; N]; WIDE_BATCH],
) {
    let upper = _mm256_broadcastsi128_si256(upper_half());
    let mut keys = [_mm256_setzero_si256(); BATCH];
    let mut inputs = [[_mm256_setzero_si256(); N]; BATCH];
    let mut states = inputs;
    for i in 0..BATCH {
        let index = first + 2 * i as u128;
        keys[i] = load_two(session ^ Block(index), session ^ Block(index + 1));
        for j in 0..N {
            let x = load_two(rows[2 * i][j], rows[2 * i + 1][j]);
            let swapped = _mm256_shuffle_epi32::<0x4e>(x);
            inputs[i][j] = _mm256_xor_si256(swapped, _mm256_and_si256(x, upper));
            states[i][j] = _mm256_xor_si256(inputs[i][j], keys[i]);
        }
    }
    let (last, constants) = CONSTANTS.split_last().expect("ten rounds");
    for constant in constants {
        for i in 0..BATCH {
            keys[i] = next_wide_key(keys[i], *constant);
            for state in &mut states[i] {
                *state = _mm256_aesenc_epi128(*state, keys[i]);
            }
        }
    }
    for i in 0..BATCH {
        keys[i] = next_wide_key(keys[i], *last);
        for j in 0..N {
            let image = _mm256_aesenclast_epi128(states[i][j], keys[i]);
            let image = _mm256_xor_si256(image, inputs[i][j]);
            rows[2 * i][j] = bytemuck::cast(_mm256_castsi256_si128(image));
            rows[2 * i + 1][j] = bytemuck::cast(_mm256_extracti128_si256::<1>(image));
        }
    }
}

/// Like [`next_key`], for two keys.
#[target_feature(enable = "vaes,avx2,sse2")]
#[inline]
fn next_wide_key(keys: __m256i, constant: i32) -> __m256i {
    let rotated = _mm256_broadcastsi128_si256(rotated_last_word());
    let words = _mm256_shuffle_epi8(keys, rotated);
    let words = _mm256_aesenclast_epi128(words, _mm256_set1_epi32(constant));
    let keys = _mm256_xor_si256(keys, _mm256_slli_si256::<4>(keys));
    let keys = _mm256_xor_si256(keys, _mm256_slli_si256::<8>(keys));
    _mm256_xor_si256(keys, words)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_two(low: Block, high: Block) -> __m256i {
    _mm256_set_m128i(load(high), load(low))
}

#[target_feature(enable = "sse2")]
#[inline]
fn load(block: Block) -> __m128i {
    _mm_set_epi64x(block.high() as i64, block.low() as i64)
}
