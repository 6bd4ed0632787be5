//! The lab: every protocol, and the parts they are made of, timed on a line of one's choice.
//!
//! Both parties run in one process, each with threads of its own, and the line between them is emulated
//! ([`Line`]). [`protocol`] runs protocols, [`answer`] methods that answer questions, [`ot`] oblivious transfers,
//! [`structures`] hash bins, filters and OKVS, [`primitives`] hashes and ciphers; each run gives a record with what
//! it took and whether its result was right. A [`Bench`] runs any of them by name and keeps the records in a file
//! ([`results`]); [`papers`] holds the tables of papers against them, and [`report`] makes a page of them, with
//! [`prices`]. [`calibrate`] measures a machine for the planner, [`accuracy`] says how right the planner is, and
//! [`performance`] puts all of that into one document.
//!
//! **Must never import** the command line: it prints nothing and knows no flags.

pub mod accuracy;
pub mod answer;
mod bench;
pub mod calibrate;
mod line;
mod machine;
pub mod ot;
pub mod papers;
pub mod performance;
pub mod prices;
pub mod primitives;
pub mod protocol;
pub mod report;
pub mod results;
pub mod structures;
mod together;
pub mod unit;
mod work;

/// The one in the middle, or the mean of the two there; nothing of none.
pub fn median(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(figures[middle]),
        _ => Some((figures[middle - 1] + figures[middle]) / 2.0),
    }
}

/// Whatever made a run fail, in words.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What a run gives.
pub type Result<T> = std::result::Result<T, Error>;

pub use bench::{Bench, Outcome, Runner};
pub use line::Line;
pub use machine::Machine;
pub use work::{Job, Record, Work};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
