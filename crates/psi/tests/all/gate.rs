//! A party asks before it reveals: if the gate refuses, the other party learns nothing.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use vesica_net::Error::Io;
use vesica_psi::{CATALOGUE, Error, Sizes, Status, receive, reveal, send};
use vesica_testkit::{
    conformance::psi::Sets,
    two_party::{Link, PATIENCE, between},
};

const SIZES: Sizes = Sizes { sender: 300, receiver: 200 };

/// In a protocol that may run in partitions, the sender asks once, and nobody learns anything if the gate refuses.
#[test]
fn a_sender_asks_before_it_sends_the_list() {
    let sets = Sets::random(SIZES, 100, 1);
    let run_in_partitions = CATALOGUE.iter().filter(|entry| entry.status == Status::Recommended);
    for protocol in run_in_partitions {
        for opens in [true, false] {
            let asked = Arc::new(AtomicUsize::new(0));
            let counter = asked.clone();
            let (sent, received) = between(
                Link::Memory.connect(),
                PATIENCE,
                |channel, rng| {
                    channel.set_gate(Some(Box::new(move || {
                        counter.fetch_add(1, Ordering::Relaxed);
                        if opens { Ok(()) } else { Err(io::Error::other("closed")) }
                    })));
                    send(protocol, sets.sender.items(), 0..=1000, channel, rng)
                },
                |channel, rng| receive(protocol, sets.receiver.items(), 0..=1000, channel, rng),
            );
            assert_eq!(asked.load(Ordering::Relaxed), 1, "{}", protocol.key);
            match opens {
                true => assert_eq!(received.unwrap(), sets.expected(), "{}", protocol.key),
                false => {
                    let refused = matches!(sent, Err(Error::Channel(Io { .. })));
                    assert!(refused && received.is_err(), "{}: {sent:?}", protocol.key);
                }
            }
        }
    }
}

#[test]
fn a_receiver_asks_before_it_says_what_is_shared() {
    let sets = Sets::random(SIZES, 100, 1);
    let told = sets.receiver.items().at(&sets.expected());
    let (refused, learned) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| {
            channel.set_gate(Some(Box::new(|| Err(io::Error::other("closed")))));
            reveal::tell(told.items(), SIZES, channel, rng)
        },
        |channel, _| reveal::learn(sets.sender.items(), SIZES, channel),
    );
    assert!(matches!(refused, Err(Error::Channel(Io { .. }))) && learned.is_err());
}
