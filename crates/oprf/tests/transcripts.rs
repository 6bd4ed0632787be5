//! What each OPRF sends is what it sent before, with every set of kernels.

use vesica_net::Error;
use vesica_oprf::kkrt16;
use vesica_primitives::Block;
use vesica_testkit::transcript::{self, again_with_portable_kernels, check_baseline};

#[test]
fn equal_the_baseline() {
    let words: Vec<Block> = (0..5000).map(Block).collect();
    let starts: Vec<u32> = (0..=5000).collect();
    let kkrt16 = transcript::of(
        |channel, rng| {
            let sender = kkrt16::Sender::setup(432, channel, rng)?;
            sender.evaluate(&starts, |i| words[i], channel, rng)
        },
        |channel, rng| {
            kkrt16::Receiver::setup(432, channel, rng)?.evaluate(&words, channel)?;
            Ok::<_, Error>(())
        },
    );
    check_baseline(&[("oprf-kkrt16", kkrt16)]);
}

#[test]
fn portable_kernels_send_the_same() {
    again_with_portable_kernels("equal_the_baseline");
}
