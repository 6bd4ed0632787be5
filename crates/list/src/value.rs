//! From a key's digest to what the list has of it.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::voprf::Output;

/// The input of the function for the key with this digest, under the public key of an epoch: what a list of one epoch
/// makes of a key tells nothing of what another makes of it.
pub fn item(digest: &[u8; 32], public_key: &[u8; 32]) -> [u8; 32] {
    *blake3::keyed_hash(&item_seed(public_key), digest).as_bytes()
}

/// The key of the hash from digests to items.
pub fn item_seed(public_key: &[u8; 32]) -> [u8; 32] {
    blake3::derive_key("vesica 1 list item seed", public_key)
}

/// What is derived from the function's value at an item: the tag, which is published, and the key of the item's label.
/// The two are different bits of a hash, so a tag of any length says nothing of the key.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Value {
    whole_tag: u128,
    label_key: [u8; Value::KEY_BYTES],
}

impl Value {
    /// Bytes of a label's key.
    pub const KEY_BYTES: usize = 16;

    /// Of the value that the function has.
    pub fn of(output: &Output) -> Self {
        let (blocks, _) = output.as_bytes().as_chunks::<16>();
        Self { whole_tag: u128::from_be_bytes(blocks[0]), label_key: blocks[1] }
    }

    /// From what was stored of it.
    pub fn new(whole_tag: u128, label_key: [u8; Self::KEY_BYTES]) -> Self {
        Self { whole_tag, label_key }
    }

    /// The tag of 128 bits, of which the list has the first.
    pub fn whole_tag(&self) -> u128 {
        self.whole_tag
    }

    /// The tag of so many bits, 1 to 128.
    pub fn tag(&self, bits: u32) -> u128 {
        self.whole_tag >> (128 - bits)
    }

    /// The key of the item's label.
    pub fn label_key(&self) -> &[u8; Self::KEY_BYTES] {
        &self.label_key
    }
}
