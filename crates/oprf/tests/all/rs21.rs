//! The multi-point OPRF: both parties get the same function, and only where they should.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_net::Deviation;
use vesica_oprf::{
    Error,
    rs21::{
        Values,
        malicious::{CHECK, Digests},
    },
};
use vesica_ot::vole::Subspace;
use vesica_params::{
    lpn::UNIFORM,
    okvs::{self, Shape},
};
use vesica_primitives::Block;
use vesica_structures::okvs::{Codec, rr22::Rr22};
use vesica_testkit::{
    tamper::{Tamper, tamper},
    transcript,
    two_party::{self, Link, PATIENCE, between},
};

use crate::parties::{receive, receive_checked, send, send_checked};

fn evaluate<A: Subspace>(
    receiver: &[Block],
    sender: &[Block],
    bits: u32,
) -> [HashMap<Block, Block>; 2]
where
    Rr22: Codec<A>,
{
    let shape = okvs::shape(receiver.len(), 1 << 10, 40);
    let (sent, received) = two_party::run(
        Link::Memory,
        |channel, rng| send::<A>((shape, bits), UNIFORM, sender, channel, rng),
        |channel, rng| receive::<A>((shape, bits), UNIFORM, receiver, channel, rng),
    );
    let by_point = |points: &[Block], values: Values| -> HashMap<Block, Block> {
        assert_eq!([values.positions.len(), values.values.len()], [points.len(); 2]);
        let points = values.positions.iter().map(|position| points[*position as usize]);
        points.zip(values.values).collect()
    };
    [by_point(receiver, received), by_point(sender, sent)]
}

fn agrees_where_it_should<A: Subspace>(receiver: usize, sender: usize, bits: u32)
where
    Rr22: Codec<A>,
{
    let mut rng = StdRng::seed_from_u64(receiver as u64 ^ (sender as u64) << 32);
    let shared = receiver.min(sender) / 2;
    let all: Vec<Block> = (0..receiver + sender - shared).map(|_| Block(rng.random())).collect();
    let (mine, theirs) = (&all[..receiver], &all[receiver - shared..]);
    let [received, sent] = evaluate::<A>(mine, theirs, bits);
    assert_eq!([received.len(), sent.len()], [receiver, sender], "points are distinct");
    let equal = mine.iter().filter(|point| sent.get(point) == received.get(point)).count();
    assert_eq!(equal, shared);
    // No value is repeated, not even at different points of the two parties.
    let mut values: Vec<Block> = received.values().chain(sent.values()).copied().collect();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), receiver + sender - shared);
}

/// Elements far shorter than a run would use: values agree at common points, and nowhere else.
#[test]
fn short_elements_agree_where_they_should() {
    for bits in 8..=12 {
        agrees_where_it_should::<u64>(700, 501, bits);
    }
}

#[test]
fn values_agree_at_shared_points_alone() {
    for (receiver, sender) in
        [(0, 0), (1, 1), (0, 50), (50, 0), (2, 3), (64, 65), (1000, 10), (10, 1000), (5003, 4999)]
    {
        agrees_where_it_should::<u64>(receiver, sender, 60);
    }
    agrees_where_it_should::<u64>(500, 500, 64);
    agrees_where_it_should::<Block>(500, 500, 128);
}

fn one_way(points: usize) -> Shape {
    okvs::shape(points, 1 << 10, 40).one_way()
}

/// The outcome of a receiver if the sender's message with this label is changed.
fn receiver_against(label: &str, how: Tamper) -> Result<Values, Error> {
    let (low_halves, high_halves): (Vec<_>, Vec<_>) =
        (0..100).map(|i| (Block(i), Block(i << 64))).unzip();
    let points = Digests { low_halves: &low_halves, high_halves: &high_halves };
    let shape = one_way(low_halves.len());
    let honest = transcript::of(
        |channel, rng| send_checked(shape, UNIFORM, points, channel, rng),
        |channel, rng| receive_checked(shape, UNIFORM, points, channel, rng),
    );
    let number = honest.sender.messages.iter().position(|message| message.label == label);
    let number = number.expect("the sender sends such a message");
    let (left, right) = Link::Memory.connect();
    let (_, received) = between(
        (tamper(left, number, how), right),
        PATIENCE,
        |channel, rng| send_checked(shape, UNIFORM, points, channel, rng),
        |channel, rng| receive_checked(shape, UNIFORM, points, channel, rng),
    );
    received
}

/// A sender that could choose its opening of w after seeing the receiver's share could choose w itself.
#[test]
fn a_sender_that_opens_another_share_than_it_committed_to_is_refused() {
    for label in ["rs21/opening", "rs21/commitment"] {
        for how in [Tamper::FlipBit(0), Tamper::FlipBit(127), Tamper::Scramble] {
            match receiver_against(label, how.clone()) {
                Err(Error::Channel(vesica_net::Error::Peer { deviation, .. })) => {
                    assert_eq!(
                        deviation,
                        Deviation::CheckFailed { check: CHECK },
                        "{label} {how:?}"
                    );
                }
                other => panic!("{label} {how:?}: {other:?}"),
            }
        }
    }
}
