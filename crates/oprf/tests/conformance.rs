//! Every OPRF runs the suite of its kind.

use vesica_oprf::{
    Error,
    kkrt16::{Receiver, Sender},
    opprf::{self, Dimensions},
};
use vesica_ot::{
    extension::softspoken::{SmallField, semi_honest as extension},
    vole::Subspace,
};
use vesica_params::{lpn, okvs};
use vesica_primitives::Block;
use vesica_structures::okvs::{ByteStrings, Codec, paxos::Paxos, rr22::Rr22};
use vesica_testkit::conformance::oprf::{self, Agreed};

/// Wide enough for any number of points of the suite, and no whole number of blocks.
const WIDTH: usize = 424;

#[test]
fn kkrt16() {
    oprf::batched(
        |starts, points, channel, rng| {
            Sender::setup(WIDTH, channel, rng)?.evaluate(starts, |i| points[i], channel, rng)
        },
        |words, channel, rng| Receiver::setup(WIDTH, channel, rng)?.evaluate(words, channel),
    );
}

const FIELD: SmallField = SmallField::new(8);

/// A programmable OPRF with OKVS of this kind and entries in this type.
fn programmable<O: ByteStrings + Codec<A>, A: Subspace>(shape: fn(usize) -> okvs::Shape) {
    let dimensions =
        |agreed: Agreed| Dimensions::new(agreed.points, agreed.programmed, agreed.len, shape);
    oprf::programmable::<Error>(
        |agreed, points, values, channel, rng| {
            let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
            let dimensions = dimensions(agreed);
            opprf::Sender::<O, A>::setup(dimensions, lpn::FAST, &mut cot, channel, rng)?
                .evaluate(points, values, channel, rng)
        },
        |agreed, points, channel, rng| {
            let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
            let dimensions = dimensions(agreed);
            opprf::Receiver::<O, A>::setup(dimensions, lpn::FAST, &mut cot, channel, rng)?
                .evaluate(points, channel, rng)
        },
    );
}

#[test]
fn opprf_with_short_entries() {
    programmable::<Rr22, u64>(|n| okvs::shape(n, 1 << 10, 40));
}

#[test]
fn opprf_with_entries_that_need_a_block() {
    programmable::<Rr22, Block>(|n| okvs::shape(n, usize::MAX, 40));
}

#[test]
fn opprf_with_paxos() {
    programmable::<Paxos, u64>(|n| okvs::paxos(n, 40));
}
