//! Runs of oblivious transfers.

use std::borrow::Cow;

use crate::catalogue::ot::Entry;
use serde::{Deserialize, Serialize};

use crate::{
    Line, Result,
    run::in_process::{self, Ran},
};

/// One run, as printed with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The OT's key.
    pub ot: Cow<'static, str>,
    /// The number of OTs.
    pub ots: usize,
    /// The link's name.
    pub link: String,
    /// Threads of each party.
    pub threads: usize,
    /// From start to the end of both parties, setup included.
    pub seconds: f64,
    /// The sender's time.
    pub sender_seconds: f64,
    /// The receiver's time.
    pub receiver_seconds: f64,
    /// CPU time of both parties, in the program and in the system.
    pub cpu_seconds: Option<f64>,
    /// Bytes that the receiver received, framing included.
    pub bytes_to_receiver: u64,
    /// Bytes that the sender received, framing included.
    pub bytes_to_sender: u64,
    /// Payload bytes in both directions by formula, without framing.
    pub formula_bytes: usize,
    /// Flights of messages.
    pub rounds: u64,
}

/// Makes `ots` random OTs from scratch.
///
/// # Errors
/// If a party fails.
pub fn run(entry: &Entry, ots: usize, line: &Line, threads: usize) -> Result<Record> {
    let ran = in_process::run(
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
    let Ran { sender, receiver, used } = ran;
    sender?;
    receiver?;
    let formula = (entry.bytes)(ots);
    Ok(Record {
        ot: Cow::Borrowed(entry.key),
        ots,
        link: line.to_string(),
        threads,
        seconds: used.seconds,
        sender_seconds: used.sender_seconds,
        receiver_seconds: used.receiver_seconds,
        cpu_seconds: used.cpu_seconds,
        bytes_to_receiver: used.to_receiver.meter().sent(),
        bytes_to_sender: used.to_sender.meter().sent(),
        formula_bytes: formula.to_sender + formula.to_receiver,
        rounds: used.to_sender.meter().rounds(),
    })
}
