//! A case, derived from its number: two jobs, and the faults of each attempt at their run.

use std::{collections::BTreeMap, time::Duration};

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use vesica::{Learns, Query, Security};
use vesica_testkit::course::{Break, Course};

use crate::disk::{Failure, Kind, Plan};

/// The number of cases with the same jobs, which differ in their faults.
pub const OF_A_JOB: u64 = 16;

/// The longest delay on a slow link that works.
const DELAY: Duration = Duration::from_secs(9);

/// A part of every value of a table, so that leaked values can be found.
pub const MARK: &str = "Zq7SECRET";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Csv,
    Ndjson,
    Parquet,
}

/// The destination of a side's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A file that does not exist yet.
    New,
    /// A file that exists, and is replaced.
    Old,
    /// A stream, which is written to directly.
    Stream,
    /// No destination.
    None,
}

/// A side's part of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    pub form: Form,
    pub rows: usize,
    pub target: Target,
    pub report: bool,
}

/// Two jobs that match each other.
#[derive(Debug, Clone)]
pub struct Jobs {
    pub sides: [Side; 2],
    /// Keys that both sides have.
    pub shared: usize,
    pub query: Query,
    pub protocol: Option<&'static str>,
    pub security: Security,
    /// The sides that learn, from the connecting side's point of view.
    pub learns: Learns,
    pub partitions: u32,
    pub resume: bool,
    pub diagnose: bool,
    pub seed: u64,
}

/// The faults of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// The course of the bytes that each side sends, the connecting side's first.
    pub courses: [Course; 2],
    pub disks: [Plan; 2],
}

/// The progress of an undisturbed attempt.
#[derive(Debug, Clone, Default)]
pub struct Extent {
    /// Bytes that each side sends.
    pub sent: [u64; 2],
    /// Calls on files of each side.
    pub calls: [BTreeMap<Kind, u64>; 2],
}

impl Jobs {
    /// Returns the jobs of this case.
    pub fn of(case: u64) -> Self {
        let seed = case / OF_A_JOB;
        let mut rng = StdRng::seed_from_u64(seed ^ 0x0b5e_55ed);
        // Most are cheap, because the faults do not depend on the protocol.
        let semi_honest = Security::SemiHonest;
        let (protocol, security, most, splits) = match rng.random_range(0..20) {
            0..4 => (Some("dh"), semi_honest, 20, true),
            4 => (Some("rr22"), semi_honest, 300, true),
            5 => (Some("rr22-malicious"), Security::Malicious, 300, true),
            6 => (Some("kkrt16"), semi_honest, 300, false),
            7 => (None, semi_honest, 20, true),
            _ => (Some("naive"), semi_honest, 300, false),
        };
        let counts = protocol.is_none() && rng.random_ratio(1, 2);
        let query = if counts { Query::COUNT } else { Query::ROWS };
        let learns =
            *[Learns::Both, Learns::Both, Learns::Me, Learns::Peer].choose(&mut rng).unwrap();
        let partitions = match splits && !counts {
            true => *[1, 2, 2, 4].choose(&mut rng).unwrap(),
            false => 1,
        };
        let resume = splits && !counts && rng.random_ratio(2, 3);
        let size = |rng: &mut StdRng| match rng.random_range(0..8) {
            0 => 0,
            1 => 1,
            2..6 => rng.random_range(2..=most.min(20)),
            _ => rng.random_range(2..=most),
        };
        let sizes = [size(&mut rng), size(&mut rng)];
        let shared = rng.random_range(0..=sizes[0].min(sizes[1]));
        let sides = sizes.map(|rows| Side {
            form: *[Form::Csv, Form::Csv, Form::Ndjson, Form::Parquet].choose(&mut rng).unwrap(),
            rows,
            target: match rng.random_range(0..8) {
                0 => Target::None,
                1 if cfg!(target_os = "linux") => Target::Stream,
                2..4 => Target::Old,
                _ => Target::New,
            },
            report: rng.random_ratio(3, 4),
        });
        let diagnose = rng.random_ratio(1, 8);
        Self {
            sides,
            shared,
            query,
            protocol,
            security,
            learns,
            partitions,
            resume,
            diagnose,
            seed,
        }
    }

    /// Returns whether each side learns the result.
    pub fn learners(&self) -> [bool; 2] {
        match self.learns {
            Learns::Me => [true, false],
            Learns::Peer => [false, true],
            Learns::Both => [true; 2],
            Learns::Nobody => [false; 2],
        }
    }

    /// Returns the numbers of a side's keys, in the order of its rows. Numbers below `shared` belong to the other side
    /// too.
    pub fn keys(&self, side: usize) -> Vec<usize> {
        let own = self.sides[side].rows - self.shared;
        let own = (0..own).map(|key| 1000 * (1 + side) + key);
        let mut keys: Vec<_> = (0..self.shared).chain(own).collect();
        let mut rng = StdRng::seed_from_u64(self.seed ^ side as u64);
        rand::seq::SliceRandom::shuffle(&mut keys[..], &mut rng);
        keys
    }
}

impl Faults {
    /// No faults.
    pub const NONE: Self =
        Self { courses: [Course::STRAIGHT; 2], disks: [Plan { short: None, failure: None }; 2] };

    /// Returns the faults of an attempt at this case, given the progress of an undisturbed one.
    pub fn of(case: u64, attempt: u32, extent: &Extent) -> Self {
        let mut rng = StdRng::seed_from_u64(case.wrapping_mul(8) + u64::from(attempt));
        let courses = [0, 1].map(|_| match rng.random_ratio(3, 4) {
            true => Course::bumpy(rng.random(), DELAY),
            false => Course::STRAIGHT,
        });
        let disks = [0, 1]
            .map(|_| Plan { short: rng.random_ratio(1, 2).then(|| rng.random()), failure: None });
        let mut faults = Self { courses, disks };
        let (link, disk) = match rng.random_range(0..10) {
            0 => (false, false),
            1..6 => (true, false),
            6..9 => (false, true),
            _ => (true, true),
        };
        if link {
            faults.break_link(extent, &mut rng);
        }
        if disk {
            let sides: &[usize] = match rng.random_range(0..8) {
                0 => &[0, 1],
                1..5 => &[0],
                _ => &[1],
            };
            for &side in sides {
                faults.disks[side].failure = failure(&extent.calls[side], &mut rng);
            }
        }
        faults
    }

    fn break_link(&mut self, extent: &Extent, rng: &mut StdRng) {
        let how = *Break::ALL.choose(rng).unwrap();
        let mut at = |side: usize| {
            let all = extent.sent[side];
            // The end, where the two sides must not diverge, is chosen more often than its few bytes would be.
            let from = if rng.random_ratio(1, 3) { all.saturating_sub(400) } else { 0 };
            rng.random_range(from..=all)
        };
        let places = [at(0), at(1)];
        // In one direction, or in both.
        let (first, second) = match rng.random_range(0..3) {
            0 => (true, false),
            1 => (false, true),
            _ => (true, true),
        };
        for (side, breaks) in [first, second].into_iter().enumerate() {
            if breaks {
                self.courses[side] = self.courses[side].breaking(places[side], how);
            }
        }
    }
}

/// Chooses any call of any kind, each kind with the same probability.
fn failure(calls: &BTreeMap<Kind, u64>, rng: &mut StdRng) -> Option<Failure> {
    let kinds: Vec<_> = calls.keys().copied().collect();
    let kind = *kinds.choose(rng)?;
    let number = rng.random_range(0..calls[&kind]);
    let error = *kind.errors().choose(rng)?;
    Some(Failure { kind, number, error, lasts: rng.random() })
}
