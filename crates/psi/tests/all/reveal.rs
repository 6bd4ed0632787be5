//! The step by which the sender learns the intersection too.

use vesica_net::{Deviation, Error::Peer};
use vesica_primitives::Block;
use vesica_psi::{Error, Items, Set, Sizes, reveal};
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
