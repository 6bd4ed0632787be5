//! An honest party against a peer that deviates at each message in each way.

use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_net::Result;
use vesica_oprf::kkrt16;
use vesica_primitives::Block;
use vesica_testkit::tamper;

const INSTANCES: u32 = 50;

fn send(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let starts: Vec<u32> = (0..=INSTANCES).collect();
    let sender = kkrt16::Sender::setup(424, channel, rng)?;
    sender.evaluate(&starts, |i| Block(i as u128), channel, rng).map(drop)
}

fn receive(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let words: Vec<Block> = (0..u128::from(INSTANCES)).map(Block).collect();
    kkrt16::Receiver::setup(424, channel, rng)?.evaluate(&words, channel).map(drop)
}

#[test]
fn kkrt16() {
    tamper::against(send, receive, |_, ()| {});
    tamper::against(receive, send, |_, ()| {});
}
