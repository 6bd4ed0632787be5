//! A peer that deviates at a message of a method. Every method is semi-honest: nothing binds a number to the sets. The
//! tests show the guarantees that hold nevertheless. A message of another length, label, order or number is refused
//! with an error that names it, and the honest party never panics or waits forever. Where only the content of a message
//! differs, it ends with an error or with *some* answer to the query: a sum may be any number, a threshold either, and
//! a count that is computed from shares any number as well.

use std::collections::BTreeSet;

use vesica_psi::{circuit_psi::rs21::SILENT, receive as receive_rows, send as send_rows};
use vesica_testkit::tamper;

use super::*;
use crate::shares::blame;

const SIZES: Sizes = Sizes { sender: 4, receiver: 3 };
const SHARED: usize = 2;

fn query(aggregate: Aggregate, minimum: u64) -> Query {
    Query { sizes: SIZES, aggregate, minimum, noise: None, partitions: 1, people: None }
}

/// The aggregates with which circuits are tried, and their minima: each kind, and each with a minimum, which adds a
/// comparison and hides the answer behind it.
const CIRCUITS: [(Aggregate, u64); 8] = [
    (Aggregate::Products, 0),
    (Aggregate::Count, 0),
    (Aggregate::SumOfSender, 2),
    (Aggregate::SumOfReceiver, 3),
    (Aggregate::AtLeast(1), 2),
    (Aggregate::AtLeast(2), 0),
    (Aggregate::SumOfReceiver, 0),
    (Aggregate::Count, 2),
];

/// Either party deviates at any message of some steps, in any way.
fn against_a_peer_that_deviates(
    method: &Method,
    aggregate: Aggregate,
    minimum: u64,
    steps: impl Fn(&str) -> bool,
) {
    let query = query(aggregate, minimum);
    let input = Input::random(SIZES, SHARED, aggregate, 11);
    let helping = |channel: &mut Channel, rng: &mut StdRng| {
        send(&method.on(query), Valued::new(input.sets.sender.items(), &input.sender), channel, rng)
            .map_err(blame)
    };
    let asking = |channel: &mut Channel, rng: &mut StdRng| {
        receive(
            &method.on(query),
            Valued::new(input.sets.receiver.items(), &input.receiver),
            channel,
            rng,
        )
        .map_err(blame)
    };
    tamper::against_at(&steps, helping, asking, |case, answer| match (aggregate, answer) {
        // Inconsistent shares can add up to anything.
        (Aggregate::Count, Output::Count(count)) => {
            assert!(count <= 3 || method.key == RS21.key, "{case:?}: {count}");
        }
        (Aggregate::Count | Aggregate::AtLeast(_), Output::Sum(_)) => panic!("{case:?}: a sum"),
        (_, Output::Sum(_)) => {}
        (Aggregate::AtLeast(_), Output::AtLeast(_)) => {}
        (_, Output::TooFew) if minimum > 0 => {}
        other => panic!("{case:?}: {other:?}"),
    });
    // If the receiver owns the values of an encrypted sum, it takes the steps of a sender that owns them.
    if method.key != SUM.key || aggregate != Aggregate::SumOfReceiver {
        tamper::against_at(&steps, asking, helping, |_, ()| {});
    }
}

#[test]
fn a_count_against_a_peer_that_deviates() {
    against_a_peer_that_deviates(&COUNT, Aggregate::Count, 0, |_| true);
}

#[test]
fn an_encrypted_sum_against_a_peer_that_deviates() {
    against_a_peer_that_deviates(&DH_SUM, Aggregate::SumOfSender, 0, |_| true);
    // The steps that differ if the receiver owns the values.
    let others = |label: &str| ["dh-sum/enough", "dh-sum/sum"].contains(&label);
    for minimum in [0, 3] {
        against_a_peer_that_deviates(&DH_SUM, Aggregate::SumOfReceiver, minimum, others);
    }
}

/// Steps of methods that do not occur in a run of circuit PSI for rows.
const STEPS: [&str; 7] = [
    "psi/size",
    "silent-ot/session",
    "silent-ot/flips",
    "arithmetic/products",
    "gmw/ands",
    "gmw/reveal",
    "answer/share",
];

#[test]
fn circuits_against_a_peer_that_deviates() {
    let cases = CIRCUITS.into_iter().enumerate();
    for (_, (aggregate, minimum)) in cases.filter(|(case, _)| assurance::tries(*case, 0, 2)) {
        let steps = |label: &str| STEPS.contains(&label);
        against_a_peer_that_deviates(&RS21, aggregate, minimum, steps);
    }
}

/// The labels of both parties' messages.
fn labels(transcripts: &Transcripts) -> BTreeSet<String> {
    let messages = [&transcripts.sender, &transcripts.receiver].map(|sent| sent.messages.iter());
    messages.into_iter().flatten().map(|message| message.label.clone()).collect()
}

/// Every message of a circuit's answer is tampered with either here or in a run for rows.
#[test]
fn no_step_of_an_answer_is_left_out() {
    let sets = Sets::random(SIZES, SHARED, 11);
    let rows = labels(&transcript::of(
        |channel, rng| send_rows(&SILENT, sets.sender.items(), 0..=4, channel, rng),
        |channel, rng| receive_rows(&SILENT, sets.receiver.items(), 0..=4, channel, rng).map(drop),
    ));
    let mut tried = BTreeSet::new();
    for (aggregate, minimum) in CIRCUITS {
        let input = Input::random(SIZES, SHARED, aggregate, 11);
        let labels = labels(&input.transcripts(&RS21, query(aggregate, minimum)));
        tried.extend(labels.into_iter().filter(|label| !rows.contains(label)));
    }
    let all = STEPS.into_iter().filter(|step| !rows.contains(*step));
    assert_eq!(tried, all.map(str::to_owned).collect::<BTreeSet<_>>());
    // Every kind of aggregate is among them.
    let kind = |aggregate: Aggregate| std::mem::discriminant(&aggregate);
    let is_tried = |all: &Aggregate| CIRCUITS.iter().any(|(one, _)| kind(*one) == kind(*all));
    assert!(aggregates(SHARED as u64).iter().all(is_tried));
}
