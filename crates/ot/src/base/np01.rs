//! Oblivious transfer of Naor and Pinkas (SODA 2001), §3, over any group of prime order, for random
//! OTs. Semi-honest here; half the work and half the bytes of [`mr19`](super::mr19).
//!
//! C is a group element whose discrete logarithm nobody knows: twice the hash of a constant. For the i-th
//! of n OTs, with choice c:
//!
//! 1. S → R: A = a·G, once for all.
//! 2. R → S: P_0, where P_c = k·G and P_0 + P_1 = C.
//! 3. S outputs s_0 = H(i, 0, transcript, a·P_0) and s_1 = H(i, 1, transcript, a·C − a·P_0); R outputs
//!    s_c = H(i, c, transcript, k·A).
//!
//! P_0 is uniform whatever c is, so R's choice is hidden unconditionally. An R that knew both a·P_0
//! and a·P_1 would know their sum a·C, a Diffie–Hellman problem. That argument does not give a
//! simulator for every R, so nothing malicious is built on this. A is fresh for each call, which makes
//! the two flights independent of each other; A is sent second, which spares a change of direction.

use std::marker::PhantomData;

use rand::CryptoRng;
use rayon::prelude::*;
use subtle::{Choice, ConditionallySelectable};
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Seed, group::Group, hash::truncate};
use zeroize::Zeroizing;

use super::BaseOt;
use crate::Bytes;

const POINT: &str = "np01/sender-point";
const POINTS: &str = "np01/receiver-points";

/// OTs that one thread takes at least, and whose elements are encoded together.
const BATCH: usize = 64;

/// The protocol over the group `G`.
pub struct Np01<G>(PhantomData<G>);

impl<G: Group> BaseOt for Np01<G> {
    const ADVERSARY: Adversary = Adversary::SemiHonest;

    fn bytes(n: usize) -> Bytes {
        let element = size_of::<G::Encoded>();
        Bytes { to_sender: n * element, to_receiver: element }
    }

    fn send(n: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Vec<[Seed; 2]>> {
        // 1. Drawn before anything is received.
        let a = Zeroizing::new(G::random_scalar(rng));
        let point = G::encode(&G::mul_generator(&a));
        // 2.
        let mut points = vec![point; n];
        channel.recv_slice(POINTS, &mut points)?;
        channel.send_slice(POINT, &[point])?;
        channel.flush()?;
        // 3. Half of each product, because it is encoded by doubling.
        let half = Zeroizing::new(G::halve(&a));
        let sum = Zeroizing::new(G::mul(&half_constant::<G>(), &a));
        let batches = points.par_chunks(BATCH).enumerate();
        let seeds: Option<Vec<Vec<[Seed; 2]>>> = batches
            .map(|(batch, points)| {
                let products = points.iter().map(|p| Some(G::mul(&G::decode(p)?, &half)));
                let products = products.map(|zero| zero.map(|zero| [zero, G::sub(&sum, &zero)]));
                let products = Zeroizing::new(products.collect::<Option<Vec<_>>>()?);
                let shared = Zeroizing::new(G::encode_doubles(products.as_flattened()));
                let pairs = shared.as_chunks::<2>().0.iter().zip(points).enumerate();
                let hashed = pairs.map(|(i, (pair, of))| {
                    let i = batch * BATCH + i;
                    [0, 1].map(|j| output::<G>(i, j, &point, of, &pair[j]))
                });
                Some(hashed.collect())
            })
            .collect();
        let seeds = seeds.ok_or_else(|| channel.malformed(POINTS, "not a group element"))?;
        Ok(seeds.into_iter().flatten().collect())
    }

    fn receive(
        choices: &Bits,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Seed>> {
        // 2. Halves, as above.
        let halves: Vec<_> =
            (0..choices.len()).map(|_| Zeroizing::new(G::random_scalar(rng))).collect();
        let sum = half_constant::<G>();
        let points: Vec<Vec<G::Encoded>> = halves
            .par_chunks(BATCH)
            .enumerate()
            .map(|(batch, halves)| {
                let own = halves.iter().enumerate().map(|(i, half)| {
                    let chosen = G::mul_generator(half);
                    let other = G::sub(&sum, &chosen);
                    let choice = Choice::from(choices.get(batch * BATCH + i));
                    G::Element::conditional_select(&chosen, &other, choice)
                });
                G::encode_doubles(&own.collect::<Vec<_>>())
            })
            .collect();
        let points = points.concat();
        channel.send_slice(POINTS, &points)?;
        channel.flush()?;
        // 1.
        let mut point = [<G::Encoded as bytemuck::Zeroable>::zeroed()];
        channel.recv_slice(POINT, &mut point)?;
        let [point] = point;
        let decoded =
            G::decode(&point).ok_or_else(|| channel.malformed(POINT, "not a group element"))?;
        // 3.
        let batches = halves.par_chunks(BATCH).zip(points.par_chunks(BATCH)).enumerate();
        let seeds: Vec<Vec<Seed>> = batches
            .map(|(batch, (halves, points))| {
                let products = halves.iter().map(|half| G::mul(&decoded, half));
                let products = Zeroizing::new(products.collect::<Vec<_>>());
                let shared = Zeroizing::new(G::encode_doubles(&products));
                let outputs = shared.iter().zip(points).enumerate().map(|(i, (shared, of))| {
                    let i = batch * BATCH + i;
                    output::<G>(i, choices.get(i).into(), &point, of, shared)
                });
                outputs.collect()
            })
            .collect();
        Ok(seeds.into_iter().flatten().collect())
    }
}

/// C / 2.
fn half_constant<G: Group>() -> G::Element {
    G::hash("vesica np01 constant v1", &[])
}

fn output<G: Group>(
    i: usize,
    j: usize,
    sender_point: &G::Encoded,
    receiver_point: &G::Encoded,
    shared: &G::Encoded,
) -> Seed {
    let mut hasher = blake3::Hasher::new_derive_key("vesica np01 output v1");
    hasher.update(&(i as u64).to_le_bytes()).update(&[j as u8]);
    for element in [sender_point, receiver_point, shared] {
        hasher.update(bytemuck::bytes_of(element));
    }
    Seed::new(truncate(&hasher.finalize()))
}
