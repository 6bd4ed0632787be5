//! The step by which the sender learns the intersection too.

use vesica_net::{Deviation, Error::Peer};
use vesica_psi::{Error, Item, Sizes, reveal};
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
            let told: Vec<Item> =
                sets.expected().iter().map(|i| sets.receiver[*i as usize]).collect();
            let ((), learned) = two_party::run(
                Link::Memory,
                |channel, rng| reveal::tell(&told, sizes, channel, rng),
                |channel, _| reveal::learn(&sets.sender, sizes, channel),
            );
            assert_eq!(learned, ideal::intersection(&sets.sender, &sets.receiver), "{sizes:?}");
        }
    }
}

/// What a sender of `sizes` makes of a receiver that names these items.
fn refusal(told: &[Item], sizes: Sizes, sets: &Sets) -> Deviation {
    let (_, learned) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| reveal::tell(told, sizes, channel, rng),
        |channel, _| reveal::learn(&sets.sender, sizes, channel),
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
    let shared: Vec<Item> = sets.expected().iter().map(|i| sets.receiver[*i as usize]).collect();
    let not_shared =
        Deviation::Malformed { label: "reveal/list", what: "names an item that is not shared" };
    let foreign = *sets.receiver.iter().find(|item| !sets.sender.contains(item)).unwrap();
    assert_eq!(refusal(&[foreign], sizes, &sets), not_shared);
    let one_foreign = [&shared[..], &[foreign]].concat();
    assert_eq!(refusal(&one_foreign, sizes, &sets), not_shared);
    let one_twice = [&shared[..], &shared[..1]].concat();
    assert_eq!(refusal(&one_twice, sizes, &sets), not_shared);
    let too_many =
        Deviation::Malformed { label: "reveal/count", what: "more shared items than a set has" };
    assert_eq!(refusal(&sets.sender[..61], sizes, &sets), too_many);
}
