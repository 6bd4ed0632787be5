//! Records of the lab as lines of a table.

use std::io::{self, Write};

use vesica_lab::{
    BenchOutcome, Record, Work,
    catalogue::primitives,
    run::{joint, ot, protocol, structures},
};

/// Prints the header line for records of this kind of work.
pub fn header(work: &Work, out: &mut impl Write) -> io::Result<()> {
    match work {
        Work::Protocol(_) | Work::Answer(_) => protocol::Record::header(out),
        Work::Joint(_) => joint::Record::header(out),
        Work::Ot(_) => ot::Record::header(out),
        Work::Structure(_) => structures::Record::header(out),
        Work::Primitive(_) => primitives::Record::header(out),
    }
}

/// Prints the outcome of a job: a line of a table, or JSON.
pub fn print(outcome: &BenchOutcome, json: bool, out: &mut impl Write) -> io::Result<()> {
    match outcome {
        _ if json => {
            serde_json::to_writer(&mut *out, outcome)?;
            writeln!(out)?;
        }
        BenchOutcome::Ran(Record::Protocol(record)) => record.print(out)?,
        BenchOutcome::Ran(Record::Joint(record)) => record.print(out)?,
        BenchOutcome::Ran(Record::Ot(record)) => record.print(out)?,
        BenchOutcome::Ran(Record::Structure(record)) => record.print(out)?,
        BenchOutcome::Ran(Record::Primitive(record)) => record.print(out)?,
        BenchOutcome::LeftOut(left_out) => {
            let structures::LeftOut { structure, items, left_out } = left_out;
            writeln!(out, "{structure:<15} {items:>10} left out: {left_out}")?;
        }
    }
    out.flush()
}

/// A record that is printed as a line of a table.
trait Print {
    /// Returns the header line.
    fn header(out: &mut impl Write) -> io::Result<()>;

    /// Returns the record's line.
    fn print(&self, out: &mut impl Write) -> io::Result<()>;
}

impl Print for protocol::Record {
    fn header(out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:<20} {:>11} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8} {:>14} {:>14} {:>7}",
            "protocol",
            "line",
            "receiver",
            "sender",
            "seconds",
            "offline",
            "online",
            "CPU s",
            "peak MB",
            "B to receiver",
            "B to sender",
            "rounds"
        )
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:<20} {:>11} {:>10} {:>10} {:>9.3} {:>9.3} {:>9.3} {:>9} {:>8} {:>14} {:>14} {:>7}{}",
            self.protocol,
            self.link,
            self.receiver_items,
            self.sender_items,
            self.seconds,
            self.offline_seconds,
            self.online_seconds,
            shown(self.cpu_seconds, 3),
            shown(self.peak_memory_bytes.map(|bytes| bytes as f64 / 1e6), 0),
            self.bytes_to_receiver,
            self.bytes_to_sender,
            self.rounds,
            if self.correct { "" } else { "  WRONG" },
        )
    }
}

impl Print for joint::Record {
    fn header(out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:>7} {:>11} {:>10} {:>10} {:>9} {:>9} {:>12} {:>8} {:>14} {:>14}",
            "parties",
            "line",
            "leader",
            "others",
            "seconds",
            "CPU s",
            "leader CPU s",
            "peak MB",
            "bytes",
            "of leader"
        )
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:>7} {:>11} {:>10} {:>10} {:>9.3} {:>9} {:>12} {:>8} {:>14} {:>14}{}",
            self.parties,
            self.link,
            self.leader_items,
            self.other_items,
            self.seconds,
            shown(self.cpu_seconds, 3),
            shown(self.leader_cpu_seconds, 3),
            shown(self.peak_memory_bytes.map(|bytes| bytes as f64 / 1e6), 0),
            self.bytes,
            self.leader_bytes,
            if self.correct { "" } else { "  WRONG" },
        )
    }
}

impl Print for ot::Record {
    fn header(out: &mut impl Write) -> io::Result<()> {
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

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
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

impl Print for structures::Record {
    fn header(out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:<15} {:>10} {:>11} {:>10} {:>13} {:>10} {:>8}  measured where the risk is larger",
            "structure", "items", "build ms", "ns a query", "bytes", "bits/item", "log risk"
        )
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let trial = self.trial.as_ref().map_or("-".to_owned(), |trial| {
            let structures::Trial { items, log2_risk, seen, of, log2_seen } = trial;
            let seen_log = shown(*log2_seen, 1);
            format!("{seen_log} for {log2_risk:.1}: {seen} of {of}, {items} items")
        });
        writeln!(
            out,
            "{:<15} {:>10} {:>11.3} {:>10.1} {:>13} {:>10.1} {:>8}  {trial}{}",
            self.structure,
            self.items,
            self.build_seconds * 1e3,
            self.query_nanoseconds,
            self.bytes,
            self.bits_per_item,
            shown(self.log2_risk, 1),
            if self.correct { "" } else { "  WRONG" },
        )
    }
}

impl Print for primitives::Record {
    fn header(out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{:<18} {:>10} {:>14}", "primitive", "bits", "ns")
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{:<18} {:>10} {:>14.1}", self.primitive, self.bits, self.nanoseconds)
    }
}

/// Words a figure that some systems do not provide.
fn shown(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.decimals$}"))
}
