//! Payloads: every protocol that carries them, compared with a plain join.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rand::rngs::StdRng;
use vesica_net::{Channel, Deviation, Error::Peer};
use vesica_primitives::Block;
use vesica_psi::{
    CATALOGUE, Error, List, Parties, Protocol, Set, Sizes, Status, find,
    payload::{self, Carrying, MAX_LEN, Opened, Payloads, SenderInput},
};
use vesica_testkit::{
    assurance,
    conformance::psi::{self, Sets},
    tamper::{self, Tamper},
    transcript::{self, Transcripts, record},
    two_party::{self, Link, PATIENCE, Wire, between},
};

/// Additional bytes of a sender's item for each list except the first.
const WRAPPED: usize = 20;

/// The message that contains payloads.
const SEALED: &str = "payload/sealed";

fn carriers() -> impl Iterator<Item = &'static Protocol> {
    CATALOGUE.iter().copied().filter(|protocol| protocol.carries_payloads())
}

/// The number of items for which there is time, in place of this number.
fn affordable(protocol: &Protocol, items: usize) -> usize {
    match protocol.key {
        "dh-ffc" => items.div_ceil(150),
        _ => items,
    }
}

/// The payload of the item at a position: a function of the item, so that either party can compute it.
fn payload_of(set: &Set, position: usize, len: usize) -> Vec<u8> {
    let items = set.items();
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&items.low_halves()[position].to_bytes())
        .update(&items.high_halves()[position].to_bytes());
    let mut payload = vec![0; len];
    hasher.finalize_xof().fill(&mut payload);
    payload
}

fn payloads_of(set: &Set, len: usize) -> Vec<u8> {
    (0..set.len()).flat_map(|position| payload_of(set, position, len)).collect()
}

/// The bound on the largest set that a party is given.
fn most(sets: &Sets) -> usize {
    sets.sender.len().max(sets.receiver.len())
}

fn send(
    carrying: &Carrying,
    sets: &Sets,
    payloads: &[u8],
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<(), Error> {
    let payloads = Payloads::new(carrying.payload_len(), payloads);
    let input = SenderInput { items: sets.sender.items(), payloads };
    payload::send(carrying, input, 0..=most(sets), channel, rng)
}

fn receive(
    carrying: &Carrying,
    sets: &Sets,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Opened, Error> {
    payload::receive(carrying, sets.receiver.items(), 0..=most(sets), channel, rng)
}

/// Whether this is the join of two sets.
fn is_join(opened: &Opened, sets: &Sets, len: usize) -> bool {
    let right = |(i, position): (usize, &u32)| {
        opened.payload(i) == payload_of(&sets.receiver, *position as usize, len)
    };
    *opened.positions() == sets.expected()[..] && opened.positions().iter().enumerate().all(right)
}

fn check(protocol: &Protocol, sets: &Sets, len: usize) {
    let carrying = protocol.carrying(len).expect("it carries payloads");
    let payloads = payloads_of(&sets.sender, len);
    let ((), opened) = two_party::run(
        Link::Memory,
        |channel, rng| send(&carrying, sets, &payloads, channel, rng),
        |channel, rng| receive(&carrying, sets, channel, rng),
    );
    let sizes = sets.sizes();
    assert!(is_join(&opened, sets, len), "{} at {sizes:?} with {len} bytes", protocol.key);
}

fn transcripts(protocol: &Protocol, sets: &Sets, len: usize, payloads: &[u8]) -> Transcripts {
    let carrying = protocol.carrying(len).expect("it carries payloads");
    transcript::of(
        |channel, rng| send(&carrying, sets, payloads, channel, rng),
        |channel, rng| receive(&carrying, sets, channel, rng).map(drop),
    )
}

#[test]
fn a_run_is_a_join() {
    let sizes = [(0, 0), (0, 3), (3, 0), (1, 1), (257, 257), (257, 31), (30, 1000), (1000, 30)];
    let lens = [1, 7, 16, 64, 129, 1000];
    for (place, protocol) in carriers().enumerate() {
        for (case, (sender, receiver)) in sizes.into_iter().enumerate() {
            let (sender, receiver) = (affordable(protocol, sender), affordable(protocol, receiver));
            let least = sender.min(receiver);
            for (i, shared) in [0, least.div_ceil(2), least].into_iter().enumerate() {
                if assurance::tries(place + case, i, 3) {
                    let sets = Sets::random(Sizes { sender, receiver }, shared, case as u64);
                    check(protocol, &sets, lens[(case + i) % lens.len()]);
                }
            }
        }
    }
}

#[test]
fn items_need_not_look_random() {
    let sequence = |range: std::ops::Range<u128>| {
        Set::long(range.clone().map(Block).collect(), range.map(|i| Block(i << 90)).collect())
    };
    for protocol in carriers() {
        let n = affordable(protocol, 600) as u128;
        let sets = Sets { sender: sequence(0..n), receiver: sequence(n / 2..n + 3) };
        check(protocol, &sets, 24);
    }
}

/// More than one message of payloads and of keys, and a payload longer than an ordinary message.
#[test]
fn payloads_travel_in_pieces() {
    let sets = |n| Sets::random(Sizes { sender: n, receiver: n / 3 }, n / 5, 2);
    for key in ["rr22", "rr22-malicious", "kkrt16"] {
        let protocol = find(key).unwrap();
        check(protocol, &sets(3001), 300);
        check(protocol, &sets(15), MAX_LEN);
        let both = transcripts(protocol, &sets(15), MAX_LEN, &vec![0; 15 * MAX_LEN]);
        let sealed = both.sender.messages.iter().filter(|message| message.label == SEALED);
        assert_eq!(sealed.count(), 4, "{key}");
    }
    check(find("kkrt16").unwrap(), &sets(20_011), 3);
}

/// Exact to the byte: the cost of payloads, and of wrapped keys.
#[test]
fn bytes_are_those_of_the_catalogue() {
    for protocol in carriers() {
        let Parties::Carrying { lists, .. } = protocol.parties else { unreachable!("a carrier") };
        for (sender, receiver) in [(300, 60), (60, 300), (0, 60)] {
            let (sender, receiver) = (affordable(protocol, sender), affordable(protocol, receiver));
            let sizes = Sizes { sender, receiver };
            let sets = Sets::random(sizes, sender.min(receiver), 8);
            let without = psi::transcripts(protocol, &sets);
            let with = transcripts(protocol, &sets, 64, &payloads_of(&sets.sender, 64));
            let more = with.sender.payload_bytes() - without.sender.payload_bytes();
            assert_eq!(more, sender * (64 + WRAPPED * (lists - 1)), "{}", protocol.key);
            assert_eq!(with.receiver.payload_bytes(), without.receiver.payload_bytes());
            let (cost, carrying) = (protocol.cost(sizes), protocol.carrying(64).unwrap());
            let predicted = carrying.cost(sizes);
            assert_eq!(predicted.bytes_to_receiver - cost.bytes_to_receiver, more as f64);
            assert_eq!(predicted.bytes_to_sender, cost.bytes_to_sender);
            assert_eq!(predicted.rounds, cost.rounds);
        }
    }
}

/// 64 bytes per row cost at most these bytes plus a twentieth of the cost of a run without them.
fn sixty_four_bytes(key: &str, exponent: u32) {
    let protocol = find(key).unwrap();
    let sizes = Sizes { sender: 1 << exponent, receiver: 1 << exponent };
    let sets = Sets::random(sizes, sizes.sender / 2, 3);
    let bytes = |both: Transcripts| both.sender.payload_bytes() + both.receiver.payload_bytes();
    let without = bytes(psi::transcripts(protocol, &sets));
    let with = bytes(transcripts(protocol, &sets, 64, &vec![7; 64 * sizes.sender]));
    println!("{key} at 2^{exponent}: {without} bytes, with 64 bytes a row {with}");
    assert!(with as f64 <= (64 * sizes.sender) as f64 + 1.05 * without as f64, "{key}");
}

#[test]
fn sixty_four_bytes_a_row_cost_little_more() {
    for key in ["rr22", "rr22-malicious"] {
        sixty_four_bytes(key, 16);
    }
}

#[test]
#[ignore = "assure: a million items a side"]
fn sixty_four_bytes_a_row_cost_little_more_in_large_sets() {
    for key in ["rr22", "rr22-low", "rr22-malicious", "rr22-malicious-low", "dh"] {
        sixty_four_bytes(key, 20);
    }
}

/// An observer sees neither the number of shared items nor the contents of payloads.
#[test]
fn lengths_depend_on_sizes_alone() {
    for protocol in carriers() {
        for (sender, receiver) in [(1, 1), (150, 20), (20, 150)] {
            let (sender, receiver) = (affordable(protocol, sender), affordable(protocol, receiver));
            let sizes = Sizes { sender, receiver };
            let least = sender.min(receiver);
            let reference =
                transcripts(protocol, &Sets::random(sizes, 0, 9), 33, &vec![0; 33 * sender]);
            let sets = Sets::random(sizes, least.div_ceil(2), 10);
            let other = transcripts(protocol, &sets, 33, &payloads_of(&sets.sender, 33));
            assert_eq!(reference.shape(), other.shape(), "{} at {sizes:?}", protocol.key);
        }
    }
}

/// Runs both parties over these ends.
fn over(ends: (Wire, Wire), carrying: &Carrying, sets: &Sets, payloads: &[u8]) -> Opened {
    let (sent, opened) = between(
        ends,
        PATIENCE,
        |channel, rng| send(carrying, sets, payloads, channel, rng),
        |channel, rng| receive(carrying, sets, channel, rng),
    );
    sent.unwrap();
    opened.unwrap()
}

/// A receiver's results of runs in which the ciphertexts were moved by 0, 1, … places. Randomness is the same
/// in each run, so ciphertexts of the first one fit.
fn opened_from(carrying: &Carrying, sets: &Sets, payloads: &[u8], moves: usize) -> Vec<Opened> {
    let (left, right) = Link::Memory.connect();
    let (left, recorder) = record(left);
    let mut all = vec![over((left, right), carrying, sets, payloads)];
    let messages = recorder.transcript().messages;
    let number = messages.iter().position(|message| message.label == SEALED).unwrap();
    let mut message = messages[number].clone();
    for _ in 1..moves {
        message.payload.rotate_left(carrying.payload_len());
        let (left, right) = Link::Memory.connect();
        let left = tamper::tamper(left, number, Tamper::Replace(message.clone()));
        all.push(over((left, right), carrying, sets, payloads));
    }
    all
}

/// Each key of the receiver's matches, applied to each ciphertext: it opens only its own.
#[test]
fn a_key_opens_no_other_payload() {
    const SENDER: usize = 7;
    const LEN: usize = 16;
    let sets = Sets::random(Sizes { sender: SENDER, receiver: 5 }, 4, 4);
    let payloads = payloads_of(&sets.sender, LEN);
    for protocol in carriers() {
        let carrying = protocol.carrying(LEN).unwrap();
        let moves = if protocol.key == "dh-ffc" { 2 } else { SENDER };
        let all = opened_from(&carrying, &sets, &payloads, moves);
        assert!(is_join(&all[0], &sets, LEN), "{}", protocol.key);
        for (moved, opened) in all.iter().enumerate().skip(1) {
            assert_eq!(opened.positions(), sets.expected(), "{}", protocol.key);
            let foreign = |i| payloads.chunks(LEN).all(|payload| payload != opened.payload(i));
            assert!((0..4).all(foreign), "{} with ciphertexts moved by {moved}", protocol.key);
        }
    }
}

/// A sender that alters payloads changes only the receiver's results for these; any alteration of their form
/// ends the run.
#[test]
fn a_deviating_sender_changes_payloads_at_most() {
    const LEN: usize = 40;
    let sets = Sets::random(Sizes { sender: 41, receiver: 30 }, 12, 1);
    let payloads = payloads_of(&sets.sender, LEN);
    let expected = sets.expected();
    for key in ["rr22", "rr22-malicious", "dh", "kkrt16"] {
        let carrying = find(key).unwrap().carrying(LEN).unwrap();
        let blame = |error: Error| match error {
            Error::Channel(error) => error,
            other => panic!("nothing that a peer does may end in: {other}"),
        };
        tamper::against_at(
            |label| label.starts_with("payload/"),
            |channel, rng| send(&carrying, &sets, &payloads, channel, rng).map_err(blame),
            |channel, rng| receive(&carrying, &sets, channel, rng).map_err(blame),
            |case, opened: Opened| {
                assert_eq!(opened.positions(), expected, "{key}: {case:?}");
                let flipped: u32 = (0..opened.positions().len())
                    .map(|i| {
                        let position = opened.positions()[i] as usize;
                        let right = payload_of(&sets.receiver, position, LEN);
                        let both = right.iter().zip(opened.payload(i));
                        both.map(|(x, y)| (x ^ y).count_ones()).sum::<u32>()
                    })
                    .sum();
                let one_bit = matches!(case.tamper, Tamper::FlipBit(_)) && case.label == SEALED;
                assert!(!one_bit || flipped <= 1, "{key}: {case:?}: {flipped} bits");
            },
        );
    }
}

/// The outcome for two parties with payloads of these lengths.
fn with_lengths(sent: usize, awaited: usize) -> (Result<(), Error>, Result<Opened, Error>) {
    let sets = Sets::random(Sizes { sender: 20, receiver: 30 }, 5, 1);
    let [carrying, awaiting] =
        [sent, awaited].map(|len| find("dh").unwrap().carrying(len).unwrap());
    let payloads = payloads_of(&sets.sender, sent);
    between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| send(&carrying, &sets, &payloads, channel, rng),
        |channel, rng| receive(&awaiting, &sets, channel, rng),
    )
}

#[test]
fn parties_agree_on_the_length() {
    let (sent, received) = with_lengths(64, 65);
    let another = |error: Error| match error {
        Error::Channel(Peer { phase: "sizes", deviation }) => {
            deviation == Deviation::Malformed { label: "psi/size", what: "of another protocol" }
        }
        _ => false,
    };
    assert!(another(sent.unwrap_err()) && received.err().is_some_and(another));
    assert!(with_lengths(64, 64).1.is_ok());
}

#[test]
fn an_item_that_comes_twice_is_refused() {
    for protocol in carriers() {
        let sets = Sets::random(Sizes { sender: 8, receiver: 8 }, 4, 6);
        let twice = |set: &Set| set.items().at(&[0, 1, 2, 3, 4, 5, 6, 2]);
        let run = |sets: &Sets| {
            let carrying = protocol.carrying(5).unwrap();
            let payloads = vec![1; 5 * 8];
            let ends = between(
                Link::Memory.connect(),
                PATIENCE,
                |channel, rng| send(&carrying, sets, &payloads, channel, rng),
                |channel, rng| receive(&carrying, sets, channel, rng),
            );
            (ends.0.err(), ends.1.err())
        };
        let duplicate = |error: &Option<Error>| {
            matches!(error, Some(Error::DuplicateItem { first: 2, second: 7 }))
        };
        let (sent, received) = run(&Sets { sender: twice(&sets.sender), ..sets.clone() });
        assert!(duplicate(&sent) && received.is_some(), "{}", protocol.key);
        let (sent, received) = run(&Sets { receiver: twice(&sets.receiver), ..sets.clone() });
        assert!(duplicate(&received) && sent.is_some(), "{}", protocol.key);
    }
}

#[test]
fn unsupported_payloads_are_refused() {
    let rr22 = find("rr22").unwrap();
    assert!(rr22.carrying(0).is_none() && rr22.carrying(MAX_LEN + 1).is_none());
    assert!(rr22.carrying(MAX_LEN).is_some());
    assert!(rr22.with_list(List::Bloom).unwrap().carrying(64).is_none());
    assert!(find("naive").unwrap().carrying(64).is_none());
    // Any protocol that `auto` may choose without payloads, it may also choose with them.
    let recommended = CATALOGUE.iter().filter(|p| p.status == Status::Recommended);
    assert!(recommended.clone().count() > 0 && recommended.clone().all(|p| p.carries_payloads()));
}

#[test]
fn the_oracle_sees_what_is_wrong() {
    let sets = Sets::random(Sizes { sender: 9, receiver: 9 }, 5, 4);
    let carrying = find("dh").unwrap().carrying(16).unwrap();
    let mut payloads = payloads_of(&sets.sender, 16);
    payloads.rotate_left(16);
    assert!(!is_join(&opened_from(&carrying, &sets, &payloads, 1)[0], &sets, 16));
}
