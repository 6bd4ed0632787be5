//! The simplest oblivious transfer of Chou and Orlandi (LATINCRYPT 2015), over any group of prime order, for
//! random OTs, with a seed to which the sender commits. Semi-honest here. It takes 64 bytes and a flight more
//! than [`np01`](super::np01), and less work in groups where subtraction is slow.
//!
//! For the i-th of n OTs, with choice c, in the session sid:
//!
//! 1. S → R: A = a·G, once for all OTs, and a commitment H(r) to a random r.
//! 2. R → S: B = b·G + c·A.
//! 3. S → R: r.
//! 4. S outputs s_j = H(sid, i, j, r, A, B, a·(B − j·A)); R outputs s_c = H(sid, i, c, r, A, B, b·A). R
//!    refuses an r that does not match the commitment.
//!
//! B is uniform for either c, so R's choice is hidden unconditionally (computationally in groups with [short
//! exponents](Group::random_scalar)). An R that knew both a·B and a·B − a·A would know a·A = a²·G, which is
//! as hard as the Diffie–Hellman problem.
//!
//! Deviation from the paper: r. Without it a malicious R sees A first and can try one B after another until
//! it likes its seed. With it each seed is a hash of r, which S has fixed before it sees B and which R does
//! not know until B is sent; so the seeds are uniform as long as one party is honest, in the random oracle
//! model.
//!
//! **Why nothing malicious is built on this.** The paper claims security against malicious parties; its proof
//! has gaps (Genç, Iovino and Rial, eprint 2017/370; Hauck and Loss, eprint 2017/1011, who repair it for static
//! corruption under a gap assumption). A simulator learns the choice of a malicious R only when R computes its
//! seed, which may be after R has seen how its peer used the seeds. The commitment does not change that, and it
//! is not settled whether an OT extension built on it keeps its guarantees; [`mr19`](super::mr19) is proven for
//! exactly that use.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use rand::CryptoRng;
use subtle::Choice;
use vesica_net::{Channel, Deviation, Result, SessionId};
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

const POINT: &str = "co15/sender-point";
const COMMITMENT: &str = "co15/commitment";
const POINTS: &str = "co15/receiver-points";
const OPENING: &str = "co15/opening";

/// The check that r matches the commitment.
pub const CHECK: &str = "co15 seed commitment";

/// Bytes of r, and of the commitment to it.
const LEN: usize = 32;

/// The protocol over the group `G`.
pub struct Co15<G>(PhantomData<G>);

impl<G: Group> BaseOt for Co15<G> {
    const ADVERSARY: Adversary = Adversary::SemiHonest;

    fn bytes(n: usize) -> Bytes {
        let element = size_of::<G::Encoded>();
        Bytes { to_sender: n * element, to_receiver: element + 2 * LEN }
    }

    fn send(n: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Vec<[Seed; 2]>> {
        let session = channel.session();
        // 1.
        let a = Zeroizing::new(G::random_scalar(rng));
        let element = G::mul_generator(&a);
        let point = G::encode(&element);
        let mut r = [0; LEN];
        rng.fill_bytes(&mut r);
        channel.send_slice(POINT, &[point])?;
        channel.send(COMMITMENT, &commit(&r))?;
        // 2.
        let mut points = vec![G::Encoded::zeroed(); n];
        channel.recv_slice(POINTS, &mut points)?;
        let decoded = decode_all::<G>(POINTS, &points, channel)?;
        // 3.
        channel.send(OPENING, &r)?;
        channel.flush()?;
        // 4.
        let part = Zeroizing::new(G::divide(&a));
        let difference = Zeroizing::new(G::negate(&G::mul(&element, &part)));
        let sender = said(&r, &point);
        Ok(transcript(session, &sender, &points).pairs::<G>(0..n, |task, ots| {
            let zero = decoded[task].mul(&part);
            let one = G::Batch::repeat(&difference, ots.len()).add(&zero);
            [zero, one]
        }))
    }

    fn receive(
        choices: &Bits,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Seed>> {
        let session = channel.session();
        // 1.
        let (point, decoded) = recv_element::<G>(POINT, channel)?;
        let mut commitment = [0; LEN];
        channel.recv_into(COMMITMENT, &mut commitment)?;
        // 2.
        let secrets = random_scalars::<G>(choices.len(), rng);
        let points = in_tasks(0..choices.len(), |_, ots| {
            let zero = G::Batch::mul_generator(scalars::<G>(&secrets[ots.clone()]));
            let one = G::Batch::repeat(&decoded, ots.len()).add(&zero);
            zero.select(&one, ots.map(|i| Choice::from(choices.get(i)))).encode()
        });
        channel.send_slice(POINTS, &points)?;
        // 3.
        let mut r = [0; LEN];
        channel.recv_into(OPENING, &mut r)?;
        if commit(&r) != commitment {
            return Err(channel.deviation(Deviation::CheckFailed { check: CHECK }));
        }
        // 4.
        let parts: Vec<_> = secrets.iter().map(|b| Zeroizing::new(G::divide(b))).collect();
        let sender = said(&r, &point);
        Ok(transcript(session, &sender, &points).chosen::<G>(choices, &decoded, &parts))
    }
}

fn commit(r: &[u8; LEN]) -> [u8; LEN] {
    blake3::derive_key("vesica co15 commitment v1", r)
}

/// The sender's messages: r and A.
fn said(r: &[u8; LEN], point: &impl Pod) -> Vec<u8> {
    [r, bytemuck::bytes_of(point)].concat()
}

fn transcript<'a, E>(session: SessionId, sender: &'a [u8], points: &'a [E]) -> Transcript<'a, E> {
    Transcript { session, domain: "vesica co15 output v1", sender, receiver: points }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_net::Error;
    use vesica_primitives::group::Ristretto;

    use super::*;
    use crate::two_party;

    /// A sender that chooses r after it has seen B.
    #[test]
    fn another_seed_than_committed_to_is_refused() {
        let rng = || StdRng::seed_from_u64(1);
        let element = Ristretto::hash("test", b"element");
        let malicious = |channel: &mut Channel| {
            channel.send_slice(POINT, &[Ristretto::encode(&element)])?;
            channel.send(COMMITMENT, &commit(&[1; LEN]))?;
            channel.recv_slice(POINTS, &mut [[0u8; 32]; 5])?;
            channel.send(OPENING, &[2; LEN])
        };
        let receive = |channel: &mut Channel| {
            Co15::<Ristretto>::receive(&Bits::zeros(5), channel, &mut rng())
        };
        let (sent, received) = two_party::run(malicious, receive);
        sent.unwrap();
        assert!(matches!(
            received.map(drop),
            Err(Error::Peer { deviation: Deviation::CheckFailed { check: CHECK }, .. })
        ));
    }

    /// The seed of each OT depends on r, so nobody knows it before r is opened.
    #[test]
    fn seeds_depend_on_the_opened_seed() {
        let seeds = |r| {
            transcript(SessionId::default(), &said(&[r; LEN], &0u8), &[0u8])
                .pairs::<Ristretto>(0..1, |_, _| {
                    [b"0", b"1"].map(|name| Batch::hash("test", &[name]))
                })
        };
        let exposed = |r| seeds(r)[0].each_ref().map(|seed| *seed.expose());
        assert_ne!(exposed(1)[0], exposed(2)[0]);
        assert_ne!(exposed(1)[1], exposed(2)[1]);
    }
}
