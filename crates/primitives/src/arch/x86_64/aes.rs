//! AES-128 with AES-NI, and with VAES where two blocks fit one instruction.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_aeskeygenassist_si128,
    _mm_set_epi64x, _mm_setzero_si128, _mm_shuffle_epi32, _mm_slli_si128, _mm_xor_si128,
    _mm256_aesenc_epi128, _mm256_aesenclast_epi128, _mm256_broadcastsi128_si256,
    _mm256_loadu_si256, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_xor_si256,
};

use zeroize::Zeroize;

use crate::Block;

const ROUNDS: usize = 10;

/// Blocks in flight at once: enough to hide the latency of one round.
const BATCH: usize = 8;

/// The eleven round keys of an expanded key.
pub struct Keys([__m128i; ROUNDS + 1]);

impl Drop for Keys {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Expands a key (FIPS 197 §5.2).
///
/// # Safety
/// The processor must have AES-NI.
#[target_feature(enable = "aes,sse2")]
pub unsafe fn expand(key: Block) -> Keys {
    let mut keys = [_mm_setzero_si128(); ROUNDS + 1];
    keys[0] = load(key);
    // The round constant has to be a literal of the instruction.
    macro_rules! round {
        ($i:literal, $constant:literal) => {
            let assist = _mm_aeskeygenassist_si128::<$constant>(keys[$i - 1]);
            keys[$i] = next_round_key(keys[$i - 1], assist);
        };
    }
    round!(1, 0x01);
    round!(2, 0x02);
    round!(3, 0x04);
    round!(4, 0x08);
    round!(5, 0x10);
    round!(6, 0x20);
    round!(7, 0x40);
    round!(8, 0x80);
    round!(9, 0x1b);
    round!(10, 0x36);
    Keys(keys)
}

#[target_feature(enable = "sse2")]
fn next_round_key(previous: __m128i, assist: __m128i) -> __m128i {
    let mut key = previous;
    // Word i becomes the exclusive or of words 0 to i.
    for _ in 0..3 {
        key = _mm_xor_si128(_mm_slli_si128::<4>(key), previous);
    }
    _mm_xor_si128(key, _mm_shuffle_epi32::<0xff>(assist))
}

/// Encrypts each block in place, one block an instruction.
///
/// # Safety
/// The processor must have AES-NI.
#[target_feature(enable = "aes,sse2")]
pub unsafe fn encrypt(keys: &Keys, blocks: &mut [Block]) {
    let states: &mut [__m128i] = bytemuck::cast_slice_mut(blocks);
    let (batches, rest) = states.as_chunks_mut::<BATCH>();
    for batch in batches {
        encrypt_batch(&keys.0, batch);
    }
    for state in rest {
        encrypt_batch(&keys.0, std::array::from_mut(state));
    }
}

#[target_feature(enable = "aes,sse2")]
fn encrypt_batch<const N: usize>(keys: &[__m128i; ROUNDS + 1], states: &mut [__m128i; N]) {
    for state in &mut *states {
        *state = _mm_xor_si128(*state, keys[0]);
    }
    for key in &keys[1..ROUNDS] {
        for state in &mut *states {
            *state = _mm_aesenc_si128(*state, *key);
        }
    }
    for state in states {
        *state = _mm_aesenclast_si128(*state, keys[ROUNDS]);
    }
}

/// Encrypts each block in place, two blocks an instruction.
///
/// # Safety
/// The processor must have VAES, AVX2 and AES-NI.
#[target_feature(enable = "vaes,avx2,aes")]
pub unsafe fn encrypt_wide(keys: &Keys, blocks: &mut [Block]) {
    let mut wide_keys = [_mm256_setzero_si256(); ROUNDS + 1];
    for (wide, key) in wide_keys.iter_mut().zip(&keys.0) {
        *wide = _mm256_broadcastsi128_si256(*key);
    }
    let (batches, rest) = blocks.as_chunks_mut::<{ 2 * BATCH }>();
    for batch in batches {
        let address: *mut __m256i = batch.as_mut_ptr().cast();
        let mut states = [_mm256_setzero_si256(); BATCH];
        for (i, state) in states.iter_mut().enumerate() {
            // SAFETY: `batch` is 2·BATCH blocks of 16 bytes, so BATCH unaligned loads of 32 bytes
            // stay inside it.
            *state = _mm256_xor_si256(unsafe { _mm256_loadu_si256(address.add(i)) }, wide_keys[0]);
        }
        for key in &wide_keys[1..ROUNDS] {
            for state in &mut states {
                *state = _mm256_aesenc_epi128(*state, *key);
            }
        }
        for (i, state) in states.iter().enumerate() {
            let last = _mm256_aesenclast_epi128(*state, wide_keys[ROUNDS]);
            // SAFETY: as for the loads; `batch` is borrowed mutably.
            unsafe { _mm256_storeu_si256(address.add(i), last) };
        }
    }
    // SAFETY: the caller vouches for AES-NI.
    unsafe { encrypt(keys, rest) };
}

#[target_feature(enable = "sse2")]
fn load(block: Block) -> __m128i {
    _mm_set_epi64x(block.high() as i64, block.low() as i64)
}
