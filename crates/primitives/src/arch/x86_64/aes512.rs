//! AES-128 with VAES and 512-bit registers: four blocks per instruction.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_aesenc_epi128, _mm512_aesenclast_epi128,
    _mm512_broadcast_i32x4, _mm512_loadu_si512, _mm512_permutex2var_epi64, _mm512_set_epi64,
    _mm512_setzero_si512, _mm512_shuffle_epi32, _mm512_slli_epi64, _mm512_storeu_si512,
    _mm512_ternarylogic_epi64, _mm512_xor_si512,
};

use super::aes::{self, Keys, ROUNDS};
use crate::Block;

/// Vectors in flight at once: enough to hide the latency of one round.
const BATCH: usize = 8;

/// Blocks of a vector.
const WIDTH: usize = 4;

/// a ⊕ (b ∧ c), as a table.
const ADD_MASKED: i32 = 0x78;

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

/// Same as [`AesKeys::circular`](super::super::AesKeys::circular), for whole batches; returns the number of their
/// blocks.
///
/// # Safety
/// The processor must have VAES and AVX-512 F.
#[target_feature(enable = "vaes,avx512f")]
pub unsafe fn circular(keys: &Keys, blocks: &mut [Block]) -> usize {
    let wide_keys = widen(keys);
    let (batches, _) = blocks.as_chunks_mut::<{ WIDTH * BATCH }>();
    for batch in &mut *batches {
        let (_, hashes) = hash(&wide_keys, batch);
        store(batch, &hashes);
    }
    batches.len() * WIDTH * BATCH
}

/// Same as [`AesKeys::split`](super::super::AesKeys::split), for whole batches; returns the number of their parents,
/// too.
///
/// # Safety
/// The processor must have VAES and AVX-512 F.
#[target_feature(enable = "vaes,avx512f")]
pub unsafe fn split(keys: &Keys, parents: &[Block], children: &mut [[Block; 2]]) -> (usize, Block) {
    let wide_keys = widen(keys);
    let (first, second) =
        (_mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4));
    let mut sum = _mm512_setzero_si512();
    let (parents, _) = parents.as_chunks::<{ WIDTH * BATCH }>();
    let (children, _) = children.as_chunks_mut::<{ WIDTH * BATCH }>();
    for (parents, children) in parents.iter().zip(children) {
        let (parents, hashes) = hash(&wide_keys, parents);
        let mut halves = [[_mm512_setzero_si512(); BATCH]; 2];
        for (i, (hash, parent)) in hashes.into_iter().zip(parents).enumerate() {
            let right = _mm512_xor_si512(hash, parent);
            sum = _mm512_xor_si512(sum, hash);
            let at = 2 * i;
            halves[at / BATCH][at % BATCH] = _mm512_permutex2var_epi64(hash, first, right);
            halves[at / BATCH][at % BATCH + 1] = _mm512_permutex2var_epi64(hash, second, right);
        }
        let (halves_of_children, _) =
            children.as_flattened_mut().as_chunks_mut::<{ WIDTH * BATCH }>();
        for (children, half) in halves_of_children.iter_mut().zip(&halves) {
            store(children, half);
        }
    }
    // SAFETY: vectors and blocks of the same size, for which all bits are valid.
    let quarters: [Block; WIDTH] = unsafe { std::mem::transmute(sum) };
    (parents.len() * WIDTH * BATCH, quarters.iter().fold(Block::ZERO, |sum, x| sum ^ *x))
}

/// The blocks x of a batch, and π(σ(x)) ⊕ σ(x).
#[target_feature(enable = "vaes,avx512f")]
#[inline]
fn hash(
    keys: &[__m512i; ROUNDS + 1],
    blocks: &[Block; WIDTH * BATCH],
) -> ([__m512i; BATCH], [__m512i; BATCH]) {
    let blocks = load(blocks);
    let high = _mm512_set_epi64(-1, 0, -1, 0, -1, 0, -1, 0);
    let mut turned = blocks;
    for x in &mut turned {
        // (high, low) becomes (low, high), and high is added to the half that it was in.
        let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(*x);
        *x = _mm512_ternarylogic_epi64::<ADD_MASKED>(swapped, *x, high);
    }
    let mut hashes = turned;
    encrypt(keys, &mut hashes);
    for (hash, turned) in hashes.iter_mut().zip(turned) {
        *hash = _mm512_xor_si512(*hash, turned);
    }
    (blocks, hashes)
}

/// Same as [`AesKeys::add_bits`](super::super::AesKeys::add_bits), for whole batches of points; returns their number.
/// Points, states and sums stay in registers.
///
/// # Safety
/// The processor must have VAES and AVX-512 F.
#[target_feature(enable = "vaes,avx512f")]
pub unsafe fn add_bits(keys: &[&Keys], points: &[Block], sums: &mut [Block]) -> usize {
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
