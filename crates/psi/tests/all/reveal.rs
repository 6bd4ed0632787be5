//! The step by which the sender learns the intersection too.

use rand::rngs::StdRng;
use vesica_net::{Channel, Deviation, Error::Peer};
use vesica_primitives::Block;
use vesica_psi::{Error, Items, Protocol, Set, Sizes, find, receive, reveal, send};
use vesica_testkit::{
    conformance::psi::Sets,
    ideal,
    two_party::{self, Link, PATIENCE, between},
};

#[test]
fn both_have_the_same_items() {
    for (sender, receiver) in [(0, 0), (0, 5), (5, 0), (1, 1), (1000, 317), (317, 1000)] {
        let sizes = Sizes { sender, receiver };
        let least = sender.min(receiver);
        for shared in [0, least / 2, least] {
            let sets = Sets::random(sizes, shared, 1);
            let told = sets.receiver.items().at(&sets.expected());
            let ((), learned) = two_party::run(
                Link::Memory,
                |channel, rng| reveal::tell(told.items(), sizes, channel, rng),
                |channel, _| reveal::learn(sets.sender.items(), sizes, channel),
            );
            assert_eq!(
                learned,
                ideal::intersection(sets.sender.items(), sets.receiver.items()),
                "{sizes:?}"
            );
        }
    }
}

/// The refusal by a sender of `sizes` of a receiver that names these items.
fn refusal(told: Items<'_>, sizes: Sizes, sets: &Sets) -> Deviation {
    let (_, learned) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| reveal::tell(told, sizes, channel, rng),
        |channel, _| reveal::learn(sets.sender.items(), sizes, channel),
    );
    match learned {
        Err(Error::Channel(Peer { phase: "reveal", deviation })) => deviation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_receiver_that_names_what_it_must_not_is_refused() {
    let sizes = Sizes { sender: 100, receiver: 60 };
    let sets = Sets::random(sizes, 30, 2);
    let (mine, expected) = (sets.receiver.items(), sets.expected());
    let not_shared =
        Deviation::Malformed { label: "reveal/list", what: "names an item that is not shared" };
    let refused = |told: &[u32]| refusal(mine.at(told).items(), sizes, &sets);
    let foreign = (0..60).find(|position| !expected.contains(position)).unwrap();
    assert_eq!(refused(&[foreign]), not_shared);
    assert_eq!(refused(&[&expected[..], &[foreign]].concat()), not_shared);
    assert_eq!(refused(&[&expected[..], &expected[..1]].concat()), not_shared);
    let too_many_positions: Vec<u32> = (0..61).collect();
    let too_many =
        Deviation::Malformed { label: "reveal/count", what: "more shared items than a set has" };
    assert_eq!(
        refusal(sets.sender.items().at(&too_many_positions).items(), sizes, &sets),
        too_many
    );
}

/// Runs a protocol in which both learn, with a receiver that reports `told(rows)` in place of its rows. Returns the
/// sender's result, and the receiver's error, if any.
fn both_learn(
    protocol: &Protocol,
    sets: &Sets,
    told: impl FnOnce(&[u32]) -> Set + Send,
) -> (Result<Vec<u32>, Error>, Option<String>) {
    let (sizes, most) = (sets.sizes(), 0..=1000);
    let sender = |channel: &mut Channel, rng: &mut StdRng| {
        send(protocol, sets.sender.items(), most.clone(), channel, rng)?;
        reveal::learn(sets.sender.items(), sizes, channel)
    };
    let receiver = |channel: &mut Channel, rng: &mut StdRng| {
        let rows = receive(protocol, sets.receiver.items(), most.clone(), channel, rng)?;
        reveal::tell(told(&rows).items(), sizes, channel, rng)
    };
    let (learned, told) = between(Link::Memory.connect(), PATIENCE, sender, receiver);
    (learned, told.err().map(|error| error.to_string()))
}

/// The union of these positions of two sets.
fn together(one: &Set, positions: &[u32], other: &Set, others: &[u32]) -> Set {
    let (one, other) = (one.items().at(positions), other.items().at(others));
    let both =
        |half: fn(Items<'_>) -> Vec<Block>| [half(one.items()), half(other.items())].concat();
    Set::long(both(|items| items.low_halves().to_vec()), both(|items| items.high_halves().to_vec()))
}

/// The membership query that SECURITY.md documents for `--learns both`: a receiver names items that are not in its set,
/// and the run ends in an error unless the sender has them all. This holds for protocols against malicious parties too.
#[test]
fn a_receiver_tests_once_whether_the_sender_has_all_of_some_items() {
    let sets = Sets::random(Sizes { sender: 100, receiver: 60 }, 30, 3);
    let is_shared = |position: &u32| {
        let mine = sets.sender.items().low_halves()[*position as usize];
        sets.receiver.items().low_halves().contains(&mine)
    };
    let (shared, others): (Vec<u32>, Vec<u32>) = (0..100).partition(is_shared);
    let absent = Sets::random(Sizes { sender: 10, receiver: 0 }, 0, 4).sender;
    for protocol in ["rr22", "rr22-malicious"].map(|key| find(key).unwrap()) {
        let named = |guessed: &[u32], missing: &[u32]| {
            both_learn(protocol, &sets, |rows| {
                let all = together(&sets.receiver, rows, &sets.sender, guessed);
                together(&all, &(0..all.len() as u32).collect::<Vec<_>>(), &absent, missing)
            })
        };
        // It succeeds if the sender has them all, and they are in the sender's result.
        for guessed in [&others[..0], &others[..1], &others[..30]] {
            let (learned, error) = named(guessed, &[]);
            let mut expected = [&shared[..], guessed].concat();
            expected.sort_unstable();
            assert_eq!((learned.unwrap(), error), (expected, None));
        }
        // It is one answer for all of them: the refusal does not depend on which are missing, on how many, or on the
        // other names; the sender has no result.
        let refusals = [
            named(&[], &[0]),
            named(&[], &[0, 1, 2]),
            named(&others[..20], &[5]),
            named(&others[..1], &[0, 9]),
        ];
        for (learned, error) in &refusals {
            let deviation = match learned {
                Err(Error::Channel(Peer { phase: "reveal", deviation })) => deviation,
                other => panic!("{other:?}"),
            };
            let not_shared = "names an item that is not shared";
            assert_eq!(*deviation, Deviation::Malformed { label: "reveal/list", what: not_shared });
            assert_eq!(*error, refusals[0].1);
        }
        // No more items than the smaller set has: a query is bounded by that.
        let (learned, _) = named(&others[..31], &[]);
        let Err(Error::Channel(Peer { deviation, .. })) = learned else { panic!("{learned:?}") };
        let too_many = "more shared items than a set has";
        assert_eq!(deviation, Deviation::Malformed { label: "reveal/count", what: too_many });
    }
}

/// A second query on the same connection is not answered: the sender has finished, or has refused the first.
#[test]
fn there_is_no_second_query() {
    let sets = Sets::random(Sizes { sender: 100, receiver: 60 }, 30, 3);
    let shared = sets.receiver.items().at(&sets.expected());
    let absent = Sets::random(Sizes { sender: 1, receiver: 0 }, 0, 4).sender;
    for first in [&shared, &absent] {
        let (learned, again) = between(
            Link::Memory.connect(),
            PATIENCE,
            |channel, _| reveal::learn(sets.sender.items(), sets.sizes(), channel),
            |channel, rng| {
                reveal::tell(first.items(), sets.sizes(), channel, rng)?;
                reveal::tell(shared.items(), sets.sizes(), channel, rng)?;
                // The sender does not reveal its verdict.
                Ok::<_, Error>(channel.recv_into("reveal/answer", &mut [0])?)
            },
        );
        assert!(again.is_err());
        assert!(learned.is_err(), "a message after the last is not an orderly end");
    }
}

/// With long digests the high half counts too: an item that shares only its low half with a common one is
/// different.
#[test]
fn an_item_is_named_as_a_whole() {
    let sizes = Sizes { sender: 2, receiver: 2 };
    let set = |high_halves: [u128; 2]| {
        Set::long(vec![Block(1), Block(2)], high_halves.map(Block).to_vec())
    };
    let sets = Sets { sender: set([3, 4]), receiver: set([3, 5]) };
    let not_shared =
        Deviation::Malformed { label: "reveal/list", what: "names an item that is not shared" };
    assert_eq!(refusal(sets.receiver.items(), sizes, &sets), not_shared);
}
