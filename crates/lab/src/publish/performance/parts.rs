//! The parts of the document that are not about whole protocols: oblivious transfers, primitives, and the papers'
//! tables.

use std::fmt::Write;

use vesica_planner::unit::{Unit, percent, three_digits, typed_power};

use crate::{
    Line, Record, Work,
    catalogue::primitives::{self, Kind},
    median,
    reference::{Cell, PAPERS, Paper, Quantity},
    run::ot,
};

use super::{
    BASE_OTS, OT_LINES, OTS_OF,
    document::{DASH, Sheet, split, table},
    job,
};

impl Sheet<'_> {
    pub(super) fn ots(&self) -> String {
        let mut rows = Vec::new();
        for items in BASE_OTS.into_iter().chain(OTS_OF) {
            for entry in crate::catalogue::ot::CATALOGUE {
                let runs: Vec<Option<&ot::Record>> = OT_LINES
                    .iter()
                    .map(|line| {
                        let job = job(Work::Ot(entry), items, line.parse().ok()?);
                        self.records.iter().find_map(|record| match record {
                            Record::Ot(run) if job.gave(record) => Some(run),
                            _ => None,
                        })
                    })
                    .collect();
                let Some(any) = runs.iter().flatten().next() else { continue };
                let (there, back) = (any.bytes_to_receiver as f64, any.bytes_to_sender as f64);
                let framing = (there + back) / any.formula_bytes as f64 - 1.0;
                let seconds = runs
                    .iter()
                    .map(|run| run.map_or(DASH.to_owned(), |run| three_digits(run.seconds)));
                let row = [
                    typed_power(items),
                    format!("`{}`", entry.key),
                    Unit::Bytes.text(there),
                    Unit::Bytes.text(back),
                    format!("+{}", percent(framing)),
                ];
                rows.push(row.into_iter().chain(seconds).collect());
            }
        }
        let columns =
            ["n", "OT", "to receiver", "to sender", "framing"].into_iter().chain(OT_LINES);
        format!(
            "
## Oblivious transfers

Random OTs from scratch, setup and base OTs included; seconds from the start until both parties have finished, one run.
\"Framing\" is what framing adds to the payload given by the formulas.

{}",
            table(columns.map(str::to_owned).collect(), rows)
        )
    }

    pub(super) fn primitives(&self) -> String {
        let lengths: Vec<_> = primitives::lengths().collect();
        let columns = || {
            ["", ""]
                .map(str::to_owned)
                .into_iter()
                .chain(lengths.iter().map(|bits| typed_power(*bits)))
        };
        let liang: Vec<Cell> = paper("liang").map(Paper::cells).unwrap_or_default();
        let mut out = format!(
            "
## Primitives

Microseconds per call, the minimum of five batches, by bits of output, from 128 bits of input, seed or key; one thread.
Rows in italics are from Liang et al. (2022), Tables 2 to 5, measured on another machine, each below the row with which it
compares. A hash whose digest is too short is called again with the input and a counter; generators are set up in each
call, ciphers and functions have their keys set up in advance.

{CHOICES}
"
        );
        for (kind, title, number) in Kind::ALL {
            let mut rows = Vec::new();
            for entry in primitives::CATALOGUE.iter().filter(|entry| entry.kind == kind) {
                let work = Work::Primitive(entry);
                let cell = |bits: &usize| {
                    let job = job(work, *bits, Line::memory());
                    let micros = self.records.iter().find_map(|record| match record {
                        Record::Primitive(run) if job.gave(record) => Some(run.nanoseconds / 1e3),
                        _ => None,
                    });
                    micros.map_or(DASH.to_owned(), three_digits)
                };
                let names = [format!("`{}`", entry.key), entry.title.to_owned()];
                rows.push(names.into_iter().chain(lengths.iter().map(cell)).collect());
                let theirs: Vec<_> = liang
                    .iter()
                    .filter(|cell| cell.table == number && cell.work == Some(work))
                    .collect();
                for cells in theirs.chunk_by(|one, other| one.row == other.row) {
                    let names = [String::new(), format!("*{}*", cells[0].row)];
                    let figures = cells.iter().map(|cell| three_digits(cell.figure * 1e6));
                    rows.push(names.into_iter().chain(figures).collect());
                }
            }
            let _ = write!(out, "\n### {title}\n\n{}", table(columns().collect(), rows));
        }
        out
    }

    pub(super) fn papers(&self) -> String {
        let mut out = "
## The papers' tables

What the papers report, what was measured here, and the ratio of the two, for runs that are part of the above or take no
longer than a tenth of the longest run allowed; totals only. `vesica bench --paper KEY --table N` runs everything in a table
that fits the machine, states for each figure without a counterpart why there is none, and gives the parties' shares.
Machines differ, bytes do not.
"
        .to_owned();
        for paper in PAPERS {
            for number in paper.tables() {
                if paper.key == "liang" && Kind::ALL.iter().any(|(.., table)| *table == number) {
                    continue;
                }
                let cells = paper.cells().into_iter().filter(|cell| cell.table == number);
                let cells: Vec<_> = cells.filter(|cell| is_total(cell.quantity)).collect();
                let rows: Vec<_> = cells.iter().filter_map(|cell| self.compared(cell)).collect();
                if rows.is_empty() {
                    continue;
                }
                let _ = write!(
                    out,
                    "\n### {}, Table {number}\n\n{} of {} totals, from `--paper {} --table {number}`.\n\n{}",
                    paper.citation,
                    rows.len(),
                    cells.len(),
                    paper.key,
                    table(split("row|run|n|link|quantity|paper|ours|ratio|note"), rows)
                );
            }
        }
        out
    }

    fn compared(&self, cell: &Cell) -> Option<Vec<String>> {
        let job = cell.job()?;
        let ours = median(self.of(&job).into_iter().filter_map(|run| cell.quantity.of(run)))?;
        let unit = cell.quantity.unit();
        let meant = cell.corrected.map(|figure| format!("{} is meant. ", unit.text(figure)));
        let threads = (cell.threads > 1).then(|| format!(", {} threads", cell.threads));
        Some(vec![
            cell.row.to_owned(),
            format!("`{}`{}", job.work, threads.unwrap_or_default()),
            typed_power(cell.size),
            cell.line.to_string(),
            cell.quantity.name().replace('_', " "),
            unit.text(cell.figure),
            unit.text(ours),
            if ours > 0.0 { three_digits(cell.meant() / ours) } else { DASH.to_owned() },
            meant.unwrap_or_default() + cell.note,
        ])
    }
}

/// The use of each primitive.
const CHOICES: &str = "What Vesica uses, and why:

- *BLAKE3* for items (keyed with the run's seed), OPRF outputs and rows of OT extensions. Inputs are short and numerous, so
  several are hashed at once (`blake3-lanes`, `prf-blake3-lanes`): compare its 2^18 bits, 1024 digests, with 1024 calls at
  2^8 bits.
- *AES-128 under a public key* (`fixed-key-aes`) where a random permutation is enough: to break correlations of OTs, and in
  the trees of silent OT. Nothing else is as fast on a processor with AES instructions.
- *AES-128 in counter mode* (`prg-aes`) wherever a seed is expanded: columns of OT extensions, masks, random sets.
- *SHA-256* for fingerprints of certificates and checksums of files, where it is the familiar choice and speed does not
  matter.
- *ChaCha12* as the parties' own source of randomness, as the crate `rand` provides it: it needs no special instructions,
  and little is drawn from it.
- SHA-3, BLAKE2 and SipHash are not used: they are slower, or (SipHash) have at most 128 bits and no analysis for this use.";

fn paper(key: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|paper| paper.key == key)
}

/// Returns whether a quantity covers more than the time or bytes of one party.
fn is_total(quantity: Quantity) -> bool {
    use Quantity::{
        OnlineReceiverBytes, OnlineSenderBytes, ReceiverBytes, ReceiverSeconds, SenderBytes,
        SenderSeconds,
    };
    !matches!(
        quantity,
        SenderSeconds
            | ReceiverSeconds
            | SenderBytes
            | ReceiverBytes
            | OnlineSenderBytes
            | OnlineReceiverBytes
    )
}
