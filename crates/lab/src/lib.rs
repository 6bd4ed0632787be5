//! The lab: timed runs of every protocol, and of the parts they consist of, over a chosen link.
//!
//! Both parties run in one process, each with its own threads, over an emulated link ([`Line`]). [`catalogue`] lists
//! measurable parts of protocols, [`run`] times a job and returns a record with its costs and whether its result was
//! right, [`record`] stores records in a file, [`reference`](mod@reference) compares them with the tables of papers,
//! and [`publish`] makes documents from them. [`local_convolutions`] shows an attack on codes that are not used here.
//!
//! **Must never import** the command line: it prints nothing and knows no flags.

pub mod catalogue;
mod link;
pub mod local_convolutions;
pub mod publish;
pub mod record;
pub mod reference;
pub mod run;

/// Returns the median: the middle figure, or the mean of the two in the middle. Returns `None` without figures.
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

/// The failure of a run, as a message.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The result of a run.
pub type Result<T> = std::result::Result<T, Error>;

pub use link::Line;
pub use record::host::Host;
pub use run::{
    bench::{Bench, BenchOutcome, Runner},
    work::{Job, Record, Work},
};

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
