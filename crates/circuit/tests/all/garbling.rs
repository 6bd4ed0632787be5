//! Sort, compare and shuffle in garbled circuits: correct results over real OT, message lengths that reveal
//! nothing, and a peer that deviates at each message.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use rand::{CryptoRng, RngExt, SeedableRng, rngs::StdRng};
use vesica_circuit::{
    Party,
    count::Count,
    gadgets::Comparison,
    garbling::{Evaluator, Garbler, table_bytes},
    programs::{
        scs::{self, KnownInputs, Parameters, SortedItems},
        waksman,
    },
};
use vesica_net::{Channel, Result};
use vesica_ot::{
    CotReceiver, CotSender,
    extension::{
        silent,
        softspoken::{SmallField, semi_honest},
    },
};
use vesica_params::lpn::ONES;
use vesica_primitives::Block;
use vesica_testkit::{
    ideal, tamper,
    transcript::{self, Transcripts},
    two_party::{self, Link},
};

const WIDTH: usize = 20;
const FIELD: SmallField = SmallField::new(4);

fn terms(sizes: [usize; 2], receiver: Party) -> Parameters {
    Parameters { width: WIDTH, sizes, receiver, comparison: Comparison::Small }
}

/// Intersects, from a party's knowledge at the beginning: its items, and a permutation unless it is the receiver.
fn intersect<E: vesica_circuit::Engine>(
    engine: &mut E,
    own: Party,
    items: &SortedItems,
    terms: &Parameters,
    rng: &mut StdRng,
) -> std::result::Result<Option<Vec<Block>>, E::Error> {
    let permutation = waksman::random(terms.places(), rng);
    let mut known = KnownInputs::default();
    known.items[own as usize] = Some(items);
    known.permutation = (own != terms.receiver).then_some(&permutation[..]);
    scs::intersect(engine, terms, known)
}

fn garble<C: CotSender>(
    cot: C,
    items: &SortedItems,
    terms: &Parameters,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Option<Vec<Block>>> {
    let mut garbler = Garbler::new(cot, channel, rng)?;
    intersect(&mut garbler, Party::First, items, terms, rng)
}

fn evaluate<C: CotReceiver>(
    cot: C,
    items: &SortedItems,
    terms: &Parameters,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Option<Vec<Block>>> {
    let mut evaluator = Evaluator::new(cot, channel)?;
    intersect(&mut evaluator, Party::Second, items, terms, rng)
}

fn items(numbers: impl IntoIterator<Item = u128>) -> SortedItems {
    SortedItems::new(numbers.into_iter().map(Block).collect(), WIDTH).unwrap()
}

/// Makes one party of an OT extension.
type Setup<P> = fn(&mut Channel, &mut dyn CryptoRng) -> Result<P>;

fn assert_right<S: CotSender, R: CotReceiver>(sender: Setup<S>, receiver: Setup<R>) {
    let mut rng = StdRng::seed_from_u64(1);
    for (sizes, shown_to) in [
        ([0, 0], Party::First),
        ([1, 0], Party::Second),
        ([100, 333], Party::First),
        ([513, 200], Party::Second),
    ] {
        let sets = sizes.map(|n| {
            let mut set = BTreeSet::new();
            while set.len() < n {
                set.insert(rng.random_range(1..1 << 10));
            }
            set
        });
        let own = sets.each_ref().map(|set| items(set.iter().copied()));
        let terms = terms(sizes, shown_to);
        let (first, second) = two_party::run(
            Link::Memory,
            |channel, rng| garble(sender(channel, rng)?, &own[0], &terms, channel, rng),
            |channel, rng| evaluate(receiver(channel, rng)?, &own[1], &terms, channel, rng),
        );
        let (shown, other) = match shown_to {
            Party::First => (first, second),
            Party::Second => (second, first),
        };
        assert!(other.is_none());
        let shown: BTreeSet<u128> = shown.unwrap().into_iter().map(|item| item.0).collect();
        assert_eq!(shown, sets[0].intersection(&sets[1]).copied().collect());
    }
}

#[test]
fn the_intersection_comes_out_over_softspoken() {
    assert_right(
        |channel, rng| semi_honest::Sender::setup(FIELD, channel, rng),
        |channel, rng| semi_honest::Receiver::setup(FIELD, channel, rng),
    );
}

#[test]
fn the_intersection_comes_out_over_silent_ot() {
    assert_right(
        |channel, rng| {
            let cot = semi_honest::Sender::setup(FIELD, channel, rng)?;
            silent::Sender::setup(cot, ONES, channel, rng)
        },
        |channel, rng| {
            let cot = semi_honest::Receiver::setup(FIELD, channel, rng)?;
            silent::Receiver::setup(cot, ONES, channel, rng)
        },
    );
}

fn transcripts(first: &SortedItems, second: &SortedItems, receiver: Party) -> Transcripts {
    let terms = terms([first.len(), second.len()], receiver);
    let (sender, choices) = ideal::ot(1);
    transcript::of(
        |channel, rng| garble(sender, first, &terms, channel, rng),
        |channel, rng| evaluate(choices, second, &terms, channel, rng),
    )
}

#[test]
fn lengths_depend_on_shapes_alone() {
    for receiver in [Party::First, Party::Second] {
        let shape_of = |first: u128, second: u128| {
            let own = [first, second].map(|from| items(from..from + 70));
            transcripts(&own[0], &own[1], receiver).shape().map(|shape| {
                shape.into_iter().map(|(label, len)| (label.to_owned(), len)).collect::<Vec<_>>()
            })
        };
        let apart = shape_of(1, 1000);
        assert_eq!(shape_of(1, 1), apart);
        assert_eq!(shape_of(500, 480), apart);
    }
}

#[test]
fn as_many_bytes_travel_as_the_gates_say() {
    for sizes in [[1, 1], [60, 60], [100, 17]] {
        let own = sizes.map(|n| items(1..=n as u128));
        let sent = transcripts(&own[0], &own[1], Party::First);
        let terms = terms(sizes, Party::First);
        let mut count = Count::default();
        scs::intersect(&mut count, &terms, KnownInputs::default()).unwrap();
        // Two public random numbers, then only tables.
        assert_eq!(sent.sender.payload_bytes() as u64, 32 + table_bytes(count.ands));
        let words = WIDTH * terms.places().div_ceil(64);
        assert_eq!(sent.receiver.payload_bytes(), 8 * words);
    }
}

/// For any message of the peer, the outcome is an error about it, or a result; semi-honest parties need not notice
/// more.
#[test]
fn a_peer_that_deviates_does_no_more_than_spoil_the_result() {
    let own = [items(1..=5), items(3..=9)];
    for receiver in [Party::First, Party::Second] {
        let terms = terms([5, 7], receiver);
        let garbler = |channel: &mut Channel, rng: &mut StdRng| {
            garble(ideal::ot(1).0, &own[0], &terms, channel, rng)
        };
        let evaluator = |channel: &mut Channel, rng: &mut StdRng| {
            evaluate(ideal::ot(1).1, &own[1], &terms, channel, rng)
        };
        tamper::against(garbler, evaluator, |_, _| {});
        tamper::against(evaluator, garbler, |_, _| {});
    }
}
