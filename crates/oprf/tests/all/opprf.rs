//! The programmable OPRF: the bytes sent, and that they reveal nothing.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_oprf::{
    Error,
    opprf::{self, Dimensions},
};
use vesica_ot::{extension::softspoken::semi_honest as extension, vole::silent};
use vesica_params::{
    lpn::UNIFORM,
    okvs::{self, Shape},
};
use vesica_primitives::Block;
use vesica_structures::okvs::{ByteStrings, Free, Okvs, rr22::Rr22};
use vesica_testkit::{
    transcript::{self, Transcripts},
    two_party::{self, Link, PATIENCE, between},
};

use crate::parties::{FIELD, program, receive_programmed};

fn shape(points: usize) -> Shape {
    okvs::shape(points, 1 << 10, 40)
}

fn random(n: usize, seed: u64) -> Vec<Block> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..n).map(|_| Block::random(&mut rng)).collect()
}

/// A run in which every programmed value is zero.
fn run(dimensions: Dimensions, programmed: &[Block], points: &[Block]) -> Transcripts {
    let values = vec![0; programmed.len() * dimensions.hint.len];
    let programmed = (programmed, &values[..]);
    transcript::of(
        |channel, rng| program::<Rr22, u64>(dimensions, UNIFORM, programmed, channel, rng),
        |channel, rng| receive_programmed::<Rr22, u64>(dimensions, UNIFORM, points, channel, rng),
    )
}

#[test]
fn bytes_are_those_of_the_formula() {
    for (points, programmed, len) in
        [(0, 0, 8), (0, 500, 8), (500, 0, 8), (64, 65, 1), (5003, 1009, 40), (1009, 5003, 7)]
    {
        let dimensions = Dimensions::new(points, programmed, len, 40, |n, _| shape(n));
        let both = run(dimensions, &random(programmed, 1), &random(points, 2));
        let ot = extension::setup_bytes(FIELD);
        let vole = silent::bytes(dimensions.points.columns(), dimensions.bits, UNIFORM, FIELD);
        let oprf = opprf::bytes(dimensions);
        for (sent, predicted) in [
            (&both.sender, ot.to_receiver + vole.to_receiver + oprf.to_receiver),
            (&both.receiver, ot.to_sender + vole.to_sender + oprf.to_sender),
        ] {
            let sent = sent.payload_bytes();
            assert!(
                sent.abs_diff(predicted) as f64 <= 0.03 * predicted as f64,
                "{sent} bytes, {predicted} predicted, {dimensions:?}"
            );
        }
        // The part after the setup is exact.
        let exact = |sent: &transcript::Transcript, labels: [&str; 2]| {
            let of_evaluation = sent.messages.iter().filter(|m| labels.contains(&m.label.as_str()));
            of_evaluation.map(|message| message.payload.len()).sum::<usize>()
        };
        assert_eq!(exact(&both.sender, ["opprf/seed", "opprf/hint"]), oprf.to_receiver);
        assert_eq!(exact(&both.receiver, ["rs21/seed", "rs21/columns"]), oprf.to_sender);
    }
}

/// Lengths do not depend on the points, on the number of common ones, or on how many the sender has below the
/// agreed number.
#[test]
fn lengths_depend_on_what_was_agreed_alone() {
    for (n, programmed) in [(100, 100), (300, 20), (20, 3000)] {
        let dimensions = Dimensions::new(n, programmed, 24, 40, |n, _| shape(n));
        let points = random(n, 3);
        let reference = run(dimensions, &random(programmed, 4), &points);
        let sequential: Vec<Block> = (0..programmed as u128).map(Block).collect();
        for theirs in [&points[..n.min(programmed)], &points[..1], &[], &sequential] {
            let other = run(dimensions, theirs, &points);
            assert_eq!(reference.shape(), other.shape(), "{} of {programmed}", theirs.len());
        }
    }
}

/// χ² with 255 degrees of freedom: how far bytes are from equally frequent.
fn distance_from_uniform(bytes: &[u8]) -> f64 {
    let mut counts = [0usize; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let expected = bytes.len() as f64 / 256.0;
    counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum()
}

/// The hint that is sent if all values are zero and most points are added ones.
#[test]
fn the_hint_that_travels_looks_uniform() {
    // Exceeded with probability below 10^-6.
    const LIMIT: f64 = 380.0;
    let n = 3001;
    for given in [n, 10] {
        let dimensions = Dimensions::new(100, n, 9, 40, |n, _| shape(n));
        let both = run(dimensions, &random(given, 5), &random(100, 6));
        let hint = both.sender.messages.iter().find(|message| message.label == "opprf/hint");
        let distance = distance_from_uniform(&hint.unwrap().payload);
        assert!(distance < LIMIT, "{distance}");
    }
    // A hint that leaves zeros fails the same test by far.
    let mut rng = StdRng::seed_from_u64(7);
    let store = <Rr22>::new(shape(n), Block(1));
    let masked: Vec<u8> = (0..n * 9).map(|_| rng.random()).collect();
    let placed = store.place(&random(n, 5));
    let hint = store.encode_bytes(&placed, &masked, 9, Free::Zero, &mut rng).unwrap();
    let distance = distance_from_uniform(&hint);
    assert!(distance > 10.0 * LIMIT, "{distance}");
}

/// A sender with unusable points does not reveal them, and its peer does not end normally.
#[test]
fn unusable_points_end_the_run_for_both() {
    let outcome = |theirs: &[Block]| {
        let dimensions = Dimensions::new(10, 100, 8, 40, |n, _| shape(n));
        let values = vec![0; theirs.len() * 8];
        let mine = random(10, 8);
        between(
            Link::Memory.connect(),
            PATIENCE,
            |channel, rng| {
                program::<Rr22, u64>(dimensions, UNIFORM, (theirs, &values), channel, rng)
            },
            |channel, rng| {
                receive_programmed::<Rr22, u64>(dimensions, UNIFORM, &mine, channel, rng)
            },
        )
    };
    let mut points = random(101, 9);
    let (sent, received) = outcome(&points);
    assert!(matches!(sent, Err(Error::TooManyPoints { points: 101, max: 100 })), "{sent:?}");
    assert!(matches!(received, Err(Error::Channel(_))));
    points.truncate(100);
    points[99] = points[42];
    let (sent, received) = outcome(&points);
    assert!(matches!(sent, Err(Error::DuplicatePoint { first: 42, second: 99 })), "{sent:?}");
    assert!(matches!(received, Err(Error::Channel(_))));
}

/// As many points as in a circuit PSI of a million items: bins on one side, three times as many points as items
/// on the other.
#[test]
fn many_points() {
    let (n, programmed) = (1_270_001, 3_000_017);
    let dimensions =
        Dimensions::new(n, programmed, 8, 40, |n, lambda| okvs::shape(n, 1 << 15, lambda));
    let all = random(n + programmed - n / 2, 10);
    let (mine, theirs) = (&all[..n], &all[n - n / 2..]);
    let values: Vec<u8> = (0..programmed as u64).flat_map(|i| i.to_le_bytes()).collect();
    let (_, received) = two_party::run(
        Link::Memory,
        |channel, rng| program::<Rr22, u64>(dimensions, UNIFORM, (theirs, &values), channel, rng),
        |channel, rng| receive_programmed::<Rr22, u64>(dimensions, UNIFORM, mine, channel, rng),
    );
    let (others, shared) = received.split_at((n - n / 2) * 8);
    assert!(*shared == values[..shared.len()]);
    // Programmed values end in zeros; of random ones, one in 2^40 does.
    assert!(others.chunks(8).all(|value| value[3..] != [0; 5]));
}
