//! `plan --parties`: the estimated cost of a run among several parties, for the choices of leader and pivot.

use std::{fmt, time::Duration};

use vesica::{
    files::PlannerInputs,
    planning::{ChoicePlan, JointPlans, JointProspect},
    report::grouped,
    spec::Planned,
};
use vesica_planner::{Figures, unit::Unit};

use crate::exit::Failure;

/// Prints the plan.
pub(super) fn print(planned: &Planned, figures: Figures) -> Result<(), Failure> {
    let plans = plans(planned, figures)?;
    if planned.shown.json {
        let text = serde_json::to_string_pretty(&plans);
        return crate::print(&(text.map_err(|_| Failure::bug("a plan has no JSON"))? + "\n"));
    }
    crate::print(&JointPlanText { plans, all: planned.shown.all }.to_string())
}

fn plans(planned: &Planned, figures: Figures) -> Result<JointPlans, Failure> {
    let size = |keys: &u64| super::size(*keys, "parties");
    let prospect = JointProspect {
        offer: super::offer(planned)?,
        sizes: planned.run.parties.iter().map(size).collect::<Result<_, _>>()?,
        round_trip: Duration::from_secs_f64(planned.run.rtt / 1e3),
        planner: PlannerInputs {
            figures,
            bits_per_second: planned.run.bandwidth,
            memory: planned.resources.memory,
            ..PlannerInputs::default()
        },
    };
    Ok(vesica::plan_among(&prospect)?)
}

/// A plan for people.
struct JointPlanText {
    plans: JointPlans,
    /// Whether to show every pivot, and not only the best for each leader.
    all: bool,
}

impl JointPlanText {
    /// Describes a party by its number and size.
    fn party(&self, number: usize) -> String {
        format!("{number} ({})", grouped(self.plans.keys[number - 1] as u64))
    }

    /// Returns the choices that are shown.
    fn choices(&self) -> impl Iterator<Item = &ChoicePlan> {
        let all = &self.plans.choices;
        let is_best = |nth: usize, leader: usize| all[..nth].iter().all(|c| c.leader != leader);
        let shown = all.iter().enumerate();
        shown.filter(move |(nth, c)| self.all || is_best(*nth, c.leader)).map(|(_, choice)| choice)
    }
}

impl fmt::Display for JointPlanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plans, .. } = self;
        let uncalibrated = "; this machine is not calibrated (vesica calibrate)";
        writeln!(
            f,
            "{} parties; {} Mbit/s for each, round trip {} ms{}\n",
            plans.keys.len(),
            plans.bits_per_second as f64 / 1e6,
            plans.round_trip_seconds * 1e3,
            if plans.calibrated { "" } else { uncalibrated }
        )?;
        let in_parts = self.choices().any(|choice| choice.partitions > 1);
        let parts = |text: &str| if in_parts { format!(" {text:>10}") } else { String::new() };
        writeln!(
            f,
            "{:<17} {:<17} {:<14}{} {:>9} {:>11} {:>11} {:>9}",
            "LEADER",
            "PIVOT",
            "PROTOCOL",
            parts("PARTITIONS"),
            "TIME",
            "BYTES",
            "OF LEADER",
            "MEMORY"
        )?;
        for choice in self.choices() {
            writeln!(
                f,
                "{:<17} {:<17} {:<14}{} {:>9} {:>11} {:>11} {:>9}",
                self.party(choice.leader),
                self.party(choice.pivot),
                choice.protocol,
                parts(&choice.partitions.to_string()),
                Unit::Seconds.text(choice.seconds),
                Unit::Bytes.text(choice.bytes as f64),
                Unit::Bytes.text(choice.bytes_of_leader as f64),
                Unit::Bytes.text(choice.memory_bytes as f64),
            )?;
        }
        if !self.all {
            writeln!(f, "\nEach leader is shown with its fastest pivot; --all shows every pivot.")?;
        }
        writeln!(
            f,
            "The leader learns the result. If leader and pivot pool what they received, they learn which keys of the leader all \
             others have: choose two that will not."
        )
    }
}
