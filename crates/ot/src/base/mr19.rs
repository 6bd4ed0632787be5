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

use rand::CryptoRng;
use rayon::prelude::*;
use subtle::{Choice, ConditionallySelectable};
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Seed, group::Group, hash::truncate};
use zeroize::Zeroizing;

/// Malicious security in the random oracle model.
pub const ADVERSARY: Adversary = Adversary::Malicious;

const POINT: &str = "mr19/sender-point";
const POINTS: &str = "mr19/receiver-points";

/// Bytes the receiver sends for each OT: two elements.
pub const fn bytes_per_ot<G: Group>() -> usize {
    2 * size_of::<G::Encoded>()
}

/// The sender's side of `n` OTs: two seeds each.
///
/// # Errors
/// A deviation where the receiver sends what is no group element.
pub fn send<G: Group>(
    n: usize,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<[Seed; 2]>> {
    // 1. Drawn before anything is received, and sent with whatever this party says next.
    let a = Zeroizing::new(G::random_scalar(rng));
    let m = G::encode(&G::mul_generator(&a));
    // 2.
    let mut pairs = vec![[m; 2]; n];
    channel.recv_slice(POINTS, pairs.as_flattened_mut())?;
    channel.send_slice(POINT, &[m])?;
    channel.flush()?;
    // 3.
    let outputs = pairs.par_iter().enumerate().map(|(i, pair)| {
        let decoded = [G::decode(&pair[0])?, G::decode(&pair[1])?];
        Some([0, 1].map(|j| {
            let mask = hash_to_group::<G>(i, j, &pair[1 - j]);
            let shared = Zeroizing::new(G::mul(&G::add(&decoded[j], &mask), &a));
            output::<G>(i, j, &m, pair, &shared)
        }))
    });
    outputs
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| channel.malformed(POINTS, "not a group element"))
}

/// The receiver's side of as many OTs as there are choices: the chosen seed of each.
///
/// # Errors
/// A deviation where the sender sends what is no group element.
pub fn receive<G: Group>(
    choices: &Bits,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Seed>> {
    // 2.
    // The random elements are sent, but which of each pair is the random one is the choice.
    let mut secret =
        |_| (Zeroizing::new(G::random_scalar(rng)), Zeroizing::new(G::random_element(rng)));
    let secrets: Vec<_> = (0..choices.len()).map(&mut secret).collect();
    let pairs: Vec<[G::Encoded; 2]> = secrets
        .par_iter()
        .enumerate()
        .map(|(i, (k, other))| {
            let c = choices.get(i);
            let mask = hash_to_group::<G>(i, c.into(), &G::encode(other));
            let chosen = Zeroizing::new(G::sub(&G::mul_generator(k), &mask));
            let c = Choice::from(c);
            [
                G::encode(&G::Element::conditional_select(&chosen, other, c)),
                G::encode(&G::Element::conditional_select(other, &chosen, c)),
            ]
        })
        .collect();
    channel.send_slice(POINTS, pairs.as_flattened())?;
    // 1.
    let mut m = [<G::Encoded as bytemuck::Zeroable>::zeroed()];
    channel.recv_slice(POINT, &mut m)?;
    let [m] = m;
    let decoded = G::decode(&m).ok_or_else(|| channel.malformed(POINT, "not a group element"))?;
    // 3.
    let outputs = secrets.par_iter().zip(&pairs).enumerate().map(|(i, ((k, _), pair))| {
        let shared = Zeroizing::new(G::mul(&decoded, k));
        output::<G>(i, choices.get(i).into(), &m, pair, &shared)
    });
    Ok(outputs.collect())
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
    shared: &G::Element,
) -> Seed {
    let shared = Zeroizing::new(bytemuck::bytes_of(&G::encode(shared)).to_vec());
    let mut hasher = blake3::Hasher::new_derive_key("vesica mr19 output v1");
    hasher.update(&(i as u64).to_le_bytes()).update(&[j as u8]);
    hasher.update(bytemuck::bytes_of(m)).update(bytemuck::cast_slice(pair)).update(&shared);
    Seed::new(truncate(&hasher.finalize()))
}
