//! `cm20-malicious-sender` against a sender that cheats at one step (`vesica_testkit::adversary::cm20`). Against it the
//! protocol claims that the honest receiver's output is the intersection with some set of no more items than announced,
//! chosen without knowledge of the receiver's. So a cheat is either refused or amounts to other items.

#![allow(clippy::unwrap_used)]

use rand::{Rng, rngs::StdRng};
use vesica_net::{Channel, Deviation, Error as ChannelError};
use vesica_primitives::Block;
use vesica_psi::{Error, Sizes, protocols::cm20::MALICIOUS_SENDER};
use vesica_testkit::{
    adversary::{
        ATTEMPTS,
        cm20::{Choices, hashed, send_list, unhashed, values},
        equal_sets, has_wrong_length, received,
    },
    conformance::psi::Sets,
};

/// The output of an honest receiver for a list that is made of the right values.
fn listed(
    sets: &Sets,
    list: impl FnOnce(Vec<Block>) -> Vec<Block> + Send,
) -> Result<Vec<u32>, Error> {
    received(&MALICIOUS_SENDER, sets, |channel, rng| {
        let points = hashed(sets.sender.items());
        send_list(list(values(sets, Choices::Random, &points, channel, rng)?), 128, channel)
    })
}

/// Honest behaviour is accepted; otherwise the other tests would show nothing.
#[test]
fn honest_parties_of_these_tests_are_understood() {
    let sets = Sets::random(Sizes { sender: 300, receiver: 200 }, 70, 1);
    assert_eq!(listed(&sets, |values| values).unwrap(), sets.expected());
}

/// A list of an earlier run, one that differs from the right one in a bit of each value, and an invented one.
#[test]
fn lists_that_do_not_belong_to_the_run_match_nothing() {
    let sets = equal_sets(ATTEMPTS);
    let mut earlier = Vec::new();
    let found = listed(&sets, |values| {
        earlier = values.clone();
        values
    });
    assert_eq!(found.unwrap().len(), ATTEMPTS);
    let tries: [&(dyn Fn(Block, Block) -> Block + Sync); 4] =
        [&|_, old| old, &|new, _| new ^ Block(1), &|new, old| new ^ old, &|_, _| Block::ZERO];
    for instead in tries {
        let found = received(&MALICIOUS_SENDER, &sets, |channel, rng: &mut StdRng| {
            rng.next_u64();
            let points = hashed(sets.sender.items());
            let new = values(&sets, Choices::Random, &points, channel, rng)?;
            let both = new.into_iter().zip(&earlier);
            send_list(both.map(|(new, old)| instead(new, *old)).collect(), 128, channel)
        });
        assert!(found.unwrap().is_empty());
    }
}

/// One value many times, or wrong ones for some items (selective failure): the others count, each once, and the run
/// ends like any other, so that the sender learns nothing from it.
#[test]
fn a_value_counts_for_its_item_and_once() {
    let sets = equal_sets(ATTEMPTS);
    for kept in [1, 30, 999] {
        let found = listed(&sets, |mut values| {
            (kept..values.len()).for_each(|i| values[i] = values[i % kept]);
            values
        });
        assert_eq!(found.unwrap().len(), kept);
    }
    let found = listed(&sets, |values| {
        let wrong = |i: usize| Block(u128::from(!i.is_multiple_of(3)) << (i % 128));
        values.into_iter().enumerate().map(|(i, value)| value ^ wrong(i)).collect()
    });
    assert_eq!(found.unwrap().len(), ATTEMPTS.div_ceil(3));
}

/// With any choices in the base OTs, the sender reads R's own values on the paths of R's items: R's output is the same,
/// and for each column the sender lacks one of the streams that mask R's messages, for any choice. If s has no secret
/// bits, only the sender's own items lose their protection from R.
#[test]
fn degenerate_choices_change_nothing_for_the_receiver() {
    let sets = Sets::random(Sizes { sender: 300, receiver: 200 }, 70, 2);
    for choices in [Choices::All(false), Choices::All(true), Choices::First] {
        let found = received(&MALICIOUS_SENDER, &sets, |channel, rng| {
            let points = hashed(sets.sender.items());
            send_list(values(&sets, choices, &points, channel, rng)?, 128, channel)
        });
        assert_eq!(found.unwrap(), sets.expected(), "{choices:?}");
    }
}

/// Without H1 a sender chooses the points at which it evaluates F. None of them is a point of R unless it is H1 of R's
/// item: the items themselves, their sums with one constant, and points that share a half with the right ones.
#[test]
fn points_that_are_no_hashes_match_nothing() {
    let sets = equal_sets(ATTEMPTS);
    let right = hashed(sets.sender.items());
    let tries = [
        unhashed(sets.sender.items()),
        right.iter().map(|[low, high]| [*low ^ Block(1), *high]).collect(),
        right.iter().map(|[low, high]| [*high, *low]).collect(),
        right.iter().map(|[low, _]| [*low, Block::ZERO]).collect(),
        (0..ATTEMPTS as u128).map(|i| [Block(i), Block(0)]).collect(),
    ];
    for points in &tries {
        let found = received(&MALICIOUS_SENDER, &sets, |channel, rng| {
            send_list(values(&sets, Choices::Random, points, channel, rng)?, 128, channel)
        });
        assert!(found.unwrap().is_empty());
    }
}

/// Shorter values, more or fewer of them than announced, and unsorted ones.
#[test]
fn other_lists_are_refused() {
    let sets = equal_sets(100);
    for (count, bits) in [(99, 128), (101, 128), (200, 128), (0, 128), (100, 64), (100, 120)] {
        let found = received(&MALICIOUS_SENDER, &sets, |channel, rng| {
            let points = hashed(sets.sender.items());
            let mut list = values(&sets, Choices::Random, &points, channel, rng)?;
            list.resize(count, Block(1));
            send_list(list, bits, channel)
        });
        assert!(has_wrong_length(&found.unwrap_err(), "cm20/list"), "{count} of {bits} bits");
    }
    let unsorted = received(&MALICIOUS_SENDER, &sets, |channel: &mut Channel, rng| {
        let points = hashed(sets.sender.items());
        values(&sets, Choices::Random, &points, channel, rng)?;
        let layout = vesica_structures::tag_list::Layout::new(100, 128);
        Ok(channel.send("cm20/list", &vec![0xff; layout.encoded_len()])?)
    });
    let refused = matches!(
        unsorted,
        Err(Error::Channel(ChannelError::Peer {
            deviation: Deviation::Malformed { label: "cm20/list", .. },
            ..
        }))
    );
    assert!(refused, "{unsorted:?}");
}
