//! AES-128 with AES-NI, and with VAES for two blocks per instruction.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_aeskeygenassist_si128,
    _mm_set_epi64x, _mm_setzero_si128, _mm_shuffle_epi32, _mm_slli_si128, _mm_xor_si128,
    _mm256_aesenc_epi128, _mm256_aesenclast_epi128, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_permute2x128_si256, _mm256_set_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi32,
    _mm256_storeu_si256, _mm256_xor_si256,
};

use zeroize::Zeroize;

use crate::Block;

pub const ROUNDS: usize = 10;

/// Blocks in flight at once: enough to hide the latency of one round.
const BATCH: usize = 8;

/// The eleven round keys of an expanded key.
pub struct Keys([__m128i; ROUNDS + 1]);

impl Keys {
    /// The keys, in order.
    pub fn rounds(&self) -> &[__m128i; ROUNDS + 1] {
        &self.0
    }
}

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
    // The round constant must be a literal in the instruction.
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

/// Encrypts each block in place, one block per instruction.
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

/// Encrypts each block in place, two blocks per instruction.
///
/// # Safety
/// The processor must have VAES, AVX2 and AES-NI.
#[target_feature(enable = "vaes,avx2,aes")]
pub unsafe fn encrypt_wide(keys: &Keys, blocks: &mut [Block]) {
    let wide_keys = widen(keys);
    let (batches, rest) = blocks.as_chunks_mut::<{ 2 * BATCH }>();
    for batch in batches {
        let mut states = load_wide::<BATCH>(batch);
        encrypt_states(&wide_keys, &mut states);
        store_wide(batch, &states);
    }
    // SAFETY: the caller guarantees AES-NI.
    unsafe { encrypt(keys, rest) };
}

/// Encrypts the numbers from `first` on, which must not reach 2^64; two blocks per instruction.
///
/// # Safety
/// The processor must have VAES, AVX2 and AES-NI.
#[target_feature(enable = "vaes,avx2,aes")]
pub unsafe fn encrypt_counter_wide(keys: &Keys, first: u64, out: &mut [Block]) {
    let wide_keys = widen(keys);
    let (batches, rest) = out.as_chunks_mut::<{ 2 * BATCH }>();
    let mut counter = first as i64;
    for batch in batches {
        let mut states = [_mm256_setzero_si256(); BATCH];
        for (i, state) in states.iter_mut().enumerate() {
            let at = counter + 2 * i as i64;
            *state = _mm256_set_epi64x(0, at + 1, 0, at);
        }
        encrypt_states(&wide_keys, &mut states);
        store_wide(batch, &states);
        counter += 2 * BATCH as i64;
    }
    for (block, number) in rest.iter_mut().zip(counter as u64..) {
        *block = Block(number.into());
    }
    // SAFETY: the caller guarantees AES-NI.
    unsafe { encrypt(keys, rest) };
}

/// Adds to each block its encryption, two blocks per instruction.
///
/// # Safety
/// The processor must have VAES, AVX2 and AES-NI.
#[target_feature(enable = "vaes,avx2,aes")]
pub unsafe fn feed_forward_wide(keys: &Keys, blocks: &mut [Block]) {
    let wide_keys = widen(keys);
    let (batches, rest) = blocks.as_chunks_mut::<{ 2 * BATCH }>();
    for batch in batches {
        let mut states = load_wide::<BATCH>(batch);
        encrypt_states(&wide_keys, &mut states);
        for (state, input) in states.iter_mut().zip(load_wide::<BATCH>(batch)) {
            *state = _mm256_xor_si256(*state, input);
        }
        store_wide(batch, &states);
    }
    for block in rest {
        let mut image = [*block];
        // SAFETY: the caller guarantees AES-NI.
        unsafe { encrypt(keys, &mut image) };
        *block ^= image[0];
    }
}

/// Writes for each parent x the children π_0(x) ⊕ x and π_1(x) ⊕ x for whole batches of parents, two blocks per
/// instruction. Returns the number of these parents, and the sum of their left and of their right children.
///
/// # Safety
/// The processor must have VAES, AVX2 and AES-NI.
#[target_feature(enable = "vaes,avx2,aes")]
pub unsafe fn double_wide(
    keys: [&Keys; 2],
    parents: &[Block],
    children: &mut [[Block; 2]],
) -> (usize, [Block; 2]) {
    /// Half a batch of parents, whose children are a full batch.
    const HALF: usize = BATCH / 2;
    let wide_keys = [widen(keys[0]), widen(keys[1])];
    let mut sums = [_mm256_setzero_si256(); 2];
    let (parent_batches, _) = parents.as_chunks::<BATCH>();
    let (child_batches, _) = children.as_chunks_mut::<BATCH>();
    for (parents, children) in parent_batches.iter().zip(child_batches) {
        let parents = load_wide::<HALF>(parents);
        let mut sides = [parents; 2];
        encrypt_sides(&wide_keys, &mut sides);
        let mut out = [_mm256_setzero_si256(); BATCH];
        for i in 0..HALF {
            let left = _mm256_xor_si256(sides[0][i], parents[i]);
            let right = _mm256_xor_si256(sides[1][i], parents[i]);
            sums[0] = _mm256_xor_si256(sums[0], left);
            sums[1] = _mm256_xor_si256(sums[1], right);
            out[2 * i] = _mm256_permute2x128_si256::<0x20>(left, right);
            out[2 * i + 1] = _mm256_permute2x128_si256::<0x31>(left, right);
        }
        store_wide(children.as_flattened_mut(), &out);
    }
    let fold = |sum| {
        let (low, high) = (_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        bytemuck::cast(_mm_xor_si128(low, high))
    };
    (parent_batches.len() * BATCH, [fold(sums[0]), fold(sums[1])])
}

/// Same as [`AesKeys::circular`](super::super::AesKeys::circular), for whole batches, two blocks per instruction;
/// returns the number of their blocks.
///
/// # Safety
/// The processor must have VAES and AVX2.
#[target_feature(enable = "vaes,avx2")]
pub unsafe fn circular_wide(keys: &Keys, blocks: &mut [Block]) -> usize {
    let wide_keys = widen(keys);
    let (batches, _) = blocks.as_chunks_mut::<{ 2 * BATCH }>();
    for batch in &mut *batches {
        let (_, hashes) = hash_circular(&wide_keys, batch);
        store_wide(batch, &hashes);
    }
    batches.len() * 2 * BATCH
}

/// Same as [`AesKeys::split`](super::super::AesKeys::split), for whole batches, two blocks per instruction; returns the
/// number of their parents, too.
///
/// # Safety
/// The processor must have VAES and AVX2.
#[target_feature(enable = "vaes,avx2")]
pub unsafe fn split_wide(
    keys: &Keys,
    parents: &[Block],
    children: &mut [[Block; 2]],
) -> (usize, Block) {
    let wide_keys = widen(keys);
    let mut sum = _mm256_setzero_si256();
    let (parents, _) = parents.as_chunks::<{ 2 * BATCH }>();
    let (children, _) = children.as_chunks_mut::<{ 2 * BATCH }>();
    for (parents, children) in parents.iter().zip(children) {
        let (parents, hashes) = hash_circular(&wide_keys, parents);
        let mut halves = [[_mm256_setzero_si256(); BATCH]; 2];
        for (i, (hash, parent)) in hashes.into_iter().zip(parents).enumerate() {
            let right = _mm256_xor_si256(hash, parent);
            sum = _mm256_xor_si256(sum, hash);
            let at = 2 * i;
            halves[at / BATCH][at % BATCH] = _mm256_permute2x128_si256::<0x20>(hash, right);
            halves[at / BATCH][at % BATCH + 1] = _mm256_permute2x128_si256::<0x31>(hash, right);
        }
        let (halves_of_children, _) = children.as_flattened_mut().as_chunks_mut::<{ 2 * BATCH }>();
        for (children, half) in halves_of_children.iter_mut().zip(&halves) {
            store_wide(children, half);
        }
    }
    let [low, high]: [Block; 2] = bytemuck::cast(sum);
    (parents.len() * 2 * BATCH, low ^ high)
}

/// The blocks x of a batch, and π(σ(x)) ⊕ σ(x).
#[target_feature(enable = "vaes,avx2")]
#[inline]
fn hash_circular(
    keys: &[__m256i; ROUNDS + 1],
    blocks: &[Block; 2 * BATCH],
) -> ([__m256i; BATCH], [__m256i; BATCH]) {
    let blocks = load_wide::<BATCH>(blocks);
    let high = _mm256_set_epi64x(-1, 0, -1, 0);
    let mut turned = blocks;
    for x in &mut turned {
        // (high, low) becomes (low, high), and high is added to the half that it was in.
        let swapped = _mm256_shuffle_epi32::<0b01_00_11_10>(*x);
        *x = _mm256_xor_si256(swapped, _mm256_and_si256(*x, high));
    }
    let mut hashes = turned;
    encrypt_states(keys, &mut hashes);
    for (hash, turned) in hashes.iter_mut().zip(turned) {
        *hash = _mm256_xor_si256(*hash, turned);
    }
    (blocks, hashes)
}

/// Each round key in both halves of a vector.
#[target_feature(enable = "avx2")]
#[inline]
fn widen(keys: &Keys) -> [__m256i; ROUNDS + 1] {
    let mut wide_keys = [_mm256_setzero_si256(); ROUNDS + 1];
    for (wide, key) in wide_keys.iter_mut().zip(&keys.0) {
        *wide = _mm256_broadcastsi128_si256(*key);
    }
    wide_keys
}

#[target_feature(enable = "vaes,avx2")]
#[inline]
fn encrypt_states<const N: usize>(keys: &[__m256i; ROUNDS + 1], states: &mut [__m256i; N]) {
    for state in &mut *states {
        *state = _mm256_xor_si256(*state, keys[0]);
    }
    for key in &keys[1..ROUNDS] {
        for state in &mut *states {
            *state = _mm256_aesenc_epi128(*state, *key);
        }
    }
    for state in states {
        *state = _mm256_aesenclast_epi128(*state, keys[ROUNDS]);
    }
}

/// Encrypts each side under its own key, both at the same time.
#[target_feature(enable = "vaes,avx2")]
#[inline]
fn encrypt_sides<const N: usize>(keys: &[[__m256i; ROUNDS + 1]; 2], sides: &mut [[__m256i; N]; 2]) {
    for (states, keys) in sides.iter_mut().zip(keys) {
        for state in states {
            *state = _mm256_xor_si256(*state, keys[0]);
        }
    }
    for round in 1..ROUNDS {
        for (states, keys) in sides.iter_mut().zip(keys) {
            for state in states {
                *state = _mm256_aesenc_epi128(*state, keys[round]);
            }
        }
    }
    for (states, keys) in sides.iter_mut().zip(keys) {
        for state in states {
            *state = _mm256_aesenclast_epi128(*state, keys[ROUNDS]);
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_wide<const N: usize>(blocks: &[Block]) -> [__m256i; N] {
    assert_eq!(blocks.len(), 2 * N, "two blocks a vector");
    let address: *const __m256i = blocks.as_ptr().cast();
    let mut vectors = [_mm256_setzero_si256(); N];
    for (i, vector) in vectors.iter_mut().enumerate() {
        // SAFETY: there are 2·N blocks of 16 bytes, so N loads of 32 bytes, which need no
        // alignment, stay inside them.
        *vector = unsafe { _mm256_loadu_si256(address.add(i)) };
    }
    vectors
}

#[target_feature(enable = "avx2")]
#[inline]
fn store_wide<const N: usize>(blocks: &mut [Block], vectors: &[__m256i; N]) {
    assert_eq!(blocks.len(), 2 * N, "two blocks a vector");
    let address: *mut __m256i = blocks.as_mut_ptr().cast();
    for (i, vector) in vectors.iter().enumerate() {
        // SAFETY: as in `load_wide`; the blocks are borrowed mutably.
        unsafe { _mm256_storeu_si256(address.add(i), *vector) };
    }
}

#[target_feature(enable = "sse2")]
fn load(block: Block) -> __m128i {
    _mm_set_epi64x(block.high() as i64, block.low() as i64)
}
