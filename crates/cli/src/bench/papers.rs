//! `vesica bench --paper`: the tables of the papers, beside our own measurements.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;
use vesica_lab::{
    Bench, BenchOutcome, Job, Record, median,
    publish::performance::Bounds,
    reference::{Cell, PAPERS, Paper, Quantity},
};
use vesica_planner::unit::typed_power;

#[derive(Args)]
#[group(skip)]
pub struct Flags {
    /// Measure the table of a paper: kkrt16, psz14, cm20, rs21, rr22 or liang
    #[arg(long, groups = ["what", "bounded"], requires = "table", conflicts_with_all = ["sizes", "link", "threads"], value_parser = paper_named)]
    paper: Option<&'static Paper>,

    /// The number of the paper's table
    #[arg(long, requires = "paper")]
    table: Option<u32>,
}

/// Bounds of a paper's table unless others are given.
pub const BOUNDS: Bounds = Bounds { up_to: 1 << 16, at_most: 300.0 };

fn paper_named(key: &str) -> Result<&'static Paper, String> {
    PAPERS.iter().find(|paper| paper.key == key).ok_or_else(|| {
        let keys: Vec<&str> = PAPERS.iter().map(|paper| paper.key).collect();
        format!("not a known paper; the papers are {}", keys.join(", "))
    })
}

/// A figure of the paper, and ours; as printed with `--json`.
#[derive(Serialize)]
struct Compared {
    paper: &'static str,
    table: u32,
    row: &'static str,
    run: Option<String>,
    size: usize,
    threads: usize,
    link: String,
    quantity: &'static str,
    /// Seconds, bytes or USD, as printed in the paper.
    figure: f64,
    /// The figure that must have been meant.
    corrected: Option<f64>,
    /// The median of our runs.
    ours: Option<f64>,
    /// The paper's figure divided by ours.
    ratio: Option<f64>,
    /// Why we have no figure.
    left_out: Option<String>,
    note: &'static str,
}

impl Flags {
    /// Returns the paper and the number of its table, if requested.
    pub fn table(&self) -> Result<Option<(&'static Paper, u32)>, String> {
        let Some((paper, table)) = self.paper.zip(self.table) else { return Ok(None) };
        let tables = paper.tables();
        if !tables.contains(&table) {
            let tables = tables.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            return Err(format!("of {} there are the tables {tables}", paper.key));
        }
        Ok(Some((paper, table)))
    }

    /// Runs what the table's figures describe, once per repetition, and prints every figure.
    pub fn run(
        &self,
        (paper, table): (&'static Paper, u32),
        bounds: Bounds,
        repeat: usize,
        json: bool,
        bench: &mut Bench,
        out: &mut impl Write,
    ) -> vesica_lab::Result<()> {
        let cells = paper.cells().into_iter().filter(|cell| cell.table == table);
        if !json {
            title(paper, table, out)?;
        }
        let mut notes = Vec::new();
        let mut done: Vec<(Job, Vec<Record>)> = Vec::new();
        let mut wrong = 0;
        for cell in cells {
            let mut left_out = left_out(&cell, bounds);
            let mut ours = None;
            if let Some(job) = cell.job().filter(|_| left_out.is_none()) {
                let at = match done.iter().position(|(earlier, _)| *earlier == job) {
                    Some(at) => at,
                    None => {
                        let records = runs(&job, repeat, bench)?;
                        wrong += records.iter().filter(|record| !record.correct()).count();
                        done.push((job, records));
                        done.len() - 1
                    }
                };
                ours = median(done[at].1.iter().filter_map(|run| cell.quantity.of(run)));
                if ours.is_none() {
                    left_out = Some("the catalogue has none of that size".to_owned());
                }
            }
            let compared = Compared {
                paper: paper.key,
                table,
                row: cell.row,
                run: cell.work.map(|work| work.to_string()),
                size: cell.size,
                threads: cell.threads,
                link: cell.line.to_string(),
                quantity: cell.quantity.name(),
                figure: cell.figure,
                corrected: cell.corrected,
                ours,
                ratio: ours.filter(|ours| *ours > 0.0).map(|ours| cell.meant() / ours),
                left_out,
                note: cell.note,
            };
            if json {
                serde_json::to_writer(&mut *out, &compared)?;
                writeln!(out)?;
            } else {
                compared.print(cell.quantity, &mut notes, out)?;
            }
            out.flush()?;
        }
        (1..).zip(notes).try_for_each(|(number, note)| writeln!(out, "[{number}] {note}"))?;
        super::none_wrong(wrong)
    }
}

/// Returns the reason why a figure has no counterpart in this run.
fn left_out(cell: &Cell, bounds: Bounds) -> Option<String> {
    let Some(job) = cell.job() else { return Some(cell.note.to_owned()) };
    if cell.size > bounds.up_to {
        return Some(format!("larger than --up-to {}", typed_power(bounds.up_to)));
    }
    let seconds = job.transfer_seconds();
    (seconds > bounds.at_most).then(|| format!("{seconds:.0} s on the line, see --at-most"))
}

fn runs(job: &Job, repeat: usize, bench: &mut Bench) -> vesica_lab::Result<Vec<Record>> {
    let outcomes = (0..repeat).map(|nth| bench.run(job, nth));
    let records = outcomes.filter_map(|outcome| match outcome {
        Ok(BenchOutcome::Ran(record)) => Some(Ok(record)),
        Ok(BenchOutcome::LeftOut(_)) => None,
        Err(error) => Some(Err(format!("{}: {error}", job.work).into())),
    });
    records.collect()
}

fn title(paper: &Paper, table: u32, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}, Table {table}", paper.citation)?;
    writeln!(
        out,
        "{:<40} {:<18} {:>6} {:<20} {:<21} {:>12} {:>12} {:>8}",
        "row", "run", "size", "line", "quantity", "paper", "ours", "ratio"
    )
}

impl Compared {
    fn print(
        &self,
        quantity: Quantity,
        notes: &mut Vec<&'static str>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let dash = || "-".to_owned();
        let figure = |figure: f64| quantity.unit().text(figure);
        write!(
            out,
            "{:<40} {:<18} {:>6} {:<20} {:<21} {:>12} {:>12} {:>8}",
            self.row,
            self.run.as_deref().unwrap_or("-"),
            typed_power(self.size),
            self.link,
            self.quantity,
            figure(self.figure),
            self.ours.map_or_else(dash, figure),
            self.ratio.map_or_else(dash, |ratio| format!("{ratio:.2}")),
        )?;
        if let Some(meant) = self.corrected {
            write!(out, "  {} meant", figure(meant))?;
        }
        match &self.left_out {
            Some(reason) => writeln!(out, "  left out: {reason}"),
            None if self.note.is_empty() => writeln!(out),
            None => {
                let known = notes.iter().position(|note| *note == self.note);
                let number = known.unwrap_or_else(|| {
                    notes.push(self.note);
                    notes.len() - 1
                });
                writeln!(out, "  [{}]", number + 1)
            }
        }
    }
}
