//! Tests that only blind RSA needs: a key that serves many receivers, and messages that a peer may not send.

use crate::key;
use std::sync::LazyLock;

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Deviation, Error::Peer};
use vesica_primitives::{Block, rsa};
use vesica_psi::{
    Error, Items, Sizes,
    protocols::blind_rsa::{PROTOCOL, StandingSender},
    receive, send,
};
use vesica_testkit::{
    conformance::psi::Sets,
    transcript,
    two_party::{self, Link, PATIENCE, between},
};

fn sets(seed: u64, receiver: usize) -> Sets {
    Sets::random(Sizes { sender: 40, receiver }, receiver.min(40) / 2, seed)
}

#[test]
fn one_key_serves_many_receivers() {
    let mine = sets(1, 30);
    let standing = StandingSender::new(key::key(), mine.sender.items()).unwrap();
    let other = sets(2, 7);
    // A receiver that shares items, one that shares none, and one that returns.
    for theirs in [&mine.receiver, &other.receiver, &mine.receiver] {
        let sets = Sets { sender: mine.sender.clone(), receiver: theirs.clone() };
        let ((), found) = two_party::run(
            Link::Memory,
            |channel, _| standing.send(0..=100, channel),
            |channel, rng| receive(&PROTOCOL, theirs.items(), 0..=100, channel, rng),
        );
        assert_eq!(found, sets.expected());
    }
}

/// A receiver cannot distinguish a standing sender from any other by the shape of its messages.
#[test]
fn a_standing_sender_looks_like_another() {
    let sets = sets(1, 30);
    let standing = StandingSender::new(key::key(), sets.sender.items()).unwrap();
    let receiving = |channel: &mut Channel, rng: &mut StdRng| {
        receive(&PROTOCOL, sets.receiver.items(), 0..=100, channel, rng).map(drop)
    };
    let one = transcript::of(|channel, _| standing.send(0..=100, channel), receiving);
    let other = transcript::of(
        |channel, rng| send(&PROTOCOL, sets.sender.items(), 0..=100, channel, rng),
        receiving,
    );
    assert_eq!(one.shape(), other.shape());
}

#[test]
fn a_standing_sender_refuses_what_is_no_set_and_too_many_items() {
    let mut low_halves = sets(1, 0).sender.items().low_halves().to_vec();
    low_halves[20] = low_halves[3];
    let refused = StandingSender::new(key::key(), Items::from(&low_halves[..]));
    assert!(matches!(refused.err(), Some(Error::DuplicateItem { first: 3, second: 20 })));

    let sets = sets(1, 30);
    let standing = StandingSender::new(key::key(), sets.sender.items()).unwrap();
    let (sent, received) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, _| standing.send(0..=29, channel),
        |channel, rng| receive(&PROTOCOL, sets.receiver.items(), 0..=100, channel, rng),
    );
    assert!(matches!(sent, Err(Error::TooManyItems { items: 30, max: 29 })) && received.is_err());
}

/// The first message of a party with `items` items.
fn hello(items: u64) -> Vec<u8> {
    let name = blake3::hash(PROTOCOL.name().as_bytes());
    [&items.to_le_bytes(), &name.as_bytes()[..8]].concat()
}

/// The refusal by an honest party of a peer that sends these from its first message of integers on.
fn refusal(integers: &[[u8; rsa::ENCODED]], honest_is_sender: bool) -> Deviation {
    let sets = sets(1, 1);
    let honest = |channel: &mut Channel, rng: &mut StdRng| match honest_is_sender {
        true => send(&PROTOCOL, sets.sender.items(), 0..=100, channel, rng),
        false => receive(&PROTOCOL, sets.receiver.items(), 0..=100, channel, rng).map(drop),
    };
    let deviating = |channel: &mut Channel, _: &mut StdRng| {
        let mut other = [0; 16];
        let mut modulus = [0; rsa::ENCODED];
        if honest_is_sender {
            channel.exchange("psi/size", &hello(1), &mut other)?;
            channel.recv_into("blind-rsa/modulus", &mut modulus)?;
            channel.send_slice("blind-rsa/blinded", integers)?;
            channel.flush()?;
            return Ok(channel.recv_into("blind-rsa/roots", &mut [0; rsa::ENCODED])?);
        }
        channel.exchange("psi/size", &hello(40), &mut other)?;
        channel.send_slice("blind-rsa/modulus", &integers[..1])?;
        channel.flush()?;
        channel.recv_into("blind-rsa/blinded", &mut modulus)?;
        channel.send_slice("blind-rsa/roots", &integers[1..])?;
        Ok::<_, Error>(channel.flush()?)
    };
    match between(Link::Memory.connect(), PATIENCE, honest, deviating).0 {
        Err(Error::Channel(Peer { deviation, .. })) => deviation,
        other => panic!("{other:?}"),
    }
}

static MODULUS: LazyLock<[u8; rsa::ENCODED]> = LazyLock::new(|| key::key().public().encode());

#[test]
fn a_modulus_that_is_none_is_refused() {
    let what = "not the modulus of an RSA key";
    let refused = Deviation::Malformed { label: "blind-rsa/modulus", what };
    let mut even = *MODULUS;
    even[rsa::ENCODED - 1] ^= 1;
    let mut short = *MODULUS;
    short[0] &= 0x7f;
    for modulus in [even, short, [0; rsa::ENCODED], [0xff; rsa::ENCODED]] {
        // 2^3072 − 1 is a multiple of 3.
        assert_eq!(refusal(&[modulus], false), refused);
    }
}

#[test]
fn integers_out_of_range_are_refused() {
    let refused = |label| Deviation::Malformed { label, what: "not an integer modulo N" };
    for integer in [[0; rsa::ENCODED], [0xff; rsa::ENCODED]] {
        assert_eq!(refusal(&[integer], true), refused("blind-rsa/blinded"));
        assert_eq!(refusal(&[*MODULUS, integer], false), refused("blind-rsa/roots"));
    }
    assert_eq!(refusal(&[*MODULUS, *MODULUS], false), refused("blind-rsa/roots"));
}

/// An item is blinded to a different integer each time, even with the same key.
#[test]
fn blinding_is_fresh_for_each_run() {
    let blinded = |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut integer = [0; rsa::ENCODED];
        let sender = |channel: &mut Channel, _: &mut StdRng| {
            channel.exchange("psi/size", &hello(0), &mut [0; 16])?;
            channel.send("blind-rsa/modulus", &*MODULUS)?;
            Ok::<_, Error>(channel.recv_into("blind-rsa/blinded", &mut integer)?)
        };
        let receiver = |channel: &mut Channel, _: &mut StdRng| {
            receive(&PROTOCOL, Items::from(&[Block(7)][..]), 0..=0, channel, &mut rng)
        };
        let (_, unanswered) = between(Link::Memory.connect(), PATIENCE, sender, receiver);
        assert!(unanswered.is_err() && integer != [0; rsa::ENCODED]);
        integer
    };
    assert_eq!(blinded(1), blinded(1));
    assert_ne!(blinded(1), blinded(2));
}
