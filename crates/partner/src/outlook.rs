//! The remainder that the rules of an agreement leave for its next runs.

use std::fmt;

use serde::Serialize;
use vesica_core::{
    moment::Moment,
    refusal::Refusal,
    words::{counted, grouped},
};

use super::policy::{Past, Policy};

/// The runs under an agreement so far, and those that may follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outlook {
    /// The runs that have begun.
    pub runs: u64,
    /// The time at which the newest of them began.
    pub last: Option<Moment>,
    /// The time at which the next run may begin.
    pub next: Next,
    /// The remainder of each rule with a budget, in words.
    pub left: Vec<String>,
}

/// The time at which a run may begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// At once.
    Now,
    /// From this moment on.
    From(Moment),
    /// Never, for this reason.
    Never(String),
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::From(moment) => write!(f, "{moment}"),
            Self::Never(reason) => write!(f, "never: {reason}"),
        }
    }
}

impl Outlook {
    pub(super) fn new(
        valid: Result<(), Refusal>,
        past: &Past,
        policies: &[Policy],
        now: Moment,
    ) -> Self {
        let next = valid.and_then(|()| next(past, policies, now));
        Self {
            runs: past.begun.len() as u64,
            last: past.begun.iter().max().copied(),
            next: match next {
                Ok(moment) if moment <= now => Next::Now,
                Ok(moment) => Next::From(moment),
                Err(refusal) => Next::Never(refusal.reason),
            },
            left: left(past, policies, now),
        }
    }
}

/// Returns the first moment at which all rules let a run begin.
fn next(past: &Past, policies: &[Policy], now: Moment) -> Result<Moment, Refusal> {
    let mut at = now;
    // Each rule only moves the moment later. A few passes settle hours and days together; the rules then decide.
    for _ in 0..8 {
        let before = at;
        for policy in policies {
            at = policy.next_within_a_day(at, past);
            at = policy.hours.map_or(at, |hours| hours.next(at));
        }
        if at == before {
            break;
        }
    }
    policies.iter().try_for_each(|policy| policy.check_time(at, past))?;
    Ok(at)
}

fn left(past: &Past, policies: &[Policy], now: Moment) -> Vec<String> {
    let least = |limit: &dyn Fn(&Policy) -> Option<u64>| policies.iter().filter_map(limit).min();
    let begun = past.begun.len() as u64;
    let mut said = Vec::new();
    if let Some(most) = least(&|policy| policy.max_runs) {
        said.push(format!("{} of {}", grouped(most.saturating_sub(begun)), counted(most, "run")));
    }
    if let Some(most) = least(&|policy| policy.max_runs_per_day) {
        let today = past.begun_within_a_day(now);
        let left = grouped(most.saturating_sub(today));
        said.push(format!("{left} of {} within 24 hours", counted(most, "run")));
    }
    if let Some(most) = least(&|policy| policy.max_result_total) {
        let left = grouped(most.saturating_sub(past.revealed));
        said.push(format!("{left} of {}", counted(most, "shared key")));
    }
    let total = policies.iter().filter_map(|policy| policy.epsilon_total).min();
    if let (Some(total), Some(each)) = (total, past.epsilon) {
        let left = total.less(each.times(begun));
        let left = left.map_or_else(|| "0".to_owned(), |left| left.to_string());
        said.push(format!("ε {left} of {total}"));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Moment {
        text.parse().unwrap()
    }

    fn rules(json: &str) -> Policy {
        serde_json::from_str(json).unwrap()
    }

    /// Each case has rules, moments at which runs began, and the time of the next one; now is noon on a Friday.
    #[test]
    fn the_next_run_is_when_all_rules_permit_it() {
        let noon = at("2026-11-27T12:00:00Z");
        let cases: [(&str, &[&str], &str); 8] = [
            ("{}", &[], "now"),
            ("{\"hours\":\"11:00-13:00\"}", &[], "now"),
            ("{\"hours\":\"18:00-19:00\"}", &[], "2026-11-27T18:00:00Z"),
            ("{\"hours\":\"08:00-09:00\"}", &[], "2026-11-28T08:00:00Z"),
            ("{\"max_runs_per_day\":1}", &["2026-11-27T03:00:00Z"], "2026-11-28T03:00:00Z"),
            (
                "{\"max_runs_per_day\":1,\"hours\":\"02:00-03:00\"}",
                &["2026-11-27T02:30:00Z"],
                "2026-11-28T02:30:00Z",
            ),
            (
                "{\"hours\":\"08:00-09:00\",\"expires\":\"2026-11-27\"}",
                &[],
                "never: the last day for runs was 2026-11-27",
            ),
            (
                "{\"max_runs\":1}",
                &["2026-11-01T03:00:00Z"],
                "never: the limit of 1 run in all is reached",
            ),
        ];
        for (policy, begun, said) in cases {
            let past =
                Past { begun: begun.iter().map(|text| at(text)).collect(), ..Past::default() };
            let outlook = Outlook::new(Ok(()), &past, &[rules(policy), Policy::default()], noon);
            assert_eq!(outlook.next.to_string(), said, "{policy}");
            assert_eq!(outlook.last, past.begun.last().copied());
        }
        let revoked = Err(Refusal::new("revoked", "gone".to_owned()));
        let outlook = Outlook::new(revoked, &Past::default(), &[], noon);
        assert_eq!(outlook.next.to_string(), "never: gone");
    }

    #[test]
    fn budgets_say_how_much_is_left() {
        let noon = at("2026-11-27T12:00:00Z");
        let past = Past {
            begun: vec![at("2026-11-01T03:00:00Z"), noon],
            revealed: 700,
            epsilon: "0.5".parse().ok(),
            ..Past::default()
        };
        for (policy, said) in [
            ("{\"max_runs\":5}", "3 of 5 runs"),
            ("{\"max_runs\":1}", "0 of 1 run"),
            ("{\"max_runs_per_day\":2}", "1 of 2 runs within 24 hours"),
            ("{\"max_result_total\":1000}", "300 of 1,000 shared keys"),
            ("{\"epsilon_total\":\"3\"}", "ε 2 of 3"),
            ("{\"epsilon_total\":\"0.5\"}", "ε 0 of 0.5"),
        ] {
            let outlook = Outlook::new(Ok(()), &past, &[Policy::default(), rules(policy)], noon);
            assert_eq!(outlook.left, [said]);
        }
    }
}
