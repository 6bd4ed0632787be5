//! The steps from a key's digest to its entry in the list.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::voprf::FunctionValue;

/// Computes the function's input for the key with this digest, under the public key of an epoch. Values of different
/// epochs are therefore unrelated.
pub fn item(digest: &[u8; 32], public_key: &[u8; 32]) -> [u8; 32] {
    *blake3::keyed_hash(&item_seed(public_key), digest).as_bytes()
}

/// Derives the key of the hash from digests to items.
pub fn item_seed(public_key: &[u8; 32]) -> [u8; 32] {
    blake3::derive_key("vesica 1 list item seed", public_key)
}

/// The values derived from the function's output for an item: the tag, which is published, and the key of the item's
/// label. They are different bits of a hash, so a tag of any length reveals nothing about the key.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Value {
    whole_tag: u128,
    label_key: [u8; Value::KEY_BYTES],
}

impl Value {
    /// Bytes of a label's key.
    pub const KEY_BYTES: usize = 16;

    /// Derives the values from the function's output.
    pub fn of(output: &FunctionValue) -> Self {
        let (blocks, _) = output.as_bytes().as_chunks::<16>();
        Self { whole_tag: u128::from_be_bytes(blocks[0]), label_key: blocks[1] }
    }

    /// Restores stored values.
    pub fn new(whole_tag: u128, label_key: [u8; Self::KEY_BYTES]) -> Self {
        Self { whole_tag, label_key }
    }

    /// Returns all 128 bits of the tag. The list contains its first bits.
    pub fn whole_tag(&self) -> u128 {
        self.whole_tag
    }

    /// Returns the tag's first `bits` bits, 1 to 128.
    pub fn tag(&self, bits: u32) -> u128 {
        self.whole_tag >> (128 - bits)
    }

    /// Returns the key of the item's label.
    pub fn label_key(&self) -> &[u8; Self::KEY_BYTES] {
        &self.label_key
    }
}
