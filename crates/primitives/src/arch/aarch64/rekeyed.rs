//! A hash of blocks by AES under a separate key for each index. The round keys of several indices are
//! computed at once, each just before its round, and never written to memory.

use std::arch::aarch64::{
    uint8x16_t, vaeseq_u8, vaesmcq_u8, vandq_u8, vdupq_n_u8, veorq_u8, vextq_u8,
};

use super::aes::{CONSTANTS, next_key};
use crate::Block;

/// Indices in flight at once.
const BATCH: usize = 4;

/// Like [`portable::rekeyed::hash`](super::super::portable::rekeyed::hash).
///
/// # Safety
/// The processor must have AES.
#[target_feature(enable = "aes,neon")]
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

#[target_feature(enable = "aes,neon")]
fn hash_batch<const N: usize, const ROWS: usize>(
    session: Block,
    first: u128,
    rows: &mut [[Block; N]; ROWS],
) {
    let upper_half: uint8x16_t = bytemuck::cast([0, u64::MAX]);
    let mut keys = [vdupq_n_u8(0); ROWS];
    let mut inputs = [[vdupq_n_u8(0); N]; ROWS];
    for i in 0..ROWS {
        keys[i] = bytemuck::cast(session ^ Block(first + i as u128));
        for j in 0..N {
            let x: uint8x16_t = bytemuck::cast(rows[i][j]);
            let swapped = vextq_u8::<8>(x, x);
            inputs[i][j] = veorq_u8(swapped, vandq_u8(x, upper_half));
        }
    }
    let mut states = inputs;
    // Each round begins by adding its key; the last key is added separately.
    let (last, constants) = CONSTANTS.split_last().expect("ten rounds");
    for constant in constants {
        for i in 0..ROWS {
            for state in &mut states[i] {
                *state = vaesmcq_u8(vaeseq_u8(*state, keys[i]));
            }
            keys[i] = next_key(keys[i], *constant);
        }
    }
    for i in 0..ROWS {
        let last = next_key(keys[i], *last);
        for j in 0..N {
            let image = veorq_u8(vaeseq_u8(states[i][j], keys[i]), last);
            rows[i][j] = bytemuck::cast(veorq_u8(image, inputs[i][j]));
        }
    }
}
