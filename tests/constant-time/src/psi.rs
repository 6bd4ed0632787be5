//! Whole runs of protocols. All of a party's randomness is secret, and so are its long-term keys, values and payloads.
//! Items are not secret, because a party's placement of items in bins and stores depends on them.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_params::Laplace;
use vesica_primitives::{Block, declassify, paillier, rsa};
use vesica_psi::{
    CATALOGUE, Parties, Protocol, Set, Sizes,
    aggregate::{self, Aggregate, METHODS, Method, Output, Query, Valued, dh_sum, shares},
    payload::{self, Payloads, SenderInput},
    protocols::{blind_rsa, rr22},
    reveal,
};

use crate::{
    Case,
    marks::{public, public_object, secret, secret_object},
    parties::run,
};

/// The sizes of the sets, which differ and are not powers of two.
const SIZES: Sizes = Sizes { sender: 27, receiver: 41 };

/// Number of items that both sets have.
const SHARED: usize = 11;

/// Bytes of a payload: more than a block, and not a multiple of one.
const PAYLOAD: usize = 37;

/// The fastest protocol.
pub fn rr22() {
    intersection(&rr22::FAST);
}

/// The cases that take longer: every other protocol of the catalogue, every protocol with payloads (if it supports
/// them), every number by every method, shares, and revealing the result to the sender.
pub fn cases() -> impl Iterator<Item = Case> {
    fn case(name: String, run: impl Fn() + 'static) -> Case {
        (name, Box::new(run))
    }
    let protocols = CATALOGUE
        .iter()
        .filter(|protocol| protocol.key != rr22::FAST.key)
        .map(|protocol| case(format!("psi/{}", protocol.key), || intersection(protocol)));
    let carriers = CATALOGUE.iter().filter(|protocol| protocol.carries_payloads());
    let carriers =
        carriers.map(|protocol| case(format!("payloads/{}", protocol.key), || payloads(protocol)));
    let numbers = METHODS.iter().flat_map(|method| {
        questions(method).map(move |(name, query)| {
            case(format!("numbers/{}-{name}", method.key), move || number(method, query))
        })
    });
    let others = [
        case("psi/shares".to_owned(), both_shares),
        case("psi/reveal".to_owned(), told_to_the_sender),
    ];
    protocols.chain(carriers).chain(numbers).chain(others)
}

/// Returns both sets, with the positions of the shared items in the receiver's.
fn sets() -> (Set, Set, Vec<u32>) {
    let mut rng = StdRng::seed_from_u64(3);
    let mut draw = |n: usize| -> Vec<[Block; 2]> {
        (0..n).map(|_| [Block(rng.random()), Block(rng.random())]).collect()
    };
    let (shared, mut sender) = (draw(SHARED), draw(SIZES.sender - SHARED));
    let mut receiver = draw(SIZES.receiver - SHARED);
    sender.extend(&shared);
    // The shared items are spread in the receiver's set.
    shared.iter().enumerate().for_each(|(i, item)| receiver.insert(3 * i, *item));
    let owned: HashSet<[Block; 2]> = sender.iter().copied().collect();
    let positions = (0..).zip(&receiver).filter(|(_, item)| owned.contains(*item));
    let positions = positions.map(|(position, _)| position).collect();
    let set = |items: Vec<[Block; 2]>| {
        let half = |i: usize| items.iter().map(|item| item[i]).collect();
        Set::long(half(0), half(1))
    };
    (set(sender), set(receiver), positions)
}

/// A precomputed RSA key, which is secret except for N.
static RSA: LazyLock<Arc<rsa::Key>> = LazyLock::new(|| {
    let mut key = rsa::Key::generate(&mut StdRng::seed_from_u64(1));
    secret_object(&mut key);
    public_object(key.public());
    Arc::new(key)
});

/// A precomputed Paillier key, which is secret except for N.
static PAILLIER: LazyLock<Arc<paillier::Key>> = LazyLock::new(|| {
    let mut key = paillier::Key::generate(&mut StdRng::seed_from_u64(2));
    secret_object(&mut key);
    public_object(key.public());
    Arc::new(key)
});

/// Returns the protocol, with a precomputed RSA key if it would generate one, because the search for primes is not in
/// constant time.
fn prepared(protocol: &Protocol) -> Protocol {
    match protocol.key {
        "blind-rsa" => Protocol {
            parties: Parties::Plain {
                sender: |setting, channel, _| blind_rsa::sender_with(RSA.clone(), setting, channel),
                receiver: |setting, channel, rng| {
                    blind_rsa::PROTOCOL.receiver(setting, channel, rng)
                },
            },
            ..*protocol
        },
        _ => *protocol,
    }
}

/// Returns the method, with a precomputed Paillier key.
fn prepared_method(method: &Method) -> Method {
    match method.key {
        "dh-sum" => Method {
            sender: |query, channel, rng| match query.aggregate {
                Aggregate::SumOfSender => Ok(Box::new(owner(query, channel)?)),
                _ => (dh_sum::SUM.sender)(query, channel, rng),
            },
            receiver: |query, channel, rng| match query.aggregate {
                Aggregate::SumOfReceiver => Ok(Box::new(owner(query, channel)?)),
                _ => (dh_sum::SUM.receiver)(query, channel, rng),
            },
            ..*method
        },
        _ => *method,
    }
}

fn owner(query: Query, channel: &mut Channel) -> vesica_psi::Result<dh_sum::Owner> {
    dh_sum::Owner::with_key(PAILLIER.clone(), query, channel)
}

fn intersection(protocol: &Protocol) {
    let (protocol, (sender, receiver, shared)) = (prepared(protocol), sets());
    let (sizes, (mine, theirs)) = (SIZES, (sender.items(), receiver.items()));
    let ((), found) = run(
        |channel, rng| {
            vesica_psi::send(&protocol, mine, sizes.receiver..=sizes.receiver, channel, rng)
        },
        |channel, rng| {
            vesica_psi::receive(&protocol, theirs, sizes.sender..=sizes.sender, channel, rng)
        },
    );
    assert_eq!(found, shared, "the plain intersection");
}

fn payloads(protocol: &Protocol) {
    let carrying = protocol.carrying(PAYLOAD).expect("a protocol with payloads");
    let (sender, receiver, shared) = sets();
    let mut bytes: Vec<u8> = (0..SIZES.sender * PAYLOAD).map(|i| (i * i % 251) as u8).collect();
    let of_shared = bytes[(SIZES.sender - SHARED) * PAYLOAD..].to_vec();
    secret(&mut bytes);
    let (mine, theirs) = (sender.items(), receiver.items());
    let ((), opened) = run(
        |channel, rng| {
            let payloads = Payloads::new(PAYLOAD, &bytes);
            let receivers = SIZES.receiver..=SIZES.receiver;
            let input = SenderInput { items: mine, payloads };
            payload::send(&carrying, input, receivers, channel, rng)
        },
        |channel, rng| {
            payload::receive(&carrying, theirs, SIZES.sender..=SIZES.sender, channel, rng)
        },
    );
    assert_eq!(opened.positions(), shared, "the plain intersection");
    let received: Vec<&[u8]> = (0..SHARED).map(|i| opened.payload(i)).collect();
    received.iter().for_each(|payload| public(payload));
    assert_eq!(received.concat(), of_shared, "the payloads of what both have");
}

/// Returns the queries for a method: every number that it can compute, with a minimum and, if supported, with noise.
fn questions(method: &'static Method) -> impl Iterator<Item = (String, Query)> {
    let aggregates = [
        ("count", Aggregate::Count),
        ("sum-of-sender", Aggregate::SumOfSender),
        ("sum-of-receiver", Aggregate::SumOfReceiver),
        ("products", Aggregate::Products),
        ("at-least", Aggregate::AtLeast(SHARED as u64)),
    ];
    let query = |aggregate| Query {
        sizes: SIZES,
        aggregate,
        minimum: 0,
        noise: None,
        partitions: 1,
        people: None,
    };
    let plain = aggregates.map(|(name, aggregate)| (name.to_owned(), query(aggregate)));
    let minimum = Query { minimum: SHARED as u64, ..query(Aggregate::SumOfSender) };
    let noise = Laplace::new(1 << 10, 1);
    let others = [
        ("sum-minimum".to_owned(), minimum),
        ("count-noise".to_owned(), Query { noise, ..query(Aggregate::Count) }),
    ];
    plain.into_iter().chain(others).filter(|(_, query)| method.answers(query))
}

/// Returns secret values of both signs.
fn values(n: usize, wanted: bool) -> Vec<i64> {
    let value = |i: usize| (i as i64 - 20) * 1_000_003;
    let mut values: Vec<i64> = if wanted { (0..n).map(value).collect() } else { Vec::new() };
    secret(&mut values);
    values
}

fn number(method: &Method, query: Query) {
    let (method, (sender, receiver, shared)) = (prepared_method(method), sets());
    let of_sender = values(SIZES.sender, query.aggregate.takes_senders_values());
    let of_receiver = values(SIZES.receiver, query.aggregate.takes_receivers_values());
    let (mine, theirs) = (sender.items(), receiver.items());
    let ((), output) = run(
        |channel, rng| {
            aggregate::send(&method.on(query), Valued::new(mine, &of_sender), channel, rng)
        },
        |channel, rng| {
            aggregate::receive(&method.on(query), Valued::new(theirs, &of_receiver), channel, rng)
        },
    );
    public_object(&output);
    let first_shared = SIZES.sender - SHARED;
    let pairs: Vec<[i128; 2]> = (0..SHARED)
        .map(|i| {
            let value = |values: &[i64], position: usize| {
                values.get(position).map_or(1, |value| i128::from(declassify(*value)))
            };
            [value(&of_sender, first_shared + i), value(&of_receiver, shared[i] as usize)]
        })
        .collect();
    let expected = match query.aggregate {
        _ if query.noise.is_some() => return assert!(matches!(output, Output::Noisy(_))),
        Aggregate::Count => Output::Count(SHARED as u64),
        Aggregate::AtLeast(least) => Output::AtLeast(SHARED as u64 >= least),
        // A party without values uses 1.
        _ => Output::Sum(pairs.iter().map(|[left, right]| left * right).sum()),
    };
    assert_eq!(output, expected, "the number of the plain intersection");
}

/// Computes shares of matches and of both parties' values, which add up to the result.
fn both_shares() {
    let (sender, receiver, shared) = sets();
    let (of_sender, of_receiver) = (true, true);
    let outline =
        shares::Outline { sizes: SIZES, partitions: 1, of_sender, of_receiver, people: None };
    let sharing = outline.functionality();
    let (of_sender, of_receiver) = (values(SIZES.sender, true), values(SIZES.receiver, true));
    let (mine, theirs) = (sender.items(), receiver.items());
    let (left, right) = run(
        |channel, rng| {
            let input = Valued::new(mine, &of_sender);
            sharing.agree(false, channel)?;
            sharing.sender(channel, rng)?.run(input, channel, rng)
        },
        |channel, rng| {
            let input = Valued::new(theirs, &of_receiver);
            sharing.agree(true, channel)?;
            sharing.receiver(channel, rng)?.run(input, channel, rng)
        },
    );
    let matches = left.members.iter().zip(right.members.iter());
    let matches = matches.filter(|(left, right)| declassify(u8::from(**left ^ **right)) == 1);
    assert_eq!(matches.count(), shared.len(), "a match for each item of both");
}

/// The receiver reveals the result to the sender, under a key that is public once it is sent.
fn told_to_the_sender() {
    let (sender, receiver, shared) = sets();
    let both = receiver.items().at(&shared);
    let (positions, ()) = run(
        |channel, _| reveal::learn(sender.items(), SIZES, channel),
        |channel, rng| reveal::tell(both.items(), SIZES, channel, rng),
    );
    assert_eq!(positions.len(), SHARED, "what both have");
}
