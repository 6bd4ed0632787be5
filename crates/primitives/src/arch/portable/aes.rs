//! AES-128 by the `aes` crate, which is bitsliced and constant time in software.

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

use crate::Block;

/// An expanded key.
pub struct Keys(aes::Aes128);

/// Expands a key.
pub fn expand(key: Block) -> Keys {
    Keys(aes::Aes128::new(&Array::from(key.to_bytes())))
}

/// Encrypts each block in place.
pub fn encrypt(keys: &Keys, blocks: &mut [Block]) {
    const BATCH: usize = 16;
    for chunk in blocks.chunks_mut(BATCH) {
        let mut batch = [Array::default(); BATCH];
        for (cell, block) in batch.iter_mut().zip(&*chunk) {
            *cell = Array::from(block.to_bytes());
        }
        keys.0.encrypt_blocks(&mut batch[..chunk.len()]);
        for (cell, block) in batch.iter().zip(chunk) {
            *block = Block::from_bytes((*cell).into());
        }
    }
}
