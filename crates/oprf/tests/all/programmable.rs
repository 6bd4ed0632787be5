//! OPPRFs made from each kind of OPRF: their values, and the bytes sent.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::parties;
use std::collections::HashSet;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Result};
use vesica_oprf::{
    Digests, Error, cm20, kkrt16,
    programmable::{Hint, Oprf, evaluate, program},
    prty20::{self, SemiHonest},
    rs21::{malicious, semi_honest as rs21},
};
use vesica_ot::{
    base::np01::Np01,
    extension::softspoken::{self, semi_honest as extension},
};
use vesica_params::{
    LAMBDA, code,
    lpn::UNIFORM,
    matrix::matrix,
    okvs::{self, Shape},
    subfield,
};
use vesica_primitives::{Block, group::Ristretto};
use vesica_structures::okvs::rr22::Rr22;
use vesica_testkit::{
    transcript::{self, Transcripts},
    two_party::{self, Link},
};

use parties::FIELD;

/// The numbers of points that the receiver has and that the sender programs.
#[derive(Debug, Clone, Copy)]
struct Agreed {
    points: usize,
    programmed: usize,
}

/// Set-up of an OPRF's parties.
trait Setup: Oprf {
    /// Whether each of the receiver's points has its own function.
    const BATCHED: bool = false;

    fn sender(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Sender>;

    fn receiver(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Receiver>;
}

fn shape(points: usize) -> Shape {
    okvs::shape(points, 1 << 10, LAMBDA)
}

impl Setup for rs21::Oprf<Rr22, u64> {
    fn sender(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Sender> {
        let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
        let bits = subfield::bits(agreed.programmed, LAMBDA);
        rs21::Sender::setup(shape(agreed.points), bits, UNIFORM, &mut cot, channel, rng)
    }

    fn receiver(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Receiver> {
        let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
        let bits = subfield::bits(agreed.programmed, LAMBDA);
        rs21::Receiver::setup(shape(agreed.points), bits, UNIFORM, &mut cot, channel, rng)
    }
}

impl Setup for malicious::Oprf<Rr22> {
    fn sender(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Sender> {
        let own = malicious::Share::commit(channel, rng)?;
        let mut cot = softspoken::malicious::Sender::setup(FIELD, channel, rng)?;
        let shape = shape(agreed.points).one_way();
        malicious::Sender::setup(own, shape, UNIFORM, &mut cot, channel, rng)
    }

    fn receiver(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Receiver> {
        let theirs = malicious::Commitment::receive(channel)?;
        let mut cot = softspoken::malicious::Receiver::setup(FIELD, channel, rng)?;
        let shape = shape(agreed.points).one_way();
        malicious::Receiver::setup(theirs, shape, UNIFORM, &mut cot, channel, rng)
    }
}

impl Setup for kkrt16::Oprf {
    const BATCHED: bool = true;

    fn sender(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Sender> {
        kkrt16::Sender::setup(code::width(agreed.programmed, LAMBDA), channel, rng)
    }

    fn receiver(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Receiver> {
        kkrt16::Receiver::setup(code::width(agreed.programmed, LAMBDA), channel, rng)
    }
}

impl Setup for cm20::Oprf {
    fn sender(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Sender> {
        let matrix = matrix(agreed.points, agreed.programmed, LAMBDA);
        cm20::Sender::setup::<Np01<Ristretto>>(matrix, channel, rng)
    }

    fn receiver(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Receiver> {
        let matrix = matrix(agreed.points, agreed.programmed, LAMBDA);
        cm20::Receiver::setup::<Np01<Ristretto>>(matrix, channel, rng)
    }
}

impl Setup for prty20::Oprf<Rr22> {
    fn sender(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Sender> {
        prty20::Sender::<SemiHonest>::setup(shape(agreed.points), channel, rng)
    }

    fn receiver(agreed: Agreed, channel: &mut Channel, rng: &mut StdRng) -> Result<Self::Receiver> {
        prty20::Receiver::<SemiHonest>::setup(shape(agreed.points), channel, rng)
    }
}

fn random(n: usize, seed: u64) -> Vec<Block> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..n).map(|_| Block::random(&mut rng)).collect()
}

/// Returns the start of each instance's points, distributed as evenly as possible.
fn starts(instances: usize, points: usize) -> Vec<u32> {
    (0..=instances).map(|i| (i * points / instances.max(1)) as u32).collect()
}

/// Points as an OPRF takes them. Any two of the long ones share a half with each other, or with half of all others.
struct Halves {
    low: Vec<Block>,
    high: Vec<Block>,
}

impl Halves {
    fn of<F: Oprf>(points: &[Block]) -> Self {
        if !F::LONG {
            return Self { low: points.to_vec(), high: Vec::new() };
        }
        let half = |odd: u128| {
            let part = move |point: &Block| if point.0 & 1 == odd { *point } else { Block(5) };
            points.iter().map(part).collect()
        };
        Self { low: half(0), high: half(1) }
    }

    fn digests(&self) -> Digests<'_> {
        Digests { low_halves: &self.low, high_halves: &self.high }
    }
}

type Outcome<T> = std::result::Result<T, Error>;

/// The sender, with points and values, and the receiver, with points.
#[allow(clippy::type_complexity, reason = "two closures")]
fn parties<'a, F: Setup>(
    agreed: Agreed,
    len: usize,
    programmed: (&'a [Block], &'a [u8]),
    points: &'a [Block],
) -> (
    impl Fn(&mut Channel, &mut StdRng) -> Outcome<()> + 'a,
    impl Fn(&mut Channel, &mut StdRng) -> Outcome<Vec<u8>> + 'a,
) {
    let hint = Hint { shape: shape(agreed.programmed), programmed: agreed.programmed, len };
    let starts = if F::BATCHED { starts(agreed.points, programmed.0.len()) } else { Vec::new() };
    (
        move |channel: &mut Channel, rng: &mut StdRng| {
            let sender = F::sender(agreed, channel, rng)?;
            let (points, values) = programmed;
            let points = Halves::of::<F>(points);
            program::<F, Rr22>(sender, hint, &starts, points.digests(), values, channel, rng)
        },
        move |channel: &mut Channel, rng: &mut StdRng| {
            let receiver = F::receiver(agreed, channel, rng)?;
            let points = Halves::of::<F>(points);
            evaluate::<F, Rr22>(receiver, hint, points.digests(), channel, rng)
        },
    )
}

/// Values are those programmed, in their instance if there are instances, and random elsewhere.
fn values_come_out<F: Setup>() {
    // The agreed number of points, and fewer.
    for (points, given, programmed) in [(150, 451, 451), (99, 30, 400), (1, 1, 1), (60, 0, 7)] {
        let agreed = Agreed { points, programmed };
        for len in [8, 16, 41] {
            let theirs = random(given, 1);
            let mut values = vec![0; given * len];
            StdRng::seed_from_u64(2).fill(&mut values[..]);
            // In turn a point of no instance, one of this instance, and one of another instance.
            let starts = starts(points, given);
            let of_instance = |i: usize| (starts[i]..starts[i + 1]).next().map(|at| at as usize);
            let others = random(points, 3);
            let at = |i: usize| [None, of_instance(i), of_instance((i + 1) % points)][i % 3];
            let mine: Vec<Block> =
                (0..points).map(|i| at(i).map_or(others[i], |at| theirs[at])).collect();
            let (sender, receiver) = parties::<F>(agreed, len, (&theirs, &values), &mine);
            let (_, found) = two_party::run(Link::Memory, sender, receiver);
            assert_eq!(found.len(), points * len);
            let mut seen: HashSet<&[u8]> = values.chunks(len).collect();
            for (i, found) in found.chunks(len).enumerate() {
                match at(i) {
                    Some(at) if i % 3 == 1 || !F::BATCHED => {
                        assert_eq!(found, &values[at * len..][..len], "{i} of {agreed:?}");
                    }
                    _ => assert!(seen.insert(found), "{i} of {agreed:?}"),
                }
            }
        }
    }
}

/// The transcripts of a run in which every programmed value is zero.
fn sent<F: Setup>(agreed: Agreed, programmed: &[Block], points: &[Block]) -> Transcripts {
    const LEN: usize = 9;
    let values = vec![0; LEN * programmed.len()];
    let (sender, receiver) = parties::<F>(agreed, LEN, (programmed, &values), points);
    transcript::of(sender, receiver)
}

/// The bytes of the hint that is sent.
fn hint<F: Oprf>(sent: &Transcripts) -> &[u8] {
    let is_hint = |message: &&vesica_testkit::frame::Message| message.label == F::HINT;
    &sent.sender.messages.iter().find(is_hint).unwrap().payload
}

/// χ² with 255 degrees of freedom: how far bytes are from equally frequent.
fn distance_from_uniform(bytes: &[u8]) -> f64 {
    let mut counts = [0usize; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let expected = bytes.len() as f64 / 256.0;
    counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum()
}

/// Exceeded with probability below 10^-6 if bytes are uniform.
const LIMIT: f64 = 380.0;

/// The number of bytes does not depend on how many of the agreed points are programmed, and the bytes of the hint look
/// random and are unrelated to the hint of another run.
fn the_hint_says_nothing<F: Setup>() {
    let agreed = Agreed { points: 100, programmed: 2001 };
    let (all, mine) = (random(agreed.programmed, 5), random(agreed.points, 6));
    let reference = sent::<F>(agreed, &all, &mine);
    for theirs in [&all[..], &all[..10], &[]] {
        let other = sent::<F>(agreed, theirs, &mine);
        assert_eq!(reference.shape(), other.shape(), "{} points", theirs.len());
        let distance = distance_from_uniform(hint::<F>(&other));
        assert!(distance < LIMIT, "{distance} with {} points", theirs.len());
    }
}

/// The test notices if one byte in a hundred is wrongly zero.
#[test]
fn bytes_that_are_not_uniform_are_noticed() {
    let mut rng = StdRng::seed_from_u64(7);
    let mut bytes: Vec<u8> = (0..9 * 2300).map(|_| rng.random()).collect();
    assert!(distance_from_uniform(&bytes) < LIMIT);
    bytes.iter_mut().step_by(100).for_each(|byte| *byte = 0);
    assert!(distance_from_uniform(&bytes) > LIMIT);
}

macro_rules! opprf_of {
    ($name:ident, $oprf:ty) => {
        mod $name {
            use super::*;

            #[test]
            fn values() {
                values_come_out::<$oprf>();
            }

            #[test]
            fn hints() {
                the_hint_says_nothing::<$oprf>();
            }
        }
    };
}

opprf_of!(of_cm20, cm20::Oprf);
opprf_of!(of_kkrt16, kkrt16::Oprf);
opprf_of!(of_prty20, prty20::Oprf<Rr22>);
opprf_of!(of_rs21, rs21::Oprf<Rr22, u64>);
opprf_of!(of_rs21_malicious, malicious::Oprf<Rr22>);
