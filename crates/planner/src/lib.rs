//! Predicts the cost of each protocol, and chooses among them.
//!
//! Bytes and rounds come from the formula in each entry of the catalogue. Time comes from [`Figures`]: runs over memory
//! on the machine of the release and, after a calibration, on this one. A link then adds its part:
//!
//! time = work + flights × round trip / 2 + transfer − the part of the transfer that overlaps with work.
//!
//! If long data is sent in pieces, work and transfer overlap by about half of the shorter of the two.
//!
//! The link is assumed to run at its full rate from the start, as the shaper's does. TCP begins with w = 14.5 kB and
//! doubles that with each round trip. For b bytes in one direction this adds about round trip × log2(1 + min(b, rate ×
//! round trip) / w): about a second on a long link, and nearly the same for most protocols (docs/guides/choosing.md has
//! figures).
//!
//! **Must never import** `vesica`, the lab or the command line: it predicts, and neither measures nor runs.

mod figures;
mod lookup;
pub mod prices;
pub mod unit;

use std::time::Duration;

use vesica_net::transport::shaper::Link;
use vesica_psi::{
    Adversary, CATALOGUE, Cost, Memory, Protocol, Setting, Sizes, Status,
    aggregate::{
        METHODS, Method, Query,
        circuit::RS21,
        linked::LinkedPeople,
        shares::{Outline, SHARING, Sharing},
    },
    payload::Carrying,
    select::{self, Plan},
};

pub use self::{
    figures::{BadFigures, Figures, Run},
    lookup::LookupPrediction,
};

/// The share of the shorter of work and transfer that overlaps with the longer.
const BESIDE: f64 = 0.5;

/// A protocol, or a method that computes a number, with its cost for sets of given sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub key: &'static str,
    /// Its recommended use.
    pub status: Status,
    /// The adversary against which it is secure.
    pub adversary: Adversary,
    /// The number of partitions in which the sets are compared; 1 for whole sets.
    pub partitions: usize,
    /// The sizes of the two sets, or of a partition of each.
    pub sizes: Sizes,
    /// Predicted bytes and rounds of a partition.
    pub cost: Cost,
    /// The predicted peak memory of each party.
    pub memory: Memory,
}

impl Candidate {
    /// Returns the predicted bytes of all partitions together, and the rounds that follow one another: two or more
    /// partitions are compared at a time.
    pub fn whole_cost(&self) -> Cost {
        let Self { partitions, cost, .. } = *self;
        Cost {
            bytes_to_sender: cost.bytes_to_sender * partitions as f64,
            bytes_to_receiver: cost.bytes_to_receiver * partitions as f64,
            rounds: cost.rounds.saturating_mul(partitions.div_ceil(2) as u32),
        }
    }

    /// Returns a protocol for sets of these sizes, or for one of several runs.
    pub fn protocol(protocol: &Protocol, setting: impl Into<Setting>) -> Self {
        let (Protocol { key, status, adversary, .. }, setting) = (*protocol, setting.into());
        let (cost, memory) = (protocol.cost(setting), protocol.memory(setting));
        Self { key, status, adversary, partitions: 1, sizes: setting.sizes, cost, memory }
    }

    /// Returns a protocol with payloads for sets of these sizes, or for one of several runs. Its predicted time is the
    /// protocol's, because payloads take little time beyond their bytes.
    pub fn carrying(carrying: &Carrying, setting: impl Into<Setting>) -> Self {
        let setting = setting.into();
        let (cost, memory) = (carrying.cost(setting), carrying.memory(setting));
        Self { cost, memory, ..Self::protocol(carrying.protocol(), setting) }
    }

    /// Returns a method for this query.
    pub fn method(method: &Method, query: Query) -> Self {
        let Method { key, status, adversary, .. } = *method;
        let (cost, memory) = ((method.cost)(query), (method.memory)(query));
        Self { key, status, adversary, partitions: 1, sizes: query.sizes, cost, memory }
    }

    /// Returns the method that answers a query with a plan.
    pub fn plan(method: &Method, plan: &Plan) -> Self {
        let Method { key, status, .. } = *method;
        let (cost, memory) = (plan.cost(), plan.memory());
        Self {
            key,
            status,
            adversary: select::ADVERSARY,
            partitions: 1,
            sizes: plan.sizes,
            cost,
            memory,
        }
    }

    /// Returns a method for shares for a later computation.
    pub fn sharing(outline: Outline) -> Self {
        let Sharing { key, status, adversary, .. } = SHARING;
        let (cost, memory) = (outline.cost(), outline.memory());
        Self { key, status, adversary, partitions: 1, sizes: outline.sizes, cost, memory }
    }

    /// Returns a method for people with a shared item.
    pub fn linking(linked: LinkedPeople) -> Self {
        let Method { key, status, adversary, .. } = RS21;
        let (cost, memory) = (linked.cost(), linked.memory());
        Self { key, status, adversary, partitions: 1, sizes: linked.sizes, cost, memory }
    }

    /// Returns every protocol for real data that is at least this secure and supports these sizes.
    pub fn protocols(sizes: Sizes, adversary: Adversary) -> Vec<Self> {
        let fit = |p: &&&Protocol| {
            p.status.is_for_use() && p.adversary >= adversary && (p.limits)(sizes).is_ok()
        };
        CATALOGUE.iter().filter(fit).map(|p| Self::protocol(p, sizes)).collect()
    }

    /// Returns every method for real data that is at least this secure, computes the aggregate and reveals no more.
    pub fn methods(query: Query, adversary: Adversary) -> Vec<Self> {
        let fit = |m: &&&Method| {
            let answers = (m.supports)(query.aggregate, query.minimum);
            answers && !m.tells_size && m.status.is_for_use() && m.adversary >= adversary
        };
        METHODS.iter().filter(fit).map(|m| Self::method(m, query)).collect()
    }
}

/// The prices of machines and traffic, in any currency.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prices {
    /// For an hour of all paid machines.
    pub per_hour: f64,
    /// For 10^9 bytes that the receiver sends.
    pub per_gb_to_sender: f64,
    /// For 10^9 bytes that the sender sends.
    pub per_gb_to_receiver: f64,
}

impl Prices {
    /// Returns the price of a run of the given duration and traffic.
    pub fn of_run(&self, seconds: f64, bytes_to_sender: f64, bytes_to_receiver: f64) -> f64 {
        let traffic =
            self.per_gb_to_sender * bytes_to_sender + self.per_gb_to_receiver * bytes_to_receiver;
        self.per_hour * seconds / 3600.0 + traffic / 1e9
    }
}

/// The predicted time and price of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The candidate that runs.
    pub candidate: Candidate,
    /// From the first message to the result.
    pub seconds: f64,
    /// The part of this time that is work of both parties, measured over memory.
    pub work_seconds: f64,
    /// The price.
    pub price: f64,
}

/// Predicts runs over a link, from figures of a machine.
#[derive(Debug, Clone)]
pub struct Planner {
    /// This machine's figures. Missing ones are derived from the release's figures.
    pub figures: Figures,
    /// The link between the parties, or `None` for memory.
    pub link: Option<Link>,
    /// The prices.
    pub prices: Prices,
}

impl Planner {
    /// Creates a planner for this link, with the figures of the release's machine and without prices.
    pub fn new(link: Option<Link>) -> Self {
        Self { figures: Figures::default(), link, prices: Prices::default() }
    }

    /// Predicts a run of the candidate. Returns `None` if it was never measured.
    pub fn predict(&self, candidate: &Candidate) -> Option<Prediction> {
        let Candidate { key, partitions, sizes, .. } = *candidate;
        let cost = candidate.whole_cost();
        let work = partitions as f64 * self.figures.seconds(key, sizes)?;
        let (transfer, travel) = match self.link {
            None => (0.0, 0.0),
            Some(Link { bits_per_second, round_trip }) => {
                let bits = cost.bytes() * 8.0;
                let half = round_trip.as_secs_f64() / 2.0;
                (bits / bits_per_second.max(1) as f64, f64::from(cost.rounds) * half)
            }
        };
        let seconds = work + travel + transfer - BESIDE * work.min(transfer);
        Some(Prediction {
            candidate: *candidate,
            seconds,
            work_seconds: work,
            price: self.prices.of_run(seconds, cost.bytes_to_sender, cost.bytes_to_receiver),
        })
    }

    /// Predicts all candidates, ordered by price if anything is charged, and by time otherwise. The candidate to choose
    /// comes first: the first recommended one, regardless of the figures of the others.
    pub fn rank(&self, candidates: &[Candidate]) -> Vec<Prediction> {
        let mut ranked: Vec<_> = candidates.iter().filter_map(|c| self.predict(c)).collect();
        let priced = self.prices != Prices::default();
        let weight = |p: &Prediction| if priced { p.price } else { p.seconds };
        ranked.sort_by(|x, y| weight(x).total_cmp(&weight(y)));
        let recommended = |p: &Prediction| p.candidate.status == Status::Recommended;
        if let Some(position) = ranked.iter().position(recommended) {
            ranked[..=position].rotate_right(1);
        }
        ranked
    }
}

/// Returns a link with this round trip. If its rate is unknown, 1 Gbit/s is assumed within a data centre and 100 Mbit/s
/// over longer distances.
pub fn assumed_link(round_trip: Duration, bits_per_second: Option<u64>) -> Link {
    let near = round_trip < Duration::from_millis(2);
    let assumed = if near { 1_000_000_000 } else { 100_000_000 };
    Link { bits_per_second: bits_per_second.unwrap_or(assumed), round_trip }
}
