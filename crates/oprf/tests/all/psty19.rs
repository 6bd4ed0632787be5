//! The batched programmable OPRF: its values, and the bytes sent.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_oprf::{
    Error,
    programmable::Hint,
    psty19::{self, Dimensions, Receiver, Sender},
};
use vesica_params::{LAMBDA, code, okvs};
use vesica_primitives::Block;
use vesica_structures::okvs::polynomial::Polynomial;
use vesica_testkit::{
    transcript::{self, Transcripts},
    two_party::{self, Link},
};

/// Bytes of a value: two elements.
const LEN: usize = 32;

fn dimensions(instances: usize, programmed: usize) -> Dimensions {
    let shape = okvs::polynomial(programmed, 1 << 7, LAMBDA);
    let hint = Hint { shape, programmed, len: LEN };
    Dimensions { instances, width: code::width(programmed, LAMBDA), hint }
}

fn random(n: usize, seed: u64) -> Vec<Block> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..n).map(|_| Block::random(&mut rng)).collect()
}

/// Returns the start of each instance's points, distributed as evenly as possible.
fn starts(instances: usize, points: usize) -> Vec<u32> {
    (0..=instances).map(|i| (i * points / instances.max(1)) as u32).collect()
}

fn program(
    dimensions: Dimensions,
    points: &[Block],
    values: &[u8],
) -> impl Fn(&mut Channel, &mut StdRng) -> Result<(), Error> {
    move |channel, rng| {
        let sender = Sender::<Polynomial>::setup(dimensions, channel, rng)?;
        let starts = starts(dimensions.instances, points.len());
        sender.evaluate(&starts, points, values, channel, rng)
    }
}

fn evaluate(
    dimensions: Dimensions,
    points: &[Block],
) -> impl Fn(&mut Channel, &mut StdRng) -> Result<Vec<u8>, Error> {
    move |channel, rng| {
        let receiver = Receiver::<Polynomial>::setup(dimensions, channel, rng)?;
        receiver.evaluate(points, channel, rng)
    }
}

fn sent(dimensions: Dimensions, programmed: &[Block], points: &[Block]) -> Transcripts {
    let values = vec![0; LEN * programmed.len()];
    transcript::of(program(dimensions, programmed, &values), evaluate(dimensions, points))
}

#[test]
fn values_are_those_programmed_in_the_instance_and_random_elsewhere() {
    let (instances, n) = (150, 451);
    let dimensions = dimensions(instances, n);
    let points = random(n, 1);
    let values: Vec<u8> =
        random(LEN / 16 * n, 2).iter().flat_map(|block| block.to_bytes()).collect();
    let starts = starts(instances, n);
    // In turn: a point of this instance, one of another instance, and one of none.
    let others = random(instances, 3);
    let pick = |i: usize| match i % 3 {
        0 => points[starts[i] as usize],
        1 => points[starts[(i + 2) % instances] as usize],
        _ => others[i],
    };
    let mine: Vec<Block> = (0..instances).map(pick).collect();
    let (_, found) = two_party::run(
        Link::Memory,
        program(dimensions, &points, &values),
        evaluate(dimensions, &mine),
    );
    let known: HashSet<&[u8]> = values.chunks(16).collect();
    assert_eq!(found.len(), LEN * instances);
    for (i, found) in found.chunks(LEN).enumerate() {
        match i % 3 {
            0 => assert_eq!(found, &values[LEN * starts[i] as usize..][..LEN], "{i}"),
            _ => assert!(found.chunks(16).all(|value| !known.contains(value)), "{i}"),
        }
    }
    assert_eq!(found.chunks(16).collect::<HashSet<_>>().len(), found.len() / 16);
}

/// For any number of programmed points below the agreed one, and any points.
#[test]
fn bytes_depend_on_what_was_agreed_alone() {
    for (instances, programmed) in [(1, 3), (70, 200), (200, 70), (64, 1000)] {
        let dimensions = dimensions(instances, programmed);
        let mine = random(instances, 4);
        let all = random(programmed, 5);
        let reference = sent(dimensions, &all, &mine);
        let predicted = psty19::bytes(dimensions);
        for (sent, predicted) in
            [(&reference.sender, predicted.to_receiver), (&reference.receiver, predicted.to_sender)]
        {
            assert_eq!(sent.payload_bytes(), predicted, "{dimensions:?}");
        }
        for fewer in [0, 1, programmed / 2] {
            let other = sent(dimensions, &all[..fewer], &mine);
            assert_eq!(reference.shape(), other.shape(), "{fewer} of {programmed}");
        }
    }
}

#[test]
fn equal_points_are_refused_by_their_positions() {
    let mut points = random(30, 6);
    points[21] = points[4];
    let values = vec![0; LEN * 30];
    let dimensions = dimensions(10, 30);
    let (refused, _) = two_party::run(
        Link::Memory,
        |channel, rng| {
            let sender = Sender::<Polynomial>::setup(dimensions, channel, rng)?;
            let refused = sender.evaluate(&starts(10, 30), &points, &values, channel, rng);
            Ok::<_, Error>(refused.unwrap_err())
        },
        |channel, rng| Ok(Receiver::<Polynomial>::setup(dimensions, channel, rng).map(drop)?),
    );
    assert!(matches!(refused, Error::DuplicatePoint { first: 4, second: 21 }), "{refused}");
}
