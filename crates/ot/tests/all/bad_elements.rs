//! Both parties of a base OT refuse bytes that are not a group element, and name the message.

use std::collections::HashSet;

use rand::rngs::StdRng;
use vesica_net::{Channel, Deviation, Error};
use vesica_ot::{
    Result,
    base::{BaseOt, co15::Co15, mr19::Mr19, np01::Np01},
};
use vesica_primitives::{
    Bits,
    group::{Ffdhe3072, Group, Ristretto},
};
use vesica_testkit::two_party::{Link, PATIENCE, between};

/// OTs per run.
const OTS: usize = 5;

/// An integer beyond the modulus; a negative one (1 is odd, RFC 9496 §4.3.1); the identity.
fn bad_in_ristretto() -> [[u8; 32]; 3] {
    let negative = std::array::from_fn(|i| u8::from(i == 0));
    [[0xff; 32], negative, identity::<Ristretto>()]
}

/// An integer beyond the modulus; one of the larger half; 0; the identity.
fn bad_in_ffdhe3072() -> [[u8; 384]; 4] {
    let mut larger = element::<Ffdhe3072>();
    larger[0] |= 0x80;
    [[0xff; 384], larger, [0; 384], identity::<Ffdhe3072>()]
}

fn identity<G: Group>() -> G::Encoded {
    let element = G::hash("test", b"element");
    G::encode(&G::sub(&element, &element))
}

fn element<G: Group>() -> G::Encoded {
    G::encode(&G::hash("test", b"good"))
}

fn refused(outcome: Result<()>, expected: &'static str) {
    match outcome {
        Err(Error::Peer { deviation: Deviation::Malformed { label, what }, .. }) => {
            assert_eq!((label, what), (expected, "not a group element"));
        }
        other => panic!("{other:?}"),
    }
}

/// The messages of a base OT.
struct Messages {
    /// The sender's messages; the first is an element.
    sender: &'static [&'static str],
    /// The receiver's elements.
    receiver: &'static str,
    /// The number of these in each OT.
    an_ot: usize,
}

const NP01: Messages =
    Messages { sender: &["np01/sender-point"], receiver: "np01/receiver-points", an_ot: 1 };
const CO15: Messages = Messages {
    sender: &["co15/sender-point", "co15/commitment", "co15/opening"],
    receiver: "co15/receiver-points",
    an_ot: 1,
};
const MR19: Messages =
    Messages { sender: &["mr19/sender-point"], receiver: "mr19/receiver-points", an_ot: 2 };

fn refuses<G: Group, B: BaseOt>(messages: &Messages, bad: &[G::Encoded]) {
    let point = messages.sender[0];
    let elements = vec![element::<G>(); OTS * messages.an_ot];
    for bad in bad {
        let sender = |channel: &mut Channel, _: &mut StdRng| {
            channel.send_slice(point, &[*bad])?;
            channel.recv_slice(messages.receiver, &mut elements.clone())
        };
        let receive = |channel: &mut Channel, rng: &mut StdRng| {
            B::receive(&Bits::zeros(OTS), channel, rng).map(drop)
        };
        let outcomes = between(Link::Memory.connect(), PATIENCE, sender, receive);
        refused(outcomes.1, point);

        for place in [0, 1, elements.len() - 1] {
            let receiver = |channel: &mut Channel, _: &mut StdRng| {
                let mut elements = elements.clone();
                elements[place] = *bad;
                channel.send_slice(messages.receiver, &elements)?;
                channel.recv_slice(point, &mut elements[..1])
            };
            let send =
                |channel: &mut Channel, rng: &mut StdRng| B::send(OTS, channel, rng).map(drop);
            let outcomes = between(Link::Memory.connect(), PATIENCE, receiver, send);
            refused(outcomes.1, messages.receiver);
        }
    }
}

#[test]
fn of_ristretto() {
    let bad = bad_in_ristretto();
    refuses::<Ristretto, Np01<Ristretto>>(&NP01, &bad);
    refuses::<Ristretto, Co15<Ristretto>>(&CO15, &bad);
    refuses::<Ristretto, Mr19<Ristretto>>(&MR19, &bad);
}

#[test]
fn of_ffdhe3072() {
    let bad = bad_in_ffdhe3072();
    refuses::<Ffdhe3072, Np01<Ffdhe3072>>(&NP01, &bad);
    refuses::<Ffdhe3072, Co15<Ffdhe3072>>(&CO15, &bad);
    refuses::<Ffdhe3072, Mr19<Ffdhe3072>>(&MR19, &bad);
}

/// A receiver that uses the same elements for every OT gains nothing: each hash includes the index.
fn equal_elements_give_unequal_seeds<B: BaseOt>(messages: &Messages) {
    let receiver = |channel: &mut Channel, _: &mut StdRng| {
        let [a, b] = [b"a", b"b"].map(|name| Ristretto::encode(&Ristretto::hash("test", name)));
        let elements: Vec<_> = (0..OTS).flat_map(|_| [a, b][..messages.an_ot].to_vec()).collect();
        channel.send_slice(messages.receiver, &elements)?;
        messages.sender.iter().try_for_each(|label| channel.recv_into(label, &mut [0; 32]))
    };
    let send = |channel: &mut Channel, rng: &mut StdRng| B::send(OTS, channel, rng);
    let (_, Ok(pairs)) = between(Link::Memory.connect(), PATIENCE, receiver, send) else {
        panic!("equal elements are not a deviation");
    };
    let seeds = pairs.as_flattened().iter().map(|seed| *seed.expose());
    assert_eq!(seeds.collect::<HashSet<_>>().len(), 2 * OTS);
}

#[test]
fn each_index_has_its_own_seeds() {
    equal_elements_give_unequal_seeds::<Np01<Ristretto>>(&NP01);
    equal_elements_give_unequal_seeds::<Co15<Ristretto>>(&CO15);
    equal_elements_give_unequal_seeds::<Mr19<Ristretto>>(&MR19);
}
