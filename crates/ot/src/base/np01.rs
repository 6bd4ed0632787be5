//! Oblivious transfer of Naor and Pinkas (SODA 2001), §3, over any group of prime order, for random OTs.
//! Semi-honest here; half the work and half the bytes of [`mr19`](super::mr19).
//!
//! C is a group element whose discrete logarithm nobody knows: the hash of a constant, times the group's
//! factor. For the i-th of n OTs, with choice c, in the session sid:
//!
//! 1. S → R: A = a·G, once for all OTs.
//! 2. R → S: P_0, where P_c = k·G and P_0 + P_1 = C.
//! 3. S outputs s_0 = H(sid, i, 0, transcript, a·P_0) and s_1 = H(sid, i, 1, transcript, a·C − a·P_0); R
//!    outputs s_c = H(sid, i, c, transcript, k·A).
//!
//! P_0 is uniform for either c, so R's choice is hidden unconditionally (computationally in groups with
//! [short exponents](Group::random_scalar)). An R that knew both a·P_0 and a·P_1 would know their sum a·C,
//! the solution of a Diffie–Hellman problem. That argument does not give a simulator for every R, so nothing
//! malicious is built on this. A is fresh for each call, which makes the two flights independent of each
//! other; A is sent second, which saves a change of direction.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use rand::CryptoRng;
use subtle::Choice;
use vesica_net::{Channel, Result, SessionId};
use vesica_params::Adversary;
use vesica_primitives::{
    Bits, Seed,
    group::{Batch, Group},
};
use zeroize::Zeroizing;

use super::{
    BaseOt,
    seeds::{Transcript, decode_all, in_tasks, random_scalars, recv_element, scalars},
};
use crate::Bytes;

const POINT: &str = "np01/sender-point";
const POINTS: &str = "np01/receiver-points";

/// The protocol over the group `G`.
pub struct Np01<G>(PhantomData<G>);

impl<G: Group> BaseOt for Np01<G> {
    const ADVERSARY: Adversary = Adversary::SemiHonest;

    fn bytes(n: usize) -> Bytes {
        let element = size_of::<G::Encoded>();
        Bytes { to_sender: n * element, to_receiver: element }
    }

    fn send(n: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Vec<[Seed; 2]>> {
        let session = channel.session();
        // 1. Drawn before anything is received.
        let a = Zeroizing::new(G::random_scalar(rng));
        let point = G::encode(&G::mul_generator(&a));
        // 2.
        let mut points = vec![G::Encoded::zeroed(); n];
        channel.recv_slice(POINTS, &mut points)?;
        channel.send_slice(POINT, &[point])?;
        channel.flush()?;
        // 3.
        let decoded = decode_all::<G>(POINTS, &points, channel)?;
        let part = Zeroizing::new(G::divide(&a));
        let sum = Zeroizing::new(G::mul(&constant_part::<G>(), &a));
        Ok(transcript(session, &point, &points).pairs::<G>(0..n, |task, ots| {
            let zero = decoded[task].mul(&part);
            let one = G::Batch::repeat(&sum, ots.len()).sub(&zero);
            [zero, one]
        }))
    }

    fn receive(
        choices: &Bits,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Seed>> {
        let session = channel.session();
        // 2. The drawn number is the part of k, because P_0 is encoded as a multiple too.
        let parts = random_scalars::<G>(choices.len(), rng);
        let sum = constant_part::<G>();
        let points = in_tasks(0..choices.len(), |_, ots| {
            let chosen = G::Batch::mul_generator(scalars::<G>(&parts[ots.clone()]));
            let other = G::Batch::repeat(&sum, ots.len()).sub(&chosen);
            chosen.select(&other, ots.map(|i| Choice::from(choices.get(i)))).encode_multiples()
        });
        channel.send_slice(POINTS, &points)?;
        // 1.
        let (point, decoded) = recv_element::<G>(POINT, channel)?;
        // 3.
        Ok(transcript(session, &point, &points).chosen::<G>(choices, &decoded, &parts))
    }
}

/// The part of C.
fn constant_part<G: Group>() -> G::Element {
    G::hash("vesica np01 constant v1", &[])
}

fn transcript<'a, E: Pod>(session: SessionId, point: &'a E, points: &'a [E]) -> Transcript<'a, E> {
    Transcript {
        session,
        domain: "vesica np01 output v1",
        sender: bytemuck::bytes_of(point),
        receiver: points,
    }
}
