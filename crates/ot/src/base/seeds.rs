//! The step that all base OTs share: turning elements that both parties can compute into seeds.
//!
//! Products are encoded in batches, and the batch encoding expects them divided by the factor of the
//! [group](vesica_primitives::group::Group); such quotients are called parts here.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result, SessionId};
use vesica_primitives::{
    Bits, Seed,
    group::{Batch, Group},
    hash::truncate,
    threads,
};
use zeroize::Zeroizing;

/// OTs that a thread works on at a time.
const TASK: usize = 16;

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
    /// Both seeds of each of some OTs, from the parts of the shared elements for choices 0 and 1 of each
    /// [task](in_tasks).
    pub fn pairs<G: Group>(
        &self,
        ots: Range<usize>,
        parts: impl Fn(usize, Range<usize>) -> [G::Batch; 2] + Sync,
    ) -> Vec<[Seed; 2]> {
        in_tasks(ots, |task, ots| {
            let parts = parts(task, ots.clone()).map(Zeroizing::new);
            let shared = parts.map(|parts| Zeroizing::new(parts.encode_multiples()));
            let pairs = ots.enumerate();
            pairs.map(|(at, i)| [0, 1].map(|j| self.seed(i, j, &shared[j][at]))).collect()
        })
    }

    /// The chosen seed of each OT, from the parts of the secrets that turn the sender's element into the shared
    /// one.
    pub fn chosen<G: Group>(
        &self,
        choices: &Bits,
        sender_element: &G::Element,
        parts: &[Zeroizing<G::Scalar>],
    ) -> Vec<Seed> {
        in_tasks(0..parts.len(), |_, ots| {
            let elements = G::Batch::repeat(sender_element, ots.len());
            let shared = Zeroizing::new(elements.mul_each(scalars::<G>(&parts[ots.clone()])));
            let shared = Zeroizing::new(shared.encode_multiples());
            let seeds = ots.zip(&*shared);
            seeds.map(|(i, shared)| self.seed(i, choices.get(i).into(), shared)).collect()
        })
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

/// Returns the results of `task`, in order. Several threads call it, each time with the task's number, counted from 0,
/// and with its OTs, which it handles as a batch.
pub(super) fn in_tasks<T: Send>(
    ots: Range<usize>,
    task: impl Fn(usize, Range<usize>) -> Vec<T> + Sync,
) -> Vec<T> {
    let starts = ots.clone().step_by(TASK).enumerate();
    let made =
        threads::map(starts, |(number, start)| task(number, start..(start + TASK).min(ots.end)));
    made.into_iter().flatten().collect()
}

/// Exponents, one by one.
pub(super) fn scalars<G: Group>(
    secrets: &[Zeroizing<G::Scalar>],
) -> impl Iterator<Item = &G::Scalar> {
    secrets.iter().map(|secret| &**secret)
}

/// `n` secret exponents.
pub(super) fn random_scalars<G: Group>(
    n: usize,
    rng: &mut dyn CryptoRng,
) -> Vec<Zeroizing<G::Scalar>> {
    (0..n).map(|_| Zeroizing::new(G::random_scalar(rng))).collect()
}

/// Decodes the elements that the peer sent in the message `label`, grouped by [task](in_tasks).
///
/// # Errors
/// A deviation if one of them is not a group element.
pub(super) fn decode_all<G: Group>(
    label: &'static str,
    encoded: &[G::Encoded],
    channel: &Channel,
) -> Result<Vec<G::Batch>> {
    let decoded: Option<Vec<_>> = encoded.par_chunks(TASK).map(G::Batch::decode).collect();
    decoded.ok_or_else(|| channel.malformed(label, NO_ELEMENT))
}

const NO_ELEMENT: &str = "not a group element";

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
    let decoded = G::decode(&encoded[0]);
    Ok((encoded[0], decoded.ok_or_else(|| channel.malformed(label, NO_ELEMENT))?))
}
