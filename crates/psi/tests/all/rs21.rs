//! The protocols on the checked OPRF of RS21 against parties that cheat at one step and know the protocol.
//! Attacks below the OPRF, such as selective failure in the VOLE, are tested in `ot` and `oprf`.

#![allow(clippy::unwrap_used)]

use rand::{Rng, rngs::StdRng};
use vesica_net::Channel;
use vesica_oprf::rs21::malicious::CHECK;
use vesica_params::effective_inputs;
use vesica_primitives::Block;
use vesica_psi::{Error, Sizes};
use vesica_testkit::{
    adversary::{
        ATTEMPTS, equal_sets, fails, has_wrong_length, received,
        rs21::{
            ClusteredStore, Construction, PaxosStore, Receiver, Sent, WithBands, choose_w,
            send_list, values,
        },
        sent,
    },
    conformance::psi::Sets,
};

/// Runs tests for each of the protocols.
macro_rules! for_each_machine {
    ($($name:ident)*) => {
        $(mod $name {
            #[test]
            fn rs21_malicious() {
                super::$name::<super::PaxosStore>();
            }

            #[test]
            fn rr22_malicious() {
                super::$name::<super::ClusteredStore>();
            }

            #[test]
            fn rr22_malicious_low() {
                super::$name::<super::WithBands>();
            }
        })*
    };
}

for_each_machine! {
    honest_parties_of_these_tests_are_understood
    a_sender_that_chooses_w_is_refused
    lists_that_do_not_belong_to_the_run_match_nothing
    a_value_counts_for_one_item
    lists_of_the_wrong_length_are_refused
    a_receiver_has_no_more_inputs_than_columns
    columns_that_do_not_belong_to_the_run_show_nothing
    columns_of_the_wrong_length_are_refused
}

/// Honest behaviour is accepted; otherwise the other tests would show nothing.
fn honest_parties_of_these_tests_are_understood<M: Construction>() {
    let sets = Sets::random(Sizes { sender: 300, receiver: 200 }, 70, 1);
    let found = received(M::PROTOCOL, &sets, |channel, rng| {
        send_list(values::<M>(&sets, channel, rng)?, 128, channel)
    });
    assert_eq!(found.unwrap(), sets.expected());
    let (honest, learned) = sent(M::PROTOCOL, &sets, |channel, rng| {
        let party = Receiver::<M>::start(&sets, channel, rng)?;
        let message = party.encode(sets.receiver.items(), rng).unwrap();
        party.finish(&message, sets.receiver.items(), channel)
    });
    honest.unwrap();
    assert_eq!(learned.unwrap(), 70);
}

/// It would know H before it sends its values.
fn a_sender_that_chooses_w_is_refused<M: Construction>() {
    let sets = equal_sets(70);
    for wish in 0..5 {
        let found = received(M::PROTOCOL, &sets, |channel, rng| {
            choose_w::<M>(&sets, Block(wish), channel, rng)
        });
        assert!(fails(&found.unwrap_err(), CHECK));
    }
}

/// Values of an earlier run, values of other items, and invented ones.
fn lists_that_do_not_belong_to_the_run_match_nothing<M: Construction>() {
    let sets = equal_sets(ATTEMPTS);
    let mut earlier = Vec::new();
    let found = received(M::PROTOCOL, &sets, |channel, rng| {
        earlier = values::<M>(&sets, channel, rng)?;
        send_list(earlier.clone(), 128, channel)
    });
    assert_eq!(found.unwrap().len(), ATTEMPTS);
    let tries: [&(dyn Fn(Block, Block) -> Block + Sync); 4] =
        [&|_, old| old, &|new, _| new ^ Block(1), &|new, old| new ^ old, &|_, _| Block::ZERO];
    for instead in tries {
        let mut list = earlier.clone();
        let found = received(M::PROTOCOL, &sets, |channel, rng: &mut StdRng| {
            rng.next_u64();
            let new = values::<M>(&sets, channel, rng)?;
            list.iter_mut().zip(new).for_each(|(tag, new)| *tag = instead(new, *tag));
            send_list(std::mem::take(&mut list), 128, channel)
        });
        assert!(found.unwrap().is_empty());
    }
}

/// Everything else on the list is the sender's choice of its input, and the run ends like any other.
fn a_value_counts_for_one_item<M: Construction>() {
    let sets = equal_sets(100);
    for kept in [1, 30] {
        let found = received(M::PROTOCOL, &sets, |channel, rng| {
            let mut tags = values::<M>(&sets, channel, rng)?;
            (kept..tags.len()).for_each(|i| tags[i] = tags[i % kept]);
            send_list(tags, 128, channel)
        });
        assert_eq!(found.unwrap().len(), kept);
    }
}

fn lists_of_the_wrong_length_are_refused<M: Construction>() {
    let sets = equal_sets(100);
    for (count, bits) in [(99, 128), (101, 128), (200, 128), (0, 128), (100, 64), (100, 120)] {
        let found = received(M::PROTOCOL, &sets, |channel, rng| {
            let mut tags = values::<M>(&sets, channel, rng)?;
            tags.resize(count, Block(1));
            send_list(tags, bits, channel)
        });
        assert!(has_wrong_length(&found.unwrap_err(), "rs21/list"), "{count} of {bits} bits");
    }
}

/// The effective input: a receiver that announces few items fills the OKVS with as many as fit. It learns only about
/// those, though it tries its values on all of the sender's items.
fn a_receiver_has_no_more_inputs_than_columns<M: Construction>() {
    let announced = 200;
    let sets = Sets::random(Sizes { sender: ATTEMPTS, receiver: announced }, announced, 1);
    let all = sets.sender.items();
    let (mut columns, mut used) = (0, 0);
    let (honest, learned) = sent(M::PROTOCOL, &sets, |channel, rng| {
        let party = Receiver::<M>::start(&sets, channel, rng)?;
        columns = party.columns();
        // As many as possible; one more than the number of columns has no solution.
        let mut fill = |count: usize| {
            let positions: Vec<u32> = (0..count as u32).collect();
            Some((count, party.encode(all.at(&positions).items(), rng)?))
        };
        assert!(fill(columns + 1).is_none());
        let (count, message) = (announced..=columns).rev().step_by(3).find_map(fill).unwrap();
        used = count;
        party.finish(&message, all, channel)
    });
    honest.unwrap();
    assert_eq!(learned.unwrap(), used);
    let bound = effective_inputs(columns, 64);
    assert!(announced < used && used <= columns && columns <= bound, "{used}, {columns}, {bound}");
}

/// A change of the message that a receiver sends.
type Cheat<'a> = dyn Fn(Sent, &mut StdRng) -> Sent + Sync + 'a;

/// Columns of an earlier run, with its seed or without, and invented ones.
fn columns_that_do_not_belong_to_the_run_show_nothing<M: Construction>() {
    let sets = equal_sets(ATTEMPTS);
    let items = sets.receiver.items();
    let mut earlier = None;
    let (honest, learned) = sent(M::PROTOCOL, &sets, |channel, rng| {
        let party = Receiver::<M>::start(&sets, channel, rng)?;
        let message = party.encode(items, rng).unwrap();
        earlier = Some(message.clone());
        party.finish(&message, items, channel)
    });
    honest.unwrap();
    assert_eq!(learned.unwrap(), ATTEMPTS);
    let earlier = earlier.unwrap();
    let tries: [&Cheat<'_>; 4] = [
        &|_, _| earlier.clone(),
        &|new, _| Sent { columns: earlier.columns.clone(), ..new },
        &|new, _| Sent { seed: earlier.seed, ..new },
        &|new, rng| Sent {
            columns: new.columns.iter().map(|_| Block::random(rng)).collect(),
            ..new
        },
    ];
    for instead in tries {
        let (honest, learned) = sent(M::PROTOCOL, &sets, |channel, rng| {
            rng.next_u64();
            let party = Receiver::<M>::start(&sets, channel, rng)?;
            let message = party.encode(items, rng).unwrap();
            party.finish(&instead(message, rng), items, channel)
        });
        honest.unwrap();
        assert_eq!(learned.unwrap(), 0);
    }
}

fn columns_of_the_wrong_length_are_refused<M: Construction>() {
    let sets = equal_sets(100);
    for longer in [false, true] {
        let (honest, _) = sent(M::PROTOCOL, &sets, |channel: &mut Channel, rng| {
            let party = Receiver::<M>::start(&sets, channel, rng)?;
            channel.send_slice("rs21/seed", &party.seed)?;
            let columns = if longer { party.columns() + 1 } else { party.columns() - 1 };
            channel.send_slice("rs21/columns", &vec![Block::ZERO; columns])?;
            Ok::<_, Error>(channel.flush()?)
        });
        assert!(has_wrong_length(&honest.unwrap_err(), "rs21/columns"));
    }
}
