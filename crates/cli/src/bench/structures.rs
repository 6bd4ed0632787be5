//! `vesica bench --structures`: what hash bins, filters and OKVS take, and how often they fail.

use std::{error::Error, io::Write, time::Instant};

use rand::{SeedableRng, rngs::StdRng};
use serde::Serialize;
use vesica_primitives::Block;
use vesica_structures::catalogue::{self, CATALOGUE, Entry, Kind, Plan};

use super::shown;

/// Queries of a filter whose false positives are counted.
const QUERIES: usize = 1 << 20;

/// Items of all tables or stores together whose failures are counted.
const TRIED: usize = 1 << 23;

/// The most tables or stores tried.
const TRIALS: usize = 1 << 13;

/// One or all of the catalogue, as asked for.
#[derive(Clone, Copy)]
pub struct Choice(pub &'static [Entry]);

/// The structure with this key, or `all`.
pub fn choice(key: &str) -> Result<Choice, String> {
    if key == "all" {
        return Ok(Choice(CATALOGUE));
    }
    let entry = catalogue::find(key).ok_or_else(|| {
        let keys: Vec<&str> = CATALOGUE.iter().map(|entry| entry.key).collect();
        format!("no such structure; there are {}, and `all`", keys.join(", "))
    })?;
    Ok(Choice(std::slice::from_ref(entry)))
}

/// One run, as printed with `--json`.
#[derive(Debug, Serialize)]
pub struct Record {
    structure: &'static str,
    items: usize,
    threads: usize,
    /// From items to what is sent.
    build_seconds: f64,
    /// Per query, of which there are as many as items, half of them of items.
    query_nanoseconds: f64,
    bytes: usize,
    bits_per_item: f64,
    /// log2 of a bound on the risk: of a false positive a query, for filters, and of no structure.
    log2_risk: Option<f64>,
    /// The same of one that is planned for a risk large enough to be seen.
    trial: Option<Trial>,
    /// Whether all answers were right.
    correct: bool,
}

/// How often what must not happen did, where that is allowed to be often.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    /// Items of each structure.
    items: usize,
    /// log2 of the bound on the risk.
    log2_risk: f64,
    /// False positives, or failures to build.
    seen: usize,
    /// Of so many queries, or structures.
    of: usize,
    /// log2 of the part seen; nothing where none was.
    log2_seen: Option<f64>,
}

/// A size of which a structure is not built.
#[derive(Debug, Serialize)]
struct LeftOut {
    structure: &'static str,
    items: usize,
    left_out: &'static str,
}

/// A structure to be run at one size.
pub struct Case {
    entry: &'static Entry,
    plan: Box<dyn Plan>,
    items: Vec<Block>,
    /// Half of them items.
    values: Vec<Block>,
    trial: Option<Trial>,
}

impl Case {
    /// Plans a structure and counts its failures. Where it is not for so many items, says why.
    pub fn new(
        entry: &'static Entry,
        items: usize,
        json: bool,
        out: &mut impl Write,
    ) -> Result<Option<Self>, Box<dyn Error>> {
        if !entry.sizes.contains(&items) {
            let because = LeftOut { structure: entry.key, items, left_out: entry.because };
            match json {
                true => super::print_json(&because, out)?,
                false => {
                    writeln!(out, "{:<15} {items:>10} left out: {}", entry.key, entry.because)?
                }
            }
            return Ok(None);
        }
        let rng = &mut StdRng::seed_from_u64(items as u64);
        let plan = planned(entry, items, entry.kind.strictness(items))?;
        let trial = entry.trial.map(|most| Trial::run(entry, items.min(most), rng)).transpose()?;
        let (items, mut values) = (blocks(items, rng), blocks(items, rng));
        values.iter_mut().zip(&items).step_by(2).for_each(|(value, item)| *value = *item);
        Ok(Some(Self { entry, plan, items, values, trial }))
    }

    /// Builds the structure once and asks it.
    pub fn run(&self, threads: usize) -> Result<Record, Box<dyn Error>> {
        let mut rng = StdRng::from_rng(&mut rand::rng());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let (build, query, found) = pool
            .install(|| {
                let started = Instant::now();
                let held = self.plan.build(&self.items, &mut rng)?;
                let (build, started) = (started.elapsed(), Instant::now());
                let found = held.found(&self.values);
                Some((build, started.elapsed(), found))
            })
            .ok_or_else(|| format!("{} could not be built", self.entry.key))?;
        let count = self.items.len();
        Ok(Record {
            structure: self.entry.key,
            items: count,
            threads,
            build_seconds: build.as_secs_f64(),
            query_nanoseconds: query.as_secs_f64() * 1e9 / count.max(1) as f64,
            bytes: self.plan.bytes(),
            bits_per_item: self.plan.bytes() as f64 * 8.0 / count.max(1) as f64,
            log2_risk: self.plan.log2_risk(),
            trial: self.trial.clone(),
            correct: found == count.div_ceil(2),
        })
    }
}

impl Trial {
    /// Asks a filter for values that are not in it, or builds others again and again.
    fn run(entry: &Entry, items: usize, rng: &mut StdRng) -> Result<Self, Box<dyn Error>> {
        let plan = planned(entry, items, entry.kind.visible())?;
        let (seen, of) = if entry.kind == Kind::Filter {
            let (items, others) = (blocks(items, rng), blocks(QUERIES, rng));
            let held = plan.build(&items, rng).ok_or("a filter could not be built")?;
            (held.found(&others), QUERIES)
        } else {
            let trials = (TRIED / items.max(1)).min(TRIALS);
            let mut fails = || {
                let items = blocks(items, rng);
                plan.build(&items, rng).is_none()
            };
            ((0..trials).filter(|_| fails()).count(), trials)
        };
        let log2_risk = plan.log2_risk().unwrap_or(f64::NEG_INFINITY);
        let log2_seen = (seen > 0).then(|| (seen as f64 / of as f64).log2());
        Ok(Self { items, log2_risk, seen, of, log2_seen })
    }
}

fn planned(entry: &Entry, items: usize, strictness: u32) -> Result<Box<dyn Plan>, Box<dyn Error>> {
    let plan = (entry.plan)(items, strictness);
    plan.ok_or_else(|| format!("{} has no shape for {items} items", entry.key).into())
}

fn blocks(count: usize, rng: &mut StdRng) -> Vec<Block> {
    (0..count).map(|_| Block::random(rng)).collect()
}

pub fn print_header(out: &mut impl Write) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<15} {:>10} {:>11} {:>10} {:>13} {:>10} {:>8}  measured where the risk is larger",
        "structure", "items", "build ms", "ns a query", "bytes", "bits/item", "log risk"
    )
}

impl Record {
    /// Whether all answers were right.
    pub fn correct(&self) -> bool {
        self.correct
    }

    pub fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        let trial = self.trial.as_ref().map_or("-".to_owned(), |trial| {
            let Trial { items, log2_risk, seen, of, log2_seen } = trial;
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
