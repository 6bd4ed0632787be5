//! What runs under an agreement may reveal, and how often.
//!
//! Each side's own program checks its policy before a run, and once more before a result is told. A side may have a
//! policy of its own beside that of the agreement; the stricter rule applies.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    moment::{Day, Hours, Moment},
    refusal::Refusal,
    sketch::Sketch,
};
use crate::{
    task::noise::Epsilon,
    words::{counted, grouped},
};

/// Limits on runs; what is `None` is not limited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The fewest distinct keys that a set may have, on either side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_set: Option<u64>,
    /// The fewest shared keys of which anything is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_result: Option<u64>,
    /// For rows: whether both sides compute first whether so many keys are shared, and go on only if they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub threshold_first: bool,
    /// The most shared keys that a run may tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_result: Option<u64>,
    /// The most shared keys that all runs together may tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_result_total: Option<u64>,
    /// The ε of all runs together, for numbers with noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon_total: Option<Epsilon>,
    /// The most runs within 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs_per_day: Option<u64>,
    /// The most runs in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// By how many keys this side's set must differ from that of each earlier run, if it differs at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_change: Option<u64>,
    /// The hours of a day, in UTC, at which a run may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<Hours>,
    /// The last day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Day>,
}

/// What a run is about to do.
pub(crate) struct Intent<'a> {
    pub(crate) now: Moment,
    /// Distinct keys of this side and of the other.
    pub(crate) keys: [u64; 2],
    pub(crate) sketch: &'a Sketch,
}

/// What was done under the agreement before.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// When runs began.
    pub(crate) begun: Vec<Moment>,
    /// This side's sets.
    pub(crate) sketches: Vec<Sketch>,
    /// Shared keys that were told, as far as this side knows.
    pub(crate) told: u64,
    /// The ε of each run, where the number gets noise.
    pub(crate) epsilon: Option<Epsilon>,
}

/// A set that differs by fewer keys than this from an earlier one is warned of where no rule says how few are too few.
const FEW: u64 = 20;

impl Past {
    /// By how many keys a set differs from the earlier one that is most like it, of those that it differs from.
    fn least_change(&self, sketch: &Sketch) -> Option<u64> {
        let changes = self.sketches.iter().map(|earlier| earlier.difference(sketch));
        changes.filter(|change| *change > 0).min()
    }

    /// What a side should know that compares this set, and has no rule for it.
    pub(crate) fn warning(&self, sketch: &Sketch, policies: &[Policy]) -> Option<String> {
        let has_rule = policies.iter().any(|policy| policy.min_change.is_some());
        let change = self.least_change(sketch).filter(|change| *change < FEW && !has_rule)?;
        Some(format!(
            "this side's set differs by about {} from that of an earlier run: the two results together may tell \
             whether the other side has these; --min-change refuses such runs",
            counted(change, "key")
        ))
    }
}

impl Policy {
    /// Refuses a run that may not begin at this moment, before the other side is contacted.
    pub(crate) fn check_time(&self, now: Moment, past: &Past) -> Result<(), Refusal> {
        if let Some(last) = self.expires.filter(|last| last.is_over(now)) {
            return Err(Refusal::new("expires", format!("the last day for runs was {last}")));
        }
        if let Some(hours) = self.hours.filter(|hours| !hours.include(now)) {
            let reason = format!("runs may begin at {hours} UTC, and it is {now}");
            return Err(Refusal::new("hours", reason));
        }
        const DAY: i64 = 24 * 60 * 60;
        let within_a_day =
            past.begun.iter().filter(|begun| **begun > now.minus(DAY)).count() as u64;
        let all = past.begun.len() as u64;
        for (rule, most, count, when) in [
            ("max-runs-per-day", self.max_runs_per_day, within_a_day, "within 24 hours"),
            ("max-runs", self.max_runs, all, "in all"),
        ] {
            if let Some(most) = most.filter(|most| count >= *most) {
                let reason = format!("the limit of {} {when} is reached", counted(most, "run"));
                return Err(Refusal::new(rule, reason));
            }
        }
        if let (Some(total), Some(each)) = (self.epsilon_total, past.epsilon)
            && each.times(all + 1) > total
        {
            let reason = format!(
                "all runs together may have an ε of {total}; one has {each}, and {} begun before",
                match all {
                    1 => "1 has".to_owned(),
                    all => format!("{} have", grouped(all)),
                }
            );
            return Err(Refusal::new("epsilon-total", reason));
        }
        if let Some(most) = self.max_result_total.filter(|most| past.told >= *most) {
            return Err(told_in_all(most, past.told));
        }
        Ok(())
    }

    /// Refuses a run whose sets may not be compared.
    pub(crate) fn check_sets(&self, intent: &Intent<'_>, past: &Past) -> Result<(), Refusal> {
        self.check_time(intent.now, past)?;
        for (keys, whose) in intent.keys.iter().zip(["this side", "the other side"]) {
            if let Some(least) = self.min_set.filter(|least| keys < least) {
                let reason = format!(
                    "{whose} has {}, and a set must have at least {}",
                    counted(*keys, "key"),
                    grouped(least)
                );
                return Err(Refusal::new("min-set", reason));
            }
        }
        let Some(least) = self.min_change else { return Ok(()) };
        match past.least_change(intent.sketch).filter(|change| *change < least) {
            None => Ok(()),
            Some(change) => {
                let reason = format!(
                    "this side's set differs by about {} from that of an earlier run, so that the two results \
                     together could name them; it must differ by at least {}, or not at all",
                    counted(change, "key"),
                    grouped(least)
                );
                Err(Refusal::new("min-change", reason))
            }
        }
    }

    /// Refuses to tell a result of so many shared keys.
    pub(crate) fn check_result(&self, matches: u64, past: &Past) -> Result<(), Refusal> {
        // How many there are is not to be told either.
        if let Some(least) = self.min_result.filter(|least| matches < *least) {
            return Err(Refusal::too_few(least));
        }
        if let Some(most) = self.max_result.filter(|most| matches > *most) {
            let reason =
                format!("more than {} are shared, so nothing is told", counted(most, "key"));
            return Err(Refusal::new("max-result", reason));
        }
        match self.max_result_total.filter(|most| past.told.saturating_add(matches) > *most) {
            None => Ok(()),
            Some(most) => Err(told_in_all(most, past.told)),
        }
    }

    /// The rules in force, as sentences.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        let mut say = |sentence: Option<String>| said.extend(sentence);
        say(self.min_set.map(|n| format!("each side brings at least {}", counted(n, "key"))));
        say(self.min_result.map(|n| {
            format!("if fewer than {} are shared, nothing is told to anybody", counted(n, "key"))
        }));
        say(self.threshold_first.then(|| {
            "both sides compute beforehand whether so many are shared, and compare rows only if they are".to_owned()
        }));
        say(self.max_result.map(|n| format!("a run tells at most {}", counted(n, "shared key"))));
        say(self
            .max_result_total
            .map(|n| format!("all runs together tell at most {}", counted(n, "shared key"))));
        say(self
            .epsilon_total
            .map(|total| format!("the noise of all runs together has an ε of at most {total}")));
        say(self
            .max_runs_per_day
            .map(|n| format!("at most {} within 24 hours", counted(n, "run"))));
        say(self.max_runs.map(|n| format!("at most {} in all", counted(n, "run"))));
        say(self.min_change.map(|n| {
            format!(
                "a set differs from those of earlier runs by at least {}, or not at all",
                counted(n, "key")
            )
        }));
        say(self.hours.map(|hours| format!("runs begin at {hours} UTC")));
        say(self.expires.map(|day| format!("the last day is {day}")));
        said
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sentences() {
            said if said.is_empty() => f.write_str("no limits"),
            said => f.write_str(&said.join("; ")),
        }
    }
}

fn told_in_all(most: u64, told: u64) -> Refusal {
    let reason = format!(
        "all runs together may tell {}, and {} were told before",
        counted(most, "shared key"),
        grouped(told)
    );
    Refusal::new("max-result-total", reason)
}
