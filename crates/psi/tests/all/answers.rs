//! Every method, with every aggregate that it supports, compared with the plain computation.

#![allow(clippy::unwrap_used)]

mod deviating_peer;

use std::sync::{Arc, LazyLock};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_primitives::paillier::Key;
use vesica_psi::{
    Error, Sizes,
    aggregate::{
        Aggregate, METHODS, Method, Output, Query, Randomness, Share, Valued,
        circuit::RS21,
        dh::COUNT,
        dh_sum::{Owner, SUM},
        receive, send,
    },
};
use vesica_testkit::{
    assurance,
    conformance::psi::{Sets, UNCOUNTED_BYTES},
    transcript::{self, Transcripts},
    two_party::{Link, PATIENCE, between},
};

/// A Paillier key for all tests, since each takes some tenths of a second to make.
static KEY: LazyLock<Arc<Key>> =
    LazyLock::new(|| Arc::new(Key::generate(&mut StdRng::seed_from_u64(1))));

/// The method, except that each owner of values has that key.
static DH_SUM: Method = Method {
    sender: |query, channel, rng| match query.aggregate {
        Aggregate::SumOfSender => Ok(Box::new(Owner::with_key(KEY.clone(), query, channel)?)),
        _ => (SUM.sender)(query, channel, rng),
    },
    receiver: |query, channel, rng| match query.aggregate {
        Aggregate::SumOfReceiver => Ok(Box::new(Owner::with_key(KEY.clone(), query, channel)?)),
        _ => (SUM.receiver)(query, channel, rng),
    },
    ..SUM
};

/// All methods.
fn methods() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().map(|method| if method.key == DH_SUM.key { &DH_SUM } else { *method })
}

/// Aggregates of all kinds, for an intersection of `shared` items.
fn aggregates(shared: u64) -> Vec<Aggregate> {
    let least = [0, 1, shared, shared + 1, u64::MAX].map(Aggregate::AtLeast);
    let all =
        [Aggregate::Count, Aggregate::SumOfSender, Aggregate::SumOfReceiver, Aggregate::Products];
    all.into_iter().chain(least).collect()
}

/// Both sets, and the values that an aggregate takes.
struct Input {
    sets: Sets,
    sender: Vec<i64>,
    receiver: Vec<i64>,
}

impl Input {
    fn random(sizes: Sizes, shared: usize, aggregate: Aggregate, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let sets = Sets::random(sizes, shared, seed);
        // Values as large as a set's values may be.
        let mut values = |wanted: bool, n: usize| -> Vec<i64> {
            let most = i64::MAX / n.max(1) as i64;
            let n = if wanted { n } else { 0 };
            (0..n).map(|_| rng.random_range(-most..=most)).collect()
        };
        let sender = values(aggregate.takes_senders_values(), sizes.sender);
        let receiver = values(aggregate.takes_receivers_values(), sizes.receiver);
        Self { sets, sender, receiver }
    }

    /// The positions of each shared item among the sender's and the receiver's.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let theirs = self.sets.sender.items().low_halves();
        let mine = self.sets.receiver.items().low_halves();
        let of_sender = |i: u32| theirs.iter().position(|low| *low == mine[i as usize]).unwrap();
        self.sets.expected().into_iter().map(|i| (of_sender(i), i as usize)).collect()
    }

    /// The expected output of the receiver.
    fn expected(&self, query: Query) -> Output {
        let pairs = self.pairs();
        let sum = |value: &dyn Fn(usize, usize) -> i128| {
            Output::Sum(pairs.iter().map(|(s, r)| value(*s, *r)).sum())
        };
        match query.aggregate {
            _ if (pairs.len() as u64) < query.minimum => Output::TooFew,
            Aggregate::Count => Output::Count(pairs.len() as u64),
            Aggregate::SumOfSender => sum(&|s, _| self.sender[s].into()),
            Aggregate::SumOfReceiver => sum(&|_, r| self.receiver[r].into()),
            Aggregate::Products => {
                sum(&|s, r| i128::from(self.sender[s]) * i128::from(self.receiver[r]))
            }
            Aggregate::AtLeast(least) => Output::AtLeast(pairs.len() as u64 >= least),
        }
    }

    fn run(&self, method: &Method, query: Query, link: Link) -> Result<Output, Error> {
        let (helped, answer) = between(
            link.connect(),
            PATIENCE,
            |channel, rng| {
                send(
                    &method.on(query),
                    Valued::new(self.sets.sender.items(), &self.sender),
                    channel,
                    rng,
                )
            },
            |channel, rng| {
                receive(
                    &method.on(query),
                    Valued::new(self.sets.receiver.items(), &self.receiver),
                    channel,
                    rng,
                )
            },
        );
        helped.and(answer)
    }

    fn transcripts(&self, method: &Method, query: Query) -> Transcripts {
        transcript::of(
            |channel, rng| {
                send(
                    &method.on(query),
                    Valued::new(self.sets.sender.items(), &self.sender),
                    channel,
                    rng,
                )
            },
            |channel, rng| {
                let items = self.sets.receiver.items();
                receive(&method.on(query), Valued::new(items, &self.receiver), channel, rng)
                    .map(drop)
            },
        )
    }
}

/// Every method with every aggregate, for an intersection of `shared` items and every minimum.
fn cases(shared: u64) -> impl Iterator<Item = (&'static Method, Aggregate, u64)> {
    methods().flat_map(move |method| {
        let minima = [0, 1, shared, shared + 1];
        let all = aggregates(shared).into_iter().flat_map(move |q| minima.map(|m| (q, m)));
        let mut seen = Vec::new();
        all.filter(move |(aggregate, minimum)| {
            let new = !seen.contains(&(*aggregate, *minimum));
            seen.push((*aggregate, *minimum));
            new && (method.supports)(*aggregate, *minimum)
        })
        .map(move |(aggregate, minimum)| (method, aggregate, minimum))
    })
}

/// The cases that differ in more than a number in the last circuit: each kind of aggregate, and a sum with a
/// minimum.
fn few_cases(shared: u64) -> impl Iterator<Item = (&'static Method, Aggregate, u64)> {
    cases(shared).filter(move |(_, aggregate, minimum)| match aggregate {
        Aggregate::AtLeast(least) => (*least, *minimum) == (shared, 0),
        Aggregate::SumOfSender | Aggregate::SumOfReceiver => [0, shared + 1].contains(minimum),
        _ => *minimum == 0,
    })
}

/// Whether a set is too large for a test of a method that encrypts a value for every item.
fn takes_long(method: &Method, sizes: Sizes) -> bool {
    method.key == "dh-sum" && sizes.sender + sizes.receiver > 200
}

fn check(
    cases: impl Iterator<Item = (&'static Method, Aggregate, u64)>,
    sizes: Sizes,
    shared: usize,
    link: Link,
) {
    for (method, aggregate, minimum) in cases {
        if takes_long(method, sizes) {
            continue;
        }
        let query = Query { sizes, aggregate, minimum, noise: None, partitions: 1, people: None };
        let input = Input::random(sizes, shared, aggregate, 1 + sizes.receiver as u64);
        let answer = input.run(method, query, link).unwrap();
        assert_eq!(answer, input.expected(query), "{} on {query:?}", method.key);
    }
}

/// Every supported query; with every change, half of them with nothing in common, the others with two items.
#[test]
fn all_questions() {
    for (place, shared) in [0, 2].into_iter().enumerate() {
        let cases = cases(shared).enumerate();
        let cases = cases.filter(|(case, _)| assurance::tries(place, *case, 2));
        let cases = cases.map(|(_, case)| case);
        check(cases, Sizes { sender: 3, receiver: 4 }, shared as usize, Link::Memory);
    }
}

#[test]
fn small_sets() {
    let sizes = [(0, 0), (0, 1), (1, 0), (1, 1), (3, 3), (2, 40), (40, 2)];
    for (place, (sender, receiver)) in sizes.into_iter().enumerate() {
        let most = sender.min(receiver);
        for shared in (0..=most).step_by(most.max(1)) {
            let cases = few_cases(shared as u64).enumerate();
            let cases = cases.filter(|(case, _)| assurance::tries(place, *case, 3));
            let cases = cases.map(|(_, case)| case);
            check(cases, Sizes { sender, receiver }, shared, Link::Memory);
        }
    }
}

#[test]
fn larger_sets() {
    check(few_cases(333), Sizes { sender: 1000, receiver: 700 }, 333, Link::Memory);
    check(few_cases(211), Sizes { sender: 211, receiver: 1500 }, 211, Link::Memory);
}

#[test]
fn over_sockets() {
    check(few_cases(20), Sizes { sender: 50, receiver: 60 }, 20, Link::Tcp);
}

/// The view of an observer, and of each party, depends only on sizes and the aggregate.
#[test]
fn lengths_say_nothing() {
    let sizes = Sizes { sender: 20, receiver: 30 };
    let cases = cases(10).enumerate().filter(|(case, _)| assurance::tries(*case, 0, 2));
    for (case, (method, aggregate, minimum)) in cases {
        let query = Query { sizes, aggregate, minimum, noise: None, partitions: 1, people: None };
        let transcripts =
            |shared, seed| Input::random(sizes, shared, aggregate, seed).transcripts(method, query);
        // Exactly as many as a minimum or a threshold, too few, and all.
        let reference = transcripts(10, 1);
        let others = [(0, 2), (20, 3)].into_iter().enumerate();
        for (_, (shared, seed)) in others.filter(|(other, _)| assurance::tries(case / 2, *other, 2))
        {
            let other = transcripts(shared, seed);
            assert_eq!(reference.shape(), other.shape(), "{} on {query:?}", method.key);
        }
    }
}

/// Payload bytes each way are within 5 % of the formula.
#[test]
fn costs() {
    for n in [1 << 6, 1 << 8, 1 << 12].into_iter().take(assurance::trials(2, 3)) {
        let sizes = Sizes { sender: n, receiver: n };
        for (method, aggregate, minimum) in few_cases(10) {
            if takes_long(method, sizes) {
                continue;
            }
            let query =
                Query { sizes, aggregate, minimum, noise: None, partitions: 1, people: None };
            let sent = Input::random(sizes, 10, aggregate, 5).transcripts(method, query);
            let cost = (method.cost)(query);
            for (who, sent, predicted) in [
                ("sender", sent.sender, cost.bytes_to_receiver),
                ("receiver", sent.receiver, cost.bytes_to_sender),
            ] {
                let sent = sent.payload_bytes() as f64;
                let off = sent - predicted;
                assert!(
                    -0.05 * predicted <= off && off <= 0.05 * predicted + UNCOUNTED_BYTES,
                    "{}: the {who} sent {sent} bytes for {query:?}; predicted {predicted}",
                    method.key
                );
            }
        }
    }
}

/// The number of flights is the method's, for sets that fit one chunk.
#[test]
fn rounds() {
    let uneven = [(1, 1), (7, 50), (50, 7)].into_iter().enumerate();
    let uneven = uneven.flat_map(|(place, sizes)| {
        let cases = few_cases(10).enumerate();
        let cases = cases.filter(move |(case, _)| assurance::tries(place, *case, 3));
        cases.map(move |(_, case)| (sizes, case))
    });
    let even = cases(10).enumerate().filter(|(case, _)| assurance::tries(*case, 1, 2));
    let all = even.map(|(_, case)| ((9, 10), case)).chain(uneven);
    for ((sender, receiver), (method, aggregate, minimum)) in all {
        let sizes = Sizes { sender, receiver };
        let query = Query { sizes, aggregate, minimum, noise: None, partitions: 1, people: None };
        let input = Input::random(sizes, 1, aggregate, 9);
        let (helped, asked) = between(
            Link::Memory.connect(),
            PATIENCE,
            |channel, rng| {
                let items = input.sets.sender.items();
                send(&method.on(query), Valued::new(items, &input.sender), channel, rng)?;
                Ok::<_, Error>(channel.meter().rounds())
            },
            |channel, rng| {
                let items = input.sets.receiver.items();
                receive(&method.on(query), Valued::new(items, &input.receiver), channel, rng)?;
                Ok::<_, Error>(channel.meter().rounds())
            },
        );
        let predicted = u64::from((method.cost)(query).rounds);
        let rounds = [helped.unwrap(), asked.unwrap()];
        assert_eq!(rounds, [predicted; 2], "{} on {query:?}", method.key);
    }
}

#[test]
fn an_item_that_comes_twice_is_refused() {
    let sizes = Sizes { sender: 20, receiver: 20 };
    for (method, aggregate, minimum) in few_cases(5) {
        let query = Query { sizes, aggregate, minimum, noise: None, partitions: 1, people: None };
        let mut input = Input::random(sizes, 5, aggregate, 6);
        let positions: Vec<u32> = (0..19).chain([3]).collect();
        input.sets.receiver = input.sets.receiver.items().at(&positions);
        let error = input.run(method, query, Link::Memory).unwrap_err();
        // Neither party gets an answer, whichever party's error comes first.
        assert!(
            matches!(error, Error::DuplicateItem { first: 3, second: 19 } | Error::Channel(_)),
            "{}: {error}",
            method.key
        );
    }
}

/// Parties with different queries do not run.
#[test]
fn another_question_is_another_run() {
    let sizes = Sizes { sender: 10, receiver: 10 };
    for (method, aggregate, minimum) in cases(5) {
        let query = Query { sizes, aggregate, minimum, noise: None, partitions: 1, people: None };
        let input = Input::random(sizes, 5, aggregate, 7);
        let others = cases(5).filter(|(other, asked, least)| {
            (other.key, *asked, *least) != (method.key, aggregate, minimum)
        });
        for (other_method, other_aggregate, other_minimum) in others.take(3) {
            let other = Query {
                sizes,
                aggregate: other_aggregate,
                minimum: other_minimum,
                noise: None,
                partitions: 1,
                people: None,
            };
            let values = Input::random(sizes, 5, other_aggregate, 7).sender;
            let (helped, answer) = between(
                Link::Memory.connect(),
                PATIENCE,
                |channel, rng| {
                    send(
                        &other_method.on(other),
                        Valued::new(input.sets.sender.items(), &values),
                        channel,
                        rng,
                    )
                },
                |channel, rng| {
                    let items = input.sets.receiver.items();
                    receive(&method.on(query), Valued::new(items, &input.receiver), channel, rng)
                },
            );
            assert!(helped.is_err() && answer.is_err(), "{query:?} and {other:?}");
        }
    }
}

/// No sum of one party's values exceeds 64 bits with any method, even at the limit.
#[test]
fn sums_of_the_largest_values() {
    let sizes = Sizes { sender: 3, receiver: 3 };
    for method in methods() {
        for aggregate in [Aggregate::SumOfSender, Aggregate::SumOfReceiver] {
            if !(method.supports)(aggregate, 0) {
                continue;
            }
            let query =
                Query { sizes, aggregate, minimum: 0, noise: None, partitions: 1, people: None };
            let mut input = Input::random(sizes, 3, aggregate, 12);
            for values in [[i64::MAX, 0, 0], [-i64::MAX, 0, 0], [i64::MAX - 2, 1, -1], [-1; 3]] {
                let own =
                    if input.sender.is_empty() { &mut input.receiver } else { &mut input.sender };
                own.copy_from_slice(&values);
                let sum = Output::Sum(values.into_iter().map(i128::from).sum());
                assert_eq!(input.run(method, query, Link::Memory).unwrap(), sum);
            }
        }
    }
}

/// Nor does any sum of products wrap, for any values of the parties.
#[test]
fn products_of_the_largest_values() {
    const MOST: i64 = i64::MAX;
    let sizes = Sizes { sender: 3, receiver: 3 };
    let edges = [
        [MOST, 0, 0],
        [-MOST, 0, 0],
        [1 << 62, 4, 0],
        [4, 1 << 62, 0],
        [(1 << 62) - 1, 1 << 61, -(1 << 61)],
        [-1, 1, -1],
    ];
    for method in methods().filter(|method| (method.supports)(Aggregate::Products, 3)) {
        let pairs = edges.iter().flat_map(|one| edges.map(|other| (one, other)));
        for (pair, (one, other)) in pairs.enumerate() {
            let kinds = [(3, 0), (3, 3), (1, 0)].into_iter().enumerate();
            for (_, (shared, minimum)) in kinds.filter(|(kind, _)| assurance::tries(pair, *kind, 5))
            {
                let query = Query {
                    sizes,
                    aggregate: Aggregate::Products,
                    minimum,
                    noise: None,
                    partitions: 1,
                    people: None,
                };
                let mut input = Input::random(sizes, shared, Aggregate::Products, 13);
                (input.sender, input.receiver) = (vec![0; 3], vec![0; 3]);
                for ((s, r), (x, y)) in input.pairs().into_iter().zip(one.iter().zip(other)) {
                    (input.sender[s], input.receiver[r]) = (*x, y);
                }
                let answer = input.run(method, query, Link::Memory).unwrap();
                assert_eq!(answer, input.expected(query), "{one:?} and {other:?}");
            }
        }
    }
}

/// Whichever party's values they are.
#[test]
fn sums_that_could_wrap_are_refused() {
    let sizes = Sizes { sender: 2, receiver: 2 };
    let wrap = [[i64::MAX, -1], [i64::MIN, 0], [1 << 62, 1 << 62]];
    let asked = [Aggregate::SumOfSender, Aggregate::SumOfReceiver, Aggregate::Products];
    let able = |method: &&Method, aggregate| (method.supports)(aggregate, 0);
    for (aggregate, values) in asked.into_iter().flat_map(|q| wrap.map(|values| (q, values))) {
        for method in methods().filter(|method| able(method, aggregate)) {
            let query =
                Query { sizes, aggregate, minimum: 0, noise: None, partitions: 1, people: None };
            let fits = Input::random(sizes, 1, aggregate, 8);
            let of_sender = Input { sender: values.into(), ..fits };
            let fits = Input::random(sizes, 1, aggregate, 8);
            let of_receiver = Input { receiver: values.into(), ..fits };
            for (wraps, takes) in [
                (of_sender, aggregate.takes_senders_values()),
                (of_receiver, aggregate.takes_receivers_values()),
            ] {
                if takes {
                    let error = wraps.run(method, query, Link::Memory).unwrap_err();
                    let refused = matches!(error, Error::SumTooLarge | Error::Channel(_));
                    assert!(refused, "{}: {error}", method.key);
                }
            }
        }
    }
}

/// The sets of three partitions, of the sizes of the query, and the expected result of all together.
fn partitions(query: Query, shared: [usize; 3]) -> (Vec<Input>, Output) {
    let input = |(seed, shared)| {
        let input = Input::random(query.sizes, shared, query.aggregate, seed);
        // The values of all partitions together reach the limit for one set.
        let thirds = |values: Vec<i64>| values.into_iter().map(|value| value / 3).collect();
        Input { sender: thirds(input.sender), receiver: thirds(input.receiver), ..input }
    };
    let inputs: Vec<_> = (1..).zip(shared).map(input).collect();
    let all = shared.iter().sum::<usize>() as u64;
    let alone = Query { minimum: 0, ..query };
    let expected = match query.aggregate {
        _ if all < query.minimum => Output::TooFew,
        Aggregate::Count => Output::Count(all),
        Aggregate::AtLeast(least) => Output::AtLeast(all >= least),
        _ => {
            let sums = inputs.iter().map(|input| match input.expected(alone) {
                Output::Sum(sum) => sum,
                other => panic!("{other:?} is not a sum"),
            });
            Output::Sum(sums.sum())
        }
    };
    (inputs, expected)
}

/// A party's shares of all partitions, and the opened total.
fn over_partitions(
    query: Query,
    receives: bool,
    inputs: &[Input],
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<(Vec<Share>, Option<Output>), Error> {
    let mut shares = Vec::new();
    let mut total = Share::default();
    for Input { sets, sender, receiver } in inputs {
        let (set, values) =
            if receives { (&sets.receiver, receiver) } else { (&sets.sender, sender) };
        let adder = RS21.on_partition(query).party(receives, channel, rng)?;
        let share = adder.run(Valued::new(set.items(), values), channel, rng)?;
        total.add(&share);
        shares.push(share);
    }
    let open = RS21.partitions.unwrap().open;
    let mut noise = StdRng::seed_from_u64(0);
    let mut randomness = Randomness { rng, noise: &mut noise };
    Ok((shares, open(query, receives, &total, channel, &mut randomness)?))
}

/// Empty sets have an answer to every question.
#[test]
fn empty_sets_have_answers() {
    for sizes in [[0, 0], [0, 3], [3, 0]] {
        let [sender, receiver] = sizes;
        for aggregate in aggregates(0) {
            let query = Query {
                sizes: Sizes { sender, receiver },
                aggregate,
                minimum: 0,
                noise: None,
                partitions: 1,
                people: None,
            };
            let input = Input::random(query.sizes, 0, aggregate, 1);
            let answer = input.run(&RS21, query, Link::Memory).unwrap();
            assert!(
                matches!(answer, Output::Count(0) | Output::Sum(0) | Output::AtLeast(_)),
                "{query:?}: {answer:?}"
            );
        }
    }
}

/// Only the total over all partitions is opened, and only to the receiver.
#[test]
fn totals_over_partitions_are_those_of_the_whole() {
    let sizes = Sizes { sender: 60, receiver: 40 };
    let shared = [0, 7, 40];
    let cases = [
        (Aggregate::Count, &[0, 47, 48][..]),
        (Aggregate::SumOfSender, &[0]),
        (Aggregate::SumOfReceiver, &[47]),
        (Aggregate::Products, &[0]),
        (Aggregate::AtLeast(48), &[0]),
    ];
    for (aggregate, minima) in cases {
        for minimum in minima.iter().copied() {
            let query =
                Query { sizes, aggregate, minimum, noise: None, partitions: 3, people: None };
            let (inputs, expected) = partitions(query, shared);
            let (sent, received) = between(
                Link::Memory.connect(),
                PATIENCE,
                |channel, rng| over_partitions(query, false, &inputs, channel, rng),
                |channel, rng| over_partitions(query, true, &inputs, channel, rng),
            );
            let ((sent, nothing), (received, answer)) = (sent.unwrap(), received.unwrap());
            assert_eq!(nothing, None);
            assert_eq!(answer, Some(expected), "{query:?}");
            // Shares are random: neither party's, which has 32 bits at least, is a number of items.
            let is_open = |share: &Share| share.count < 1 << 10 && share.sum < 1 << 32;
            assert!(!sent.iter().chain(&received).any(is_open));
        }
    }
}
