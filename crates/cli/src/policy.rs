//! Limits on what runs under an agreement may reveal.

use vesica::{
    Epsilon,
    partnership::{Day, Hours, Policy},
};

use crate::{heading, numbers};

/// A policy. In an invitation it applies to both sides; in a run it applies beside that of the agreement.
#[derive(clap::Args)]
#[command(mut_args = heading::placed)]
pub struct PolicyArgs {
    /// The fewest distinct keys that either side may bring
    #[arg(long, value_name = "N", value_parser = numbers::number)]
    min_set: Option<u64>,
    /// If fewer keys than this are shared, the side that finds out keeps the result back
    #[arg(long, value_name = "N", value_parser = numbers::number)]
    min_result: Option<u64>,
    /// In an invitation, for rows, with --min-result: both sides compute first, by circuit PSI, whether so many keys are
    /// shared, and compare rows only if they are
    #[arg(long)]
    threshold_first: bool,
    /// The most shared keys that a run may tell; with more, nothing is told
    #[arg(long, value_name = "N", value_parser = numbers::number)]
    max_result: Option<u64>,
    /// The most shared keys that all runs together may tell
    #[arg(long, value_name = "N", value_parser = numbers::number)]
    max_result_total: Option<u64>,
    /// For numbers with noise: the ε of all runs together, as in 10. Each run that begins spends the ε of --epsilon
    #[arg(long, value_name = "E")]
    epsilon_total: Option<Epsilon>,
    /// The most runs within 24 hours
    #[arg(long, value_name = "N", value_parser = numbers::number)]
    max_runs_per_day: Option<u64>,
    /// The most runs in all
    #[arg(long, value_name = "N", value_parser = numbers::number)]
    max_runs: Option<u64>,
    /// The most times that the comparison of one partition may begin in a run that goes on after interruptions [default: 3]
    #[arg(long, value_name = "N", value_parser = numbers::number)]
    max_attempts: Option<u64>,
    /// By how many keys a set must differ from that of each earlier run, if it differs at all: of two runs whose sets
    /// differ by few keys, the results together can name those
    #[arg(long, value_name = "N", value_parser = numbers::number)]
    min_change: Option<u64>,
    /// The hours of a day at which runs may begin, in UTC, as in 08:00-18:00
    #[arg(long, value_name = "HOURS")]
    hours: Option<Hours>,
    /// The last day, in UTC, as in 2027-12-31
    #[arg(long, value_name = "DAY")]
    expires: Option<Day>,
}

impl PolicyArgs {
    pub fn policy(&self) -> Policy {
        Policy {
            min_set: self.min_set,
            min_result: self.min_result,
            threshold_first: self.threshold_first,
            max_result: self.max_result,
            max_result_total: self.max_result_total,
            epsilon_total: self.epsilon_total,
            max_runs_per_day: self.max_runs_per_day,
            max_runs: self.max_runs,
            max_attempts: self.max_attempts,
            min_change: self.min_change,
            hours: self.hours,
            expires: self.expires,
        }
    }
}
