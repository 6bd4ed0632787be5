//! A message of a party is changed, anywhere: a protocol that is secure against deviating parties never gives an honest
//! receiver a row that is not in the intersection.
//!
//! Two of three mutations flip one bit; the third drops, repeats, reorders, cuts, lengthens or splices a message. Both
//! are distributed evenly over the steps of a protocol, so that short messages are hit as often as long ones. The
//! permitted consequences are written down for each step ([`May`]); any other fails the test. A part of the
//! intersection is the result that the receiver would have got if the sender had used other items; so each step that
//! permits it also has a minimum for the size of the part.

#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
    sync::Mutex,
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

const SIZES: Sizes = Sizes { sender: 64, receiver: 64 };

/// So many that the VOLE has noise, and rs21 and rr22 different OKVS.
const MANY: Sizes = Sizes { sender: 64, receiver: 800 };
const SHARED: usize = 40;

/// The largest number of items that either party accepts.
const MOST: usize = 1000;

/// Number of mutations per protocol: with every change, and in full.
const FEW: usize = 90;
const ALL: usize = 10_000;

/// The environment variable that has other mutations tried in full: `FIRST..END`, counted from 0. The sequence is the
/// same each time, so one that fails can be repeated, and ranges add up.
const RANGE: &str = "VESICA_MUTATIONS";

/// Number of concurrent runs.
const AT_ONCE: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Sender,
    Receiver,
}

/// One change of a message.
#[derive(Debug, Clone)]
struct Mutation {
    by: Role,
    label: String,
    /// The number of the message among those that the party sends.
    message: usize,
    tamper: Tamper,
    /// Whether the message before it or after it has the same label, so that another order or number of them may
    /// amount to other content of one step.
    repeated: bool,
    /// The seed of both parties' randomness.
    seed: u64,
}

impl Mutation {
    fn kind(&self) -> &'static str {
        match self.tamper {
            Tamper::FlipBit(_) => "flip",
            Tamper::Drop => "drop",
            Tamper::Duplicate => "repeat",
            Tamper::SwapWithNext => "swap",
            Tamper::Truncate => "truncate",
            Tamper::Shorten => "shorten",
            Tamper::Extend => "extend",
            Tamper::Splice(_) => "splice",
            _ => unreachable!("not among the mutations"),
        }
    }

    /// Returns its extent.
    fn extent(&self) -> Extent {
        match self.tamper {
            Tamper::FlipBit(_) => Extent::Bit,
            Tamper::Splice(_) => Extent::Content,
            Tamper::Drop | Tamper::Duplicate | Tamper::SwapWithNext if self.repeated => {
                Extent::Content
            }
            _ => Extent::Form,
        }
    }
}

/// The extent of a mutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// One bit of a message.
    Bit,
    /// Any part of a message.
    Content,
    /// Its length or its place.
    Form,
}

/// The changes other than of a bit, given a message of the same step from another run.
fn structured(earlier: &Message) -> [Tamper; 7] {
    [
        Tamper::Drop,
        Tamper::Duplicate,
        Tamper::SwapWithNext,
        Tamper::Truncate,
        Tamper::Shorten,
        Tamper::Extend,
        Tamper::Splice(earlier.clone()),
    ]
}

/// The outcome of a mutation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The honest party ended with this error and produced no output.
    Refused(String),
    /// The party whose message was changed gave up, and the honest one produced no output.
    GaveUp,
    /// The honest party waited for the next message, which never came, and produced no output.
    Stalled,
    /// The honest party succeeded, and the receiver, whichever party that was, has the intersection.
    Right,
    /// The honest party succeeded, and the receiver has a part of the intersection; with a changed message of
    /// the sender, this many rows are missing.
    Fewer(usize),
    /// The honest sender succeeded, and the receiver did not.
    Lost,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(by) => write!(f, "refused: {by}"),
            Self::GaveUp => write!(f, "the other party gave up"),
            Self::Stalled => write!(f, "waited in vain"),
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

/// Messages of one step of a party, with their numbers.
type Step<'a> = (Role, Vec<(usize, &'a Message)>);

/// The steps of the parties that the protocol allows to deviate.
fn steps<'a>(
    protocol: &Protocol,
    [by_sender, by_receiver]: &'a [Vec<Message>; 2],
) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    for (by, messages) in [(Role::Sender, by_sender), (Role::Receiver, by_receiver)] {
        if by == Role::Receiver && protocol.adversary != Adversary::Malicious {
            continue;
        }
        let with_bits = messages.iter().filter(|message| !message.payload.is_empty());
        let labels: BTreeSet<&String> = with_bits.map(|message| &message.label).collect();
        for label in labels {
            let numbers =
                messages.iter().enumerate().filter(|(_, message)| message.label == *label);
            steps.push((by, numbers.collect()));
        }
    }
    steps
}

/// Mutations, without end: flips of a random bit in turn in all steps, and the other kinds in turn in all steps.
fn mutations<'a>(steps: &'a [Step<'a>]) -> impl Iterator<Item = Mutation> + 'a {
    let mut rng = StdRng::seed_from_u64(1);
    let (mut flips, mut others) = (0, 0);
    (0..).map(move |i| {
        let is_flip = i % 3 < 2;
        let turn = if is_flip { &mut flips } else { &mut others };
        let kinds = if is_flip { 1 } else { structured(steps[0].1[0].1).len() };
        let (by, step) = &steps[*turn / kinds % steps.len()];
        let (number, message) = step[rng.random_range(0..step.len())];
        let bit = rng.random_range(0..8 * message.payload.len());
        let tamper = match is_flip {
            true => Tamper::FlipBit(bit),
            false => structured(message)[*turn % kinds].clone(),
        };
        *turn += 1;
        Mutation {
            by: *by,
            label: message.label.clone(),
            message: number,
            tamper,
            repeated: step.iter().any(|(other, _)| number.abs_diff(*other) == 1),
            seed: 2 * i,
        }
    })
}

/// A run with a mutation.
fn confront(protocol: &Protocol, sets: &Sets, mutation: &Mutation) -> Outcome {
    let (left, right) = Link::Memory.connect();
    // Who is changed is more patient, so that the honest party is the first to give up.
    let end = |by, wire| match by == mutation.by {
        true => (tamper(wire, mutation.message, mutation.tamper.clone()), 2 * PATIENCE),
        false => (wire, PATIENCE),
    };
    let (left, right) = (end(Role::Sender, left), end(Role::Receiver, right));
    let sending = |channel: &mut Channel, rng: &mut StdRng| {
        send(protocol, sets.sender.items(), 0..=MOST, channel, rng)
    };
    let receiving = |channel: &mut Channel, rng: &mut StdRng| {
        receive(protocol, sets.receiver.items(), 0..=MOST, channel, rng)
    };
    let (sent, received) = thread::scope(|scope| {
        let sender = scope.spawn(|| party(left.0, left.1, mutation.seed, sending));
        let receiver = scope.spawn(|| party(right.0, right.1, mutation.seed + 1, receiving));
        (sender.join(), receiver.join())
    });
    let (Ok(sent), Ok(received)) = (sent, received) else {
        panic!("{}: {mutation:?}: a party panicked", protocol.key);
    };
    let expected = sets.expected();
    let rows = received.as_ref().map(|rows| {
        let right = rows.iter().all(|row| expected.contains(row));
        assert!(right, "{}: {mutation:?}: a row that is not in the intersection", protocol.key);
        assert!(rows.is_sorted_by(|a, b| a < b), "{}: {mutation:?}: a row twice", protocol.key);
        expected.len() - rows.len()
    });
    match (mutation.by, sent, rows) {
        (Role::Sender, _, Err(error)) => refusal(protocol, mutation, error),
        (Role::Receiver, Err(error), _) => refusal(protocol, mutation, &error),
        (_, _, Ok(0)) => Outcome::Right,
        (_, _, Ok(missing)) => Outcome::Fewer(missing),
        (Role::Receiver, Ok(()), Err(_)) => Outcome::Lost,
    }
}

fn refusal(protocol: &Protocol, mutation: &Mutation, error: &Error) -> Outcome {
    match error {
        Error::Channel(ChannelError::Closed { .. } | ChannelError::Aborted { .. }) => {
            Outcome::GaveUp
        }
        Error::Channel(ChannelError::Stalled { .. }) => Outcome::Stalled,
        Error::Channel(ChannelError::Peer { deviation, .. }) => Outcome::Refused(match deviation {
            Deviation::CheckFailed { check } => (*check).into(),
            other => other.to_string(),
        }),
        Error::TooManyItems { .. } => Outcome::Refused("too many items".into()),
        other => panic!("{}: {mutation:?}: nothing that explains: {other}", protocol.key),
    }
}

/// A change: the party that made it, the step, and the kind.
type Change = (Role, String, &'static str);

/// The number of each outcome of each change.
#[derive(Default)]
struct Tally(BTreeMap<(Change, Outcome), usize>);

fn tally(protocol: &'static Protocol, sizes: Sizes, range: Range<usize>) -> Tally {
    let sets = Sets::random(sizes, SHARED, 1);
    let messages = messages(protocol, &sets);
    let steps = steps(protocol, &messages);
    let left = Mutex::new(mutations(&steps).skip(range.start).take(range.len()));
    let tally = Mutex::new(Tally::default());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(mutation) = { left.lock().unwrap().next() } {
                    let outcome = confront(protocol, &sets, &mutation);
                    let may = May::of(&mutation.label);
                    let allowed = may.allows(&mutation, &outcome);
                    assert!(allowed, "{}: {mutation:?}: {outcome}", protocol.key);
                    let change = (mutation.by, mutation.label.clone(), mutation.kind());
                    let mut tally = tally.lock().unwrap();
                    *tally.0.entry((change, outcome)).or_default() += 1;
                    let done: usize = tally.0.values().sum();
                    if done.is_multiple_of(1000) {
                        println!("{}, {done} mutations: {:#?}", protocol.key, tally.totals());
                    }
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

/// The permitted consequences of a mutation in a step, in addition to refusal.
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
            // The key of random OTs: see `of_no_use`.
            "softspoken/session" => Self::GoUnnoticed,
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

    fn allows(self, mutation: &Mutation, outcome: &Outcome) -> bool {
        let extent = mutation.extent();
        match outcome {
            Outcome::Refused(_) | Outcome::GaveUp | Outcome::Stalled => true,
            // Nobody overlooks another length, another order or a message too many.
            _ if extent == Extent::Form => false,
            Outcome::Right => self != Self::Refused,
            Outcome::Fewer(rows) if self == Self::TakeOneItem => {
                mutation.by == Role::Sender && (*rows == 1 || extent == Extent::Content)
            }
            Outcome::Fewer(_) | Outcome::Lost => self == Self::ChangeInput,
        }
    }
}

impl Tally {
    /// The number of each outcome, over all steps.
    fn totals(&self) -> BTreeMap<String, usize> {
        let mut totals = BTreeMap::new();
        for (((_, label, _), outcome), times) in &self.0 {
            let kind = match outcome {
                Outcome::Fewer(_) => "accepted, a part of the intersection".into(),
                Outcome::Refused(_) if label == "psi/size" => {
                    "refused: another size or name".into()
                }
                other => other.to_string(),
            };
            *totals.entry(kind).or_insert(0) += times;
        }
        totals
    }

    /// The steps in which no flip made a difference: they were not reached by one.
    fn unfelt(&self) -> BTreeSet<(Role, &str)> {
        let flips = || self.0.keys().filter(|((_, _, kind), _)| *kind == "flip");
        let felt: BTreeSet<(Role, &str)> = flips()
            .filter(|(_, outcome)| *outcome != Outcome::Right)
            .map(|((by, label, _), _)| (*by, label.as_str()))
            .collect();
        let all = flips().map(|((by, label, _), _)| (*by, label.as_str()));
        all.filter(|step| !felt.contains(step)).collect()
    }
}

/// The steps on which nothing depends: an OT extension has a key for random OTs, and VOLE takes only correlated ones.
fn of_no_use(protocol: &Protocol) -> BTreeSet<(Role, &'static str)> {
    match protocol.key {
        "rr22-malicious" | "rr22-malicious-low" | "rs21-malicious" => {
            [(Role::Sender, "softspoken/session")].into()
        }
        _ => BTreeSet::new(),
    }
}

fn holds(protocol: &'static Protocol, sizes: Sizes, range: Range<usize>) {
    let tally = tally(protocol, sizes, range.clone());
    println!("{}, mutations {range:?}", protocol.key);
    for (((by, label, kind), outcome), times) in &tally.0 {
        println!("  {times:5} × {kind} {label} by the {by:?}: {outcome}");
    }
    println!("{}: {:#?}", protocol.key, tally.totals());
    assert_eq!(tally.0.values().sum::<usize>(), range.len());
    if range.len() >= ALL {
        assert_eq!(tally.unfelt(), of_no_use(protocol), "{}", protocol.key);
    }
}

/// The mutations that are tried in full.
fn in_full() -> Range<usize> {
    let Ok(range) = std::env::var(RANGE) else { return 0..ALL };
    let numbers = range.split_once("..").map(|(first, end)| (first.parse(), end.parse()));
    match numbers {
        Some((Ok(first), Ok(end))) if first < end => first..end,
        _ => panic!("{RANGE}={range} is not a range such as 0..{ALL}"),
    }
}

/// Tests a protocol under mutations.
macro_rules! mutations {
    ($name:ident, $protocol:expr, $sizes:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn few() {
                holds($protocol, $sizes, 0..FEW);
            }

            #[test]
            #[ignore = "assure: 10,000 mutations take ten minutes or more"]
            fn all() {
                holds($protocol, $sizes, in_full());
            }
        }
    };
}

mutations!(cm20_malicious_sender, &vesica_psi::protocols::cm20::MALICIOUS_SENDER, SIZES);
mutations!(naive, &vesica_psi::protocols::naive::PROTOCOL, SIZES);
mutations!(prty20_malicious, &vesica_psi::protocols::prty20::MALICIOUS, SIZES);
mutations!(prty20_malicious_paxos, &vesica_psi::protocols::prty20::MALICIOUS_WITH_PAXOS, SIZES);
mutations!(rr16, &vesica_psi::protocols::rr16::PROTOCOL, SIZES);
mutations!(rr17_de, &vesica_psi::protocols::rr17::DUAL_EXECUTION, SIZES);
mutations!(rr17_ec, &vesica_psi::protocols::rr17::ENCODE_COMMIT, SIZES);
mutations!(rr22_malicious, &vesica_psi::protocols::rr22::MALICIOUS, MANY);
mutations!(rr22_malicious_short, &vesica_psi::protocols::rr22::MALICIOUS, SIZES);
mutations!(rr22_malicious_low, &vesica_psi::protocols::rr22::MALICIOUS_LOW, MANY);
mutations!(rs21_malicious, &vesica_psi::protocols::rs21::MALICIOUS, MANY);

/// No protocol of the catalogue is left out.
#[test]
fn every_protocol_that_holds_against_somebody_is_here() {
    let here = [
        "cm20-malicious-sender",
        "naive",
        "prty20-malicious",
        "prty20-malicious-paxos",
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
