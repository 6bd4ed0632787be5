//! What all base OTs have in common: elements that both parties can compute become seeds.
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

/// Elements that one thread takes at least, and that are encoded together.
const BATCH: usize = 32;

/// All that was said in one call, which its seeds depend on beside the shared elements.
pub(super) struct Transcript<'a, M> {
    /// Keeps protocols apart.
    pub domain: &'static str,
    /// Keeps sessions apart.
    pub session: SessionId,
    /// What the sender said, once for all OTs.
    pub sender: &'a [u8],
    /// What the receiver said for each OT.
    pub receiver: &'a [M],
}

impl<M: Pod + Sync> Transcript<'_, M> {
    /// Both seeds of each of some OTs, by the parts of the elements that are shared if 0 and if 1 is chosen.
    pub fn pairs<G: Group>(
        &self,
        ots: Range<usize>,
        parts: impl Fn(usize) -> [G::Element; 2] + Sync,
    ) -> Vec<[Seed; 2]> {
        let shared = Zeroizing::new(encode_parts::<G, 2>(ots.clone(), parts));
        let shared = ots.zip(shared.as_chunks::<2>().0);
        shared.map(|(i, pair)| [0, 1].map(|j| self.seed(i, j, &pair[j]))).collect()
    }

    /// The chosen seed of each OT, by the parts of the secrets that make the sender's element shared.
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

/// The bytes of the elements whose parts these are, K for each of some OTs.
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

/// The elements that the peer sent with the message `label`.
///
/// # Errors
/// A deviation where one of them is no group element.
pub(super) fn decode_all<G: Group>(
    label: &'static str,
    encoded: &[G::Encoded],
    channel: &Channel,
) -> Result<Vec<G::Element>> {
    let decoded: Option<Vec<_>> = encoded.par_iter().map(G::decode).collect();
    decoded.ok_or_else(|| channel.malformed(label, "not a group element"))
}

/// Receives the one element of the message `label`, and its bytes.
///
/// # Errors
/// As [`decode_all`].
pub(super) fn recv_element<G: Group>(
    label: &'static str,
    channel: &mut Channel,
) -> Result<(G::Encoded, G::Element)> {
    let mut encoded = [G::Encoded::zeroed()];
    channel.recv_slice(label, &mut encoded)?;
    Ok((encoded[0], decode_all::<G>(label, &encoded, channel)?[0]))
}
