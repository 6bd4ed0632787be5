//! Runs of protocols.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use rand::CryptoRng;
use serde::{Deserialize, Serialize};
use vesica_net::meter::peak_memory;
use vesica_net::{Channel, Meter};
use vesica_primitives::{Block, aes::Prg, secret::Seed};
use vesica_psi::{DigestLength, Items, MAX_ITEMS, Protocol, Set, Sizes};

use crate::{
    Line, Result,
    run::in_process::{self, Ran, Used, usage},
};

/// One run, as printed with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its name, as given by [`Protocol::name`]; for a method that computes a number, as given by
    /// [`crate::Work`].
    pub protocol: String,
    /// Items of the sender.
    pub sender_items: usize,
    /// Items of the receiver.
    pub receiver_items: usize,
    /// The link's name.
    pub link: String,
    /// Threads of each party.
    pub threads: usize,
    /// The receiver's time from start to result.
    pub seconds: f64,
    /// The receiver's time until both were ready for items.
    pub offline_seconds: f64,
    /// The receiver's time after that.
    pub online_seconds: f64,
    /// The sender's time from start to end.
    pub sender_seconds: f64,
    /// CPU time of both parties, in the program and in the system.
    pub cpu_seconds: Option<f64>,
    /// The peak resident memory of the process during the run, both sets included.
    pub peak_memory_bytes: Option<u64>,
    /// Bytes that the receiver received, framing included.
    pub bytes_to_receiver: u64,
    /// Bytes that the sender received, framing included.
    pub bytes_to_sender: u64,
    /// The part that the receiver received until both were ready for items.
    pub offline_bytes_to_receiver: u64,
    /// The part that the sender received until then.
    pub offline_bytes_to_sender: u64,
    /// Flights of messages.
    pub rounds: u64,
    /// Whether the result is the intersection.
    pub correct: bool,
    /// The time of each phase.
    pub phases: Vec<PhaseRecord>,
}

/// The cost of one phase to one party.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// `receiver` or `sender`.
    pub party: Cow<'static, str>,
    /// The phase's name, as in errors and reports.
    pub name: Cow<'static, str>,
    /// The party's time in it.
    pub seconds: f64,
}

/// Two sets with half of the smaller one in common, and the expected result.
pub struct Sets {
    sizes: Sizes,
    receiver: Set,
    sender: Set,
    expected: Vec<u32>,
}

impl Sets {
    /// Random sets of these sizes, with items of the given length.
    pub fn generate(sizes: Sizes, digest: DigestLength) -> Self {
        let shared = sizes.sender.min(sizes.receiver) / 2;
        let random = || {
            let mut blocks = vec![Block::ZERO; sizes.sender + sizes.receiver - shared];
            Prg::new(&Seed::random(&mut rand::rng())).fill(&mut blocks);
            // The shared items are the receiver's last and the sender's first.
            let receiver = blocks[..sizes.receiver].to_vec();
            (receiver, blocks.split_off(sizes.receiver - shared))
        };
        let low_halves = random();
        let (receiver, sender) = match digest {
            DigestLength::Short => (Set::short(low_halves.0), Set::short(low_halves.1)),
            DigestLength::Long => {
                let high_halves = random();
                (Set::long(low_halves.0, high_halves.0), Set::long(low_halves.1, high_halves.1))
            }
        };
        let expected = (sizes.receiver - shared..sizes.receiver).map(|i| i as u32).collect();
        Self { sizes, receiver, sender, expected }
    }

    /// Returns the number of common items.
    pub(crate) fn shared(&self) -> usize {
        self.expected.len()
    }

    /// Returns the sender's items.
    pub(crate) fn sender(&self) -> Items<'_> {
        self.sender.items()
    }

    /// Returns the receiver's items.
    pub(crate) fn receiver(&self) -> Items<'_> {
        self.receiver.items()
    }
}

/// Runs a protocol once.
///
/// # Errors
/// If a party fails. A wrong result is noted in the record.
pub fn run(protocol: &Protocol, sets: &Sets, line: &Line, threads: usize) -> Result<Record> {
    usage::reset_peak_memory();
    let ran = in_process::run(
        line,
        threads,
        |channel, rng| vesica_psi::send(protocol, sets.sender.items(), 0..=MAX_ITEMS, channel, rng),
        |channel, rng| receive(protocol, sets.receiver.items(), channel, rng),
    )?;
    let peak_memory_bytes = peak_memory();
    let Ran { sender, receiver, used } = ran;
    sender?;
    let (matches, took) = receiver?;
    let record = Record::new(protocol.name().into_owned(), sets.sizes, line, threads, &used, took);
    Ok(Record { peak_memory_bytes, correct: matches == sets.expected, ..record })
}

/// The time of the two parts of the receiver's side.
pub(crate) struct Took {
    pub offline: Duration,
    pub online: Duration,
    /// Bytes sent and received in the first part.
    pub offline_bytes: [u64; 2],
}

impl Record {
    /// Builds the record of a run with a correct result and unknown memory.
    pub(crate) fn new(
        protocol: String,
        sizes: Sizes,
        line: &Line,
        threads: usize,
        used: &Used,
        Took { offline, online, offline_bytes }: Took,
    ) -> Self {
        let phases = |party: &'static str, meter: &Meter| {
            let record = move |phase: vesica_net::Phase| PhaseRecord {
                party: Cow::Borrowed(party),
                name: phase.name.into(),
                seconds: phase.time.as_secs_f64(),
            };
            meter.phases().into_iter().map(record).collect::<Vec<_>>()
        };
        let (to_sender, to_receiver) = (used.to_sender.meter(), used.to_receiver.meter());
        let mut by_phase = phases("receiver", to_sender);
        by_phase.extend(phases("sender", to_receiver));
        Self {
            protocol,
            sender_items: sizes.sender,
            receiver_items: sizes.receiver,
            link: line.to_string(),
            threads,
            seconds: (offline + online).as_secs_f64(),
            offline_seconds: offline.as_secs_f64(),
            online_seconds: online.as_secs_f64(),
            sender_seconds: used.sender_seconds,
            cpu_seconds: used.cpu_seconds,
            peak_memory_bytes: None,
            bytes_to_receiver: to_receiver.sent(),
            bytes_to_sender: to_sender.sent(),
            offline_bytes_to_receiver: offline_bytes[1],
            offline_bytes_to_sender: offline_bytes[0],
            rounds: to_sender.rounds(),
            correct: true,
            phases: by_phase,
        }
    }
}

/// Works like [`vesica_psi::receive`], and measures the time between its parts.
fn receive(
    protocol: &Protocol,
    items: Items<'_>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> vesica_psi::Result<(Vec<u32>, Took)> {
    let started = Instant::now();
    let items = items.cut_for(protocol)?;
    let intersection = protocol.with_sender(items.len(), 0..=MAX_ITEMS, channel)?;
    let party = intersection.receiver(channel, rng)?;
    let offline = started.elapsed();
    let offline_bytes = [channel.meter().sent(), channel.meter().received()];
    let matches = party.run(items, channel, rng)?;
    let online = started.elapsed() - offline;
    Ok((matches, Took { offline, online, offline_bytes }))
}
