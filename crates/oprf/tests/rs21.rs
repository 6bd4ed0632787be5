//! The multi-point OPRF: both parties get the same function, and only where they should.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_oprf::{
    Error,
    rs21::{
        Values,
        semi_honest::{Receiver, Sender},
    },
};
use vesica_ot::{
    extension::softspoken::{SmallField, semi_honest},
    vole::Subspace,
};
use vesica_params::{lpn, okvs};
use vesica_primitives::Block;
use vesica_structures::okvs::rr22::Rr22;
use vesica_testkit::two_party::{self, Link};

const FIELD: SmallField = SmallField::new(8);

fn evaluate<A: Subspace>(
    receiver: &[Block],
    sender: &[Block],
    bits: u32,
) -> [HashMap<Block, Block>; 2] {
    let shape = okvs::shape(receiver.len(), 1 << 10, 40);
    let (sent, received) = two_party::run(
        Link::Memory,
        |channel, rng| {
            let mut cot = semi_honest::Sender::setup(FIELD, channel, rng)?;
            let party = Sender::<Rr22, A>::setup(shape, bits, lpn::FAST, &mut cot, channel, rng)?;
            Ok::<_, Error>(party.evaluate(sender, channel)?)
        },
        |channel, rng| {
            let mut cot = semi_honest::Receiver::setup(FIELD, channel, rng)?;
            let party = Receiver::<Rr22, A>::setup(shape, bits, lpn::FAST, &mut cot, channel, rng)?;
            party.evaluate(receiver, channel, rng)
        },
    );
    let by_point = |points: &[Block], values: Values| -> HashMap<Block, Block> {
        assert_eq!([values.positions.len(), values.values.len()], [points.len(); 2]);
        let points = values.positions.iter().map(|position| points[*position as usize]);
        points.zip(values.values).collect()
    };
    [by_point(receiver, received), by_point(sender, sent)]
}

fn agrees_where_it_should<A: Subspace>(receiver: usize, sender: usize, bits: u32) {
    let mut rng = StdRng::seed_from_u64(receiver as u64 ^ (sender as u64) << 32);
    let shared = receiver.min(sender) / 2;
    let all: Vec<Block> = (0..receiver + sender - shared).map(|_| Block(rng.random())).collect();
    let (mine, theirs) = (&all[..receiver], &all[receiver - shared..]);
    let [received, sent] = evaluate::<A>(mine, theirs, bits);
    assert_eq!([received.len(), sent.len()], [receiver, sender], "points are distinct");
    let equal = mine.iter().filter(|point| sent.get(point) == received.get(point)).count();
    assert_eq!(equal, shared);
    // No value comes twice, not even at different points of the two parties.
    let mut values: Vec<Block> = received.values().chain(sent.values()).copied().collect();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), receiver + sender - shared);
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
