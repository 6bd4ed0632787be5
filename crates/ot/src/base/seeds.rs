//! The step that all base OTs share: turning elements that both parties can compute into seeds.
//!
//! Products are encoded in batches, and the batch encoding expects them divided by the factor of the
//! [group](vesica_primitives::group::Group); such quotients are called parts here.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result, SessionId};
use vesica_primitives::{Bits, Seed, group::Group, hash::truncate};
use zeroize::Zeroizing;

/// The minimum number of elements per thread, which are encoded together.
const BATCH: usize = 32;

/// The messages of one call, on which its seeds depend in addition to the shared elements.
pub(super) struct Transcript<'a, M> {
    /// Separates protocols.
    pub domain: &'static str,
    /// Separates sessions.
    pub session: SessionId,
    /// The sender's message, once for all OTs.
    pub sender: &'a [u8],
    /// The receiver's message for each OT.
    pub receiver: &'a [M],
}

impl<M: Pod + Sync> Transcript<'_, M> {
    /// Both seeds of each of some OTs, from the parts of the shared elements for choices 0 and 1.
    pub fn pairs<G: Group>(
        &self,
        ots: Range<usize>,
        parts: impl Fn(usize) -> [G::Element; 2] + Sync,
    ) -> Vec<[Seed; 2]> {
        let shared = Zeroizing::new(encode_parts::<G, 2>(ots.clone(), parts));
        let shared = ots.zip(shared.as_chunks::<2>().0);
        shared.map(|(i, pair)| [0, 1].map(|j| self.seed(i, j, &pair[j]))).collect()
    }

    /// The chosen seed of each OT, from the parts of the secrets that turn the sender's element into the shared
    /// one.
    pub fn chosen<G: Group>(
        &self,
        choices: &Bits,
        sender_element: &G::Element,
        parts: &[Zeroizing<G::Scalar>],
    ) -> Vec<Seed> {
        let shared = encode_parts::<G, 1>(0..parts.len(), |i| [G::mul(sender_element, &parts[i])]);
        let shared = Zeroizing::new(shared);
        let shared = shared.iter().enumerate();
        shared.map(|(i, shared)| self.seed(i, choices.get(i).into(), shared)).collect()
    }

    /// H(session, i, j, transcript, shared element).
    fn seed(&self, i: usize, j: usize, shared: &impl Pod) -> Seed {
        let mut hasher = blake3::Hasher::new_derive_key(self.domain);
        hasher.update(self.session.as_bytes());
        hasher.update(&(i as u64).to_le_bytes()).update(&[j as u8]);
        hasher.update(self.sender).update(bytemuck::bytes_of(&self.receiver[i]));
        hasher.update(bytemuck::bytes_of(shared));
        Seed::new(truncate(&hasher.finalize()))
    }
}

/// The bytes of the elements with these parts, K for each of some OTs.
pub(super) fn encode_parts<G: Group, const K: usize>(
    ots: Range<usize>,
    parts: impl Fn(usize) -> [G::Element; K] + Sync,
) -> Vec<G::Encoded> {
    let indices: Vec<usize> = ots.collect();
    let batches = indices.par_chunks(BATCH / K).flat_map_iter(|indices| {
        let parts = Zeroizing::new(indices.iter().flat_map(|&i| parts(i)).collect::<Vec<_>>());
        G::encode_multiples(&parts)
    });
    batches.collect()
}

/// `n` secret exponents.
pub(super) fn random_scalars<G: Group>(
    n: usize,
    rng: &mut dyn CryptoRng,
) -> Vec<Zeroizing<G::Scalar>> {
    (0..n).map(|_| Zeroizing::new(G::random_scalar(rng))).collect()
}

/// The elements that the peer sent in the message `label`.
///
/// # Errors
/// A deviation if one of them is not a group element.
pub(super) fn decode_all<G: Group>(
    label: &'static str,
    encoded: &[G::Encoded],
    channel: &Channel,
) -> Result<Vec<G::Element>> {
    let decoded: Option<Vec<_>> = encoded.par_iter().map(G::decode).collect();
    decoded.ok_or_else(|| channel.malformed(label, "not a group element"))
}

/// Receives the single element of the message `label`, and its bytes.
///
/// # Errors
/// Same as [`decode_all`].
pub(super) fn recv_element<G: Group>(
    label: &'static str,
    channel: &mut Channel,
) -> Result<(G::Encoded, G::Element)> {
    let mut encoded = [G::Encoded::zeroed()];
    channel.recv_slice(label, &mut encoded)?;
    Ok((encoded[0], decode_all::<G>(label, &encoded, channel)?[0]))
}
