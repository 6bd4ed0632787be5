//! Endemic oblivious transfer of Masny and Rindal (CCS 2019), §5.1, over any group of prime order.
//!
//! Random OTs whose messages depend on both parties; secure against malicious parties in the random oracle
//! model under the Diffie–Hellman assumption (with [short exponents](Group::random_scalar) in groups that have
//! them). The two flights are independent of each other, so this could take one round; here M is sent after the
//! other flight, which saves a change of direction. R's elements are sent in pieces, and S works on one while R
//! makes the next.
//!
//! For the i-th of n OTs, with choice c, in the session sid:
//!
//! 1. S → R: M = a·G, once for all.
//! 2. R → S: (r_0, r_1), where r_{1−c} is a random element and r_c = k·G − H2G(sid, i, c, r_{1−c}).
//! 3. S outputs s_j = H(sid, i, j, transcript, a·(r_j + H2G(sid, i, j, r_{1−j}))); R outputs
//!    s_c = H(sid, i, c, transcript, k·M).
//!
//! M is fresh for each call, elements are decoded strictly (the identity is refused), and every hash includes
//! the index, without which messages could be swapped between OTs. Deviation from the paper: one M for all OTs
//! of a call, as in the authors' own code, so a reduction must also answer for OTs other than its target; that
//! requires the gap or an interactive form of the Diffie–Hellman assumption. Hashes include M and both
//! elements.

use std::{marker::PhantomData, ops::Range};

use bytemuck::{Pod, Zeroable};
use rand::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
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

/// Malicious security in the random oracle model.
pub const ADVERSARY: Adversary = Adversary::Malicious;

const POINT: &str = "mr19/sender-point";
const POINTS: &str = "mr19/receiver-points";

/// OTs per message: few, so that S computes while R does.
const PIECE: usize = 32;

/// The protocol over the group `G`.
pub struct Mr19<G>(PhantomData<G>);

impl<G: Group> BaseOt for Mr19<G> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn bytes(n: usize) -> Bytes {
        let element = size_of::<G::Encoded>();
        Bytes { to_sender: 2 * n * element, to_receiver: element }
    }

    fn send(n: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Vec<[Seed; 2]>> {
        let session = channel.session();
        // 1. Drawn before anything is received, and sent with this party's next message.
        let a = Zeroizing::new(G::random_scalar(rng));
        let m = G::encode(&G::mul_generator(&a));
        let part = Zeroizing::new(G::divide(&a));
        let mut pairs = vec![[G::Encoded::zeroed(); 2]; n];
        let mut seeds = Vec::with_capacity(n);
        for ots in pieces(n) {
            // 2.
            channel.recv_slice(POINTS, pairs[ots.clone()].as_flattened_mut())?;
            if ots.end == n {
                channel.send_slice(POINT, &[m])?;
                channel.flush()?;
            }
            // 3.
            let decoded = [0, 1].map(|j| {
                let column: Vec<_> = pairs[ots.clone()].iter().map(|pair| pair[j]).collect();
                decode_all::<G>(POINTS, &column, channel)
            });
            let [zeros, ones] = decoded;
            let decoded = [zeros?, ones?];
            seeds.extend(transcript(session, &m, &pairs).pairs::<G>(ots, |task, ots| {
                [0, 1].map(|j| {
                    let others = pairs[ots.clone()].iter().map(|pair| &pair[1 - j]);
                    let masks = hash_to_group::<G>(session, ots.clone().zip(others), |_| j);
                    decoded[j][task].add(&masks).mul(&part)
                })
            }));
        }
        Ok(seeds)
    }

    fn receive(
        choices: &Bits,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Seed>> {
        let session = channel.session();
        // 2.
        let secrets = random_scalars::<G>(choices.len(), rng);
        let mut pairs = Vec::with_capacity(choices.len());
        for ots in pieces(choices.len()) {
            // The random elements are sent; which of each pair is the random one depends on the choice.
            let others = Zeroizing::new(G::Batch::random(ots.len(), rng));
            let others = Zeroizing::new(others.encode_multiples());
            pairs.extend(in_tasks(ots.clone(), |_, own| {
                let others = &others[own.start - ots.start..][..own.len()];
                let masks =
                    hash_to_group::<G>(session, own.clone().zip(others), |i| choices.get(i).into());
                let chosen = G::Batch::mul_generator(scalars::<G>(&secrets[own.clone()]));
                let chosen = Zeroizing::new(chosen.sub(&masks).encode());
                let pair = |((i, chosen), other): ((usize, &G::Encoded), &G::Encoded)| {
                    let c = Choice::from(choices.get(i));
                    [
                        G::Encoded::conditional_select(chosen, other, c),
                        G::Encoded::conditional_select(other, chosen, c),
                    ]
                };
                own.zip(&*chosen).zip(others).map(pair).collect()
            }));
            channel.send_slice(POINTS, pairs[ots].as_flattened())?;
            // Let the sender start on these.
            channel.flush()?;
        }
        // 1.
        let (m, decoded) = recv_element::<G>(POINT, channel)?;
        // 3.
        let parts: Vec<_> = secrets.iter().map(|k| Zeroizing::new(G::divide(k))).collect();
        Ok(transcript(session, &m, &pairs).chosen::<G>(choices, &decoded, &parts))
    }
}

/// The OTs whose elements go into each message.
fn pieces(n: usize) -> impl Iterator<Item = Range<usize>> {
    // One message is sent even for zero OTs.
    (0..n.max(1)).step_by(PIECE).map(move |start| start..(start + PIECE).min(n))
}

/// H2G(sid, i, j, r) for each i and r.
fn hash_to_group<'a, G: Group>(
    session: SessionId,
    others: impl Iterator<Item = (usize, &'a G::Encoded)>,
    j: impl Fn(usize) -> usize,
) -> G::Batch {
    let inputs = others.map(|(i, other)| {
        let mut input = Zeroizing::new(session.as_bytes().to_vec());
        input.push(j(i) as u8);
        input.extend_from_slice(&(i as u64).to_le_bytes());
        input.extend_from_slice(bytemuck::bytes_of(other));
        input
    });
    G::Batch::hash("vesica mr19 mask v1", &inputs.collect::<Vec<_>>())
}

fn transcript<'a, E: Pod>(
    session: SessionId,
    m: &'a E,
    pairs: &'a [[E; 2]],
) -> Transcript<'a, [E; 2]> {
    Transcript {
        session,
        domain: "vesica mr19 output v1",
        sender: bytemuck::bytes_of(m),
        receiver: pairs,
    }
}
