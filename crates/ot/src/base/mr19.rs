//! Endemic oblivious transfer of Masny and Rindal (CCS 2019), §5.1, over any group of prime order.
//!
//! Random OTs whose messages depend on both parties; secure against malicious parties in the random
//! oracle model under the Diffie–Hellman assumption. The two flights are independent of each other,
//! so this could take one round; here M waits for the other, which spares a change of direction.
//!
//! For the i-th of n OTs, with choice c:
//!
//! 1. S → R: M = a·G, once for all.
//! 2. R → S: (r_0, r_1), where r_{1−c} is a random element and r_c = k·G − H2G(i, c, r_{1−c}).
//! 3. S outputs s_j = H(i, j, transcript, a·(r_j + H2G(i, j, r_{1−j}))); R outputs
//!    s_c = H(i, c, transcript, k·M).
//!
//! M is fresh for each call, elements are decoded strictly (the identity is refused), and every hash
//! takes the index, without which messages could be swapped between OTs. Deviation from the paper:
//! one M for all OTs of a call, as the authors' own code does; hashes take M and both elements.

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

/// Malicious security in the random oracle model.
pub const ADVERSARY: Adversary = Adversary::Malicious;

const POINT: &str = "mr19/sender-point";
const POINTS: &str = "mr19/receiver-points";

/// OTs that one thread takes at least, and whose elements are encoded together.
const BATCH: usize = 64;

/// The protocol over the group `G`.
pub struct Mr19<G>(PhantomData<G>);

impl<G: Group> BaseOt for Mr19<G> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn bytes(n: usize) -> Bytes {
        let element = size_of::<G::Encoded>();
        Bytes { to_sender: 2 * n * element, to_receiver: element }
    }

    fn send(n: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Vec<[Seed; 2]>> {
        // 1. Drawn before anything is received, and sent with whatever this party says next.
        let a = Zeroizing::new(G::random_scalar(rng));
        let m = G::encode(&G::mul_generator(&a));
        // 2.
        let mut pairs = vec![[m; 2]; n];
        channel.recv_slice(POINTS, pairs.as_flattened_mut())?;
        channel.send_slice(POINT, &[m])?;
        channel.flush()?;
        // 3. Half of each product, because it is encoded by doubling.
        let half = Zeroizing::new(G::halve(&a));
        let batches = pairs.par_chunks(BATCH).enumerate();
        let seeds: Option<Vec<Vec<[Seed; 2]>>> = batches
            .map(|(batch, pairs)| {
                let first = batch * BATCH;
                let products = pairs.iter().enumerate().map(|(i, pair)| {
                    let decoded = [G::decode(&pair[0])?, G::decode(&pair[1])?];
                    Some([0, 1].map(|j| {
                        let mask = hash_to_group::<G>(first + i, j, &pair[1 - j]);
                        G::mul(&G::add(&decoded[j], &mask), &half)
                    }))
                });
                let products = Zeroizing::new(products.collect::<Option<Vec<_>>>()?);
                let shared = Zeroizing::new(G::encode_doubles(products.as_flattened()));
                let shared = shared.as_chunks::<2>().0.iter().zip(pairs).enumerate();
                let hashed = shared.map(|(i, (shared, pair))| {
                    [0, 1].map(|j| output::<G>(first + i, j, &m, pair, &shared[j]))
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
        // 2.
        // The random elements are sent, but which of each pair is the random one is the choice.
        let secrets: Vec<_> =
            (0..choices.len()).map(|_| Zeroizing::new(G::random_scalar(rng))).collect();
        let others: Vec<_> = (0..choices.len()).map(|_| G::random_element(rng)).collect();
        let others = Zeroizing::new(others);
        let batches = secrets.par_chunks(BATCH).zip(others.par_chunks(BATCH)).enumerate();
        let pairs: Vec<Vec<[G::Encoded; 2]>> = batches
            .map(|(batch, (secrets, others))| {
                let others = Zeroizing::new(G::encode_doubles(others));
                let own = secrets.iter().zip(&*others).enumerate().map(|(i, (k, other))| {
                    let i = batch * BATCH + i;
                    let c = choices.get(i);
                    let mask = hash_to_group::<G>(i, c.into(), other);
                    let chosen = G::encode(&G::sub(&G::mul_generator(k), &mask));
                    let c = Choice::from(c);
                    [
                        G::Encoded::conditional_select(&chosen, other, c),
                        G::Encoded::conditional_select(other, &chosen, c),
                    ]
                });
                own.collect()
            })
            .collect();
        let pairs = pairs.concat();
        channel.send_slice(POINTS, pairs.as_flattened())?;
        // 1.
        let mut m = [<G::Encoded as bytemuck::Zeroable>::zeroed()];
        channel.recv_slice(POINT, &mut m)?;
        let [m] = m;
        let decoded =
            G::decode(&m).ok_or_else(|| channel.malformed(POINT, "not a group element"))?;
        // 3.
        let batches = secrets.par_chunks(BATCH).zip(pairs.par_chunks(BATCH)).enumerate();
        let seeds: Vec<Vec<Seed>> = batches
            .map(|(batch, (secrets, pairs))| {
                let halves = secrets.iter().map(|k| Zeroizing::new(G::halve(k)));
                let products = halves.map(|half| G::mul(&decoded, &half));
                let products = Zeroizing::new(products.collect::<Vec<_>>());
                let shared = Zeroizing::new(G::encode_doubles(&products));
                let outputs = shared.iter().zip(pairs).enumerate().map(|(i, (shared, pair))| {
                    let i = batch * BATCH + i;
                    output::<G>(i, choices.get(i).into(), &m, pair, shared)
                });
                outputs.collect()
            })
            .collect();
        Ok(seeds.into_iter().flatten().collect())
    }
}

fn hash_to_group<G: Group>(i: usize, j: usize, other: &G::Encoded) -> G::Element {
    let mut input = vec![j as u8];
    input.extend_from_slice(&(i as u64).to_le_bytes());
    input.extend_from_slice(bytemuck::bytes_of(other));
    G::hash("vesica mr19 mask v1", &input)
}

fn output<G: Group>(
    i: usize,
    j: usize,
    m: &G::Encoded,
    pair: &[G::Encoded; 2],
    shared: &G::Encoded,
) -> Seed {
    let mut hasher = blake3::Hasher::new_derive_key("vesica mr19 output v1");
    hasher.update(&(i as u64).to_le_bytes()).update(&[j as u8]);
    hasher.update(bytemuck::bytes_of(m)).update(bytemuck::cast_slice(pair));
    hasher.update(bytemuck::bytes_of(shared));
    Seed::new(truncate(&hasher.finalize()))
}
