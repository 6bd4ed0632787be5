//! `vesica bench`: protocols, or the parts they are made of, against each other, in one process.

mod papers;
mod print;
mod report;

use std::{
    io::{self, Write},
    path::PathBuf,
    str::FromStr,
};

use clap::{ArgGroup, Args};
use vesica_lab::{Job, Line, Outcome, Work, results::Results};
use vesica_psi::{MAX_ITEMS, Sizes};

use crate::exit::Failure;

/// Times protocols, oblivious transfers or structures against each other, in one process, in turn.
#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub struct Bench {
    /// Protocols to run, by their keys; with a filter in place of the sender's list as in
    /// `kkrt16+vacuum` (`bloom`, `cuckoo` or `vacuum`).
    #[arg(long, value_delimiter = ',', group = "what", value_parser = Work::protocol)]
    protocols: Vec<Work>,

    /// Oblivious transfers to run instead, by their keys; sizes are then numbers of OTs.
    #[arg(long, value_delimiter = ',', group = "what", value_parser = Work::ot)]
    ot: Vec<Work>,

    /// Hash bins, filters and OKVS to build and ask instead, by their keys, or `all`; sizes are then numbers
    /// of items.
    #[arg(long, value_delimiter = ',', group = "what", conflicts_with = "link")]
    structures: Vec<Structures>,

    #[command(flatten)]
    paper: papers::Flags,

    #[command(flatten)]
    report: report::Flags,

    /// Set sizes: `1000`, `2^20`, or `RECEIVERxSENDER` such as `2^10x2^20`.
    #[arg(long, value_delimiter = ',', required_unless_present_any = ["paper", "report"])]
    sizes: Vec<SetSizes>,

    /// Line between the parties: `memory`, `lan`, `liang-lan`, `liang-wan1` to `liang-wan3`, or a rate in
    /// Mbit/s and a round trip in milliseconds such as `100,80`. Give it again for more of them.
    #[arg(long, default_value = "memory")]
    link: Vec<Line>,

    /// Threads of each party.
    #[arg(long, default_value_t = 1)]
    threads: usize,

    /// How often to run each.
    #[arg(long, default_value_t = 1)]
    repeat: usize,

    /// Keep each run in this file, as JSON lines, and do not run again what it holds.
    #[arg(long, value_name = "FILE", conflicts_with = "report")]
    results: Option<PathBuf>,

    /// One JSON object a run, instead of a table.
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

/// Reads a number of items: `1000` or `2^20`.
pub fn count(text: &str) -> Result<usize, String> {
    let parsed = match text.split_once('^') {
        Some((base, exponent)) => {
            let (base, exponent) = (base.parse::<usize>().ok(), exponent.parse().ok());
            base.zip(exponent).and_then(|(base, exponent)| base.checked_pow(exponent))
        }
        None => text.parse().ok(),
    };
    parsed
        .filter(|count| *count <= MAX_ITEMS)
        .ok_or_else(|| format!("`{text}` is no set size: write 1000 or 2^20, at most {MAX_ITEMS}"))
}

/// One structure or all of the catalogue.
#[derive(Clone)]
struct Structures(Vec<Work>);

impl FromStr for Structures {
    type Err = String;

    fn from_str(key: &str) -> Result<Self, String> {
        let all = || Ok(Work::structures());
        let one = || Ok(vec![Work::structure(key)?]);
        if key == "all" { all() } else { one() }.map(Self)
    }
}

impl Bench {
    /// Runs everything asked for and prints each run as it ends.
    ///
    /// # Errors
    /// Where a file cannot be read or written, where a run fails, or where its result is wrong, after it was printed.
    pub fn run(&self) -> Result<(), Failure> {
        let out = &mut io::stdout().lock();
        let input = |error: vesica_lab::Error| Failure::input(error.to_string());
        if self.report.asked() {
            return self.report.run(out).map_err(input);
        }
        let table = self.paper.table().map_err(Failure::usage)?;
        let jobs = self.jobs().map_err(Failure::usage)?;
        let results = self.results.as_deref().map(Results::open).transpose().map_err(input)?;
        let mut bench = vesica_lab::Bench::new(results.unwrap_or_default());
        let ran = match table {
            Some(table) => self.paper.run(table, self.repeat, self.json, &mut bench, out),
            None => self.run_jobs(jobs, &mut bench, out),
        };
        ran.map_err(|error| Failure::bug(error.to_string()))
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
            wrong += usize::from(matches!(&outcome, Outcome::Ran(record) if !record.correct()));
            print::print(&outcome, self.json, out)?;
        }
        none_wrong(wrong)
    }

    /// Every run asked for, and how many of the same come before it.
    fn jobs(&self) -> Result<Vec<(Job, usize)>, String> {
        let mut jobs = Vec::new();
        for SetSizes(sizes) in &self.sizes {
            let job = |work: &Work, line: &Line| Job {
                work: *work,
                sizes: *sizes,
                line: line.clone(),
                threads: self.threads,
            };
            let structures = self.structures.iter().flat_map(|structures| &structures.0);
            for work in structures {
                // What a structure is built of is made once, so one stays until it is done.
                jobs.extend((0..self.repeat).map(|nth| (job(work, &Line::memory()), nth)));
            }
            for line in &self.link {
                let works = [&self.protocols[..], &self.ot].concat();
                jobs.extend(in_turn(&works, self.repeat).map(|(work, nth)| (job(work, line), nth)));
            }
        }
        let two_sizes = |(job, _): &&(Job, usize)| job.sizes.sender != job.sizes.receiver;
        match jobs.iter().find(two_sizes).map(|(job, _)| job.work) {
            Some(Work::Ot(_)) => Err("an oblivious transfer has one size".to_owned()),
            Some(Work::Structure(_)) => Err("a structure has one size".to_owned()),
            Some(Work::Protocol(_)) | None => Ok(jobs),
        }
    }
}

/// Each of them once in every round, and every other round backwards, so that what drifts while they run, such as
/// a processor that gets warm, hits all of them alike.
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
