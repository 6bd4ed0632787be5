//! Millions of whole runs between two parties whose link and files fail.
//!
//! Both parties run in one process as they do in the product: a table in, TLS, terms, a protocol, a table out. The link
//! between them splits, delays, holds back and breaks ([`vesica_testkit::course`]), and calls on their files fail
//! ([`disk`]). All of it is derived from the number of a case ([`case`]). After each attempt [`judge`] decides whether
//! the outcome is permitted.
//!
//! A replay of a case has the same jobs, and the same faults at the same bytes of the connection and at the same calls
//! on files. The scheduling of threads is not repeated, for example which side of a broken link notices first. No
//! assertion depends on it.

#![allow(clippy::unwrap_used)]

mod bench;
mod case;
mod disk;
mod every;
mod judge;

use std::{
    collections::BTreeMap,
    ops::Range,
    panic,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    bench::Bench,
    case::{Extent, Faults, Jobs, OF_A_JOB},
    judge::Tally,
};

/// The environment variable that selects other cases: `FIRST..END`, counted from 0. Each case is deterministic, so a
/// failed one can be repeated, and ranges add up.
const RANGE: &str = "VESICA_FAULTS";

/// Cases in the first tier, and in the second tier.
const FEW: u64 = 1_000;
const ALL: u64 = 20_000;

/// The number of attempts at a run with faults, before an attempt without faults.
const ATTEMPTS: u32 = 3;

/// The maximum duration of a case by the system's clock. A case that takes longer waits forever.
const LONGEST: Duration = Duration::from_secs(300);

/// Tries a case. `undisturbed` is the progress of its jobs without faults.
fn try_case(case: u64, undisturbed: &Extent, tally: &mut Tally) {
    let bench = Bench::new(&Jobs::of(case));
    let mut failures = Vec::new();
    // A run that may not resume starts over in a further attempt.
    for attempt in 0..=ATTEMPTS + 1 {
        let faults = match attempt {
            ATTEMPTS.. => Faults::NONE,
            _ => Faults::of(case, attempt, undisturbed),
        };
        let ended = bench.attempt(attempt, &faults);
        let verdict = judge::judge(&bench, &faults, &ended, &mut failures, tally);
        if verdict.is_over {
            return;
        }
        bench.clear_streams();
        if ended.is_spent() {
            bench.begin_anew();
        }
        // Runs that can resume do so; some start over, which shows that leftovers do not disturb them.
        if !bench.jobs.resume && !case.is_multiple_of(4) {
            return;
        }
    }
    panic!("a run does not end although nothing fails: {failures:#?}");
}

/// Tries the cases of a range on this many threads, and returns the tally.
///
/// # Panics
/// If the outcome of any of them is not permitted; the message before it says how to repeat it.
fn try_all(cases: Range<u64>, threads: usize) -> Tally {
    let groups = cases.start / OF_A_JOB..cases.end.div_ceil(OF_A_JOB);
    let next = AtomicU64::new(groups.start);
    let (total, at_work) = (Mutex::new(Tally::default()), Mutex::new(BTreeMap::new()));
    let failed = Mutex::new(Vec::new());
    let began = Instant::now();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let group = next.fetch_add(1, Ordering::Relaxed);
                        if group >= groups.end {
                            return;
                        }
                        let all = group * OF_A_JOB..(group + 1) * OF_A_JOB;
                        let mut tally = Tally::default();
                        let undisturbed = guarded(all.start, &failed, || {
                            let bench = Bench::new(&Jobs::of(all.start));
                            let ended = bench.attempt(0, &Faults::NONE);
                            let extent = ended.extent();
                            judge::judge(
                                &bench,
                                &Faults::NONE,
                                &ended,
                                &mut Vec::new(),
                                &mut tally,
                            );
                            extent
                        });
                        let Some(undisturbed) = undisturbed else { continue };
                        for case in all.start.max(cases.start)..all.end.min(cases.end) {
                            at_work.lock().unwrap().insert(case, Instant::now());
                            guarded(case, &failed, || try_case(case, &undisturbed, &mut tally));
                            at_work.lock().unwrap().remove(&case);
                        }
                        total.lock().unwrap().add(tally);
                    }
                })
            })
            .collect();
        let mut said = Instant::now();
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(Duration::from_millis(20));
            for (case, since) in &*at_work.lock().unwrap() {
                if since.elapsed() > LONGEST {
                    eprintln!("case {case} hangs; repeat it: {RANGE}={case}..{}", case + 1);
                    std::process::abort();
                }
            }
            if said.elapsed() > Duration::from_secs(60) {
                said = Instant::now();
                let done = total.lock().unwrap().attempts;
                eprintln!("{done} attempts in {:.0} s", began.elapsed().as_secs_f64());
            }
        }
    });
    let (total, failed) = (total.into_inner().unwrap(), failed.into_inner().unwrap());
    assert!(failed.is_empty(), "{} cases failed: {failed:?}\n{total}", failed.len());
    total
}

/// Names the case in which something panics; the other cases still run.
fn guarded<T>(case: u64, failed: &Mutex<Vec<u64>>, attempt: impl FnOnce() -> T) -> Option<T> {
    let done = panic::catch_unwind(panic::AssertUnwindSafe(attempt)).ok();
    if done.is_none() {
        let jobs = Jobs::of(case);
        eprintln!("case {case} failed; repeat it: {RANGE}={case}..{} ({jobs:?})", case + 1);
        failed.lock().unwrap().push(case);
    }
    done
}

/// Returns the selected cases.
fn range(all: u64) -> Range<u64> {
    let Ok(range) = std::env::var(RANGE) else { return 0..all };
    let numbers = range.split_once("..").map(|(first, end)| (first.parse(), end.parse()));
    match numbers {
        Some((Ok(first), Ok(end))) if first < end => first..end,
        _ => panic!("{RANGE}={range} is not a range such as 0..{all}"),
    }
}

/// Cases that once found a defect: docs/notes/2026-11-27-findings.md, finding 4.
const FOUND: [u64; 2] = [1163, 4752];

#[test]
fn few() {
    FOUND.iter().for_each(|case| drop(try_all(*case..case + 1, 1)));
    let tally = try_all(range(FEW), 2);
    println!("{tally}");
    tally.assert_reached();
}

#[test]
#[ignore = "assure: 20,000 runs over failing links and disks take many minutes"]
fn all() {
    println!("{}", try_all(range(ALL), 2));
}
