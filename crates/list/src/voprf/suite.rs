//! The suite ristretto255-SHA512: RFC 9497 §4.1, with expand_message_xmd of RFC 9380 §5.3.1.

use curve25519_dalek::Scalar;
use sha2::{Digest, Sha512};
use vesica_params::Adversary;

use super::FunctionValue;

/// The variant of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Without proofs.
    Oprf = 0,
    /// With proofs that the server's published key was used.
    Voprf = 1,
}

/// "OPRFV1-" || mode || "-ristretto255-SHA512".
const CONTEXT_BYTES: usize = 28;

impl Mode {
    /// Returns the adversary against which the mode is secure. Blinded elements are uniform, so a server learns nothing
    /// about the inputs, and values for other inputs are pseudo-random to any client. Without proofs, a server may use
    /// a different key for each client and so recognise its later actions.
    pub const fn adversary(self) -> Adversary {
        match self {
            Self::Oprf => Adversary::SemiHonest,
            Self::Voprf => Adversary::Malicious,
        }
    }

    /// Returns the context string.
    fn context(self) -> [u8; CONTEXT_BYTES] {
        let mut context = *b"OPRFV1-?-ristretto255-SHA512";
        context[7] = self as u8;
        context
    }
}

/// Computes the uniform bytes that ristretto255's map turns into the hash of an input to the group.
pub(super) fn uniform_bytes(input: &[u8], mode: Mode) -> [u8; 64] {
    expand(&[input], &[b"HashToGroup-", &mode.context()])
}

/// Hashes the concatenation of these parts to a scalar.
pub(super) fn hash_to_scalar(parts: &[&[u8]], mode: Mode) -> Scalar {
    hash_to_scalar_under(parts, b"HashToScalar-", mode)
}

/// Works like [`hash_to_scalar`] with another domain.
pub(super) fn hash_to_scalar_under(parts: &[&[u8]], purpose: &[u8], mode: Mode) -> Scalar {
    Scalar::from_bytes_mod_order_wide(&expand(parts, &[purpose, &mode.context()]))
}

/// Returns the domain separator of the seed of a batch's proof.
pub(super) fn seed_domain(mode: Mode) -> Vec<u8> {
    [&b"Seed-"[..], &mode.context()].concat()
}

/// Computes expand_message_xmd with SHA-512 to 64 bytes, which are one block of output.
fn expand(parts: &[&[u8]], domain: &[&[u8]]) -> [u8; 64] {
    const BLOCK: [u8; 128] = [0; 128];
    let domain_bytes: usize = domain.iter().map(|part| part.len()).sum();
    let finish = |mut hash: Sha512| -> [u8; 64] {
        domain.iter().for_each(|part| hash.update(part));
        hash.update([domain_bytes as u8]);
        hash.finalize().into()
    };
    let mut first = Sha512::new_with_prefix(BLOCK);
    parts.iter().for_each(|part| first.update(part));
    first.update([0, 64, 0]);
    let first = finish(first);
    finish(Sha512::new_with_prefix(first).chain_update([1]))
}

/// Computes the function's value from an input and its evaluated element.
pub(super) fn finalize(input: &[u8], element: &[u8; 32]) -> FunctionValue {
    let mut hash = Sha512::new();
    for part in [input, element] {
        hash.update((part.len() as u16).to_be_bytes());
        hash.update(part);
    }
    hash.update(b"Finalize");
    FunctionValue(hash.finalize().into())
}
