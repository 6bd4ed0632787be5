//! The oblivious pseudo-random functions of RFC 9497, modes OPRF and VOPRF, for the suite ristretto255-SHA512.
//!
//! F(k, x) = H(x, k · P(x)), for a hash P to the group. The client multiplies P(x) by a random r and sends it; the
//! server multiplies by k; the client divides by r and hashes. In the mode VOPRF the server proves that it used the k
//! of its public key, with one proof for a whole batch.
//!
//! Each call, on either side, processes a batch. Names are taken from the RFC if it has one.

mod client;
mod proof;
mod server;
mod suite;
#[cfg(test)]
mod vectors;

pub use client::Blinded;
pub use server::{Evaluated, ServerKey};
pub use suite::Mode;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of an element, blinded or evaluated.
pub const ELEMENT_BYTES: usize = 32;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 64;

/// The most elements in a batch: the RFC numbers them with 16 bits.
pub const MAX_BATCH: usize = u16::MAX as usize;

/// Elements that a thread works on at a time.
const TASK: usize = 64;

/// A group element on the wire.
pub type WireElement = [u8; ELEMENT_BYTES];

/// A proof that a batch was evaluated with the key of a public key.
pub type Proof = [u8; PROOF_BYTES];

/// The reason why a batch is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The batch does not have 1 to [`MAX_BATCH`] elements, or not the number sent.
    #[error("a batch of a wrong number of elements")]
    Count,
    /// An element has no canonical encoding, or is the identity.
    #[error("element {0} of a batch is not one of the group")]
    Element(usize),
    /// An input is longer than 65,535 bytes, or hashes to the identity, which is infeasible to find.
    #[error("input {0} of a batch has no place in the group")]
    Input(usize),
    /// The proof is invalid: the batch was evaluated with another key than the published one.
    #[error(
        "the proof of a batch does not hold: it was evaluated with another key than the published one"
    )]
    Proof,
    /// No key could be derived, which has probability 2^-64,000.
    #[error("no key can be derived from this seed")]
    Key,
}

/// The function's value for one input.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct FunctionValue([u8; 64]);

impl FunctionValue {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl PartialEq for FunctionValue {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for FunctionValue {}
