//! How fast this machine is, for the planner.

use vesica_psi::{
    CATALOGUE, Protocol, Sizes,
    answer::{METHODS, Method},
    plan::{Figures, Run},
};

use crate::{
    Line, Result, answer,
    protocol::{self, Sets},
};

/// The least size measured.
const LEAST: usize = 1 << 4;

/// The lesser of the two sizes of a quick calibration.
const SMALL: usize = 1 << 8;

/// The largest.
const LARGEST: usize = 1 << 22;

/// What a run of a quick calibration may take by the release's figures, in seconds.
const QUICK: f64 = 0.25;

/// What is run to get its figures.
#[derive(Clone, Copy)]
enum Subject {
    Protocol(&'static Protocol),
    Method(&'static Method),
}

impl Subject {
    /// All for real data; a method that shares its name with a protocol has the protocol's figures.
    fn all() -> impl Iterator<Item = Self> {
        let protocols = CATALOGUE.iter().filter(|p| p.status.is_for_use());
        let methods =
            METHODS.iter().filter(|m| m.status.is_for_use() && vesica_psi::find(m.key).is_none());
        protocols.map(|p| Self::Protocol(p)).chain(methods.map(|m| Self::Method(m)))
    }

    fn key(self) -> &'static str {
        match self {
            Self::Protocol(protocol) => protocol.key,
            Self::Method(method) => method.key,
        }
    }

    /// One run with sets of one size.
    fn run(self, items: usize) -> Result<Run> {
        let sizes = Sizes { sender: items, receiver: items };
        let line = Line::memory();
        let (seconds, memory) = match self {
            Self::Protocol(protocol) => {
                let sets = Sets::generate(sizes, protocol.digest);
                let record = protocol::run(protocol, &sets, &line, 1)?;
                if !record.correct {
                    return Err(format!("{} found a wrong intersection", protocol.key).into());
                }
                (record.seconds, record.peak_memory_bytes)
            }
            Self::Method(method) => {
                let took = answer::run(method, sizes, &line, 1)?;
                (took.seconds, took.peak_memory_bytes)
            }
        };
        Ok(Run { items, seconds, memory_bytes: memory.map(|bytes| bytes as f64 / 2.0) })
    }

    /// The median of three runs by time, or the first where that takes more than `patience` seconds.
    fn measure(self, items: usize, patience: f64) -> Result<Run> {
        let first = self.run(items)?;
        if first.seconds > patience {
            return Ok(first);
        }
        let mut runs = [first, self.run(items)?, self.run(items)?];
        runs.sort_by(|x, y| x.seconds.total_cmp(&y.seconds));
        Ok(runs[1])
    }
}

/// Two sizes of each protocol that is quick enough, in about half a minute. `begins` is told the name of each
/// and how many are left.
///
/// # Errors
/// Where a run fails.
pub fn quick(mut begins: impl FnMut(&str, usize)) -> Result<Figures> {
    let mut figures = Figures::default();
    let expected =
        |key, items| Figures::reference().seconds(key, Sizes { sender: items, receiver: items });
    let is_quick = |key, items| expected(key, items).is_some_and(|seconds| seconds <= QUICK);
    let subjects: Vec<_> = Subject::all().filter(|s| is_quick(s.key(), SMALL)).collect();
    for (i, subject) in subjects.iter().enumerate() {
        begins(subject.key(), subjects.len() - i);
        let largest = sizes().take_while(|items| is_quick(subject.key(), *items)).last();
        for items in [Some(SMALL), largest.filter(|items| *items > SMALL)].into_iter().flatten() {
            figures.insert(subject.key(), subject.measure(items, 2.0 * QUICK)?);
        }
    }
    Ok(figures)
}

/// The names of all that has figures.
pub fn names() -> Vec<&'static str> {
    Subject::all().map(Subject::key).collect()
}

/// One protocol at all sizes, four times the one before, at which a run takes no more than about `limit` seconds.
/// Memory is that of the process, so a process should measure but one.
///
/// # Errors
/// Where there is no such protocol for real data, or a run fails.
pub fn full(name: &str, limit: f64) -> Result<Figures> {
    let subject = Subject::all().find(|subject| subject.key() == name);
    let subject = subject.ok_or_else(|| format!("no protocol `{name}` is for real data"))?;
    let mut figures = Figures::default();
    for (nth, items) in sizes().enumerate() {
        let run = subject.measure(items, limit / 4.0)?;
        figures.insert(subject.key(), run);
        // Two sizes at least say how time grows, unless the least is beyond all patience.
        let enough = if nth == 0 { 4.0 * limit } else { limit };
        if run.seconds * 4.0 > enough {
            break;
        }
    }
    Ok(figures)
}

fn sizes() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(LEAST), |items| Some(items * 4)).take_while(|n| *n <= LARGEST)
}
