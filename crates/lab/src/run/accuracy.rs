//! The accuracy of the planner's predictions.

use std::collections::BTreeMap;

use vesica_planner::{Candidate, Figures, Planner, Prediction};
use vesica_psi::Sizes;

use crate::{Line, Record, Result, median, run::protocol};

/// One protocol at one size on one link: the prediction, and the median of the measurements.
#[derive(Debug, Clone)]
pub struct Case {
    /// The prediction.
    pub predicted: Prediction,
    /// Seconds.
    pub seconds: f64,
    /// Bytes both ways.
    pub bytes: f64,
}

/// All protocols at one size on one link.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The link's name.
    pub line: String,
    /// The sizes of the sets.
    pub sizes: Sizes,
    /// The protocols run there.
    pub cases: Vec<Case>,
    /// The time of the planner's choice, relative to the fastest.
    pub regret: f64,
    /// The planner's choice.
    pub chosen: &'static str,
    /// The fastest.
    pub fastest: &'static str,
}

/// The runs of one cell, by protocol.
type AccuracyRuns<'a> = BTreeMap<&'static str, Vec<&'a protocol::Record>>;

/// Returns whether a record is compared: it is of a protocol that the planner knows, without a filter, with one thread
/// per party.
pub fn counts(record: &Record) -> bool {
    of_planned(record).is_some()
}

fn of_planned(record: &Record) -> Option<(&'static str, &protocol::Record)> {
    let Record::Protocol(record) = record else { return None };
    let protocol = vesica_psi::find(&record.protocol)?;
    let planned = protocol.status.is_for_use() && record.threads == 1;
    planned.then_some((protocol.key, record))
}

/// Compares the records that count with the planner's predictions, given these figures.
///
/// # Errors
/// If a record names a link that this release does not know.
pub fn compare<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    figures: &Figures,
) -> Result<Vec<Cell>> {
    let mut by_cell: BTreeMap<(&str, usize, usize), AccuracyRuns<'_>> = BTreeMap::new();
    for (key, record) in records.into_iter().filter_map(of_planned) {
        let cell = (record.link.as_str(), record.receiver_items, record.sender_items);
        by_cell.entry(cell).or_default().entry(key).or_default().push(record);
    }
    let cells = by_cell.into_iter().map(|((line, receiver, sender), runs)| {
        let sizes = Sizes { sender, receiver };
        let link = line.parse::<Line>()?.link();
        let planner = Planner { figures: figures.clone(), ..Planner::new(link) };
        Ok(cell(line, sizes, &planner, &runs))
    });
    Ok(cells.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Returns `None` if no protocol of the cell can be predicted.
fn cell(line: &str, sizes: Sizes, planner: &Planner, runs: &AccuracyRuns<'_>) -> Option<Cell> {
    let candidates: Vec<_> = runs
        .keys()
        .filter_map(|key| vesica_psi::find(key))
        .map(|protocol| Candidate::protocol(protocol, sizes))
        .collect();
    let cases: Vec<Case> = planner
        .rank(&candidates)
        .into_iter()
        .filter_map(|predicted| {
            let runs = runs.get(predicted.candidate.key)?;
            let seconds = median(runs.iter().map(|run| run.seconds))?;
            let bytes = runs.iter().map(|run| (run.bytes_to_receiver + run.bytes_to_sender) as f64);
            Some(Case { predicted, seconds, bytes: median(bytes)? })
        })
        .collect();
    let chosen = cases.first()?;
    let fastest = cases.iter().min_by(|x, y| x.seconds.total_cmp(&y.seconds))?;
    Some(Cell {
        line: line.to_owned(),
        sizes,
        regret: chosen.seconds / fastest.seconds,
        chosen: chosen.predicted.candidate.key,
        fastest: fastest.predicted.candidate.key,
        cases,
    })
}

impl Cell {
    /// Returns the median over its protocols of the relative error of predicted time.
    pub fn error_of_time(&self) -> f64 {
        median(self.cases.iter().map(Case::error_of_time)).unwrap_or(0.0)
    }

    /// Returns the median over its protocols of the relative error of predicted bytes.
    pub fn error_of_bytes(&self) -> f64 {
        median(self.cases.iter().map(Case::error_of_bytes)).unwrap_or(0.0)
    }
}

impl Case {
    /// Returns the error of predicted time, relative to the measurement.
    pub fn error_of_time(&self) -> f64 {
        (self.predicted.seconds / self.seconds - 1.0).abs()
    }

    /// Returns the error of predicted bytes, relative to the measurement.
    pub fn error_of_bytes(&self) -> f64 {
        (self.predicted.candidate.cost.bytes() / self.bytes - 1.0).abs()
    }
}

/// The time that a good choice may take, relative to the fastest.
const NEAR: f64 = 1.1;

/// Returns the number of these cells in which the planner's choice took at most a tenth longer than the fastest.
pub fn near(cells: &[Cell]) -> usize {
    cells.iter().filter(|cell| cell.regret <= NEAR).count()
}

/// Returns the median of the errors of all cases.
pub fn overall(cells: &[Cell], error: fn(&Case) -> f64) -> Option<f64> {
    median(cells.iter().flat_map(|cell| &cell.cases).map(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(protocol: &str, link: &str, seconds: f64) -> Record {
        Record::Protocol(run(protocol, link, seconds))
    }

    fn run(protocol: &str, link: &str, seconds: f64) -> protocol::Record {
        let sizes = Sizes { sender: 1 << 16, receiver: 1 << 16 };
        let cost = vesica_psi::find(protocol).unwrap().cost(sizes);
        protocol::Record {
            protocol: protocol.to_owned(),
            sender_items: sizes.sender,
            receiver_items: sizes.receiver,
            link: link.to_owned(),
            threads: 1,
            seconds,
            sender_seconds: seconds,
            offline_seconds: 0.0,
            offline_bytes_to_receiver: 0,
            offline_bytes_to_sender: 0,
            online_seconds: seconds,
            cpu_seconds: None,
            peak_memory_bytes: None,
            bytes_to_receiver: cost.bytes_to_receiver as u64,
            bytes_to_sender: cost.bytes_to_sender as u64,
            rounds: 1,
            correct: true,
            phases: Vec::new(),
        }
    }

    #[test]
    fn errors_and_regret_are_those_of_the_medians() {
        let sizes = Sizes { sender: 1 << 16, receiver: 1 << 16 };
        let seconds = |key| Figures::reference().seconds(key, sizes).unwrap();
        let best = seconds("rr22");
        // The planner's choice takes twice its predicted time, and kkrt16 a quarter of rr22's time.
        let mut records = vec![record("kkrt16", "memory", best / 4.0)];
        records.extend([1.0, 2.0, 3.0].map(|factor| record("rr22", "memory", best * factor)));
        let cells = compare(&records, &Figures::default()).unwrap();
        let [cell] = &cells[..] else { panic!("{cells:?}") };
        assert_eq!((cell.chosen, cell.fastest), ("rr22", "kkrt16"));
        assert!((cell.regret - 8.0).abs() < 1e-9);
        assert!((cell.cases[0].error_of_time() - 0.5).abs() < 1e-9);
        assert!(overall(&cells, Case::error_of_bytes).unwrap() < 1e-3);
        assert!(!counts(&record("naive", "memory", 1.0)) && near(&cells) == 0);
        let threads =
            Record::Protocol(protocol::Record { threads: 2, ..run("rr22", "memory", 1.0) });
        assert!(!counts(&threads));
        assert!(compare(&[record("rr22", "no line", 1.0)], &Figures::default()).is_err());
    }
}
