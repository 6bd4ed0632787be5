//! An honest party against a peer that deviates at each message in each way.

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_ot::{
    CotReceiver, CotSender, Result,
    base::{BaseOt, mr19::Mr19, np01::Np01},
    extension::alsz13,
};
use vesica_primitives::{Bits, group::Ristretto};
use vesica_testkit::tamper;

const OTS: usize = 40;

/// Bytes of a chosen message.
const LEN: usize = 20;

fn choices() -> Bits {
    Bits::random(OTS, &mut StdRng::seed_from_u64(1))
}

fn send_base<B: BaseOt>(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    B::send(OTS, channel, rng).map(drop)
}

fn receive_base<B: BaseOt>(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    B::receive(&choices(), channel, rng).map(drop)
}

fn send_alsz13(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let messages = vec![7; 2 * OTS * LEN];
    alsz13::Sender::setup(channel, rng)?.send_chosen(&messages, LEN, channel)
}

fn receive_alsz13(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    alsz13::Receiver::setup(channel, rng)?.receive_chosen(&choices(), LEN, channel).map(drop)
}

fn base<B: BaseOt>() {
    tamper::against(send_base::<B>, receive_base::<B>, |_, ()| {});
    tamper::against(receive_base::<B>, send_base::<B>, |_, ()| {});
}

#[test]
fn mr19() {
    base::<Mr19<Ristretto>>();
}

#[test]
fn np01() {
    base::<Np01<Ristretto>>();
}

#[test]
fn alsz13() {
    tamper::against(send_alsz13, receive_alsz13, |_, ()| {});
    tamper::against(receive_alsz13, send_alsz13, |_, ()| {});
}
