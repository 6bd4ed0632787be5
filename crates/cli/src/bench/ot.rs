//! `vesica bench --ot`: oblivious transfers, both parties in one process.

use std::{error::Error, io::Write};

use serde::Serialize;
use vesica_ot::catalogue::{self, CATALOGUE, Entry};

use super::{Ran, link::Line, shown, together};

/// One run, as printed with `--json`.
#[derive(Debug, Serialize)]
pub struct Record {
    ot: &'static str,
    ots: usize,
    link: String,
    threads: usize,
    /// From start to the end of both parties, setup included.
    seconds: f64,
    /// Processor time of both parties, in the program and in the system.
    cpu_seconds: Option<f64>,
    bytes_to_receiver: u64,
    bytes_to_sender: u64,
    /// What the formula says of payload both ways, without framing.
    formula_bytes: usize,
    rounds: u64,
}

/// The OT with this key.
pub fn entry(key: &str) -> Result<&'static Entry, String> {
    catalogue::find(key).ok_or_else(|| {
        let keys: Vec<&str> = CATALOGUE.iter().map(|entry| entry.key).collect();
        format!("no such oblivious transfer; there are {}", keys.join(", "))
    })
}

pub fn print_header(out: &mut impl Write) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<20} {:>10} {:>11} {:>9} {:>9} {:>14} {:>14} {:>14} {:>7}",
        "OT",
        "OTs",
        "line",
        "seconds",
        "CPU s",
        "B to receiver",
        "B to sender",
        "formula",
        "rounds"
    )
}

impl Record {
    pub fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(
            out,
            "{:<20} {:>10} {:>11} {:>9.3} {:>9} {:>14} {:>14} {:>14} {:>7}",
            self.ot,
            self.ots,
            self.link,
            self.seconds,
            shown(self.cpu_seconds, 3),
            self.bytes_to_receiver,
            self.bytes_to_sender,
            self.formula_bytes,
            self.rounds
        )
    }
}

/// Makes `ots` random OTs from nothing.
pub fn run_once(
    entry: &Entry,
    ots: usize,
    line: &Line,
    threads: usize,
) -> Result<Record, Box<dyn Error>> {
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
