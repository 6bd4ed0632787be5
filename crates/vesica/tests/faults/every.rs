//! A break at every byte of a connection, and a failure of every call on a file.

use std::thread;

use vesica::{Learns, Query, Security, Shortfall};
use vesica_testkit::{
    assurance,
    course::{Break, Course},
};

use crate::{
    bench::{Attempt, Bench, End},
    case::{Extent, Faults, Form, Jobs, Side, Target},
    disk::{Failure, Kind},
    judge::{self, Tally},
};

/// A run of a few rows, in which both sides learn the shared ones.
fn small() -> Jobs {
    let side = Side { form: Form::Csv, rows: 3, target: Target::New, report: true };
    Jobs {
        sides: [side, Side { rows: 4, target: Target::Old, ..side }],
        shared: 2,
        query: Query::ROWS,
        protocol: Some("naive"),
        security: Security::SemiHonest,
        learns: Learns::Both,
        partitions: 1,
        resume: false,
        diagnose: false,
        seed: 1,
    }
}

/// A run in partitions, whose results are stored on disk along the way, and which can be resumed.
fn divided() -> Jobs {
    Jobs { protocol: Some("dh"), partitions: 2, resume: true, ..small() }
}

/// Tries a run under these faults once, and then repeatedly until it succeeds.
fn once(jobs: &Jobs, faults: &Faults, tally: &mut Tally) -> Attempt {
    let (bench, mut failures) = (Bench::new(jobs), Vec::new());
    let attempt = bench.attempt(0, faults);
    if !judge::judge(&bench, faults, &attempt, &mut failures, tally).is_over {
        let again = bench.attempt(1, &Faults::NONE);
        let again =
            judge::judge(&bench, &Faults::NONE, &again, &mut failures, &mut Tally::default());
        assert!(again.is_over, "a run does not end although nothing fails: {failures:#?}");
    }
    attempt
}

fn undisturbed(jobs: &Jobs) -> Extent {
    once(jobs, &Faults::NONE, &mut Tally::default()).extent()
}

/// Tries all of these on two threads.
fn try_each(jobs: &Jobs, all: &[Faults]) -> Tally {
    thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || {
                let mut tally = Tally::default();
                for faults in all.iter().skip(half).step_by(2) {
                    once(jobs, faults, &mut tally);
                }
                tally
            })
        });
        let mut total = Tally::default();
        halves.into_iter().for_each(|half| total.add(half.join().unwrap()));
        total
    })
}

#[test]
fn a_connection_may_break_at_every_byte() {
    const ONE_IN: usize = 97;
    let (sent, mut all) = (undisturbed(&small()).sent, Vec::new());
    for (side, &sent) in sent.iter().enumerate() {
        for (way, how) in Break::ALL.into_iter().enumerate() {
            for at in 0..=sent {
                if assurance::tries(at as usize, way, ONE_IN) {
                    let mut faults = Faults::NONE;
                    faults.courses[side] = Course::STRAIGHT.breaking(at, how);
                    all.push(faults);
                }
            }
        }
    }
    println!("{sent:?} bytes: {}", try_each(&small(), &all));
}

#[test]
fn every_call_on_a_file_may_fail() {
    const ONE_IN: usize = 5;
    for jobs in [small(), divided()] {
        let (calls, mut all) = (undisturbed(&jobs).calls, Vec::new());
        for (side, calls) in calls.iter().enumerate() {
            for (&kind, &times) in calls {
                for (way, &error) in kind.errors().iter().enumerate() {
                    for (number, lasts) in (0..times).flat_map(|n| [(n, false), (n, true)]) {
                        if assurance::tries(number as usize, way + usize::from(lasts), ONE_IN) {
                            let mut faults = Faults::NONE;
                            faults.disks[side].failure =
                                Some(Failure { kind, number, error, lasts });
                            all.push(faults);
                        }
                    }
                }
            }
        }
        println!("{calls:?}: {}", try_each(&jobs, &all));
    }
}

/// A side with its result reports that, even if the disk fails after the file got its name: the other side has its own
/// result.
#[test]
fn a_name_that_may_not_outlast_a_power_failure_is_a_shortfall() {
    let mut jobs = small();
    jobs.sides[0].report = false;
    let syncs = undisturbed(&jobs).calls[0][&Kind::Sync];
    let mut faults = Faults::NONE;
    let [error, ..] = Kind::Sync.errors() else { unreachable!("a sync may fail") };
    // The last sync is the directory's.
    faults.disks[0].failure =
        Some(Failure { kind: Kind::Sync, number: syncs - 1, error: *error, lasts: false });
    let [a, b] = once(&jobs, &faults, &mut Tally::default()).sides;
    let End::Ran(Ok(shortfalls)) = a.end else { panic!("it failed") };
    let [Shortfall::Unkept(why)] = &shortfalls[..] else { panic!("{shortfalls:?}") };
    assert!(why.to_string().contains("out.csv"), "{why}");
    assert!(matches!(b.end, End::Ran(Ok(shortfalls)) if shortfalls.is_empty()));
}
