//! Every OPRF runs the suite of its kind.

use vesica_oprf::kkrt16::{Receiver, Sender};
use vesica_testkit::conformance::oprf;

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
