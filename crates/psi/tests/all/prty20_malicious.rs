//! `prty20-malicious` and `prty20-malicious-paxos` against malicious parties (`vesica_testkit::adversary::prty20`).
//! Attacks on the check itself are tested in `vesica-ot`, a thousand of each kind.

#![allow(clippy::unwrap_used)]

use rand::{RngExt, rngs::StdRng};
use vesica_net::{Channel, Deviation};
use vesica_oprf::prty20::CHECK;
use vesica_primitives::{
    Block,
    code::{Concatenated, LinearCode},
};
use vesica_psi::{Error, Items, Sizes, receive};
use vesica_testkit::{
    adversary::{
        self, ATTEMPTS, MOST, equal_sets,
        prty20::{Clustered, Receiving, Sending, Variant, WithPaxos, finish},
    },
    conformance::psi::Sets,
    two_party::{Link, PATIENCE, between},
};

/// Runs tests for both protocols.
macro_rules! for_both {
    ($($name:ident)*) => {
        $(mod $name {
            #[test]
            fn clustered() {
                super::$name::<super::Clustered>();
            }

            #[test]
            fn with_paxos() {
                super::$name::<super::WithPaxos>();
            }
        })*
    };
}

for_both! {
    honest_parties_of_these_tests_are_understood
    a_wrong_value_takes_out_its_item_and_no_other
    values_of_another_function_count_for_nothing
    a_replayed_list_counts_for_nothing
    an_item_counts_once
    other_lists_are_refused
    a_receiver_has_no_more_inputs_than_the_bound
    an_inconsistent_okvs_gives_no_inputs
    a_receiver_without_codewords_is_refused
    another_answer_is_refused
}

/// The output of an honest receiver against a cheating sender.
fn received<V: Variant>(
    sets: &Sets,
    cheat: impl FnOnce(&mut Channel, &mut StdRng) -> Result<(), Error> + Send,
) -> Result<Vec<u32>, Error> {
    adversary::received(V::PROTOCOL, sets, cheat)
}

/// The outcomes of an honest sender and of the receiver that cheats against it.
fn sent<V: Variant, T: Send>(
    sets: &Sets,
    cheat: impl FnOnce(&mut Channel, &mut StdRng) -> Result<T, Error> + Send,
) -> (Result<(), Error>, Result<T, Error>) {
    adversary::sent(V::PROTOCOL, sets, cheat)
}

/// The output of an honest receiver for a list derived from the correct values.
fn listed<V: Variant>(
    sets: &Sets,
    list: impl FnOnce(&Sending<V>) -> Vec<Block> + Send,
) -> Result<Vec<u32>, Error> {
    received::<V>(sets, |channel, rng| {
        let session = Block::random(rng);
        let party = Sending::<V>::start(sets, session, channel, rng)?;
        finish(list(&party), channel)
    })
}

fn deviation<T>(outcome: &Result<T, Error>) -> &Deviation {
    match outcome {
        Err(Error::Channel(vesica_net::Error::Peer { deviation, .. })) => deviation,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted"),
    }
}

fn is_refused<T>(outcome: &Result<T, Error>) -> bool {
    *deviation(outcome) == Deviation::CheckFailed { check: CHECK }
}

/// Honest behaviour is accepted; otherwise the other tests would show nothing.
fn honest_parties_of_these_tests_are_understood<V: Variant>() {
    let sets = Sets::random(Sizes { sender: 300, receiver: 200 }, 70, 1);
    let found = listed::<V>(&sets, Sending::<V>::right_values);
    assert_eq!(found.unwrap(), sets.expected());
    let (honest, found) = sent::<V, _>(&sets, |channel, rng| {
        let party = Receiving::<V>::start(&sets, vec![], channel, rng)?;
        let items = sets.receiver.items();
        let p = party.encode(items).unwrap();
        party.finish(&p, items, channel, rng)
    });
    assert!(honest.is_ok());
    assert_eq!(found.unwrap(), 70);
}

/// Selective failure: an item whose value is wrong counts as one that the sender does not have, and the run
/// ends like any other. So a sender learns nothing from it.
fn a_wrong_value_takes_out_its_item_and_no_other<V: Variant>() {
    let sets = equal_sets(ATTEMPTS);
    let expected = |is_right: fn(usize) -> bool| -> Vec<u32> {
        let right: Vec<u32> = (0..ATTEMPTS as u32).filter(|i| is_right(*i as usize)).collect();
        let kept = Sets { sender: sets.sender.items().at(&right), receiver: sets.receiver.clone() };
        kept.expected()
    };
    let found = listed::<V>(&sets, |party| {
        party.values(|i, row, _, _| row[i % 4] ^= Block(u128::from(i % 3 > 0) << (i % 128)))
    });
    assert_eq!(found.unwrap(), expected(|i| i % 3 == 0));
    let found = listed::<V>(&sets, |party| {
        let values = party.right_values().into_iter().enumerate();
        values.map(|(i, value)| value ^ Block(u128::from(i % 2 == 1) << (i % 128))).collect()
    });
    assert_eq!(found.unwrap(), expected(|i| i % 2 == 0));
}

/// With unchanged rows, with Δ at 0 or complemented, codewords of other items, other rows, or nothing at all.
fn values_of_another_function_count_for_nothing<V: Variant>() {
    let sets = equal_sets(ATTEMPTS);
    type Values<V> = fn(&Sending<V>) -> Vec<Block>;
    let tries: [Values<V>; 5] = [
        |party| party.values(|_, _, _, delta| *delta = [Block::ZERO; 5]),
        |party| party.values(|_, _, _, delta| delta.iter_mut().for_each(|b| b.0 = !b.0)),
        |party| party.values(|i, _, codeword, _| codeword[i % 4] ^= Block(u128::MAX)),
        |party| party.values(|_, row, _, _| row.swap(0, 1)),
        |_| (0..ATTEMPTS as u128).map(Block).collect(),
    ];
    for values in tries {
        assert!(listed::<V>(&sets, values).unwrap().is_empty());
    }
}

/// A list of an earlier run, even under the same session, because the receiver's seed is new.
fn a_replayed_list_counts_for_nothing<V: Variant>() {
    let sets = equal_sets(100);
    let mut list = Vec::new();
    let found = received::<V>(&sets, |channel, rng| {
        let party = Sending::<V>::start(&sets, Block(7), channel, rng)?;
        list = party.right_values();
        finish(list.clone(), channel)
    });
    assert_eq!(found.unwrap().len(), 100);
    let honest = |channel: &mut Channel, rng: &mut StdRng| {
        rng.random::<u64>();
        receive(V::PROTOCOL, sets.receiver.items(), 0..=MOST, channel, rng)
    };
    let cheat = |channel: &mut Channel, rng: &mut StdRng| {
        Sending::<V>::start(&sets, Block(7), channel, rng)?;
        finish(list, channel)
    };
    let (_, found) = between(Link::Memory.connect(), PATIENCE, cheat, honest);
    assert!(found.unwrap().is_empty());
}

fn an_item_counts_once<V: Variant>() {
    let sets = equal_sets(5);
    let twice =
        Sets { sender: sets.sender.items().at(&[0, 1, 0, 1, 0]), receiver: sets.receiver.clone() };
    let found = listed::<V>(&twice, Sending::<V>::right_values).unwrap();
    assert_eq!(found, twice.expected());
    assert_eq!(found.len(), 2);
}

/// Shorter tags, fewer or more of them, and unsorted ones.
fn other_lists_are_refused<V: Variant>() {
    let sets = equal_sets(50);
    let is_refused = |found| match deviation(&found) {
        Deviation::WrongLength { label, .. } | Deviation::Malformed { label, .. } => {
            *label == "prty20/list"
        }
        _ => false,
    };
    for count in [25, 49, 51, 100] {
        assert!(is_refused(listed::<V>(&sets, |party| {
            party.right_values().into_iter().cycle().take(count).collect()
        })));
    }
    let raw = |bytes: fn(Vec<Block>) -> Vec<u8>| {
        received::<V>(&sets, |channel, rng| {
            let party = Sending::<V>::start(&sets, Block(1), channel, rng)?;
            Ok(channel.send("prty20/list", &bytes(party.right_values()))?)
        })
    };
    // Whole values without the list's code, and their first ten bytes.
    assert!(is_refused(raw(|values| values.iter().flat_map(|value| value.to_bytes()).collect())));
    assert!(is_refused(raw(|values| {
        values.iter().flat_map(|value| value.to_bytes().into_iter().take(10)).collect()
    })));
    // With the length of the correct list.
    assert!(is_refused(raw(|values| {
        let layout = vesica_structures::tag_list::Layout::new(values.len(), 128);
        vec![0xff; layout.encoded_len()]
    })));
}

/// A receiver may use more items than announced: up to the number of P's columns, minus a few, and each of them
/// costs a column. The protocol's page states the bound for receivers that search.
fn a_receiver_has_no_more_inputs_than_the_bound<V: Variant>() {
    let sets = Sets::random(Sizes { sender: 600, receiver: 20 }, 20, 1);
    let columns = V::shape(20).columns();
    let bound = vesica_params::effective_inputs(columns, 64);
    let all = sets.sender.items();
    let first = |n: usize| all.at(&(0..n as u32).collect::<Vec<_>>());
    let mut refused = Vec::new();
    assert!(columns < bound);
    for n in [20, columns - 12, columns + 1, bound + 1] {
        let (honest, learned) = sent::<V, _>(&sets, |channel, rng| {
            let party = Receiving::<V>::start(&sets, vec![], channel, rng)?;
            let p = party.encode(first(n).items());
            refused.push(p.is_none());
            // If no P exists for this many, one for half of the columns.
            let p = p.or_else(|| party.encode(first(columns / 2).items())).unwrap();
            party.finish(&p, all, channel, rng)
        });
        assert!(honest.is_ok());
        assert_eq!(learned.unwrap(), if n <= columns { n } else { columns / 2 });
    }
    assert_eq!(refused, [false, false, true, true]);
}

/// A P that is not an OKVS: h of one item in every column, which rows of odd weight decode to, or noise.
fn an_inconsistent_okvs_gives_no_inputs<V: Variant>() {
    let sets = Sets::random(Sizes { sender: ATTEMPTS, receiver: 40 }, 0, 1);
    let all = sets.sender.items();
    let use_p = |p: fn(&Receiving<V>, Items<'_>, &mut StdRng) -> Vec<Block>| {
        let (honest, learned) = sent::<V, _>(&sets, |channel, rng| {
            let party = Receiving::<V>::start(&sets, vec![], channel, rng)?;
            let p = p(&party, all, rng);
            party.finish(&p, all, channel, rng)
        });
        assert!(honest.is_ok());
        learned.unwrap()
    };
    let constant = use_p(|party, all, _| vec![party.word(all); party.shape.columns()]);
    assert!(constant <= 1, "{constant}");
    assert_eq!(use_p(|party, _, _| vec![Block::ZERO; party.shape.columns()]), 0);
    let noise =
        use_p(|party, _, rng| (0..party.shape.columns()).map(|_| Block::random(rng)).collect());
    assert_eq!(noise, 0);
}

/// Rows that are not codewords pass with probability 2^-k for k places; the sender sends nothing before the
/// check.
fn a_receiver_without_codewords_is_refused<V: Variant>() {
    let sets = equal_sets(5);
    let outcome = |flips: Vec<(usize, usize)>| {
        let (honest, learned) = sent::<V, _>(&sets, |channel, rng| {
            let party = Receiving::<V>::start(&sets, flips, channel, rng)?;
            let p = party.encode(sets.receiver.items()).unwrap();
            party.finish(&p, sets.receiver.items(), channel, rng)
        });
        match honest {
            Ok(()) => false,
            refused => {
                assert!(is_refused(&refused));
                assert!(learned.is_err(), "it got no list");
                true
            }
        }
    };
    let width = Concatenated::WIDTH;
    assert!(!outcome(vec![]));
    assert!(outcome((0..40).map(|place| (0, 14 * place)).collect()));
    assert!(outcome((0..width).step_by(2).map(|place| (3, place)).collect()));
    assert!(outcome((0..40).map(|row| (row, row)).collect()));
    // 24 single places; Δ has a one in about half of them, and 3 or fewer of either have probability 2^-12.
    let refused = (0..24).filter(|i| outcome(vec![(i % 5, 24 * i)])).count();
    assert!((4..=20).contains(&refused), "{refused} of 24");
}

/// Zeros, noise, and the wrong length.
fn another_answer_is_refused<V: Variant>() {
    let sets = equal_sets(5);
    let answered = |answer: Vec<Block>| {
        let (honest, _) = sent::<V, _>(&sets, |channel, rng| {
            let party = Receiving::<V>::start(&sets, vec![], channel, rng)?;
            let p = party.encode(sets.receiver.items()).unwrap();
            party.answer(&p, || answer, channel)
        });
        honest
    };
    assert!(is_refused(&answered(vec![Block::ZERO; 6 * 41])));
    assert!(is_refused(&answered((0..6 * 41).map(|i| Block(i * i)).collect())));
    let short = answered(vec![Block::ZERO; 5 * 41]);
    assert!(matches!(deviation(&short), Deviation::WrongLength { label: "oos17/answer", .. }));
}
