//! The predicted cost of a run, and the protocol that it would choose.

mod among;
mod published_list;

use std::time::Duration;

use serde::Serialize;
use vesica_agree::{choice::PlannerInputs, memory::Rung, offer::Offer};
use vesica_core::{
    error::{Error, Misuse, Result},
    host,
    parties::Learns,
    words::bytes,
};
use vesica_keyset::partitions::{self, Division};
use vesica_planner::{Figures, Planner, Prediction, Prices, assumed_link, unit::Unit};
use vesica_psi::{Sizes, Status, lookup::Asking};
use vesica_run::ladder::{Bounds, ladder};
use vesica_task::{interface::Request, query::Query, select::QueryTable};

pub use among::{ChoicePlan, JointPlans, JointProspect, plan_among};
pub use published_list::ListPlan;

/// A hypothetical run.
#[derive(Debug, Clone)]
pub struct Prospect {
    /// This side's offer. Its keys and its protocol do not matter.
    pub offer: Offer,
    /// In a query over both tables, the other side's table.
    pub peer_table: Option<QueryTable>,
    /// Distinct keys of this side.
    pub mine: usize,
    /// Distinct keys of the other side.
    pub theirs: usize,
    /// The number of runs, at least one. Each run costs the same; a published list is made only once.
    pub runs: u64,
    /// The round-trip time between the two sides.
    pub round_trip: Duration,
    /// The prices of machines and of traffic; if there are any, the cheapest protocol is chosen instead of the fastest.
    pub prices: Prices,
    /// Figures of this machine, bandwidth, and the maximum memory of either side.
    pub planner: PlannerInputs,
}

/// The predicted cost of each protocol that fits, and the choice among them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Keys of the side that learns.
    pub receiver_items: usize,
    /// Keys of the other side.
    pub sender_items: usize,
    /// The bandwidth of the link in each direction.
    pub bits_per_second: u64,
    /// The round-trip time.
    pub round_trip_seconds: f64,
    /// Whether this machine was calibrated.
    pub calibrated: bool,
    /// The region whose prices these are, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// The name of the protocol that would be chosen.
    pub protocol: &'static str,
    /// The reason, in a sentence.
    pub why: String,
    /// The predictions: the chosen protocol first, then the others by rank.
    pub predictions: Vec<PredictedCost>,
    /// A published list instead, if only one side learns rows and the other has more keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_list: Option<ListPlan>,
}

/// The predicted cost of one protocol.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedCost {
    /// Its name.
    pub protocol: &'static str,
    /// The data that it may be used for.
    pub status: &'static str,
    /// The adversary against which it is secure.
    pub secure_against: &'static str,
    /// The number of partitions in which it compares the sets.
    pub partitions: usize,
    /// The time from the first message to the last.
    pub seconds: f64,
    /// The part of this time in which both sides compute.
    pub work_seconds: f64,
    /// Bytes to the side that learns.
    pub bytes_to_receiver: u64,
    /// Bytes to the other side.
    pub bytes_to_sender: u64,
    /// Flights of messages.
    pub rounds: u32,
    /// The memory of the party that needs more.
    pub memory_bytes: u64,
    /// The price, if there are prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
}

/// Predicts the cost of a run with each protocol that fits, in as many partitions as it then has, and chooses one as a
/// run would.
///
/// # Errors
/// [`Error::Usage`] if no protocol can answer the query, or none fits into memory.
pub fn plan(prospect: &Prospect) -> Result<Plan> {
    let Prospect { offer, peer_table, mine, theirs, runs, round_trip, prices, planner } = prospect;
    let (receiver, sender) = match offer.learns {
        Learns::Peer => (*theirs, *mine),
        Learns::Me | Learns::Both | Learns::Nobody => (*mine, *theirs),
    };
    let link = assumed_link(*round_trip, planner.bits_per_second);
    let calibrated = planner.figures != Figures::default();
    let ranking = Planner { figures: planner.figures.clone(), link: Some(link), prices: *prices };
    let make = |division: Division| {
        let [mine, theirs] = [*mine, *theirs].map(|keys| division.capacity(keys));
        let request = offer.request(mine, theirs, division.partitions, peer_table.as_ref())?;
        let mut candidates = offer.candidates(&request);
        for candidate in &mut candidates {
            candidate.memory.sender += memory_of_keys(&request, false);
            candidate.memory.receiver += memory_of_keys(&request, true);
        }
        Ok(Rung { candidates, beside: 0.0 })
    };
    let ladder = ladder(&offer.query, Bounds::of_two(Sizes { sender, receiver }), make)?;
    let of_all = || ladder.rungs().flat_map(|rung| &rung.candidates);
    if of_all().next().is_none() {
        let security = offer.security.name();
        return Err(Error::usage(
            Misuse::Protocol,
            format!(
                "no protocol of this release can do that and is secure against {security} parties"
            ),
        ));
    }
    let budget = planner.memory.unwrap_or_else(host::budget);
    let candidates = ladder.fitting(|candidate| candidate.memory.most() <= budget as f64);
    let ranked = ranking.rank(&candidates);
    let Some(first) = ranked.first() else {
        let least = of_all().map(|c| c.memory.most()).fold(f64::INFINITY, f64::min);
        return Err(Error::usage(
            Misuse::Memory,
            format!(
                "no protocol for this fits into {}: at least {} are needed. Raise --memory, or plan for smaller sets",
                bytes(budget as f64),
                bytes(least)
            ),
        ));
    };
    let priced = *prices != Prices::default();
    let one_asks = offer.query == Query::ROWS && matches!(offer.learns, Learns::Me | Learns::Peer);
    let published_list = (one_asks && sender > receiver)
        .then(|| {
            let asking = Asking { items: sender, keys: receiver, times: (*runs).max(1) };
            ListPlan::of(&ranking, first, asking)
        })
        .flatten();
    Ok(Plan {
        receiver_items: receiver,
        sender_items: sender,
        bits_per_second: link.bits_per_second,
        round_trip_seconds: round_trip.as_secs_f64(),
        calibrated,
        prices: None,
        protocol: first.candidate.key,
        why: why(&ranked, priced),
        predictions: ranked.iter().map(|p| PredictedCost::new(p, priced)).collect(),
        published_list,
    })
}

/// Returns the memory that a side needs for the keys of a partition; 0 for whole sets, which are held in any case.
fn memory_of_keys(request: &Request, receives: bool) -> f64 {
    let keys = if receives { request.sizes.receiver } else { request.sizes.sender };
    match request.partitions {
        1 => 0.0,
        _ => partitions::memory(keys, request.brought(receives)),
    }
}

/// Words the choice, and the next ones.
fn why(ranked: &[Prediction], priced: bool) -> String {
    let Some((first, rest)) = ranked.split_first() else { return String::new() };
    let takes = |p: &Prediction| {
        let price = if priced { format!(", {}", money(p.price)) } else { String::new() };
        let bytes = Unit::Bytes.text(p.candidate.whole_cost().bytes());
        format!("{} and {bytes}{price}", Unit::Seconds.text(p.seconds))
    };
    let chosen = first.candidate.key;
    if rest.is_empty() {
        return format!("{chosen} is the only protocol that fits: {}.", takes(first));
    }
    let best = if priced { "cheapest" } else { "fastest" };
    let is_recommended = |p: &&Prediction| p.candidate.status == Status::Recommended;
    let among = match is_recommended(&first) {
        true => format!("the {best} recommended protocol"),
        false => format!("the {best} of {} protocols that fit", rest.len() + 1),
    };
    let mut said = format!("{chosen} is {among}: {}.", takes(first));
    let mut peers = rest.iter().filter(|p| is_recommended(&first) == is_recommended(p));
    if let Some(next) = peers.next() {
        said += &format!(" Next is {} with {}.", next.candidate.key, takes(next));
    }
    let better = |p: &&Prediction| match priced {
        true => p.price < first.price,
        false => p.seconds < first.seconds,
    };
    let best_other = rest.iter().find(|p| !is_recommended(p) && better(p));
    if let Some(other) = best_other.filter(|_| is_recommended(&first)) {
        let (other, takes) = (other.candidate.key, takes(other));
        said += &format!(" {other} would take {takes}, but is not recommended.");
    }
    said
}

impl PredictedCost {
    fn new(p: &Prediction, priced: bool) -> Self {
        let cost = p.candidate.whole_cost();
        Self {
            protocol: p.candidate.key,
            status: p.candidate.status.name(),
            secure_against: p.candidate.adversary.name(),
            seconds: p.seconds,
            work_seconds: p.work_seconds,
            partitions: p.candidate.partitions,
            bytes_to_receiver: cost.bytes_to_receiver as u64,
            bytes_to_sender: cost.bytes_to_sender as u64,
            rounds: cost.rounds,
            memory_bytes: p.candidate.memory.most() as u64,
            price: priced.then_some(p.price),
        }
    }
}

/// Formats an amount with three significant digits.
pub fn money(amount: f64) -> String {
    let decimals = 2.0 - amount.max(1e-9).log10().floor();
    format!("{amount:.*}", decimals.clamp(2.0, 9.0) as usize)
}
