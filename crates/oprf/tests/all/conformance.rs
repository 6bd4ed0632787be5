//! Runs the conformance suites on every OPRF.

use crate::parties;
use vesica_oprf::{
    kkrt16::{Receiver, Sender},
    opprf::Dimensions,
    psz14,
};
use vesica_ot::{
    one_of_n::{Receiver as _, Sender as _},
    vole::Subspace,
};
use vesica_params::{lpn::UNIFORM, okvs};
use vesica_primitives::Block;
use vesica_structures::okvs::{ByteStrings, Codec, paxos::Paxos, rr22::Rr22};
use vesica_testkit::conformance::oprf::{self, Agreed};

/// Wide enough for any number of points in the suite, and not a whole number of blocks.
const WIDTH: usize = 424;

#[test]
fn kkrt16() {
    oprf::batched(
        |starts, points, channel, rng| {
            Sender::setup(WIDTH, channel, rng)?.send_random_at(starts, |i| points[i], channel, rng)
        },
        |words, channel, rng| {
            Receiver::setup(WIDTH, channel, rng)?.receive_random(words, channel, rng)
        },
    );
}

#[test]
fn psz14() {
    oprf::batched(
        |starts, points, channel, rng| {
            let mut values = Vec::with_capacity(points.len());
            psz14::Sender::setup(channel, rng)?.evaluate(
                starts.len() - 1,
                psz14::MAX_LETTERS,
                |instance| &points[starts[instance] as usize..starts[instance + 1] as usize],
                channel,
                rng,
                |_, shown| values.extend_from_slice(shown),
            )?;
            Ok(values)
        },
        |words, channel, rng| {
            let receiver = psz14::Receiver::setup(channel, rng)?;
            receiver.evaluate(words, psz14::MAX_LETTERS, channel, rng)
        },
    );
}

/// The programmable OPRF with OKVS of this kind and entries in this type.
fn opprf<O: ByteStrings + Codec<A>, A: Subspace>(shape: fn(usize, u32) -> okvs::Shape) {
    let dimensions =
        |agreed: Agreed| Dimensions::new(agreed.points, agreed.programmed, agreed.len, 40, shape);
    oprf::programmable(
        |agreed, points, values, channel, rng| {
            parties::program::<O, A>(dimensions(agreed), UNIFORM, (points, values), channel, rng)
        },
        |agreed, points, channel, rng| {
            parties::receive_programmed::<O, A>(dimensions(agreed), UNIFORM, points, channel, rng)
        },
    );
}

#[test]
fn opprf_with_entries_in_words() {
    opprf::<Rr22, u64>(|n, lambda| okvs::shape(n, 1 << 10, lambda));
}

#[test]
fn opprf_with_entries_in_blocks() {
    opprf::<Rr22, Block>(|n, lambda| okvs::shape(n, usize::MAX, lambda));
}

#[test]
fn opprf_with_paxos() {
    opprf::<Paxos, u64>(okvs::paxos);
}
