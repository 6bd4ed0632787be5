//! Numbers with noise.

#![allow(clippy::unwrap_used)]

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_params::Laplace;
use vesica_psi::{
    Error, Sizes,
    aggregate::{
        Aggregate, METHODS, Output, Query, Randomness, Share, Valued, circuit::RS21, learn,
        receive, send, tell,
    },
};
use vesica_testkit::{
    conformance::psi::{Sets, UNCOUNTED_BYTES},
    transcript::{self, Transcripts},
    two_party::{self, Link, PATIENCE, between},
};

const AGGREGATES: [Aggregate; 4] =
    [Aggregate::Count, Aggregate::SumOfSender, Aggregate::SumOfReceiver, Aggregate::Products];

const SIZES: Sizes = Sizes { sender: 60, receiver: 40 };

/// Noise that is larger than this with a probability below 2^-100.
const LARGEST: i128 = 8;

fn query(aggregate: Aggregate, epsilon: u32, sensitivity: u64) -> Query {
    let noise = Laplace::new(epsilon, sensitivity);
    assert!(noise.is_some());
    Query { sizes: SIZES, aggregate, minimum: 0, noise, partitions: 1, people: None }
}

/// Returns the query with the least noise.
fn faint(aggregate: Aggregate) -> Query {
    query(aggregate, Laplace::LARGEST_EPSILON, 1)
}

/// Sets with a given number of shared items, and the values that the aggregate takes: the sender's are all −2, the
/// receiver's all 5.
struct Input {
    sets: Sets,
    sender: Vec<i64>,
    receiver: Vec<i64>,
}

impl Input {
    fn new(query: Query, shared: usize, seed: u64) -> Self {
        let values = |wanted: bool, value, n| vec![value; if wanted { n } else { 0 }];
        Self {
            sets: Sets::random(query.sizes, shared, seed),
            sender: values(query.aggregate.takes_senders_values(), -2, query.sizes.sender),
            receiver: values(query.aggregate.takes_receivers_values(), 5, query.sizes.receiver),
        }
    }

    fn transcripts(&self, query: Query) -> Transcripts {
        transcript::of(
            |channel, rng| {
                send(
                    &RS21.on(query),
                    Valued::new(self.sets.sender.items(), &self.sender),
                    channel,
                    rng,
                )
            },
            |channel, rng| {
                let items = self.sets.receiver.items();
                receive(&RS21.on(query), Valued::new(items, &self.receiver), channel, rng).map(drop)
            },
        )
    }
}

/// Returns the contribution of each shared item to the number.
fn of_each(aggregate: Aggregate) -> i128 {
    match aggregate {
        Aggregate::SumOfSender => -2,
        Aggregate::SumOfReceiver => 5,
        Aggregate::Products => -10,
        _ => 1,
    }
}

fn assert_near(answer: Output, right: i128) {
    let Output::Noisy(number) = answer else { panic!("{answer:?}") };
    assert!((number - right).abs() <= LARGEST, "{number}, without noise {right}");
}

#[test]
fn numbers_are_right_but_for_the_noise() {
    for aggregate in AGGREGATES {
        for shared in [0, 40] {
            let query = faint(aggregate);
            let Input { sets, sender, receiver } = Input::new(query, shared, 1);
            let ((), answer) = two_party::run(
                Link::Memory,
                |channel, rng| {
                    send(&RS21.on(query), Valued::new(sets.sender.items(), &sender), channel, rng)
                },
                |channel, rng| {
                    receive(
                        &RS21.on(query),
                        Valued::new(sets.receiver.items(), &receiver),
                        channel,
                        rng,
                    )
                },
            );
            assert_near(answer, shared as i128 * of_each(aggregate));
        }
    }
}

/// The largest noise that there is hides everything, and does not wrap.
#[test]
fn much_noise_is_much() {
    for aggregate in AGGREGATES {
        let query = query(aggregate, 1, Laplace::LARGEST_SENSITIVITY);
        let Input { sets, sender, receiver } = Input::new(query, 20, 2);
        let ((), answer) = two_party::run(
            Link::Memory,
            |channel, rng| {
                send(&RS21.on(query), Valued::new(sets.sender.items(), &sender), channel, rng)
            },
            |channel, rng| {
                receive(
                    &RS21.on(query),
                    Valued::new(sets.receiver.items(), &receiver),
                    channel,
                    rng,
                )
            },
        );
        let Output::Noisy(number) = answer else { panic!("{answer:?}") };
        // The standard deviation is 2^82.4; a small number comes with a probability of 2^-20.
        assert!((1 << 62..1 << 89).contains(&number.unsigned_abs()), "{number}");
    }
}

/// Each party's share of the total over three partitions, opened with noise.
#[test]
fn noise_is_added_once_to_the_total_of_partitions() {
    for aggregate in AGGREGATES {
        let query = Query { partitions: 3, ..faint(aggregate) };
        let shared = [0, 7, 40];
        let inputs: Vec<_> =
            (1..).zip(shared).map(|(seed, shared)| Input::new(query, shared, seed)).collect();
        let party = |receives: bool, channel: &mut Channel, rng: &mut StdRng| {
            let mut total = Share::default();
            for Input { sets, sender, receiver } in &inputs {
                let (set, values) =
                    if receives { (&sets.receiver, receiver) } else { (&sets.sender, sender) };
                let adder = RS21.on_partition(query).party(receives, channel, rng)?;
                total.add(&adder.run(Valued::new(set.items(), values), channel, rng)?);
            }
            let mut noise = StdRng::from_rng(&mut *rng);
            let mut randomness = Randomness { rng, noise: &mut noise };
            (RS21.partitions.unwrap().open)(query, receives, &total, channel, &mut randomness)
        };
        let (nothing, answer) = two_party::run::<_, _, Error>(
            Link::Memory,
            |channel, rng| party(false, channel, rng),
            |channel, rng| party(true, channel, rng),
        );
        assert_eq!(nothing, None);
        assert_near(answer.unwrap(), 47 * of_each(aggregate));
    }
}

/// The number follows from the noise of both parties, and from nothing else that is random.
#[test]
fn an_opening_that_is_repeated_gives_the_same_number() {
    let query = Query { partitions: 2, ..query(Aggregate::Count, 1_000, 1) };
    let open = |receives: bool, seed: u64| {
        move |channel: &mut Channel, rng: &mut StdRng| {
            let total = Share { count: if receives { 40 } else { 0 }, sum: 0 };
            let mut noise = StdRng::seed_from_u64(seed + u64::from(receives));
            let mut randomness = Randomness { rng, noise: &mut noise };
            (RS21.partitions.unwrap().open)(query, receives, &total, channel, &mut randomness)
        }
    };
    let opened = |seed: u64| {
        two_party::run::<_, _, Error>(Link::Memory, open(false, seed), open(true, seed)).1.unwrap()
    };
    assert_eq!(opened(2), opened(2));
    assert_ne!(opened(2), opened(4));
}

/// Bytes each way match the formula, and reveal nothing about the data.
#[test]
fn lengths_are_those_computed() {
    for (aggregate, epsilon, sensitivity) in
        [(Aggregate::Count, 500_000, 1), (Aggregate::Products, 10_000, 1 << 40)]
    {
        let query = query(aggregate, epsilon, sensitivity);
        let [few, many] = [(0, 1), (40, 2)]
            .map(|(shared, seed)| Input::new(query, shared, seed).transcripts(query));
        assert_eq!(few.shape(), many.shape());
        let cost = (RS21.cost)(query);
        for (sent, predicted) in
            [(few.sender, cost.bytes_to_receiver), (few.receiver, cost.bytes_to_sender)]
        {
            let off = sent.payload_bytes() as f64 - predicted;
            assert!((-0.05 * predicted..=0.05 * predicted + UNCOUNTED_BYTES).contains(&off));
        }
    }
}

/// Parties that want different noise do not run.
#[test]
fn both_parties_want_the_same_noise() {
    let (mine, theirs) = (faint(Aggregate::Count), query(Aggregate::Count, 1_000_000, 1));
    let Input { sets, .. } = Input::new(mine, 7, 3);
    let (sent, received) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| send(&RS21.on(mine), Valued::new(sets.sender.items(), &[]), channel, rng),
        |channel, rng| {
            receive(&RS21.on(theirs), Valued::new(sets.receiver.items(), &[]), channel, rng)
        },
    );
    assert!(sent.is_err() && received.is_err());
}

/// No method that answers with noise also reveals something without noise.
#[test]
fn noise_goes_with_no_minimum_and_no_threshold() {
    for aggregate in AGGREGATES {
        for method in METHODS {
            let noisy = faint(aggregate);
            assert_eq!(method.answers(&noisy), method.key == RS21.key);
            assert!(!method.answers(&Query { minimum: 1, ..noisy }));
            assert!(!method.answers(&Query { aggregate: Aggregate::AtLeast(3), ..noisy }));
        }
    }
}

/// A receiver that is to report a noisy number cannot report another kind.
#[test]
fn only_a_noisy_number_is_told() {
    let noisy = faint(Aggregate::Count);
    let exact = Query { noise: None, ..noisy };
    for (query, answer, is_one) in [
        (noisy, Output::Noisy(-3), true),
        (noisy, Output::Count(3), false),
        (noisy, Output::TooFew, false),
        (exact, Output::Noisy(3), false),
        (exact, Output::Count(3), true),
    ] {
        let (_, learned) = between(
            Link::Memory.connect(),
            PATIENCE,
            |channel, _| tell(answer, channel),
            |channel, _| learn(&query, channel),
        );
        assert_eq!(learned.ok(), is_one.then_some(answer));
    }
}
