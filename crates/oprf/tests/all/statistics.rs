//! False positives, at a tag length at which they occur.

use crate::parties;
use vesica_oprf::{
    kkrt16::{Receiver, Sender},
    rs21::{Values, malicious::Digests},
};
use vesica_ot::one_of_n::{Receiver as _, Sender as _};
use vesica_params::{lpn::UNIFORM, okvs};
use vesica_primitives::Block;
use vesica_testkit::two_party::{self, Link};

/// Instances, and points that the sender evaluates in each; none is the receiver's.
const INSTANCES: usize = 4000;
const POINTS: usize = 25;

/// The number of bits kept of each value.
const TAG_BITS: u32 = 8;

/// With pseudo-random values, each of the pairs that a receiver compares agrees with probability 2^-bits and no
/// more: the length of tags is computed from this. It holds for any points; here they are neighbours of the
/// receiver's word.
#[test]
fn truncated_values_agree_as_often_as_random_ones() {
    let starts: Vec<u32> = (0..=INSTANCES).map(|j| (j * POINTS) as u32).collect();
    let words: Vec<Block> = (0..INSTANCES).map(|j| Block(j as u128 * 64)).collect();
    let point = |i: usize| words[i / POINTS] ^ Block((i % POINTS) as u128 + 1);
    let (values, received) = two_party::run(
        Link::Memory,
        |channel, rng| {
            Sender::setup(440, channel, rng)?.send_random_at(&starts, point, channel, rng)
        },
        |channel, rng| Receiver::setup(440, channel, rng)?.receive_random(&words, channel, rng),
    );
    let agree = |(i, value): &(usize, &Block)| tag(value) == tag(&received[i / POINTS]);
    let agreeing = values.iter().enumerate().filter(agree).count() as f64;
    // Expected 390.6 with a standard deviation of 19.7.
    assert_as_random(agreeing, INSTANCES * POINTS);
}

fn tag(value: &Block) -> u128 {
    value.0 >> (128 - TAG_BITS)
}

/// These pairs of tags agree as often as random ones, up to four standard deviations.
fn assert_as_random(agreeing: f64, pairs: usize) {
    let expected = pairs as f64 / f64::from(1 << TAG_BITS);
    assert!((agreeing - expected).abs() < 4.0 * expected.sqrt(), "{agreeing} of {expected}");
}

/// The values in the order of the points.
fn in_order(values: Values) -> Vec<Block> {
    let mut ordered = vec![Block::ZERO; values.values.len()];
    let by_position = values.positions.iter().zip(values.values);
    by_position.for_each(|(position, value)| ordered[*position as usize] = value);
    ordered
}

fn points([low_halves, high_halves]: &[Vec<Block>; 2]) -> Digests<'_> {
    Digests { low_halves, high_halves }
}

/// Derives another digest from one of the receiver's and the next one.
type Other = fn([Block; 2], [Block; 2]) -> [Block; 2];

/// The malicious OPRF at points that share one half of their digest with a point of the receiver, or the sum of
/// both halves.
#[test]
fn values_depend_on_both_halves_of_a_digest() {
    const N: usize = 20_000;
    let digest = |i: usize| [Block(i as u128 * 64), Block((i as u128 * 64) << 50)];
    let whole: Vec<[Block; 2]> = (0..N).map(digest).collect();
    let others: [(&str, Other); 6] = [
        ("the next one's low half", |[_, high], [low, _]| [low, high]),
        ("the next one's high half", |[low, _], [_, high]| [low, high]),
        ("a neighbour's low half", |[low, high], _| [low ^ Block(1), high]),
        ("a neighbour's high half", |[low, high], _| [low, high ^ Block(1)]),
        ("the same sum of halves", |[low, high], _| [low ^ Block(1), high ^ Block(1)]),
        ("halves that changed places", |[low, high], _| [high ^ Block(2), low ^ Block(2)]),
    ];
    let other = |kind: usize, i: usize| others[kind].1(whole[i], whole[(i + 1) % N]);
    let kinds = (0..others.len()).flat_map(|kind| (0..N).map(move |i| (kind, i)));
    let theirs: Vec<[Block; 2]> =
        whole.iter().copied().chain(kinds.map(|(kind, i)| other(kind, i))).collect();
    let halves = |digests: &[[Block; 2]]| -> [Vec<Block>; 2] {
        [0, 1].map(|half| digests.iter().map(|digest| digest[half]).collect())
    };
    let [mine, theirs] = [halves(&whole), halves(&theirs)];
    let shape = okvs::shape(N, 1 << 14, 40).one_way();
    let (sent, received) = two_party::run(
        Link::Memory,
        |channel, rng| parties::send_checked(shape, UNIFORM, points(&theirs), channel, rng),
        |channel, rng| parties::receive_checked(shape, UNIFORM, points(&mine), channel, rng),
    );
    let (sent, received) = (in_order(sent), in_order(received));
    assert!(sent[..N] == received, "whole digests agree");
    for ((what, _), values) in others.iter().zip(sent[N..].chunks(N)) {
        let pairs = || values.iter().zip(&received);
        assert!(pairs().all(|(value, mine)| value != mine), "{what}");
        // Expected 78.1 with a standard deviation of 8.8.
        let agreeing = pairs().filter(|(value, mine)| tag(value) == tag(mine)).count();
        assert_as_random(agreeing as f64, N);
    }
}
