//! What is no group element is refused by both parties of a base OT, by name.

use rand::rngs::StdRng;
use vesica_net::{Channel, Deviation, Error};
use vesica_ot::{
    Result,
    base::{BaseOt, mr19::Mr19, np01::Np01},
};
use vesica_primitives::{
    Bits,
    group::{Group, Ristretto},
};
use vesica_testkit::two_party::{Link, PATIENCE, between};

/// An integer beyond the modulus; a negative one (1 is odd, RFC 9496 §4.3.1); the identity.
fn bad_elements() -> [[u8; 32]; 3] {
    let element = Ristretto::hash("test", b"element");
    let identity = Ristretto::encode(&Ristretto::sub(&element, &element));
    let negative = std::array::from_fn(|i| u8::from(i == 0));
    [[0xff; 32], negative, identity]
}

fn refused(outcome: Result<()>, expected: &'static str) {
    match outcome {
        Err(Error::Peer { deviation: Deviation::Malformed { label, what }, .. }) => {
            assert_eq!((label, what), (expected, "not a group element"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn bad_elements_of_the_sender() {
    for bad in bad_elements() {
        let deviant = |channel: &mut Channel, _: &mut StdRng| {
            channel.send_slice("mr19/sender-point", &[bad])?;
            channel.recv_into("mr19/receiver-points", &mut [0; 5 * 64])
        };
        let receive = |channel: &mut Channel, rng: &mut StdRng| {
            Mr19::<Ristretto>::receive(&Bits::zeros(5), channel, rng).map(drop)
        };
        let outcomes = between(Link::Memory.connect(), PATIENCE, deviant, receive);
        refused(outcomes.1, "mr19/sender-point");
    }
}

#[test]
fn bad_elements_of_the_receiver_at_each_place() {
    let good = Ristretto::encode(&Ristretto::hash("test", b"good"));
    for bad in bad_elements() {
        for place in [0, 1, 4, 9] {
            let deviant = |channel: &mut Channel, _: &mut StdRng| {
                let mut points = [good; 10];
                points[place] = bad;
                channel.send_slice("mr19/receiver-points", &points)?;
                channel.recv_into("mr19/sender-point", &mut [0; 32])
            };
            let send = |channel: &mut Channel, rng: &mut StdRng| {
                Mr19::<Ristretto>::send(5, channel, rng).map(drop)
            };
            let outcomes = between(Link::Memory.connect(), PATIENCE, deviant, send);
            refused(outcomes.1, "mr19/receiver-points");
        }
    }
}

/// A receiver that uses one pair of elements for every OT gains nothing: the index is in each hash.
#[test]
fn equal_elements_give_unequal_seeds() {
    let [a, b] = [b"a", b"b"].map(|name| Ristretto::encode(&Ristretto::hash("test", name)));
    let deviant = |channel: &mut Channel, _: &mut StdRng| {
        channel.send_slice("mr19/receiver-points", [[a, b]; 20].as_flattened())?;
        channel.recv_into("mr19/sender-point", &mut [0; 32])
    };
    let send = |channel: &mut Channel, rng: &mut StdRng| Mr19::<Ristretto>::send(20, channel, rng);
    let (_, pairs) = between(Link::Memory.connect(), PATIENCE, deviant, send);
    let pairs = pairs.unwrap();
    let seeds = pairs.as_flattened().iter().map(|seed| *seed.expose());
    assert_eq!(seeds.collect::<std::collections::HashSet<_>>().len(), 40);
}

#[test]
fn bad_elements_in_np01() {
    for bad in bad_elements() {
        let sender = |channel: &mut Channel, _: &mut StdRng| {
            channel.recv_into("np01/receiver-points", &mut [0; 5 * 32])?;
            channel.send_slice("np01/sender-point", &[bad])
        };
        let receive = |channel: &mut Channel, rng: &mut StdRng| {
            Np01::<Ristretto>::receive(&Bits::zeros(5), channel, rng).map(drop)
        };
        let outcomes = between(Link::Memory.connect(), PATIENCE, sender, receive);
        refused(outcomes.1, "np01/sender-point");

        let receiver = |channel: &mut Channel, _: &mut StdRng| {
            let good = Ristretto::encode(&Ristretto::hash("test", b"good"));
            channel.send_slice("np01/receiver-points", &[good, good, bad, good, good])?;
            channel.recv_into("np01/sender-point", &mut [0; 32])
        };
        let send = |channel: &mut Channel, rng: &mut StdRng| {
            Np01::<Ristretto>::send(5, channel, rng).map(drop)
        };
        let outcomes = between(Link::Memory.connect(), PATIENCE, receiver, send);
        refused(outcomes.1, "np01/receiver-points");
    }
}
