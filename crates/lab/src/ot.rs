//! Runs of oblivious transfers.

use serde::Serialize;
use vesica_ot::catalogue::Entry;

use crate::{
    Line, Result,
    together::{Ran, together},
};

/// One run, as printed with `--json`.
#[derive(Debug, Serialize)]
pub struct Record {
    /// The OT's key.
    pub ot: &'static str,
    /// How many.
    pub ots: usize,
    /// The line's name.
    pub link: String,
    /// Threads of each party.
    pub threads: usize,
    /// From start to the end of both parties, setup included.
    pub seconds: f64,
    /// Processor time of both parties, in the program and in the system.
    pub cpu_seconds: Option<f64>,
    /// Bytes that the receiver received, framing included.
    pub bytes_to_receiver: u64,
    /// Bytes that the sender received, framing included.
    pub bytes_to_sender: u64,
    /// What the formula says of payload both ways, without framing.
    pub formula_bytes: usize,
    /// Flights of messages.
    pub rounds: u64,
}

/// Makes `ots` random OTs from nothing.
///
/// # Errors
/// Where a party fails.
pub fn run(entry: &Entry, ots: usize, line: &Line, threads: usize) -> Result<Record> {
    let ran = together(
        line,
        threads,
        |channel, rng| {
            (entry.send)(ots, channel, rng)?;
            channel.flush()
        },
        |channel, rng| {
            (entry.receive)(ots, channel, rng)?;
            channel.flush()
        },
    )?;
    let Ran { sender, receiver, to_sender, to_receiver, seconds, cpu_seconds } = ran;
    sender?;
    receiver?;
    let formula = (entry.bytes)(ots);
    Ok(Record {
        ot: entry.key,
        ots,
        link: line.to_string(),
        threads,
        seconds,
        cpu_seconds,
        bytes_to_receiver: to_receiver.meter().sent(),
        bytes_to_sender: to_sender.meter().sent(),
        formula_bytes: formula.to_sender + formula.to_receiver,
        rounds: to_sender.meter().rounds(),
    })
}
