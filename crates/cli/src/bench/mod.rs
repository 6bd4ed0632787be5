//! `vesica bench`: compares protocols, or the parts they are made of, in one process.

mod papers;
mod performance;
mod print;
mod report;
mod separate;

use std::{
    io::{self, Write},
    path::PathBuf,
    str::FromStr,
};

use clap::{ArgGroup, Args};
use vesica_lab::{
    BenchOutcome, Job, Line, Work, publish::performance::Bounds, record::results::Results,
};
use vesica_psi::{MAX_ITEMS, Sizes};

use crate::exit::Failure;

pub use separate::runner;

/// The flags of the command.
#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub struct Bench {
    /// The protocols to run, with commas between them
    ///
    /// `kkrt16+vacuum` replaces the sender's list by a filter (`bloom`, `cuckoo` or `vacuum`).
    #[arg(long, value_delimiter = ',', group = "what", value_parser = Work::protocol)]
    protocols: Vec<Work>,

    /// Run these methods for counts, sums and thresholds instead
    #[arg(long, value_delimiter = ',', group = "what", value_parser = Work::answer)]
    answers: Vec<Work>,

    /// Find the rows that this number of parties share instead
    ///
    /// Sizes are LEADERxOTHERS. Several parties are linked by `memory` or `tcp:`.
    #[arg(long, value_delimiter = ',', group = "what", value_parser = Work::joint)]
    parties: Vec<Work>,

    /// Run these oblivious transfers instead; sizes are numbers of OTs
    #[arg(long, value_delimiter = ',', group = "what", value_parser = Work::ot)]
    ot: Vec<Work>,

    /// Build and query these hash bins, filters and OKVS instead, or `all`
    ///
    /// Sizes are numbers of items.
    #[arg(long, value_delimiter = ',', group = "what", conflicts_with = "link", value_parser = structures)]
    structures: Vec<Works>,

    /// Run these hashes, ciphers and generators instead, or `all`
    ///
    /// Pseudo-random functions are among them. Sizes are bits of output.
    #[arg(long, value_delimiter = ',', group = "what", conflicts_with = "link", value_parser = primitives)]
    primitives: Vec<Works>,

    #[command(flatten)]
    paper: papers::Flags,

    #[command(flatten)]
    performance: performance::Flags,

    #[command(flatten)]
    bounded: Bounded,

    #[command(flatten)]
    report: report::Flags,

    /// Set sizes: 1000, 2^20, or RECEIVERxSENDER such as 2^10x2^20
    #[arg(long, value_delimiter = ',', required_unless_present_any = ["paper", "performance", "report"])]
    sizes: Vec<SetSizes>,

    /// The link: `memory`, `lan`, or Mbit/s and ms such as `100,80`
    ///
    /// Also `liang-lan`, and `liang-wan1` to `liang-wan3`. The prefix `tcp:` takes real sockets between two network
    /// namespaces (Linux, as root). It may be given more than once.
    #[arg(long, default_value = "memory")]
    link: Vec<Line>,

    /// Threads of each party
    #[arg(long, default_value_t = 1)]
    threads: usize,

    /// The number of runs of each
    #[arg(long, default_value_t = 1)]
    repeat: usize,

    /// Start a new process for each run, as in real use
    ///
    /// Otherwise later runs reuse the memory of earlier ones, and the first may take up to twice as long as the others.
    #[arg(long, alias = "apart", conflicts_with_all = ["report", "performance"])]
    separate_processes: bool,

    /// Append each run to this file, and skip runs that it already holds
    ///
    /// The runs are JSON lines.
    #[arg(long, value_name = "FILE", conflicts_with = "report")]
    results: Option<PathBuf>,

    /// Print one JSON object per run instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy)]
struct SetSizes(Sizes);

impl FromStr for SetSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (receiver, sender) = text.split_once('x').unwrap_or((text, text));
        Ok(Self(Sizes { receiver: count(receiver)?, sender: count(sender)? }))
    }
}

/// Reads a number of items, such as `1000` or `2^20`.
pub fn count(text: &str) -> Result<usize, String> {
    let parsed = vesica::spec::whole(text).and_then(|count| usize::try_from(count).ok());
    parsed.filter(|count| *count <= MAX_ITEMS).ok_or_else(|| {
        format!("`{text}` is not a set size: write 1000, 100,000, 2M or 2^20, at most {MAX_ITEMS}")
    })
}

/// Limits on what is run.
#[derive(Args, Clone, Copy)]
#[group(skip)]
struct Bounded {
    /// Leave out larger sizes
    ///
    /// [default: 2^16 for a paper's table, 2^20 for everything]
    #[arg(long, requires = "bounded", value_name = "SIZE", value_parser = count)]
    up_to: Option<usize>,

    /// Leave out runs that take more seconds than this
    ///
    /// For a paper's table, these are the runs whose transfer takes longer [default: 300]; for everything, the runs
    /// that are predicted to take longer [default: 5].
    #[arg(long, requires = "bounded", value_name = "SECONDS")]
    at_most: Option<f64>,
}

impl Bounded {
    fn or(self, Bounds { up_to, at_most }: Bounds) -> Bounds {
        Bounds { up_to: self.up_to.unwrap_or(up_to), at_most: self.at_most.unwrap_or(at_most) }
    }
}

/// One of a list, or all of it.
#[derive(Clone)]
struct Works(Vec<Work>);

fn structures(key: &str) -> Result<Works, String> {
    if key == "all" { Ok(Work::structures()) } else { Ok(vec![Work::structure(key)?]) }.map(Works)
}

fn primitives(key: &str) -> Result<Works, String> {
    if key == "all" { Ok(Work::primitives()) } else { Ok(vec![Work::primitive(key)?]) }.map(Works)
}

impl Bench {
    /// Runs everything requested and prints each run as it ends.
    ///
    /// # Errors
    /// If a file cannot be read or written, if a run fails, or if its result is wrong, after printing it.
    pub fn run(&self) -> Result<(), Failure> {
        let out = &mut io::stdout().lock();
        let input = |error: vesica_lab::Error| Failure::input(error.to_string());
        if self.report.asked() {
            return self.report.run(out).map_err(input);
        }
        if let Some(folder) = self.performance.folder() {
            let figures = vesica::files::figures()?;
            let results = self.results.as_deref();
            return performance::run(folder, results, self.bounded, &figures).map_err(input);
        }
        let table = self.paper.table().map_err(Failure::usage)?;
        let jobs = self.jobs().map_err(Failure::usage)?;
        let results = self.results.as_deref().map(Results::open).transpose().map_err(input)?;
        let bug = |error: vesica_lab::Error| Failure::bug(error.to_string());
        let mut bench = vesica_lab::Bench::new(results.unwrap_or_default());
        if self.separate_processes {
            bench = bench.in_separate_processes(runner().map_err(bug)?);
        }
        let bounds = self.bounded.or(papers::BOUNDS);
        let ran = match table {
            Some(table) => self.paper.run(table, bounds, self.repeat, self.json, &mut bench, out),
            None => self.run_jobs(jobs, &mut bench, out),
        };
        ran.map_err(bug)
    }

    fn run_jobs(
        &self,
        jobs: Vec<(Job, usize)>,
        bench: &mut vesica_lab::Bench,
        out: &mut impl Write,
    ) -> vesica_lab::Result<()> {
        if let Some((first, _)) = jobs.first().filter(|_| !self.json) {
            print::header(&first.work, out)?;
        }
        let mut wrong = 0;
        for (job, nth) in jobs {
            let outcome = bench.run(&job, nth)?;
            wrong +=
                usize::from(matches!(&outcome, BenchOutcome::Ran(record) if !record.correct()));
            print::print(&outcome, self.json, out)?;
        }
        none_wrong(wrong)
    }

    /// Returns every requested run, with the number of equal runs before it.
    fn jobs(&self) -> Result<Vec<(Job, usize)>, String> {
        let mut jobs = Vec::new();
        for SetSizes(sizes) in &self.sizes {
            let job = |work: &Work, line: &Line| Job {
                work: *work,
                sizes: *sizes,
                line: line.clone(),
                threads: self.threads,
            };
            let parts = self.structures.iter().chain(&self.primitives);
            for work in parts.flat_map(|works| &works.0) {
                // The input of a structure is generated once, so all its repetitions run before the next one.
                jobs.extend((0..self.repeat).map(|nth| (job(work, &Line::memory()), nth)));
            }
            for line in &self.link {
                let works = [&self.protocols[..], &self.answers, &self.parties, &self.ot].concat();
                jobs.extend(in_turn(&works, self.repeat).map(|(work, nth)| (job(work, line), nth)));
            }
        }
        let two_sizes = |(job, _): &&(Job, usize)| job.sizes.sender != job.sizes.receiver;
        match jobs.iter().find(two_sizes).map(|(job, _)| job.work) {
            Some(Work::Ot(_)) => Err("an oblivious transfer has one size".to_owned()),
            Some(Work::Structure(_)) => Err("a structure has one size".to_owned()),
            Some(Work::Primitive(_)) => Err("a primitive has one size".to_owned()),
            Some(Work::Protocol(_) | Work::Answer(_) | Work::Joint(_)) | None => Ok(jobs),
        }
    }
}

/// Returns each thing once per round, with every other round in reverse. Drift during the runs, such as a processor
/// that gets warm, then affects all alike.
fn in_turn<T>(things: &[T], rounds: usize) -> impl Iterator<Item = (&T, usize)> {
    (0..rounds).flat_map(move |round| {
        let forth = things.iter().filter(move |_| round % 2 == 0);
        let back = things.iter().rev().filter(move |_| round % 2 == 1);
        forth.chain(back).map(move |thing| (thing, round))
    })
}

fn none_wrong(wrong: usize) -> vesica_lab::Result<()> {
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} runs gave a wrong result").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_round_runs_backwards() {
        let order: Vec<_> = in_turn(&["a", "b"], 3).map(|(name, nth)| (*name, nth)).collect();
        assert_eq!(order, [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("b", 2)]);
    }
}
