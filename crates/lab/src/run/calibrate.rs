//! Measures the speed of this machine, for the planner.

use std::{collections::BTreeMap, fmt};

use vesica_planner::{Figures, Run};
use vesica_psi::{CATALOGUE, Sizes, aggregate::METHODS};

use crate::{Job, Line, Record, Result, Work, median, run::protocol};

/// The smallest size measured.
const LEAST: usize = 1 << 4;

/// The smaller of the two sizes of a quick calibration.
const SMALL: usize = 1 << 8;

/// The largest size measured.
const LARGEST: usize = 1 << 22;

/// Maximum time of a run in a quick calibration, by the release's figures, in seconds.
const QUICK: f64 = 0.25;

/// Maximum ratio of the slowest repeat of a run to the fastest on a quiet machine: the median over all runs.
const STEADY: f64 = 1.4;

/// The repeats of a run took such different times that something else must have kept the machine busy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy {
    /// The ratio of the slowest repeat to the fastest: the median over all runs.
    pub spread: f64,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this machine is busy: the slowest repeat of a run took {:.1} times as long as the fastest, but figures are only \
             useful up to a ratio of {STEADY}; calibrate again when nothing else is running",
            self.spread
        )
    }
}

impl std::error::Error for Busy {}

/// Returns everything for real data, by the name of its figures. A method that shares its name with a protocol has the
/// protocol's figures.
fn subjects() -> impl Iterator<Item = (&'static str, Work)> {
    let protocols = CATALOGUE.iter().filter(|p| p.status.is_for_use());
    let methods =
        METHODS.iter().filter(|m| m.status.is_for_use() && vesica_psi::find(m.key).is_none());
    let protocols = protocols.map(|p| (p.key, Work::Protocol(**p)));
    protocols.chain(methods.map(|m| (m.key, Work::Answer(m))))
}

/// Computes the figures of runs over memory: for each protocol or method, the median of the runs with sets of one size
/// and one thread per party.
pub fn figures<'a>(records: impl IntoIterator<Item = &'a Record>) -> Figures {
    let mut figures = Figures::default();
    for ((name, items), runs) in repeats(records) {
        let Some(seconds) = median(runs.iter().map(|run| run.seconds)) else { continue };
        // The process contains both parties.
        let memory = median(runs.iter().filter_map(|r| Some(r.peak_memory_bytes? as f64 / 2.0)));
        figures.insert(name, Run { items, seconds, memory_bytes: memory });
    }
    figures
}

/// Computes the figures of these records, if their repeats agree as on a quiet machine.
///
/// # Errors
/// [`Busy`].
pub fn steady_figures(records: &[Record]) -> std::result::Result<Figures, Busy> {
    let spreads = repeats(records).into_values().filter(|runs| runs.len() > 1).map(|runs| {
        let seconds = || runs.iter().map(|run| run.seconds);
        seconds().fold(0.0, f64::max) / seconds().fold(f64::INFINITY, f64::min)
    });
    match median(spreads) {
        Some(spread) if spread > STEADY => Err(Busy { spread }),
        _ => Ok(figures(records)),
    }
}

/// Returns the runs over memory with sets of one size and one thread per party, by the name of their figures and by
/// size.
fn repeats<'a>(
    records: impl IntoIterator<Item = &'a Record>,
) -> BTreeMap<(&'static str, usize), Vec<&'a protocol::Record>> {
    let memory = Line::memory().to_string();
    let mut runs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for record in records {
        let Record::Protocol(record) = record else { continue };
        let even = record.sender_items == record.receiver_items && record.threads == 1;
        if let Some(name) = name(&record.protocol).filter(|_| even && record.link == memory) {
            runs.entry((name, record.sender_items)).or_default().push(record);
        }
    }
    runs
}

/// Returns the name of a record's figures, if it has any.
fn name(protocol: &str) -> Option<&'static str> {
    match protocol.parse().ok()? {
        Work::Protocol(_) => {
            vesica_psi::find(protocol).filter(|p| p.status.is_for_use()).map(|p| p.key)
        }
        Work::Answer(method) => vesica_psi::find(method.key).is_none().then_some(method.key),
        _ => None,
    }
}

/// Measures the median of three runs of a job, or of one if it takes more than `patience` seconds. `run` runs a job
/// once, preferably in a separate process, as in real use.
fn measure(
    work: Work,
    items: usize,
    patience: f64,
    run: &mut impl FnMut(&Job) -> Result<Record>,
) -> Result<(f64, Vec<Record>)> {
    let sizes = Sizes { sender: items, receiver: items };
    let job = Job { work, sizes, line: Line::memory(), threads: 1 };
    let mut records: Vec<Record> = Vec::new();
    let mut seconds = Vec::new();
    while records.len() < 3 && seconds.iter().all(|took| *took <= patience) {
        let record = run(&job)?;
        if !record.correct() {
            return Err(format!("{work} gave a wrong result").into());
        }
        let Record::Protocol(took) = &record else { break };
        seconds.push(took.seconds);
        records.push(record);
    }
    Ok((median(seconds).unwrap_or(f64::INFINITY), records))
}

/// Measures two sizes of each protocol that is fast enough, in about half a minute. `begins` receives the name of each
/// protocol and the number of remaining ones. `run` runs a job once, preferably in a separate process.
///
/// # Errors
/// If a run fails, and [`Busy`].
pub fn quick(
    mut run: impl FnMut(&Job) -> Result<Record>,
    mut begins: impl FnMut(&str, usize),
) -> Result<Figures> {
    let mut records = Vec::new();
    let expected =
        |key, items| Figures::reference().seconds(key, Sizes { sender: items, receiver: items });
    let is_quick = |key, items| expected(key, items).is_some_and(|seconds| seconds <= QUICK);
    let subjects: Vec<_> = subjects().filter(|(key, _)| is_quick(key, SMALL)).collect();
    for (i, (key, work)) in subjects.iter().enumerate() {
        begins(key, subjects.len() - i);
        let largest = sizes().take_while(|items| is_quick(key, *items)).last();
        for items in [Some(SMALL), largest.filter(|items| *items > SMALL)].into_iter().flatten() {
            records.extend(measure(*work, items, 2.0 * QUICK, &mut run)?.1);
        }
    }
    Ok(steady_figures(&records)?)
}

/// Measures every protocol, or the one with this name. Each size is four times the previous one, up to the size at
/// which a run takes about `limit` seconds. Otherwise it works like [`quick`].
///
/// # Errors
/// If no protocol for real data has this name, if a run fails, and [`Busy`].
pub fn full(
    only: Option<&str>,
    limit: f64,
    mut run: impl FnMut(&Job) -> Result<Record>,
    mut begins: impl FnMut(&str, usize),
) -> Result<Figures> {
    let wanted = |key: &str| only.is_none_or(|name| name == key);
    let subjects: Vec<_> = subjects().filter(|(key, _)| wanted(key)).collect();
    if let Some(name) = only.filter(|_| subjects.is_empty()) {
        return Err(format!("no protocol `{name}` is for real data").into());
    }
    let mut records = Vec::new();
    for (i, (key, work)) in subjects.iter().enumerate() {
        begins(key, subjects.len() - i);
        for (nth, items) in sizes().enumerate() {
            let (seconds, runs) = measure(*work, items, limit / 4.0, &mut run)?;
            records.extend(runs);
            // At least two sizes are needed to show how time grows, unless the smallest takes far too long.
            let enough = if nth == 0 { 4.0 * limit } else { limit };
            if seconds * 4.0 > enough {
                break;
            }
        }
    }
    Ok(steady_figures(&records)?)
}

fn sizes() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(LEAST), |items| Some(items * 4)).take_while(|n| *n <= LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_of_runs_over_memory() {
        let jobs =
            [("rr22", 20), ("naive", 20), ("answer/dh-count", 20), ("answer/rs21-circuit", 20)];
        let run = |(name, items): (&str, usize)| {
            let sizes = Sizes { sender: items, receiver: items };
            let work = name.parse().unwrap();
            let job = Job { work, sizes, line: Line::memory(), threads: 1 };
            let mut bench = crate::Bench::new(crate::record::results::Results::default());
            bench.run(&job, 0).unwrap();
            bench.records()[0].clone()
        };
        let mut records: Vec<Record> = jobs.into_iter().map(run).collect();
        let Record::Protocol(first) = records[0].clone() else { panic!() };
        for (seconds, link) in [(50.0, "memory"), (70.0, "memory"), (90.0, "lan")] {
            let record = protocol::Record { seconds, link: link.to_owned(), ..first.clone() };
            records.push(Record::Protocol(record));
        }
        let figures = figures(&records);
        let names: Vec<_> = figures.iter().map(|(name, run)| (name, run.items)).collect();
        assert_eq!(names, [("dh-count", 20), ("rr22", 20)]);
        assert_eq!(figures.iter().last().unwrap().1.seconds, 50.0);

        // Three repeats each, on a quiet machine and on a busy one.
        let repeated = |times: [f64; 3]| -> Vec<Record> {
            let run = |seconds| Record::Protocol(protocol::Record { seconds, ..first.clone() });
            times.map(run).to_vec()
        };
        let quiet = steady_figures(&repeated([1.0, 1.1, 1.3])).unwrap();
        assert_eq!(quiet.iter().next().unwrap().1.seconds, 1.1);
        let busy = steady_figures(&repeated([1.0, 1.1, 1.8])).unwrap_err();
        assert_eq!(busy, Busy { spread: 1.8 });
        // A single run does not show whether the machine is busy.
        assert!(steady_figures(&repeated([1.0, 1.1, 1.8])[..1]).is_ok());
    }
}
