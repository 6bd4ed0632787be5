//! `vesica bench --performance`: measures everything, and writes the table, the page and its charts.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;
use vesica::files::{Access, Output};
use vesica_lab::{
    Bench, BenchOutcome, Result,
    publish::performance::{self, Bounds, Planned, PublishedFile, Schedule},
    record::results::{Measured, Results},
};
use vesica_planner::{Figures, unit::Unit};

use super::separate;

/// The interval between reports of progress.
const SAY: Duration = Duration::from_secs(5);

#[derive(Args)]
#[group(skip)]
pub struct Flags {
    /// Measure everything, and write performance.md and performance.tsv here
    ///
    /// It measures what is within --up-to and --at-most. Runs are kept in performance.jsonl in this folder, or in
    /// --results, and not made again. With the default bounds it takes about a quarter of an hour, on a machine that
    /// should do nothing else.
    #[arg(long, groups = ["what", "bounded"], value_name = "FOLDER", conflicts_with_all = ["sizes", "link", "threads", "repeat", "json"])]
    performance: Option<PathBuf>,
}

/// Bounds of `--performance` unless others are given.
const BOUNDS: Bounds = Bounds { up_to: 1 << 20, at_most: 5.0 };

impl Flags {
    /// Returns the folder to write into, if requested.
    pub fn folder(&self) -> Option<&Path> {
        self.performance.as_deref()
    }
}

/// Makes the runs that are missing in the results, then writes the files.
pub fn run(
    folder: &Path,
    results: Option<&Path>,
    bounds: super::Bounded,
    figures: &Figures,
) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let results = results.map_or_else(|| folder.join("performance.jsonl"), Path::to_owned);
    let plan = Schedule::new(bounds.or(BOUNDS), figures);
    let mut bench = Bench::new(Results::open(&results)?).in_separate_processes(separate::runner()?);
    let failed = measure(&plan, &mut bench);

    let measured = Measured::read(&results)?;
    for PublishedFile { name, text } in performance::files(&measured, &plan)? {
        let path = folder.join(name);
        Output::prepare(&path, Access::Usual)?
            .stage(|out| out.write_all(text.as_bytes()))?
            .commit()?;
        crate::say(&format!("{} written", path.display()));
    }
    let wrong = measured.records.iter().filter(|record| !record.correct()).count();
    match failed {
        0 => super::none_wrong(wrong),
        failed => Err(format!("{failed} runs failed; the same command tries them again").into()),
    }
}

/// Makes every missing run, and returns the number of failures. A failure does not end the other runs.
fn measure(plan: &Schedule, bench: &mut Bench) -> usize {
    let left = |bench: &Bench, runs: &[Planned]| -> f64 {
        let missing = runs.iter().filter(|run| !bench.has(&run.job, run.nth));
        missing.map(Planned::whole_seconds).sum()
    };
    let missing = plan.runs.iter().filter(|run| !bench.has(&run.job, run.nth)).count();
    if missing > 0 {
        let about = Unit::Seconds.text(left(bench, &plan.runs));
        crate::say(&format!("{missing} of {} runs to make, about {about}", plan.runs.len()));
    }
    let (mut failed, mut said) = (0, Instant::now());
    for (i, Planned { job, nth, .. }) in plan.runs.iter().enumerate() {
        if bench.has(job, *nth) {
            continue;
        }
        if said.elapsed() >= SAY {
            said = Instant::now();
            let about = Unit::Seconds.text(left(bench, &plan.runs[i..]));
            let size = Unit::Items.text(job.sizes.sender as f64);
            crate::say(&format!("{} {size} {}: about {about} left", job.work, job.line));
        }
        match bench.run(job, *nth) {
            Ok(BenchOutcome::Ran(record)) if !record.correct() => {
                crate::say(&format!("{} gave a wrong result", job.work));
            }
            Ok(_) => {}
            Err(error) => {
                failed += 1;
                crate::say(&format!("failed: {error}"));
            }
        }
    }
    failed
}
