//! AES-128 with the instructions of FEAT_AES.
//!
//! AESE adds the round key before it substitutes, whereas AESENC of x86-64 adds it at the end of a round. So a round
//! here is the second half of a round of FIPS 197 and the first half of the next, and the last two keys are added
//! separately.

use std::arch::aarch64::{
    uint8x16_t, vaeseq_u8, vaesmcq_u8, vdupq_n_u8, vdupq_n_u32, veorq_u8, vextq_u8, vqtbl1q_u8,
    vreinterpretq_u8_u32,
};

use zeroize::Zeroize;

use crate::Block;

pub const ROUNDS: usize = 10;

/// The round constants of FIPS 197 §5.2.
pub const CONSTANTS: [u32; ROUNDS] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Blocks in flight at once: enough to hide the latency of one round.
const BATCH: usize = 8;

/// The eleven round keys of an expanded key.
pub struct Keys([uint8x16_t; ROUNDS + 1]);

impl Drop for Keys {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Expands a key (FIPS 197 §5.2).
///
/// # Safety
/// The processor must have AES.
#[target_feature(enable = "aes,neon")]
pub unsafe fn expand(key: Block) -> Keys {
    let mut keys = [vdupq_n_u8(0); ROUNDS + 1];
    keys[0] = bytemuck::cast(key);
    for (i, constant) in CONSTANTS.into_iter().enumerate() {
        keys[i + 1] = next_key(keys[i], constant);
    }
    Keys(keys)
}

/// The key of the next round (FIPS 197 §5.2): word i becomes the sum of words 0 to i and of the last word,
/// rotated and substituted.
#[target_feature(enable = "aes,neon")]
#[inline]
pub fn next_key(key: uint8x16_t, constant: u32) -> uint8x16_t {
    // The last word, rotated by a byte, four times.
    let rotated_last_word = vreinterpretq_u8_u32(vdupq_n_u32(0x0c0f_0e0d));
    let word = vqtbl1q_u8(key, rotated_last_word);
    // All columns are equal, so shifting the rows changes nothing.
    let zero = vdupq_n_u8(0);
    let word = vaeseq_u8(word, zero);
    let word = veorq_u8(word, vreinterpretq_u8_u32(vdupq_n_u32(constant)));
    let key = veorq_u8(key, vextq_u8::<12>(zero, key));
    let key = veorq_u8(key, vextq_u8::<8>(zero, key));
    veorq_u8(key, word)
}

/// Encrypts each block in place.
///
/// # Safety
/// The processor must have AES.
#[target_feature(enable = "aes,neon")]
pub unsafe fn encrypt(keys: &Keys, blocks: &mut [Block]) {
    let states: &mut [uint8x16_t] = bytemuck::cast_slice_mut(blocks);
    let (batches, rest) = states.as_chunks_mut::<BATCH>();
    for batch in batches {
        encrypt_states(keys, batch);
    }
    for state in rest {
        encrypt_states(keys, std::array::from_mut(state));
    }
}

/// Encrypts the numbers from `first` on, which must not reach 2^64.
///
/// # Safety
/// The processor must have AES.
#[target_feature(enable = "aes,neon")]
pub unsafe fn encrypt_counter(keys: &Keys, first: u64, out: &mut [Block]) {
    let (batches, rest) = out.as_chunks_mut::<BATCH>();
    let mut counter = first;
    for batch in batches {
        counter_batch(keys, counter, batch);
        counter += BATCH as u64;
    }
    for block in rest {
        counter_batch(keys, counter, std::array::from_mut(block));
        counter += 1;
    }
}

#[target_feature(enable = "aes,neon")]
fn counter_batch<const N: usize>(keys: &Keys, first: u64, out: &mut [Block; N]) {
    let mut states = [vdupq_n_u8(0); N];
    for (i, state) in states.iter_mut().enumerate() {
        *state = bytemuck::cast([first + i as u64, 0]);
    }
    encrypt_states(keys, &mut states);
    *out = bytemuck::cast(states);
}

/// Adds to each block its encryption.
///
/// # Safety
/// The processor must have AES.
#[target_feature(enable = "aes,neon")]
pub unsafe fn feed_forward(keys: &Keys, blocks: &mut [Block]) {
    let (batches, rest) = blocks.as_chunks_mut::<BATCH>();
    for batch in batches {
        *batch = bytemuck::cast(fed_forward::<BATCH>(keys, &bytemuck::cast(*batch)));
    }
    for block in rest {
        let [fed] = fed_forward(keys, &[bytemuck::cast(*block)]);
        *block = bytemuck::cast(fed);
    }
}

/// Writes for each parent x the children π_0(x) ⊕ x and π_1(x) ⊕ x, where π_i is encryption under `keys[i]`; there are
/// as many pairs of children as parents. Returns the sum of the left and of the right children.
///
/// # Safety
/// The processor must have AES.
#[target_feature(enable = "aes,neon")]
pub unsafe fn double(
    keys: [&Keys; 2],
    parents: &[Block],
    children: &mut [[Block; 2]],
) -> [Block; 2] {
    let mut sums = [vdupq_n_u8(0); 2];
    let (parent_batches, rest) = parents.as_chunks::<BATCH>();
    let (child_batches, child_rest) = children.as_chunks_mut::<BATCH>();
    for (parents, children) in parent_batches.iter().zip(child_batches) {
        double_batch(keys, parents, children, &mut sums);
    }
    for (parent, children) in rest.iter().zip(child_rest) {
        let (parents, children) = (std::array::from_ref(parent), std::array::from_mut(children));
        double_batch(keys, parents, children, &mut sums);
    }
    bytemuck::cast(sums)
}

#[target_feature(enable = "aes,neon")]
#[inline]
fn double_batch<const N: usize>(
    keys: [&Keys; 2],
    parents: &[Block; N],
    children: &mut [[Block; 2]; N],
    sums: &mut [uint8x16_t; 2],
) {
    let parents: [uint8x16_t; N] = bytemuck::cast(*parents);
    for side in 0..2 {
        let nodes = fed_forward(keys[side], &parents);
        for (children, node) in children.iter_mut().zip(nodes) {
            children[side] = bytemuck::cast(node);
            sums[side] = veorq_u8(sums[side], node);
        }
    }
}

/// The sum of each block and its encryption.
#[target_feature(enable = "aes,neon")]
#[inline]
fn fed_forward<const N: usize>(keys: &Keys, inputs: &[uint8x16_t; N]) -> [uint8x16_t; N] {
    let mut states = *inputs;
    encrypt_states(keys, &mut states);
    for (state, input) in states.iter_mut().zip(inputs) {
        *state = veorq_u8(*state, *input);
    }
    states
}

#[target_feature(enable = "aes,neon")]
#[inline]
fn encrypt_states<const N: usize>(Keys(keys): &Keys, states: &mut [uint8x16_t; N]) {
    // AESE and AESMC side by side: processors run such a pair as one instruction.
    for key in &keys[..ROUNDS - 1] {
        for state in &mut *states {
            *state = vaesmcq_u8(vaeseq_u8(*state, *key));
        }
    }
    for state in states {
        *state = veorq_u8(vaeseq_u8(*state, keys[ROUNDS - 1]), keys[ROUNDS]);
    }
}
