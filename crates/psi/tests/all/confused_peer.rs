//! Two parties that do not mean the same run: both end with an error, and neither with a result.

use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_psi::{CATALOGUE, Error, Items, Protocol, Sizes, receive, send};
use vesica_testkit::{
    conformance::psi::Sets,
    two_party::{Link, PATIENCE, between},
};

/// With some of these sizes, some parties have nothing to send.
const SIZES: [Sizes; 3] = [
    Sizes { sender: 20, receiver: 20 },
    Sizes { sender: 20, receiver: 0 },
    Sizes { sender: 0, receiver: 20 },
];

fn sending(
    protocol: &Protocol,
    items: Items<'_>,
) -> impl FnOnce(&mut Channel, &mut StdRng) -> Result<(), Error> + Send {
    move |channel, rng| send(protocol, items, 0..=1000, channel, rng)
}

fn receiving(
    protocol: &Protocol,
    items: Items<'_>,
) -> impl FnOnce(&mut Channel, &mut StdRng) -> Result<(), Error> + Send {
    move |channel, rng| receive(protocol, items, 0..=1000, channel, rng).map(drop)
}

fn both_fail(
    what: &str,
    left: impl FnOnce(&mut Channel, &mut StdRng) -> Result<(), Error> + Send,
    right: impl FnOnce(&mut Channel, &mut StdRng) -> Result<(), Error> + Send,
) {
    let outcomes = between(Link::Memory.connect(), PATIENCE, left, right);
    let said = |outcome: Result<(), Error>| match outcome {
        Err(error @ Error::Channel(_)) => error.to_string(),
        Err(other) => panic!("{what}: {other}"),
        Ok(()) => panic!("{what}: a party ended as if nothing had happened"),
    };
    let (left, right) = (said(outcomes.0), said(outcomes.1));
    assert!(left.contains(" while ") && right.contains(" while "), "{left}; {right}");
}

#[test]
fn two_senders_or_two_receivers() {
    for protocol in CATALOGUE {
        for sizes in SIZES {
            let sets = Sets::random(sizes, 0, 1);
            let (a, b) = (sets.sender.items(), sets.receiver.items());
            let what = format!("{} at {sizes:?}", protocol.key);
            both_fail(&what, sending(protocol, a), sending(protocol, b));
            both_fail(&what, receiving(protocol, a), receiving(protocol, b));
        }
    }
}

#[test]
fn different_protocols() {
    for one in CATALOGUE {
        for other in CATALOGUE.iter().filter(|other| other.key != one.key) {
            let sets = Sets::random(SIZES[0], 10, 2);
            let what = format!("{} against {}", one.key, other.key);
            both_fail(
                &what,
                sending(one, sets.sender.items()),
                receiving(other, sets.receiver.items()),
            );
        }
    }
}
