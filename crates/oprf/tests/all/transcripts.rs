//! The messages of each OPRF do not change, and are the same with every set of kernels.

use crate::parties;
use vesica_net::Error;
use vesica_oprf::{kkrt16, opprf::Dimensions, psz14, rs21::malicious::Digests};
use vesica_ot::one_of_n::{Receiver as _, Sender as _};
use vesica_params::{
    lpn::UNIFORM,
    okvs::{self, Shape},
};
use vesica_primitives::Block;
use vesica_structures::okvs::rr22::Rr22;
use vesica_testkit::transcript::{self, Transcripts, again_with_portable_kernels, check_baseline};

/// Two clusters.
fn shape(points: usize) -> Shape {
    okvs::shape(points, 1 << 12, 40)
}

fn kkrt16(words: &[Block]) -> Transcripts {
    let starts: Vec<u32> = (0..=words.len() as u32).collect();
    transcript::of(
        |channel, rng| {
            let mut sender = kkrt16::Sender::setup(432, channel, rng)?;
            sender.send_random_at(&starts, |i| words[i], channel, rng)
        },
        |channel, rng| {
            kkrt16::Receiver::setup(432, channel, rng)?.receive_random(words, channel, rng)?;
            Ok::<_, Error>(())
        },
    )
}

fn psz14(words: &[Block]) -> Transcripts {
    transcript::of(
        |channel, rng| {
            let points = |j| std::slice::from_ref(&words[j]);
            let sender = psz14::Sender::setup(channel, rng)?;
            sender.evaluate(words.len(), 5, points, channel, rng, |_, _| {})
        },
        |channel, rng| {
            psz14::Receiver::setup(channel, rng)?.evaluate(words, 5, channel, rng)?;
            Ok::<_, Error>(())
        },
    )
}

fn rs21(points: &[Block]) -> Transcripts {
    let agreed = (shape(points.len()), 53);
    transcript::of(
        |channel, rng| parties::send::<u64>(agreed, UNIFORM, points, channel, rng),
        |channel, rng| parties::receive::<u64>(agreed, UNIFORM, points, channel, rng),
    )
}

fn rs21_malicious(points: &[Block]) -> Transcripts {
    let shape = shape(points.len()).one_way();
    let points = Digests { low_halves: points, high_halves: points };
    transcript::of(
        |channel, rng| parties::send_checked(shape, UNIFORM, points, channel, rng),
        |channel, rng| parties::receive_checked(shape, UNIFORM, points, channel, rng),
    )
}

fn opprf(points: &[Block]) -> Transcripts {
    let dimensions = Dimensions::new(points.len(), points.len() + 50, 17, 40, |n, _| shape(n));
    let values = vec![7; points.len() * dimensions.hint.len];
    let programmed = (points, &values[..]);
    transcript::of(
        |channel, rng| parties::program::<Rr22, u64>(dimensions, UNIFORM, programmed, channel, rng),
        |channel, rng| {
            parties::receive_programmed::<Rr22, u64>(dimensions, UNIFORM, points, channel, rng)
        },
    )
}

#[test]
fn equal_the_baseline() {
    let points: Vec<Block> = (0..5000).map(Block).collect();
    check_baseline(&[
        ("opprf", opprf(&points)),
        ("oprf-kkrt16", kkrt16(&points)),
        ("oprf-psz14", psz14(&points)),
        ("oprf-rs21", rs21(&points)),
        ("oprf-rs21-malicious", rs21_malicious(&points)),
    ]);
}

#[test]
fn portable_kernels_send_the_same() {
    again_with_portable_kernels("transcripts::equal_the_baseline");
}
