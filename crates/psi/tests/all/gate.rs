//! A party asks before it reveals: if the gate refuses, the other party learns nothing.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Error::Io};
use vesica_psi::{
    CATALOGUE, Error, Sizes, Status, receive, reveal,
    select::{Cells, Input, OpenedCells, Owner, Plan},
    send,
};
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

/// Numbers are opened to one party: the other one asks before that, once, also where a circuit decides about each
/// group. Shares for a partition reveal nothing, so nobody asks before them.
#[test]
fn a_party_asks_before_it_opens_numbers() {
    let sets = Sets::random(SIZES, 100, 1);
    for (least, learner, is_whole, opens) in (0..16).map(|i| {
        let learner = if i & 1 == 0 { Owner::Table } else { Owner::Other };
        (if i & 2 == 0 { 0 } else { 40 }, learner, i & 4 == 0, i & 8 == 0)
    }) {
        let cells = Cells { learner, least, ..Cells::default() };
        let (terms, groups) = (Vec::new(), 3);
        let plan = Plan {
            sizes: SIZES,
            partitions: 1,
            factor_bits: 1,
            terms,
            groups,
            other_groups: 1,
            lookup: None,
            people: None,
            cells,
        };
        let labels: Vec<u32> = (0..SIZES.receiver as u32).map(|i| i % 3).collect();
        let asked: [Arc<AtomicUsize>; 2] = Default::default();
        let party = |owner: Owner, channel: &mut Channel, rng: &mut dyn CryptoRng| {
            let of_table = Input { labels: &labels, ..Input::new(sets.receiver.items()) };
            let receives = owner == Owner::Table;
            let input = if receives { of_table } else { Input::new(sets.sender.items()) };
            let of_party = &asked[usize::from(owner == learner)];
            let counter = of_party.clone();
            channel.set_gate(Some(Box::new(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                if opens { Ok(()) } else { Err(io::Error::other("closed")) }
            })));
            if is_whole {
                return plan.on_sets().party(receives, channel, rng)?.run(input, channel, rng);
            }
            let share =
                plan.on_partition().party(receives, channel, rng)?.run(input, channel, rng)?;
            assert_eq!(of_party.load(Ordering::Relaxed), 0, "{owner:?} of {plan:?}");
            let mut noise = StdRng::from_rng(&mut *rng);
            plan.open(owner, &share, &[], channel, rng, &mut noise)
        };
        let (other, table) = between(
            Link::Memory.connect(),
            PATIENCE,
            |channel, rng| party(Owner::Other, channel, rng),
            |channel, rng| party(Owner::Table, channel, rng),
        );
        let (learned, helped) =
            if learner == Owner::Table { (table, other) } else { (other, table) };
        let asked = asked.map(|times| times.load(Ordering::Relaxed));
        assert_eq!(asked, [1, 0], "{plan:?}");
        match opens {
            true => {
                let Some(OpenedCells { cells, .. }) = learned.unwrap() else { panic!("{plan:?}") };
                let shown = cells.iter().flatten().map(|cell| cell.count.unwrap());
                assert!(least > 0 || shown.sum::<i128>() == 100, "{plan:?}");
            }
            false => {
                let is_closed = matches!(helped, Err(Error::Channel(Io { .. })));
                assert!(is_closed && learned.is_err(), "{plan:?}");
            }
        }
    }
}
