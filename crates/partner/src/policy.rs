//! Limits on what runs under an agreement reveal, and how often.
//!
//! Each side's own program checks its policy before a run, and again before a result is revealed. A side may have its
//! own policy in addition to the agreement's; the stricter rule applies.

use std::fmt;

use serde::{Deserialize, Serialize};
use vesica_agree::disclosed::MatchRules;
use vesica_core::{
    moment::{Day, Hours, Moment},
    of_others::OfOthers,
    percentage::Percentage,
    refusal::Refusal,
    words::{counted, grouped},
};
use vesica_keyset::{rule_findings::FalseMatches, sketch::Sketch};
use vesica_task::noise::Epsilon;

/// Limits on runs; `None` means no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The minimum number of distinct keys in each set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_set: Option<u64>,
    /// The minimum number of parties of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_parties: Option<u64>,
    /// The minimum number of shared keys below which nothing is revealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_result: Option<u64>,
    /// For rows: whether both sides first compute whether this minimum is reached, and continue only if it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub threshold_first: bool,
    /// The maximum number of shared keys that a run may reveal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_result: Option<u64>,
    /// The maximum number of shared keys that all runs together may reveal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_result_total: Option<u64>,
    /// For queries over both tables: the minimum number of keys of a group that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_cell: Option<u64>,
    /// For queries over both tables: the maximum number of groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cells: Option<u64>,
    /// For rules by which rows match: the maximum number of false matches to expect, as a share of the smaller table's
    /// rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_false: Option<Percentage>,
    /// The maximum ε of all runs together, for numbers with noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon_total: Option<Epsilon>,
    /// The maximum number of runs within 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs_per_day: Option<u64>,
    /// The maximum number of runs in total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// The maximum number of times that the comparison of one partition may begin in a run that resumes after
    /// interruptions; three if this is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u64>,
    /// The minimum difference, in keys, between this side's set and each earlier set, unless they are identical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_change: Option<u64>,
    /// The hours of a day, in UTC, at which a run may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<Hours>,
    /// The last day on which a run may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Day>,
}

/// The number of times that the comparison of one partition may begin if no rule limits it.
pub const DEFAULT_ATTEMPTS: u64 = 3;

/// A run that is about to begin.
pub(crate) struct Intent<'a> {
    pub(crate) now: Moment,
    /// Distinct keys of this side.
    pub(crate) keys: u64,
    /// Distinct keys of each other party.
    pub(crate) of_others: OfOthers<u64>,
    /// The false matches that this side expects, if rules make the keys.
    pub(crate) false_matches: Option<FalseMatches>,
    pub(crate) sketch: &'a Sketch,
}

/// The earlier runs under the agreement.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// The times at which runs began.
    pub(crate) begun: Vec<Moment>,
    /// This side's sets.
    pub(crate) sketches: Vec<Sketch>,
    /// Shared keys that were revealed, as far as this side knows.
    pub(crate) revealed: u64,
    /// The ε of each run, if the number gets noise.
    pub(crate) epsilon: Option<Epsilon>,
}

/// The number of keys below which a change from an earlier set causes a warning, if no rule sets a minimum.
const FEW: u64 = 20;

const DAY: i64 = 24 * 60 * 60;

impl Past {
    /// Counts the runs that began within the 24 hours before this moment.
    pub(super) fn begun_within_a_day(&self, now: Moment) -> u64 {
        self.begun.iter().filter(|begun| **begun > now.minus(DAY)).count() as u64
    }

    /// Returns the smallest difference from an earlier set that is not identical.
    fn least_change(&self, sketch: &Sketch) -> Option<u64> {
        let changes = self.sketches.iter().map(|earlier| earlier.difference(sketch));
        changes.filter(|change| *change > 0).min()
    }

    /// Returns a warning for a side that compares this set, if no rule covers the difference.
    pub(crate) fn warning(&self, sketch: &Sketch, policies: &[Policy]) -> Option<String> {
        let has_rule = policies.iter().any(|policy| policy.min_change.is_some());
        let change = self.least_change(sketch).filter(|change| *change < FEW && !has_rule)?;
        Some(format!(
            "this side's set differs by about {} from an earlier run's: the two results together may reveal \
             whether the other side has these; --min-change refuses such runs",
            counted(change, "key")
        ))
    }
}

impl Policy {
    /// Refuses fewer parties than the policy requires.
    pub(crate) fn check_parties(&self, parties: usize) -> Result<(), Refusal> {
        match self.min_parties.filter(|least| (parties as u64) < *least) {
            None => Ok(()),
            Some(least) => {
                let reason =
                    format!("a run must have at least {least} parties, and it has {parties}");
                Err(Refusal::new("min-parties", reason))
            }
        }
    }

    /// Refuses a run if the last day has passed.
    pub(crate) fn check_day(&self, now: Moment) -> Result<(), Refusal> {
        match self.expires.filter(|last| last.is_over(now)) {
            None => Ok(()),
            Some(last) => Err(Refusal::new("expires", format!("the last day for runs was {last}"))),
        }
    }

    /// Refuses a run that may not begin at this moment, before the other side is contacted.
    pub(crate) fn check_time(&self, now: Moment, past: &Past) -> Result<(), Refusal> {
        self.check_day(now)?;
        if let Some(hours) = self.hours.filter(|hours| !hours.include(now)) {
            let reason = format!("runs may begin at {hours} UTC, and it is {now}");
            return Err(Refusal::new("hours", reason));
        }
        let within_a_day = past.begun_within_a_day(now);
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
        if let Some(most) = self.max_result_total.filter(|most| past.revealed >= *most) {
            return Err(told_in_all(most, past.revealed));
        }
        Ok(())
    }

    /// Returns the first moment, not before this one, at which the limit per 24 hours permits one more run.
    pub(super) fn next_within_a_day(&self, at: Moment, past: &Past) -> Moment {
        let Some(most) = self.max_runs_per_day.and_then(|most| usize::try_from(most).ok()) else {
            return at;
        };
        let mut begun = past.begun.clone();
        begun.sort_unstable();
        // One of the newest runs must be a day old.
        let oldest = most.checked_sub(1).and_then(|others| begun.iter().rev().nth(others));
        oldest.map_or(at, |oldest| at.max(oldest.minus(-DAY)))
    }

    /// Refuses a run whose sets may not be compared.
    pub(crate) fn check_sets(&self, intent: &Intent<'_>, past: &Past) -> Result<(), Refusal> {
        self.check_time(intent.now, past)?;
        let other = match &intent.of_others {
            OfOthers::One(_) => "the other side",
            OfOthers::Several(_) => "another party",
        };
        let others = intent.of_others.iter().map(|keys| (keys, other));
        for (keys, whose) in [(&intent.keys, "this side")].into_iter().chain(others) {
            if let Some(least) = self.min_set.filter(|least| keys < least) {
                let reason = format!(
                    "{whose} has {}, and a set must have at least {}",
                    counted(*keys, "key"),
                    grouped(least)
                );
                return Err(Refusal::new("min-set", reason));
            }
        }
        self.check_false_matches(intent)?;
        let Some(least) = self.min_change else { return Ok(()) };
        match past.least_change(intent.sketch).filter(|change| *change < least) {
            None => Ok(()),
            Some(change) => {
                let reason = format!(
                    "this side's set differs by about {} from an earlier run's, so that the two results \
                     together could name them; it must differ by at least {}, or not at all",
                    counted(change, "key"),
                    grouped(least)
                );
                Err(Refusal::new("min-change", reason))
            }
        }
    }

    /// Refuses a run by rules for which too many false matches are to be expected.
    fn check_false_matches(&self, intent: &Intent<'_>) -> Result<(), Refusal> {
        let (Some(most), Some(found)) = (self.max_false, intent.false_matches) else {
            return Ok(());
        };
        match found.share() > most.share() {
            false => Ok(()),
            true => Err(Refusal::new(
                "max-false",
                format!(
                    "about {} of different people are to be expected by the rules, {:.2} % of the smaller table's rows, and \
                     at most {most} are permitted; `vesica check` shows the number for each rule",
                    counted(found.expected.ceil() as u64, "match"),
                    100.0 * found.share()
                ),
            )),
        }
    }

    /// Refuses to reveal a result with this many shared keys.
    pub(crate) fn check_result(&self, matches: u64, past: &Past) -> Result<(), Refusal> {
        // The number itself is not revealed either.
        if let Some(least) = self.min_result.filter(|least| matches < *least) {
            return Err(Refusal::too_few(least));
        }
        if let Some(most) = self.max_result.filter(|most| matches > *most) {
            let reason =
                format!("there are more than {}, so nothing is revealed", counted(most, "match"));
            return Err(Refusal::new("max-result", reason));
        }
        match self.max_result_total.filter(|most| past.revealed.saturating_add(matches) > *most) {
            None => Ok(()),
            Some(most) => Err(told_in_all(most, past.revealed)),
        }
    }

    /// Returns the rules that decide which matches are shown.
    pub fn match_rules(&self) -> MatchRules {
        let least = self.min_result.unwrap_or_default();
        MatchRules { least, threshold_first: self.threshold_first }
    }

    /// Returns the rules in force, as sentences.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        let mut say = |sentence: Option<String>| said.extend(sentence);
        say(self.min_parties.map(|n| format!("a run has at least {n} parties")));
        say(self.min_set.map(|n| format!("each side has at least {}", counted(n, "key"))));
        say(self.min_result.map(|n| {
            format!(
                "if there are fewer than {}, the side that finds out withholds the result",
                counted(n, "match")
            )
        }));
        say(self.threshold_first.then(|| {
            "both sides first compute whether there are this many, and compare rows only if there are".to_owned()
        }));
        say(self.max_result.map(|n| format!("a run reveals at most {}", counted(n, "match"))));
        say(self
            .max_result_total
            .map(|n| format!("all runs together reveal at most {}", counted(n, "match"))));
        say(self.min_cell.map(|n| {
            format!("a query shows only groups with at least {}", counted(n, "shared key"))
        }));
        say(self.max_cells.map(|n| format!("a query has at most {}", counted(n, "group"))));
        say(self.max_false.map(|most| {
            format!("by rules, at most {most} of the smaller table's rows are to be expected as false matches")
        }));
        say(self
            .epsilon_total
            .map(|total| format!("the noise of all runs together has an ε of at most {total}")));
        say(self
            .max_runs_per_day
            .map(|n| format!("at most {} within 24 hours", counted(n, "run"))));
        say(self.max_runs.map(|n| format!("at most {} in all", counted(n, "run"))));
        say(self.max_attempts.map(|n| {
            format!("the comparison of a partition begins at most {}", counted(n, "time"))
        }));
        say(self.min_change.map(|n| {
            format!(
                "a set differs from each earlier one by at least {}, or not at all",
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
        "all runs together may reveal {}, and {} were revealed before",
        counted(most, "match"),
        grouped(told)
    );
    Refusal::new("max-result-total", reason)
}

#[cfg(test)]
mod tests {
    use vesica_keyset::sketch::SketchSecret;
    use vesica_normalize::digest::Digest;

    use super::*;

    const NOON: &str = "2026-11-23T12:00:00Z";

    fn at(text: &str) -> Moment {
        text.parse().unwrap()
    }

    /// Returns a policy with one rule, as written in JSON.
    fn rule(name: &str, value: &str) -> Policy {
        serde_json::from_str(&format!("{{\"{name}\":{value}}}")).unwrap()
    }

    fn refused<T>(ended: Result<T, Refusal>) -> Option<&'static str> {
        ended.err().map(|refusal| refusal.rule)
    }

    /// Returns runs that began at these moments.
    fn begun(moments: &[&str]) -> Past {
        Past { begun: moments.iter().map(|moment| at(moment)).collect(), ..Past::default() }
    }

    fn sketch(keys: u32) -> Sketch {
        let keys: Vec<_> = (0..keys).map(|key| Digest::of(&key.to_le_bytes())).collect();
        Sketch::of(&SketchSecret::new([7; 32]), &keys)
    }

    fn intent(keys: [u64; 2], sketch: &Sketch) -> Intent<'_> {
        let [keys, peer_keys] = keys;
        let of_others = OfOthers::One(peer_keys);
        Intent { now: at(NOON), keys, of_others, false_matches: None, sketch }
    }

    #[test]
    fn a_run_begins_when_the_rules_say() {
        let past = Past::default();
        for (name, value, allows) in [
            ("expires", "\"2026-11-23\"", true),
            ("expires", "\"2026-11-22\"", false),
            ("hours", "\"12:00-13:00\"", true),
            ("hours", "\"11:00-12:00\"", false),
        ] {
            let refused = refused(rule(name, value).check_time(at(NOON), &past));
            assert_eq!(refused, (!allows).then_some(name), "{value}");
        }
        assert_eq!(Policy::default().check_time(at(NOON), &begun(&[NOON; 1000])), Ok(()));
    }

    #[test]
    fn a_limit_is_reached_after_that_many_runs() {
        let (a_day_ago, since) = ("2026-11-22T12:00:00Z", "2026-11-22T12:00:01Z");
        let two_a_day = rule("max_runs_per_day", "2");
        for (past, allows) in [
            (begun(&[]), true),
            (begun(&[NOON]), true),
            (begun(&[since, NOON]), false),
            (begun(&[a_day_ago, a_day_ago, NOON]), true),
        ] {
            let refused = refused(two_a_day.check_time(at(NOON), &past));
            assert_eq!(refused, (!allows).then_some("max-runs-per-day"), "{past:?}");
        }
        let two = rule("max_runs", "2");
        assert_eq!(refused(two.check_time(at(NOON), &begun(&[a_day_ago]))), None);
        let past = begun(&[a_day_ago, a_day_ago]);
        assert_eq!(refused(two.check_time(at(NOON), &past)), Some("max-runs"));
    }

    #[test]
    fn the_noise_of_all_runs_counts_this_one() {
        let total = rule("epsilon_total", "\"1.5\"");
        let past = |epsilon: &str, runs| Past {
            epsilon: epsilon.parse().ok(),
            ..begun(&[NOON].repeat(runs))
        };
        assert_eq!(total.check_time(at(NOON), &past("0.5", 2)), Ok(()));
        for (epsilon, runs, said) in
            [("0.5", 3, "and 3 have begun before"), ("0.8", 1, "and 1 has begun before")]
        {
            let refusal = total.check_time(at(NOON), &past(epsilon, runs)).unwrap_err();
            assert_eq!(refusal.rule, "epsilon-total");
            assert!(refusal.reason.ends_with(said), "{refusal}");
        }
        // An exact answer adds no noise.
        assert_eq!(total.check_time(at(NOON), &begun(&[NOON; 9])), Ok(()));
    }

    #[test]
    fn sets_are_large_enough_on_both_sides() {
        let (set, past) = (sketch(10), Past::default());
        let least = rule("min_set", "10");
        assert_eq!(least.check_sets(&intent([10, 10], &set), &past), Ok(()));
        for (keys, whose) in [([9, 10], "this side"), ([10, 9], "the other side")] {
            let refusal = least.check_sets(&intent(keys, &set), &past).unwrap_err();
            assert_eq!(refusal.rule, "min-set");
            assert!(refusal.reason.starts_with(whose), "{refusal}");
        }
        // The time counts here too.
        let expired = rule("expires", "\"2026-11-22\"");
        assert_eq!(refused(expired.check_sets(&intent([10; 2], &set), &past)), Some("expires"));
    }

    /// A difference of one key is estimated exactly by a sketch.
    #[test]
    fn a_set_changes_enough_or_not_at_all() {
        let past = Past { sketches: vec![sketch(1000), sketch(3000)], ..Past::default() };
        let check = |least: u64, keys: u32| {
            let policy = rule("min_change", &least.to_string());
            refused(policy.check_sets(&intent([1; 2], &sketch(keys)), &past))
        };
        assert_eq!(check(1, 1001), None);
        assert_eq!(check(2, 1001), Some("min-change"));
        assert_eq!(check(2, 1000), None, "the same set again");
        assert_eq!(check(2, 3001), Some("min-change"), "the nearest counts");
        assert_eq!(check(100, 2000), None);
        let nothing = Past::default();
        let policy = rule("min_change", "2");
        assert_eq!(policy.check_sets(&intent([1; 2], &sketch(5)), &nothing), Ok(()));
    }

    #[test]
    fn a_small_change_is_warned_of_without_a_rule() {
        let past = Past { sketches: vec![sketch(1000)], ..Past::default() };
        let said = past.warning(&sketch(1001), &[Policy::default()]).unwrap();
        assert!(said.contains("differs by about 1 key from"), "{said}");
        assert_eq!(past.warning(&sketch(1000), &[]), None);
        assert_eq!(past.warning(&sketch(2000), &[]), None);
        let rules = [Policy::default(), rule("min_change", "1")];
        assert_eq!(past.warning(&sketch(1001), &rules), None);
    }

    #[test]
    fn a_change_of_twenty_keys_is_no_longer_warned_of() {
        let empty = Past { sketches: vec![sketch(0)], ..Past::default() };
        let estimate = |keys| sketch(0).difference(&sketch(keys));
        let mut seen = [false; 2];
        for keys in 1..60 {
            let few = estimate(keys) < FEW;
            assert_eq!(empty.warning(&sketch(keys), &[]).is_some(), few, "{keys}");
            seen[usize::from(few)] = true;
        }
        assert_eq!(seen, [true; 2]);
    }

    #[test]
    fn a_result_is_revealed_within_its_limits() {
        let past = |revealed| Past { revealed, ..Past::default() };
        for (name, word, told, allowed, forbidden) in [
            ("min_result", "min-result", 0, 5, 4),
            ("max_result", "max-result", 0, 5, 6),
            ("max_result_total", "max-result-total", 3, 2, 3),
        ] {
            let policy = rule(name, "5");
            assert_eq!(policy.check_result(allowed, &past(told)), Ok(()), "{name}");
            assert_eq!(refused(policy.check_result(forbidden, &past(told))), Some(word));
        }
        // Before a run begins, part of the budget remains.
        let total = rule("max_result_total", "5");
        assert_eq!(total.check_time(at(NOON), &past(4)), Ok(()));
        let refusal = total.check_time(at(NOON), &past(5)).unwrap_err();
        assert_eq!(refusal.rule, "max-result-total");
        assert_eq!(
            refusal.reason,
            "all runs together may reveal 5 matches, and 5 were revealed before"
        );
    }

    #[test]
    fn every_rule_has_a_sentence() {
        let rules = [
            ("min_set", "2", "each side has at least 2 keys"),
            (
                "min_result",
                "2",
                "if there are fewer than 2 matches, the side that finds out withholds the result",
            ),
            (
                "threshold_first",
                "true",
                "both sides first compute whether there are this many, and compare rows only if there are",
            ),
            ("max_result", "1", "a run reveals at most 1 match"),
            ("max_result_total", "2", "all runs together reveal at most 2 matches"),
            ("epsilon_total", "\"1.5\"", "the noise of all runs together has an ε of at most 1.5"),
            ("max_runs_per_day", "2", "at most 2 runs within 24 hours"),
            ("max_runs", "2", "at most 2 runs in all"),
            ("max_attempts", "2", "the comparison of a partition begins at most 2 times"),
            (
                "min_change",
                "2",
                "a set differs from each earlier one by at least 2 keys, or not at all",
            ),
            ("hours", "\"08:00-18:00\"", "runs begin at 08:00-18:00 UTC"),
            ("expires", "\"2026-11-23\"", "the last day is 2026-11-23"),
        ];
        let form = rules.map(|(name, value, _)| format!("\"{name}\":{value}")).join(",");
        let all: Policy = serde_json::from_str(&format!("{{{form}}}")).unwrap();
        assert_eq!(all.sentences(), rules.map(|(.., said)| said));
        assert_eq!(all.to_string(), rules.map(|(.., said)| said).join("; "));
        assert_eq!(Policy::default().to_string(), "no limits");
        // Rules without a value are not written.
        assert_eq!(serde_json::to_string(&Policy::default()).unwrap(), "{}");
        for (name, value, said) in rules {
            let policy = rule(name, value);
            assert_eq!(policy.sentences(), [said]);
            assert_eq!(serde_json::to_string(&policy).unwrap(), format!("{{\"{name}\":{value}}}"));
        }
    }

    /// The share is a part of the smaller table's rows; a run without rules has none.
    #[test]
    fn false_matches_are_bounded_by_a_share() {
        let policy = rule("max_false", "\"0.5%\"");
        let sketch = sketch(5);
        for (expected, allows) in [(0.0, true), (5.0, true), (5.1, false), (900.0, false)] {
            let found = FalseMatches { expected, rows: 1_000.0 };
            let intent = Intent { false_matches: Some(found), ..intent([1, 1], &sketch) };
            let ended = policy.check_sets(&intent, &Past::default());
            assert_eq!(refused(ended), (!allows).then_some("max-false"), "{expected}");
        }
        assert!(policy.check_sets(&intent([1, 1], &sketch), &Past::default()).is_ok());
        assert!(policy.to_string().contains("at most 0.5% of the smaller table's rows"));
    }

    #[test]
    fn each_of_several_sets_has_the_minimum() {
        let policy = Policy { min_set: Some(10), ..Policy::default() };
        let set = sketch(1);
        for (keys, others, whose) in [
            (9, [10, 10], Some("this side has 9 keys")),
            (10, [10, 9], Some("another party has 9 keys")),
            (10, [10, 10], None),
        ] {
            let of_others = OfOthers::Several(others.into());
            let intent = Intent { keys, of_others, ..intent([0; 2], &set) };
            let refused = policy.check_sets(&intent, &Past::default()).err();
            let reason = refused.map(|refusal| refusal.reason).unwrap_or_default();
            assert_eq!(reason.is_empty(), whose.is_none(), "{reason}");
            assert!(reason.contains(whose.unwrap_or_default()), "{reason}");
        }
    }
}
