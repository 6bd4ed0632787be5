//! One bit of a party's messages is flipped, anywhere: a protocol that is secure against deviating parties
//! never gives an honest receiver a row that is not in the intersection.
//!
//! Flips are distributed evenly over the steps of a protocol, so that short messages are hit as often as long
//! ones. The permitted consequences are written down for each step ([`May`]); any other fails the test. A part
//! of the intersection is what the receiver would have got if the sender had used other items; so each step
//! that permits it also has a minimum for the size of the part.

#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Deviation, Error as ChannelError};
use vesica_psi::{Adversary, Error, Protocol, Sizes, receive, send};
use vesica_testkit::{
    conformance::psi::Sets,
    frame::Message,
    tamper::{Tamper, tamper},
    transcript,
    two_party::{Link, PATIENCE, party},
};

/// Another one for the OKVS of many items: with 64, rs21 and rr22 use the same one.
const SIZES: Sizes = Sizes { sender: 64, receiver: 64 };
const ONE_MORE: Sizes = Sizes { sender: 64, receiver: 65 };
const SHARED: usize = 40;

/// The largest number of items that either party accepts.
const MOST: usize = 100;

/// Number of flips per protocol: with every change, and in full.
const FEW: usize = 60;
const ALL: usize = 10_000;

/// Number of concurrent runs.
const AT_ONCE: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Sender,
    Receiver,
}

/// One flipped bit.
#[derive(Debug, Clone)]
struct Flip {
    by: Role,
    label: String,
    /// The number of the message among those that the party sends.
    message: usize,
    bit: usize,
    /// The seed of both parties' randomness.
    seed: u64,
}

/// The outcome of a flip.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The honest party ended with this error and produced no output.
    Refused(String),
    /// The party whose bit was flipped gave up, and the honest one produced no output.
    GaveUp,
    /// The honest party succeeded, and the receiver, whichever party that was, has the intersection.
    Right,
    /// The honest party succeeded, and the receiver has a part of the intersection; with a flipped bit of the
    /// sender, this many rows are missing.
    Fewer(usize),
    /// The honest sender succeeded, and the receiver did not.
    Lost,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(by) => write!(f, "refused: {by}"),
            Self::GaveUp => write!(f, "the other party gave up"),
            Self::Right => write!(f, "accepted, right output"),
            Self::Fewer(rows) => write!(f, "accepted, {rows} rows fewer"),
            Self::Lost => write!(f, "accepted, the receiver got nothing"),
        }
    }
}

/// The messages of an honest run, of each party.
fn messages(protocol: &Protocol, sets: &Sets) -> [Vec<Message>; 2] {
    let both = transcript::of(
        |channel, rng| send(protocol, sets.sender.items(), 0..=MOST, channel, rng),
        |channel, rng| receive(protocol, sets.receiver.items(), 0..=MOST, channel, rng),
    );
    [both.sender.messages, both.receiver.messages]
}

/// Some flips: in turn by the parties that the protocol allows to deviate, in turn in their steps, in a random
/// bit of a random message of the step.
fn flips(protocol: &Protocol, sets: &Sets, count: usize) -> Vec<Flip> {
    let [by_sender, by_receiver] = messages(protocol, sets);
    let mut steps = Vec::new();
    for (by, messages) in [(Role::Sender, &by_sender), (Role::Receiver, &by_receiver)] {
        if by == Role::Receiver && protocol.adversary != Adversary::Malicious {
            continue;
        }
        let with_bits = messages.iter().filter(|message| !message.payload.is_empty());
        let labels: BTreeSet<&String> = with_bits.map(|message| &message.label).collect();
        for label in labels {
            let numbers =
                messages.iter().enumerate().filter(|(_, message)| message.label == *label);
            steps.push((by, numbers.collect::<Vec<_>>()));
        }
    }
    let rng = &mut StdRng::seed_from_u64(1);
    let turns = (0..count).zip(steps.iter().cycle());
    turns
        .map(|(i, (by, step))| {
            let (number, message) = step[rng.random_range(0..step.len())];
            Flip {
                by: *by,
                label: message.label.clone(),
                message: number,
                bit: rng.random_range(0..8 * message.payload.len()),
                seed: 2 * i as u64,
            }
        })
        .collect()
}

/// A run with a flip.
fn confront(protocol: &Protocol, sets: &Sets, flip: &Flip) -> Outcome {
    let (left, right) = Link::Memory.connect();
    let flipped = |by, wire| match by == flip.by {
        true => tamper(wire, flip.message, Tamper::FlipBit(flip.bit)),
        false => wire,
    };
    let (left, right) = (flipped(Role::Sender, left), flipped(Role::Receiver, right));
    let sending = |channel: &mut Channel, rng: &mut StdRng| {
        send(protocol, sets.sender.items(), 0..=MOST, channel, rng)
    };
    let receiving = |channel: &mut Channel, rng: &mut StdRng| {
        receive(protocol, sets.receiver.items(), 0..=MOST, channel, rng)
    };
    let (sent, received) = thread::scope(|scope| {
        let sender = scope.spawn(|| party(left, PATIENCE, flip.seed, sending));
        let receiver = scope.spawn(|| party(right, PATIENCE, flip.seed + 1, receiving));
        (sender.join(), receiver.join())
    });
    let (Ok(sent), Ok(received)) = (sent, received) else {
        panic!("{}: {flip:?}: a party panicked", protocol.key);
    };
    let expected = sets.expected();
    let rows = received.as_ref().map(|rows| {
        let right = rows.iter().all(|row| expected.contains(row));
        assert!(right, "{}: {flip:?}: a row that is not in the intersection", protocol.key);
        assert!(rows.is_sorted_by(|a, b| a < b), "{}: {flip:?}: a row twice", protocol.key);
        expected.len() - rows.len()
    });
    match (flip.by, sent, rows) {
        (Role::Sender, _, Err(error)) => refusal(protocol, flip, error),
        (Role::Receiver, Err(error), _) => refusal(protocol, flip, &error),
        (_, _, Ok(0)) => Outcome::Right,
        (_, _, Ok(missing)) => Outcome::Fewer(missing),
        (Role::Receiver, Ok(()), Err(_)) => Outcome::Lost,
    }
}

fn refusal(protocol: &Protocol, flip: &Flip, error: &Error) -> Outcome {
    match error {
        Error::Channel(ChannelError::Closed { .. } | ChannelError::Aborted { .. }) => {
            Outcome::GaveUp
        }
        Error::Channel(ChannelError::Peer { deviation, .. }) => Outcome::Refused(match deviation {
            Deviation::CheckFailed { check } => (*check).into(),
            other => other.to_string(),
        }),
        Error::TooManyItems { .. } => Outcome::Refused("too many items".into()),
        other => panic!("{}: {flip:?}: no error that a flip explains: {other}", protocol.key),
    }
}

/// The number of each outcome, for flips in each step.
type Tally = BTreeMap<(Role, String, Outcome), usize>;

fn tally(protocol: &'static Protocol, sizes: Sizes, count: usize) -> Tally {
    let sets = Sets::random(sizes, SHARED, 1);
    let flips = flips(protocol, &sets, count);
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(flip) = flips.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = confront(protocol, &sets, flip);
                    let key = (flip.by, flip.label.clone(), outcome);
                    let mut tally = tally.lock().unwrap();
                    *tally.entry(key).or_default() += 1;
                    let done: usize = tally.values().sum();
                    if done.is_multiple_of(1000) {
                        println!("{}, {done} flips: {:#?}", protocol.key, totals(&tally));
                    }
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

/// The permitted consequences of a flip in a step, in addition to refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum May {
    /// No other.
    Refused,
    /// It may go unnoticed if it makes no difference.
    GoUnnoticed,
    /// It may belong to one of the sender's items, which is then not among its inputs.
    TakeOneItem,
    /// It may change the input, so that the receiver gets at most a part of the intersection.
    ChangeInput,
}

impl May {
    /// The permitted consequences for the messages of a step.
    fn of(label: &str) -> Self {
        match label {
            // A position of the tree that the other party does not know, or a bit of Δ that is zero: a guess
            // that is right with the probability stated in the extension's proof, and gains nothing here.
            "pprf/sums" | "extension/columns" | "softspoken/corrections" => Self::GoUnnoticed,
            // A different number of items for which all lengths are the same, as the OKVS grows in steps.
            "psi/size" => Self::GoUnnoticed,
            // A value that belongs to one item, or the commitment to it.
            "cm20/list" | "naive/list" | "prty20/list" | "rr16/list" | "rs21/list"
            | "rr17/list" | "rr17/commitments" => Self::TakeOneItem,
            // From here on the parties have different hash functions, and no value of one matches one of the
            // other.
            "psi/seed-share" | "oos17/session" | "naive/key" | "prty20/session" | "prty20/seed"
            | "rs21/seed" => Self::ChangeInput,
            // The receiver's input itself.
            "rs21/columns" => Self::ChangeInput,
            _ => Self::Refused,
        }
    }

    fn allows(self, by: Role, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Refused(_) | Outcome::GaveUp => true,
            Outcome::Right => self != Self::Refused,
            Outcome::Fewer(1) if self == Self::TakeOneItem => by == Role::Sender,
            Outcome::Fewer(_) | Outcome::Lost => self == Self::ChangeInput,
        }
    }
}

/// The number of each outcome, over all steps.
fn totals(tally: &Tally) -> BTreeMap<String, usize> {
    let mut totals = BTreeMap::new();
    for ((_, label, outcome), times) in tally {
        let kind = match outcome {
            Outcome::Fewer(_) => "accepted, a part of the intersection".into(),
            Outcome::Refused(_) if label == "psi/size" => "refused: another size or name".into(),
            other => other.to_string(),
        };
        *totals.entry(kind).or_insert(0) += times;
    }
    totals
}

fn holds(protocol: &'static Protocol, sizes: Sizes, count: usize) {
    let tally = tally(protocol, sizes, count);
    println!("{}, {count} flips", protocol.key);
    for ((by, label, outcome), times) in &tally {
        println!("  {times:5} × {label} by the {by:?}: {outcome}");
    }
    for (by, label, outcome) in tally.keys() {
        let may = May::of(label);
        assert!(may.allows(*by, outcome), "{}: {label} by the {by:?}: {outcome}", protocol.key);
    }
    // A step in which nothing was ever refused or lost was not reached by a flip.
    let unfelt = |step: &(Role, String)| {
        let mut outcomes = tally.keys().filter(|(by, label, _)| (*by, label) == (step.0, &step.1));
        outcomes.all(|(_, _, outcome)| *outcome == Outcome::Right)
    };
    let steps: BTreeSet<_> = tally.keys().map(|(by, label, _)| (*by, label.clone())).collect();
    if count == ALL {
        assert!(!steps.iter().any(unfelt), "{}: {steps:?}", protocol.key);
    }
}

/// Tests a protocol under flips.
macro_rules! mutations {
    ($name:ident, $protocol:expr, $sizes:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn few() {
                holds($protocol, $sizes, FEW);
            }

            #[test]
            #[ignore = "assure: 10,000 flips take ten minutes or more"]
            fn all() {
                holds($protocol, $sizes, ALL);
            }
        }
    };
}

mutations!(cm20_malicious_sender, &vesica_psi::protocols::cm20::MALICIOUS_SENDER, SIZES);
mutations!(naive, &vesica_psi::protocols::naive::PROTOCOL, SIZES);
mutations!(prty20_malicious, &vesica_psi::protocols::prty20::MALICIOUS, SIZES);
mutations!(rr16, &vesica_psi::protocols::rr16::PROTOCOL, SIZES);
mutations!(rr17_de, &vesica_psi::protocols::rr17::DUAL_EXECUTION, SIZES);
mutations!(rr17_ec, &vesica_psi::protocols::rr17::ENCODE_COMMIT, SIZES);
mutations!(rr22_malicious, &vesica_psi::protocols::rr22::MALICIOUS, ONE_MORE);
mutations!(rr22_malicious_low, &vesica_psi::protocols::rr22::MALICIOUS_LOW, ONE_MORE);
mutations!(rs21_malicious, &vesica_psi::protocols::rs21::MALICIOUS, SIZES);

/// No protocol of the catalogue is left out.
#[test]
fn every_protocol_that_holds_against_somebody_is_here() {
    let here = [
        "cm20-malicious-sender",
        "naive",
        "prty20-malicious",
        "rr16",
        "rr17-de",
        "rr17-ec",
        "rr22-malicious",
        "rr22-malicious-low",
        "rs21-malicious",
    ];
    let holds = |protocol: &&&Protocol| protocol.adversary != Adversary::SemiHonest;
    assert!(vesica_psi::CATALOGUE.iter().filter(holds).map(|protocol| protocol.key).eq(here));
}
