//! An honest party against a peer that deviates at each message in each possible way.

use crate::parties;
use rand::rngs::StdRng;
use vesica_net::{Channel, Result};
use vesica_oprf::{Error, kkrt16, opprf::Dimensions, psz14, rs21::malicious::Digests};
use vesica_ot::one_of_n::{Receiver as _, Sender as _};
use vesica_params::{
    lpn::{self, Lpn},
    okvs::{self, Shape},
};
use vesica_primitives::Block;
use vesica_structures::okvs::rr22::Rr22;
use vesica_testkit::tamper::{self, Case};

/// Instances, or points of each party.
const POINTS: u32 = 50;

/// Few noise blocks, so that messages are short.
const FEW: Lpn = Lpn { blocks: 24, least: 0, ..lpn::UNIFORM };

fn points() -> Vec<Block> {
    (0..u128::from(POINTS)).map(Block).collect()
}

fn shape(points: usize) -> Shape {
    okvs::shape(points, usize::MAX, 40)
}

/// The channel's error: an honest party's OKVS does not fail because of its peer.
fn of_channel<T>(outcome: std::result::Result<T, Error>) -> Result<()> {
    match outcome {
        Ok(_) => Ok(()),
        Err(Error::Channel(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

fn send_kkrt16(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let starts: Vec<u32> = (0..=POINTS).collect();
    let mut sender = kkrt16::Sender::setup(424, channel, rng)?;
    sender.send_random_at(&starts, |i| Block(i as u128), channel, rng).map(drop)
}

fn receive_kkrt16(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    kkrt16::Receiver::setup(424, channel, rng)?.receive_random(&points(), channel, rng).map(drop)
}

fn send_psz14(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let points = points();
    let sender = psz14::Sender::setup(channel, rng)?;
    sender.evaluate(POINTS as usize, 3, |j| &points[j..=j], channel, rng, |_, _| {})
}

fn receive_psz14(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    psz14::Receiver::setup(channel, rng)?.evaluate(&points(), 3, channel, rng).map(drop)
}

fn send_rs21(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let agreed = (shape(POINTS as usize), 46);
    of_channel(parties::send::<u64>(agreed, FEW, &points(), channel, rng))
}

fn receive_rs21(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let agreed = (shape(POINTS as usize), 46);
    of_channel(parties::receive::<u64>(agreed, FEW, &points(), channel, rng))
}

fn send_rs21_malicious(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let points = points();
    let points = Digests { low_halves: &points, high_halves: &points };
    of_channel(parties::send_checked(shape(POINTS as usize).one_way(), FEW, points, channel, rng))
}

fn receive_rs21_malicious(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let points = points();
    let points = Digests { low_halves: &points, high_halves: &points };
    of_channel(parties::receive_checked(
        shape(POINTS as usize).one_way(),
        FEW,
        points,
        channel,
        rng,
    ))
}

fn dimensions() -> Dimensions {
    Dimensions::new(POINTS as usize, POINTS as usize + 3, 20, 40, |n, _| shape(n))
}

fn send_opprf(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let (points, values) = (points(), vec![7; POINTS as usize * 20]);
    let programmed = (&points[..], &values[..]);
    of_channel(parties::program::<Rr22, u64>(dimensions(), FEW, programmed, channel, rng))
}

fn receive_opprf(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let points = points();
    of_channel(parties::receive_programmed::<Rr22, u64>(dimensions(), FEW, &points, channel, rng))
}

/// Changed content that is not refused: the value to which the sender committed must be refused.
fn not_the_share_of_w(case: &Case, (): ()) {
    let checked = ["rs21/commitment", "rs21/opening"];
    assert!(!checked.contains(&case.label.as_str()), "{case:?}: not noticed");
}

#[test]
fn kkrt16() {
    tamper::against(send_kkrt16, receive_kkrt16, |_, ()| {});
    tamper::against(receive_kkrt16, send_kkrt16, |_, ()| {});
}

#[test]
fn psz14() {
    tamper::against(send_psz14, receive_psz14, |_, ()| {});
    tamper::against(receive_psz14, send_psz14, |_, ()| {});
}

#[test]
fn rs21() {
    tamper::against(send_rs21, receive_rs21, |_, ()| {});
    tamper::against(receive_rs21, send_rs21, |_, ()| {});
}

#[test]
fn rs21_malicious() {
    tamper::against(send_rs21_malicious, receive_rs21_malicious, not_the_share_of_w);
    tamper::against(receive_rs21_malicious, send_rs21_malicious, |_, ()| {});
}

#[test]
fn opprf() {
    tamper::against(send_opprf, receive_opprf, |_, ()| {});
    tamper::against(receive_opprf, send_opprf, |_, ()| {});
}
