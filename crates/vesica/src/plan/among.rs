//! The predicted cost of a run among several parties, for every choice of leader and pivot.

use std::time::Duration;

use serde::Serialize;
use vesica_agree::{choice::PlannerInputs, memory::Rung, offer::Offer};
use vesica_core::{
    error::{Error, Misuse, Result},
    host,
};
use vesica_keyset::partitions::{self, Division};
use vesica_planner::{Candidate, Figures, Planner, Prices, assumed_link};
use vesica_psi::{
    Sizes,
    joint::{Folding, JointPlan},
};
use vesica_run::ladder::{Bounds, ladder};

/// A hypothetical run among several parties.
#[derive(Debug, Clone)]
pub struct JointProspect {
    /// The leader's offer. Its keys and its protocol do not matter.
    pub offer: Offer,
    /// Distinct keys of each party.
    pub sizes: Vec<usize>,
    /// The round-trip time between any two.
    pub round_trip: Duration,
    /// Figures of this machine, the bandwidth of each party's link, and its maximum memory.
    pub planner: PlannerInputs,
}

/// The predicted cost for every choice of leader and pivot, the fastest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JointPlans {
    /// Keys of each party.
    pub keys: Vec<usize>,
    /// The bandwidth of each party's link in each direction.
    pub bits_per_second: u64,
    /// The round-trip time.
    pub round_trip_seconds: f64,
    /// Whether this machine was calibrated.
    pub calibrated: bool,
    /// The choices.
    pub choices: Vec<ChoicePlan>,
}

/// The predicted cost of one choice. Parties are numbered from 1, in the order of their sizes in the prospect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChoicePlan {
    /// The leader.
    pub leader: usize,
    /// The pivot.
    pub pivot: usize,
    /// The protocol between the two.
    pub protocol: &'static str,
    /// The number of partitions in which the sets are compared.
    pub partitions: usize,
    /// The time from the first message to the last. An OPPRF of a helper is taken to cost as much as a run for
    /// rows between leader and pivot.
    pub seconds: f64,
    /// Bytes on all links.
    pub bytes: u64,
    /// The part of them that the leader sends or receives.
    pub bytes_of_leader: u64,
    /// The memory of the party that needs the most.
    pub memory_bytes: u64,
}

/// Predicts the cost of a run among parties with sets of these sizes, for every choice of leader and pivot.
///
/// # Errors
/// [`Error::Usage`] for fewer than three parties, and if no protocol can answer the query for sets of these sizes.
pub fn plan_among(prospect: &JointProspect) -> Result<JointPlans> {
    let JointProspect { offer, sizes, round_trip, planner } = prospect;
    if sizes.len() < 3 {
        let message =
            "--parties takes the sizes of three or more parties; for two, use --mine and --theirs";
        return Err(Error::usage(Misuse::Parties, message));
    }
    let link = assumed_link(*round_trip, planner.bits_per_second);
    let ranking =
        Planner { figures: planner.figures.clone(), link: Some(link), prices: Prices::default() };
    let budget = planner.memory.unwrap_or_else(host::budget) as f64;
    let pairs =
        (0..sizes.len()).flat_map(|leader| (0..sizes.len()).map(move |pivot| (leader, pivot)));
    let choices = pairs.filter(|(leader, pivot)| leader != pivot);
    let mut choices = choices
        .filter_map(|(leader, pivot)| {
            choice(offer, sizes, &ranking, budget, [leader, pivot]).transpose()
        })
        .collect::<Result<Vec<_>>>()?;
    if choices.is_empty() {
        let message = "no protocol can answer this among several parties for sets of these sizes in this memory";
        return Err(Error::usage(Misuse::Protocol, message));
    }
    choices.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    Ok(JointPlans {
        keys: sizes.clone(),
        bits_per_second: link.bits_per_second,
        round_trip_seconds: round_trip.as_secs_f64(),
        calibrated: planner.figures != Figures::default(),
        choices,
    })
}

/// Predicts the cost of a run with this leader and pivot; `None` if no protocol fits.
fn choice(
    offer: &Offer,
    sizes: &[usize],
    ranking: &Planner,
    budget: f64,
    [leader, pivot]: [usize; 2],
) -> Result<Option<ChoicePlan>> {
    let folding = Folding::against(offer.security.adversary());
    let parts = |partitions| {
        let division = Division { partitions, sets: sizes.len() };
        sizes.iter().map(|keys| division.capacity(*keys)).collect::<Vec<_>>()
    };
    let fold = |partitions| {
        let plan = JointPlan::new(parts(partitions), leader, pivot, [0; 32]).ok()?;
        Some(plan.one_of(partitions).made_of(folding))
    };
    let needed = |run: &Candidate| {
        let Some(fold) = fold(run.partitions) else { return f64::INFINITY };
        let of_party = |(party, keys)| {
            let keys = if run.partitions > 1 { partitions::memory(keys, 0) } else { 0.0 };
            let beside = match party {
                _ if party == leader => run.memory.of(true),
                _ if party == pivot => run.memory.of(false),
                _ => 0.0,
            };
            keys + fold.memory(party) + beside
        };
        parts(run.partitions).into_iter().enumerate().map(of_party).fold(0.0, f64::max)
    };
    let most = sizes.iter().copied().max().unwrap_or_default();
    let folds = Sizes { sender: most, receiver: most };
    let bounds = Bounds { sets: sizes.len(), folding: Some(folding), ..Bounds::of_two(folds) };
    let ladder = ladder(&offer.query, bounds, |division| {
        let [leader, pivot] = [leader, pivot].map(|party| division.capacity(sizes[party]));
        let request = offer.request(leader, pivot, division.partitions, None)?;
        Ok(Rung { candidates: offer.candidates(&request), beside: 0.0 })
    })?;
    let candidates = ladder.fitting(|candidate| needed(candidate) <= budget);
    let Some(run) = ranking.rank(&candidates).into_iter().next() else { return Ok(None) };
    let partitions = run.candidate.partitions;
    let Some(fold) = fold(partitions) else { return Ok(None) };
    let parts = parts(partitions);
    let opprf = |helper: usize| {
        let sizes = Sizes { sender: parts[helper], receiver: parts[leader] };
        ranking.figures.seconds(folding.rows().key, sizes).unwrap_or_default()
    };
    let (cost, of_all) = (fold.cost(), partitions as f64);
    let (travel, transfer) = ranking.link.map_or((0.0, 0.0), |link| {
        let half = link.round_trip.as_secs_f64() / 2.0;
        let bits = cost.of_leader * 8.0;
        (f64::from(cost.rounds) * half, bits / link.bits_per_second.max(1) as f64)
    });
    let work: f64 = fold.helpers().map(opprf).sum();
    let run_bytes = run.candidate.whole_cost().bytes();
    Ok(Some(ChoicePlan {
        leader: leader + 1,
        pivot: pivot + 1,
        protocol: run.candidate.key,
        partitions,
        seconds: run.seconds + of_all * (work.max(transfer) + travel),
        bytes: (of_all * cost.bytes + run_bytes) as u64,
        bytes_of_leader: (of_all * cost.of_leader + run_bytes) as u64,
        memory_bytes: needed(&run.candidate) as u64,
    }))
}

#[cfg(test)]
mod tests {
    use vesica_core::parties::{Learns, Security};
    use vesica_task::query::Query;

    use super::*;

    fn planned(sizes: &[usize], query: Query) -> JointPlans {
        let offer = Offer { query, ..Offer::new(Vec::new(), Learns::Me) };
        let round_trip = Duration::from_millis(20);
        let planner = PlannerInputs::default();
        plan_among(&JointProspect { offer, sizes: sizes.to_vec(), round_trip, planner }).unwrap()
    }

    #[test]
    fn a_small_party_leads_and_the_largest_is_the_pivot() {
        let plans = planned(&[100_000_000, 10_000, 20_000], Query::ROWS);
        assert_eq!(plans.choices.len(), 6);
        let first = &plans.choices[0];
        assert_eq!((first.leader, first.pivot), (2, 1));
        assert!(plans.choices.iter().all(|choice| choice.bytes_of_leader <= choice.bytes));
        assert!(plans.choices.is_sorted_by_key(|choice| choice.seconds));
    }

    #[test]
    fn each_helper_adds_to_the_cost() {
        let of = |parties: usize| planned(&vec![1 << 20; parties], Query::COUNT).choices[0].clone();
        let [three, four] = [3, 4].map(of);
        assert!(four.seconds > three.seconds && four.bytes > three.bytes);
        assert_eq!(three.protocol, "rs21-circuit");
    }

    #[test]
    fn malicious_parties_cost_more() {
        let of = |security| {
            let offer = Offer { security, ..Offer::new(Vec::new(), Learns::Me) };
            let (sizes, planner) = (vec![1 << 16; 3], PlannerInputs::default());
            let prospect = JointProspect { offer, sizes, round_trip: Duration::ZERO, planner };
            plan_among(&prospect).unwrap().choices[0].clone()
        };
        let [one, other] = [Security::SemiHonest, Security::Malicious].map(of);
        assert_eq!([one.protocol, other.protocol], ["rr22", "rr22-malicious"]);
        assert!(one.bytes < other.bytes && one.memory_bytes < other.memory_bytes);
    }

    #[test]
    fn two_parties_are_refused() {
        let offer = Offer::new(Vec::new(), Learns::Me);
        let (sizes, planner) = (vec![1, 2], PlannerInputs::default());
        let prospect = JointProspect { offer, sizes, round_trip: Duration::ZERO, planner };
        assert!(plan_among(&prospect).unwrap_err().to_string().contains("three or more"));
    }
}
