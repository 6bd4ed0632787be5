//! The parts of the document that are not about protocols as a whole: oblivious transfers, primitives, and the papers' tables.

use std::fmt::Write;

use crate::{
    Line, Record, Work,
    catalogue::primitives::{self, Kind},
    median,
    record::unit::{Unit, percent, three_digits, typed_power},
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
            ["n", "OT", "to receiver", "to sender", "to formula"].into_iter().chain(OT_LINES);
        format!(
            "
## Oblivious transfers

Random OTs from nothing, setup and base OTs included; seconds from start to the end of both parties, one run. \"To formula\"
is what framing adds to the payload that the formulas say.

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

Microseconds a call, the least of five batches, by bits of output, from 128 bits of input, seed or key; one thread. Rows in italics are of Liang et al. (2022),
Tables 2 to 5, measured on another machine, each below the row to hold against it. A hash whose digest is too short takes the input
and a counter again; generators get ready in each call, ciphers and functions have their keys ready.

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

What the papers print, what was measured here, and the first by the second, where one is run above or takes no longer than a tenth of
the longest run allowed: totals only. `vesica bench --paper KEY --table N` runs all of a table that the machine can hold, says for each
figure without a counterpart why it has none, and gives the parties' shares. Machines differ, bytes do not.
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
                    "\n### {}, Table {number}\n\n{} of {} totals, of `--paper {} --table {number}`.\n\n{}",
                    paper.citation,
                    rows.len(),
                    cells.len(),
                    paper.key,
                    table(split("row|run|n|line|quantity|paper|ours|ratio|note"), rows)
                );
            }
        }
        out
    }

    fn compared(&self, cell: &Cell) -> Option<Vec<String>> {
        let job = cell.job()?;
        let ours = median(self.of(&job).into_iter().filter_map(|run| cell.quantity.of(run)))?;
        let unit = cell.quantity.unit();
        let meant = cell.corrected.map(|figure| format!("{} meant. ", unit.text(figure)));
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

/// Which of them is used for what.
const CHOICES: &str = "What Vesica uses, and why:

- *BLAKE3* for items (keyed with the run's seed), OPRF outputs and rows of OT extensions: inputs are short and there are many, so
  several are hashed at once (`blake3-lanes`, `prf-blake3-lanes`): hold its 2^18 bits, 1024 digests, against 1024 calls at 2^8 bits.
- *AES-128 under a public key* (`fixed-key-aes`) where a random permutation is enough: to break correlations of OTs and in
  trees of silent OT; nothing else is as fast where the processor has AES instructions.
- *AES-128 in counter mode* (`prg-aes`) wherever a seed becomes long: OT extensions' columns, masks, random sets.
- *SHA-256* for fingerprints of certificates and checksums of files: others know it, and speed does not count.
- *ChaCha12* as the parties' own source of randomness, as the crate `rand` has it: it needs no special instructions, and little
  is drawn from it.
- SHA-3, BLAKE2 and SipHash are not used: slower, or (SipHash) of no more than 128 bits and without the analysis for this use.";

fn paper(key: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|paper| paper.key == key)
}

/// Not what one party alone took.
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
