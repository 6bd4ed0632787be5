//! RR17 against parties that cheat at one step and know the protocol. They are written from the protocols'
//! description, so an honest run of one of them also tests that the implementation follows it.

use rand::{Rng, rngs::StdRng};
use vesica_net::Channel;
use vesica_oprf::oos17::CHECK;
use vesica_primitives::Block;
use vesica_psi::{
    Error, Sizes,
    protocols::rr17::{DUAL_EXECUTION as DE, ENCODE_COMMIT as EC},
};
use vesica_testkit::{
    adversary::{ATTEMPTS, equal_sets, fails, has_wrong_length, received, rr17::*, sent},
    conformance::psi::Sets,
};

/// Honest behaviour is accepted; otherwise the other tests would show nothing.
#[test]
fn honest_parties_of_these_tests_are_understood() {
    let sets = Sets::random(Sizes { sender: 300, receiver: 200 }, 70, 1);
    for (protocol, plan) in [(&DE, DeSender::list as Plan), (&EC, EcSender::entries as Plan)] {
        let found = received(protocol, &sets, |channel, rng| plan(&sets, channel, rng));
        assert_eq!(found.unwrap(), sets.expected());
    }
}

type Plan = fn(&Sets, &mut Channel, &mut StdRng) -> Result<(), Error>;

/// Selective failure: values that are correct for only some of the receiver's slots. Its items are in random
/// slots, so each counts with the probability of these; and the run ends like any other.
#[test]
fn which_items_count_is_chance() {
    let sets = equal_sets(ATTEMPTS);
    let sizes = sets.sizes();
    let slots = [
        vesica_psi::protocols::rr17::dual_execution::shape(sizes).receiver,
        vesica_psi::protocols::rr17::encode_commit::shape(sizes).receiver,
    ];
    let found = [
        received(&DE, &sets, |channel, rng| {
            let party = DeSender::start(&sets, channel, rng)?;
            let right = slots[0] / 3;
            let values = party
                .values(|_, slot, value| if slot < right { value } else { Block::random(rng) });
            party.finish(values, channel)
        }),
        received(&EC, &sets, |channel, rng| {
            let party = EcSender::start(&sets, channel, rng)?;
            let right = slots[1] / 3;
            party.finish(
                |_, slot, place| {
                    if slot >= right {
                        place[4] ^= 1
                    }
                },
                |_, commitment| commitment,
                channel,
            )
        }),
    ];
    for (found, slots) in found.into_iter().zip(slots) {
        let share = (slots / 3) as f64 / slots as f64;
        let (mean, deviation) =
            (ATTEMPTS as f64 * share, (ATTEMPTS as f64 * share * (1.0 - share)).sqrt());
        let off = found.unwrap().len() as f64 - mean;
        assert!(off.abs() < 5.0 * deviation, "{off} off {mean}");
    }
}

/// Values for items that are in none of the sender's slots.
#[test]
fn items_outside_of_the_slots_do_not_count() {
    let sets = equal_sets(ATTEMPTS);
    // Replacements that a sender might try for R's function: nothing, S's own function, or a value that it has
    // elsewhere.
    let tries: [fn(&DeSender, usize, Block) -> Block; 3] = [
        |_, _, _| Block::ZERO,
        |_, _, own| own,
        |party, i, _| party.learned[(i + 1) % party.learned.len()],
    ];
    for instead in tries {
        let found = received(&DE, &sets, |channel, rng| {
            let party = DeSender::start(&sets, channel, rng)?;
            let values = party.values_with(|i, own| instead(&party, i, own));
            party.finish(values, channel)
        });
        assert!(found.unwrap().is_empty());
    }
}

/// A list, and commitments, of an earlier run.
#[test]
fn replayed_messages_count_for_nothing() {
    let sets = equal_sets(100);
    let mut list = Vec::new();
    let found = received(&DE, &sets, |channel, rng| {
        let party = DeSender::start(&sets, channel, rng)?;
        list = party.values(|_, _, value| value);
        party.finish(list.clone(), channel)
    });
    assert_eq!(found.unwrap().len(), 100);
    let found = received(&DE, &sets, |channel, rng| {
        rng.next_u64();
        let party = DeSender::start(&sets, channel, rng)?;
        party.finish(list, channel)
    });
    assert!(found.unwrap().is_empty());
    let mut message = Vec::new();
    let found = received(&EC, &sets, |channel, rng| {
        let party = EcSender::start(&sets, channel, rng)?;
        message = party.message(|_, _, _| (), |_, commitment| commitment);
        Ok(channel.send("rr17/commitments", &message)?)
    });
    assert_eq!(found.unwrap().len(), 100);
    let found = received(&EC, &sets, |channel, rng| {
        rng.next_u64();
        EcSender::start(&sets, channel, rng)?;
        Ok(channel.send("rr17/commitments", &message)?)
    });
    assert!(found.unwrap().is_empty());
}

/// A commitment to another item, or with another opening: the item does not count, and the run ends without an error,
/// which would reveal that the receiver has it.
#[test]
fn a_commitment_that_does_not_open_counts_for_nothing() {
    let sets = equal_sets(ATTEMPTS);
    for byte in [0, COMMITMENT_LEN - 1] {
        let found = received(&EC, &sets, |channel, rng| {
            let party = EcSender::start(&sets, channel, rng)?;
            let spoilt = |i: usize, mut commitment: [u8; COMMITMENT_LEN]| {
                commitment[byte] ^= u8::from(i > 0) << (i % 8);
                commitment
            };
            party.finish(|_, _, _| (), spoilt, channel)
        });
        assert_eq!(found.unwrap().len(), 1);
    }
    // The next item's commitment, with places of this one.
    let found = received(&EC, &sets, |channel, rng| {
        let party = EcSender::start(&sets, channel, rng)?;
        let next = |i: usize, _| party.commitment((i + 1) % ATTEMPTS, party.openings[i]);
        party.finish(|_, _, _| (), next, channel)
    });
    assert!(found.unwrap().is_empty());
}

#[test]
fn an_item_counts_once() {
    let sets = equal_sets(20);
    let twice =
        Sets { sender: sets.sender.items().at(&[0, 1, 0, 1, 0]), receiver: sets.receiver.clone() };
    for plan in [(&DE, DeSender::list as Plan), (&EC, EcSender::entries as Plan)] {
        let found =
            received(plan.0, &twice, |channel, rng| (plan.1)(&twice, channel, rng)).unwrap();
        assert_eq!(found, twice.expected());
        assert_eq!(found.len(), 2);
    }
}

#[test]
fn lists_of_the_wrong_length_are_refused() {
    let sets = equal_sets(50);
    for longer in [false, true] {
        let found = received(&DE, &sets, |channel, rng| {
            let party = DeSender::start(&sets, channel, rng)?;
            let mut values = party.values(|_, _, value| value);
            if longer {
                values.extend_from_within(..)
            } else {
                values.truncate(values.len() / 2)
            };
            party.finish(values, channel)
        });
        assert!(has_wrong_length(&found.unwrap_err(), "rr17/list"));
        let found = received(&EC, &sets, |channel, rng| {
            let party = EcSender::start(&sets, channel, rng)?;
            let mut message = party.message(|_, _, _| (), |_, commitment| commitment);
            if longer {
                message.push(0)
            } else {
                message.truncate(message.len() - 20)
            };
            Ok(channel.send("rr17/commitments", &message)?)
        });
        assert!(has_wrong_length(&found.unwrap_err(), "rr17/commitments"));
    }
}

#[test]
fn a_seed_that_is_opened_to_another_is_refused() {
    let sets = equal_sets(50);
    for protocol in [&DE, &EC] {
        let found = received(protocol, &sets, |channel, rng| {
            open_another_seed(protocol, &sets, channel, rng)
        });
        assert!(fails(&found.unwrap_err(), "opening of the seed share"));
    }
}

/// A receiver with items in all slots learns of those and of no others, though it tries every value it has on
/// every item.
#[test]
fn a_receiver_has_as_many_inputs_as_slots() {
    let sets = Sets::random(Sizes { sender: 600, receiver: 40 }, 40, 1);
    let mut learned = 0;
    let mut slots = 0;
    let (honest, cheat) = sent(&EC, &sets, |channel, rng| {
        let party = EcReceiver::start(&sets, channel, rng)?;
        slots = party.shape.receiver_slots();
        let message = party.commitments(channel)?;
        learned = party.opens(&message);
        assert_eq!(learned, party.seated);
        Ok(())
    });
    assert!(honest.is_ok() && cheat.is_ok());
    assert!(40 < learned && learned <= slots, "{learned} of {slots}");
}

/// A receiver whose rows are not codewords guesses as many bits of Δ as it flips places.
#[test]
fn a_receiver_without_codewords_is_refused() {
    let sets = equal_sets(5);
    let refused = |flips: Vec<usize>| {
        let (honest, _) = sent(&EC, &sets, |channel, rng| lie(&EC, &sets, flips, channel, rng));
        match honest {
            Ok(()) => false,
            Err(error) => {
                assert!(fails(&error, CHECK), "{error}");
                true
            }
        }
    };
    assert!(!refused(vec![]));
    assert!(refused((0..40).collect()));
    assert!(refused((300..420).collect()));
    // 24 other places; Δ has a one in about half of them, and 3 or fewer of either have probability 2^-12.
    let refused = (0..24).filter(|place| refused(vec![20 * place])).count();
    assert!((4..=20).contains(&refused), "{refused} of 24");
}

/// In the other direction the receiver refuses the sender, and outputs nothing.
#[test]
fn a_sender_without_codewords_is_refused() {
    let sets = equal_sets(5);
    let flips = (0..40).collect();
    let found = received(&DE, &sets, |channel, rng| lie_back(&sets, flips, channel, rng));
    assert!(fails(&found.unwrap_err(), CHECK));
}
