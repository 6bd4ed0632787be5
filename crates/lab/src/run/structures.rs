//! The cost of hash bins, filters and OKVS, and the frequency of their failures.

use std::{borrow::Cow, time::Instant};

use crate::catalogue::structures::{Entry, Kind, Plan};
use rand::{SeedableRng, rngs::StdRng};
use serde::{Deserialize, Serialize};
use vesica_primitives::Block;

use crate::Result;

/// Queries of a filter for counting false positives.
const QUERIES: usize = 1 << 20;

/// Total items of all tables or stores for counting failures.
const TRIED: usize = 1 << 23;

/// The maximal number of tables or stores tried.
const TRIALS: usize = 1 << 13;

/// One run, as printed with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The structure's key.
    pub structure: Cow<'static, str>,
    /// The number of items in it.
    pub items: usize,
    /// Threads that built it.
    pub threads: usize,
    /// From items to the encoding that is sent.
    pub build_seconds: f64,
    /// Per query; there are as many queries as items, half of them for items.
    pub query_nanoseconds: f64,
    /// The size of its encoding.
    pub bytes: usize,
    /// The same in bits per item.
    pub bits_per_item: f64,
    /// log2 of a bound on the risk: of a false positive per query for filters, and of a failure to build otherwise.
    pub log2_risk: Option<f64>,
    /// A trial of a structure whose planned risk is large enough to be visible.
    pub trial: Option<Trial>,
    /// Whether all answers were correct.
    pub correct: bool,
}

/// The number of failures of structures that are permitted to fail often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Items of each structure.
    pub items: usize,
    /// log2 of the bound on the risk.
    pub log2_risk: f64,
    /// False positives, or failures to build.
    pub seen: usize,
    /// The number of queries, or of structures.
    pub of: usize,
    /// log2 of the fraction seen, or `None` without failures.
    pub log2_seen: Option<f64>,
}

/// A size for which a structure is not built.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// The structure's key.
    pub structure: &'static str,
    /// The number of items it would have had.
    pub items: usize,
    /// The reason.
    pub left_out: &'static str,
}

/// A structure to be run at one size.
pub struct Case {
    entry: &'static Entry,
    plan: Box<dyn Plan>,
    items: Vec<Block>,
    /// Half of them are items.
    values: Vec<Block>,
    trial: Option<Trial>,
}

impl Case {
    /// Plans a structure and counts its failures, or returns the reason why it does not exist for this number of items.
    ///
    /// # Errors
    /// If the structure cannot be built at all.
    pub fn new(entry: &'static Entry, items: usize) -> Result<std::result::Result<Self, LeftOut>> {
        if !entry.sizes.contains(&items) {
            return Ok(Err(LeftOut { structure: entry.key, items, left_out: entry.because }));
        }
        let rng = &mut StdRng::seed_from_u64(items as u64);
        let plan = planned(entry, items, entry.kind.strictness(items))?;
        let trial = entry.trial.map(|most| Trial::run(entry, items.min(most), rng)).transpose()?;
        let (items, mut values) = (blocks(items, rng), blocks(items, rng));
        values.iter_mut().zip(&items).step_by(2).for_each(|(value, item)| *value = *item);
        Ok(Ok(Self { entry, plan, items, values, trial }))
    }

    /// Builds the structure once and queries it.
    ///
    /// # Errors
    /// If it could not be built, which is as unlikely as planned.
    pub fn run(&self, threads: usize) -> Result<Record> {
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
            structure: Cow::Borrowed(self.entry.key),
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
    /// Queries a filter for values that are not in it, or builds other structures repeatedly.
    fn run(entry: &Entry, items: usize, rng: &mut StdRng) -> Result<Self> {
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

fn planned(entry: &Entry, items: usize, strictness: u32) -> Result<Box<dyn Plan>> {
    let plan = (entry.plan)(items, strictness);
    plan.ok_or_else(|| format!("{} has no shape for {items} items", entry.key).into())
}

fn blocks(count: usize, rng: &mut StdRng) -> Vec<Block> {
    (0..count).map(|_| Block::random(rng)).collect()
}
