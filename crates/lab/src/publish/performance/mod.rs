//! The measurements for docs/reference/performance.md, and the documents made from them: a table of all figures, and a
//! page with charts that is made from the table.
//!
//! A [`Schedule`] is a list of runs that depends only on its bounds and on the figures used for prediction, so a
//! file of results that contains them gives the same documents again.

mod charts;
mod page;
mod table;

use crate::catalogue::ot::{CATALOGUE as OTS, Kind};
use vesica_planner::Figures;
use vesica_psi::{CATALOGUE, Sizes, aggregate::METHODS};

use crate::{Job, Line, Result, Work, catalogue::primitives, record::results::Measured, reference};

use self::{charts::CHARTS, table::ResultTable};

/// The name of the link within memory.
const MEMORY: &str = "memory";

/// Links between the parties, besides memory: a local network, and two slow ones with long round trips.
const LINES: [&str; 3] = ["lan", "liang-wan1", "liang-wan2"];

/// Items of each set.
const SIZES: [usize; 7] = [1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// Base OTs, and others.
const BASE_OTS: [usize; 1] = [1 << 7];
const OTS_OF: [usize; 4] = [1 << 8, 1 << 12, 1 << 16, 1 << 20];
const OT_LINES: [&str; 3] = ["liang-lan", "liang-wan1", "liang-wan2"];

/// A run that takes longer than allowed, up to a certain factor, is made anyway if it takes at most this many
/// times as long as the best: the planner might have to choose it.
const RIVAL: f64 = 2.0;
const RIVALS_AT_MOST: f64 = 6.0;

/// Runs of at most this many seconds are made three times; of at most the next, twice.
const THRICE: f64 = 0.3;
const TWICE: f64 = 1.5;

/// Approximate number for oblivious transfers.
const ROUND_TRIPS: f64 = 3.0;

/// The fraction of the longest run that a run on a paper's own link may take: there are many.
const OF_PAPERS: f64 = 0.1;

/// Limits on what is run.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The maximal number of items of a set, or of OTs.
    pub up_to: usize,
    /// The longest run, in seconds, by prediction.
    pub at_most: f64,
}

/// A run to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The job.
    pub job: Job,
    /// Number of runs of the same job before this one.
    pub nth: usize,
    /// Its predicted time, or an estimate.
    pub seconds: f64,
}

impl Planned {
    /// The time including the process that is started for it.
    pub fn whole_seconds(&self) -> f64 {
        self.seconds + STARTING
    }
}

/// The runs to make, in order, and those left out.
pub struct Schedule {
    /// Within these bounds.
    pub bounds: Bounds,
    /// In the order in which to run them.
    pub runs: Vec<Planned>,
    /// Jobs left out because they would take too long, with their seconds.
    pub left_out: Vec<(Job, f64)>,
}

impl Schedule {
    /// Plans everything worth running within these bounds, as predicted from these figures.
    pub fn new(bounds: Bounds, figures: &Figures) -> Self {
        let mut plan = Self { bounds, runs: Vec::new(), left_out: Vec::new() };
        for bits in primitives::lengths() {
            for work in Work::primitives() {
                plan.add(&job(work, bits, Line::memory()), 0.02, 1);
            }
        }
        for items in SIZES.into_iter().filter(|items| *items <= bounds.up_to) {
            plan.protocols(items, figures);
        }
        plan.ots();
        plan.papers(figures);
        plan
    }

    fn add(&mut self, job: &Job, seconds: f64, times: usize) {
        let run = |nth| Planned { job: job.clone(), nth, seconds };
        let new: Vec<_> = (0..times).map(run).filter(|run| !self.runs.contains(run)).collect();
        self.runs.extend(new);
    }

    /// Adds everything at one size: each protocol on all links in turn, every other time in reverse, so that drift
    /// affects all equally.
    fn protocols(&mut self, items: usize, figures: &Figures) {
        let mut jobs: Vec<(Job, f64, usize)> = Vec::new();
        let lines = LINES.map(|name| name.parse().expect("a test reads these names"));
        let lines = [&[Line::memory()], &lines[..]].concat();
        // Work without figures is fast, and only serves comparison: the anchor.
        let anchor = works()
            .find(|work| job(*work, items, Line::memory()).expected_seconds(figures).is_none());
        jobs.extend(anchor.map(|work| (job(work, items, Line::memory()), 0.0, times(0.0))));
        let best: Vec<f64> = lines.iter().map(|line| best(items, line, figures)).collect();
        for work in works() {
            for (line, best) in lines.iter().zip(&best) {
                let job = job(work, items, line.clone());
                let Some(seconds) = job.expected_seconds(figures) else { continue };
                let rival = matches!(work, Work::Protocol(_))
                    && seconds <= RIVAL * best
                    && seconds <= RIVALS_AT_MOST * self.bounds.at_most;
                match seconds <= self.bounds.at_most || rival {
                    true => jobs.push((job, seconds, times(seconds))),
                    false => self.left_out.push((job, seconds)),
                }
            }
        }
        for nth in 0..times(0.0) {
            let wanted = jobs.iter().filter(|(.., times)| nth < *times);
            let run = |(job, seconds, _): &(Job, f64, usize)| Planned {
                job: job.clone(),
                nth,
                seconds: *seconds,
            };
            let mut runs: Vec<_> = wanted.map(run).collect();
            if nth % 2 == 1 {
                runs.reverse();
            }
            self.runs.extend(runs);
        }
    }

    fn ots(&mut self) {
        let up_to = self.bounds.up_to;
        for entry in OTS {
            let sizes = if entry.kind == Kind::Base { &BASE_OTS[..] } else { &OTS_OF };
            for ots in sizes.iter().filter(|ots| **ots <= up_to) {
                for line in OT_LINES {
                    let line = line.parse().expect("a test reads these names");
                    self.unpredicted(&job(Work::Ot(entry), *ots, line));
                }
            }
        }
    }

    /// Adds a job once, unless only its bytes and flights already take too long on the link.
    fn unpredicted(&mut self, job: &Job) {
        let round_trip = job.line.link().map_or(0.0, |link| link.round_trip.as_secs_f64());
        let seconds = job.transfer_seconds() + ROUND_TRIPS * round_trip;
        if seconds <= self.bounds.at_most {
            self.add(job, seconds, 1);
        }
    }

    /// Adds the fast runs of the papers, once each.
    fn papers(&mut self, figures: &Figures) {
        for cell in reference::PAPERS.iter().flat_map(reference::Paper::cells) {
            let Some(job) = cell.job().filter(|_| cell.size <= self.bounds.up_to) else { continue };
            let seconds = job.expected_seconds(figures);
            if let Some(seconds) = seconds.filter(|s| *s <= self.bounds.at_most * OF_PAPERS) {
                self.add(&job, seconds, 1);
            }
        }
    }
}

/// The approximate time for starting a process and generating two sets, in seconds.
const STARTING: f64 = 0.05;

fn times(seconds: f64) -> usize {
    if seconds <= THRICE {
        3
    } else if seconds <= TWICE {
        2
    } else {
        1
    }
}

/// Iterates over the anchor, everything for real data, and the methods that compute numbers.
fn works() -> impl Iterator<Item = Work> {
    let anchor = vesica_psi::find(ANCHOR).into_iter();
    let protocols = CATALOGUE.iter().copied().filter(|protocol| protocol.status.is_for_use());
    let methods = METHODS.iter().map(|method| Work::Answer(method));
    anchor.chain(protocols).map(|protocol| Work::Protocol(*protocol)).chain(methods)
}

/// The protocol with which all others are compared.
const ANCHOR: &str = "naive";

fn best(items: usize, line: &Line, figures: &Figures) -> f64 {
    let seconds = |work| job(work, items, line.clone()).expected_seconds(figures);
    let protocols = works().filter(|work| matches!(work, Work::Protocol(_)));
    protocols.filter_map(seconds).fold(f64::INFINITY, f64::min)
}

/// A file to publish.
pub struct PublishedFile {
    /// Its name.
    pub name: &'static str,
    /// Its contents.
    pub text: String,
}

/// Makes all files for these results: the table, the page and its charts.
///
/// # Errors
/// If a record names a link that this release does not know.
pub fn files(measured: &Measured, plan: &Schedule) -> Result<Vec<PublishedFile>> {
    let text = ResultTable::new(measured, plan)?.to_text();
    let mut files = from_table(&text)?;
    files.push(PublishedFile { name: "performance.tsv", text });
    Ok(files)
}

/// Makes the page and its charts from the text of the table.
///
/// # Errors
/// If the text is not such a table.
pub fn from_table(text: &str) -> Result<Vec<PublishedFile>> {
    let table = ResultTable::parse(text)?;
    let page = PublishedFile { name: "performance.md", text: page::page(&table)? };
    let charts = CHARTS.map(|(name, draw)| PublishedFile { name, text: draw(&table) });
    Ok([page].into_iter().chain(charts).collect())
}

fn job(work: Work, items: usize, line: Line) -> Job {
    Job { work, sizes: Sizes { sender: items, receiver: items }, line, threads: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bench, Host, record::results::Results};

    #[test]
    fn the_page_and_its_charts_are_made_from_the_table() {
        let plan = Schedule::new(Bounds { up_to: 1 << 8, at_most: 0.02 }, Figures::reference());
        let mut bench = Bench::new(Results::default());
        let mut measure = |work: &str, items: usize, link: &str| {
            bench.run(&job(work.parse().unwrap(), items, link.parse().unwrap()), 0).unwrap();
        };
        for work in [ANCHOR, "rr22", "primitive/blake3"] {
            measure(work, 1 << 8, MEMORY);
        }
        measure("rr22", 1 << 8, "lan");
        measure("ot/kos15", 1 << 8, "liang-lan");
        let records = bench.records().to_vec();
        let mut files = files(&Measured { host: Host::here(), records }, &plan).unwrap();
        let table = files.pop().unwrap();
        assert_eq!(table.name, "performance.tsv");
        for line in
            ["naive\t256\tmemory\t1\t0.", "rr22\t256\tlan\t1\t0.", "primitive/blake3\t256\t"]
        {
            assert!(table.text.contains(line), "no {line} in {}", table.text);
        }
        let page = &files[0].text;
        for part in ["5 runs, 0 with", "`rr22` 1.00", "| `kos15` |", "≈ ", "Liang et al. (2022) | "]
        {
            assert!(page.contains(part), "no {part} in {page}");
        }
        for chart in &files[1..] {
            assert!(page.contains(chart.name) && chart.text.starts_with("<svg"), "{}", chart.name);
            let is_drawn = chart.text.contains("class=\"mark") && !chart.text.contains("NaN");
            assert!(is_drawn, "{}", chart.text);
        }
        let again = from_table(&table.text).unwrap();
        assert!(again.iter().map(|file| &file.text).eq(files.iter().map(|file| &file.text)));
        assert!(from_table("").is_err());
    }

    #[test]
    fn a_plan_keeps_to_its_bounds_and_says_what_it_leaves_out() {
        let bounds = Bounds { up_to: 1 << 16, at_most: 1.0 };
        let plan = Schedule::new(bounds, Figures::reference());
        let protocols = |run: &&Planned| matches!(run.job.work, Work::Protocol(_));
        assert!(plan.runs.iter().filter(protocols).all(|run| run.job.sizes.sender <= bounds.up_to));
        for line in LINES {
            let line: Line = line.parse().unwrap();
            let best = best(1 << 16, &line, Figures::reference());
            let long = |seconds: f64| seconds > 1.0 && seconds > RIVAL * best;
            let here = |job: &Job| job.line == line && job.sizes.sender == 1 << 16;
            assert!(plan.left_out.iter().all(|(_, seconds)| *seconds > 1.0));
            assert!(plan.left_out.iter().any(|(job, _)| here(job)));
            assert!(!plan.runs.iter().any(|run| here(&run.job) && long(run.seconds)));
        }
        for (i, run) in plan.runs.iter().enumerate() {
            assert!(!plan.runs[..i].contains(run), "{:?} twice", run.job);
            let before = |earlier: &&Planned| earlier.job == run.job;
            assert_eq!(plan.runs[..i].iter().filter(before).count(), run.nth);
        }
        let anchor = plan.runs.iter().find(|run| run.job.work.to_string() == ANCHOR).unwrap();
        assert_eq!(anchor.job.line, Line::memory());
        let seconds: f64 = plan.runs.iter().map(Planned::whole_seconds).sum();
        assert!((10.0..600.0).contains(&seconds), "{seconds}");
    }
}
