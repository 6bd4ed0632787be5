//! A published list instead of runs, if one side has more keys than the other: its cost, and the number of runs from
//! which it costs less.

use serde::Serialize;
use vesica_core::words::{counted, grouped};
use vesica_planner::{LookupPrediction, Planner, Prediction, unit::Unit};
use vesica_psi::lookup::{Asking, LOOKUPS, LookupProtocol};

use super::money;

/// The predicted cost of a published list, and of the chosen protocol for the same task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListPlan {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The data that it may be used for.
    pub status: &'static str,
    /// The adversary against which it is secure.
    pub secure_against: &'static str,
    /// Keys of the publisher, the side with more of them.
    pub items: usize,
    /// Keys of the client, which it looks up each time.
    pub keys: usize,
    /// The number of times that the client queries in an epoch, or that the protocol runs.
    pub runs: u64,
    /// The number of lookups per client and epoch that the bound on false positives covers.
    pub queries: u64,
    /// The probability of any false positive among these lookups is at most 2^-λ.
    pub lambda: u32,
    /// Bits of a tag.
    pub tag_bits: u32,
    /// The publisher's one-time computation, for all its clients.
    pub publish_seconds: f64,
    /// The same on a processor without AVX-512 IFMA.
    pub publish_seconds_without_ifma: f64,
    /// Bytes that a client downloads once.
    pub list_bytes: u64,
    /// The time of this download.
    pub fetch_seconds: f64,
    /// The time of looking up the client's keys once, when it has the list.
    pub ask_seconds: f64,
    /// The part of this time in which both sides compute.
    pub ask_work_seconds: f64,
    /// Bytes to the client each time.
    pub bytes_to_client: u64,
    /// Bytes to the publisher each time.
    pub bytes_to_publisher: u64,
    /// Flights of messages each time.
    pub rounds: u32,
    /// The total for this client: making the list, downloading it, and all its queries.
    pub total_seconds: f64,
    /// The bytes of this total.
    pub total_bytes: u64,
    /// The price of this total, if there are prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_price: Option<f64>,
    /// The same number of runs of the chosen protocol.
    pub runs_seconds: f64,
    /// The bytes of these runs.
    pub runs_bytes: u64,
    /// The price of these runs, if there are prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_price: Option<f64>,
    /// The number of runs from which the list costs less, by time or by price; absent if it never does.
    pub better_from: Option<u64>,
    /// Whether it costs less for this number of runs.
    pub is_better: bool,
    /// The comparison in words, and the difference of the threat models.
    pub why: String,
}

impl ListPlan {
    /// Returns the cost of a list instead of runs like this one; `None` if no list can replace them.
    pub(super) fn of(planner: &Planner, run: &Prediction, asking: Asking) -> Option<Self> {
        let lookup = LOOKUPS.iter().find(|lookup| lookup.adversary >= run.candidate.adversary)?;
        let list = planner.predict_lookup(lookup, asking)?;
        Some(Self::new(lookup, &list, run, planner.prices != Default::default()))
    }

    fn new(
        lookup: &LookupProtocol,
        list: &LookupPrediction,
        run: &Prediction,
        priced: bool,
    ) -> Self {
        let Asking { items, keys, times: runs } = list.asking;
        let cost = list.cost;
        let times = |each: f64| runs as f64 * each;
        let better_from = list.better_from(run.seconds, run.price);
        let mut plan = Self {
            protocol: lookup.key,
            status: lookup.status.name(),
            secure_against: lookup.adversary.name(),
            items,
            keys,
            runs,
            queries: cost.queries,
            lambda: cost.lambda,
            tag_bits: cost.tag_bits,
            publish_seconds: list.publish_seconds[0],
            publish_seconds_without_ifma: list.publish_seconds[1],
            list_bytes: cost.list_bytes as u64,
            fetch_seconds: list.fetch_seconds,
            ask_seconds: list.ask_seconds,
            ask_work_seconds: list.ask_work_seconds,
            bytes_to_client: cost.asking.bytes_to_receiver as u64,
            bytes_to_publisher: cost.asking.bytes_to_sender as u64,
            rounds: cost.asking.rounds,
            total_seconds: list.first_seconds() + times(list.ask_seconds),
            total_bytes: (cost.list_bytes + times(cost.asking.bytes())) as u64,
            total_price: priced.then(|| list.first_price() + times(list.ask_price())),
            runs_seconds: times(run.seconds),
            runs_bytes: times(run.candidate.whole_cost().bytes()) as u64,
            runs_price: priced.then(|| times(run.price)),
            better_from,
            is_better: better_from.is_some_and(|from| from <= runs),
            why: String::new(),
        };
        plan.why = plan.sentences(run.candidate.key);
        plan
    }

    fn sentences(&self, run: &str) -> String {
        let Self { runs, total_seconds, total_bytes, runs_seconds, runs_bytes, .. } = *self;
        let takes = |seconds, bytes, price: Option<f64>| {
            let price = price.map_or(String::new(), |price| format!(" and {}", money(price)));
            format!("{}, {}{price}", Unit::Seconds.text(seconds), Unit::Bytes.text(bytes as f64))
        };
        let list = takes(total_seconds, total_bytes, self.total_price);
        let all = takes(runs_seconds, runs_bytes, self.runs_price);
        let least = if self.runs_price.is_some() { "costs less" } else { "takes less time" };
        let verdict = match (self.is_better, self.better_from) {
            (true, Some(from)) => format!(
                "A published list is the better choice: it {least} than {run} from {} on. ",
                nth(from)
            ),
            (_, Some(from)) => {
                format!("A published list {least} than {run} from {} on (--runs). ", nth(from))
            }
            (_, None) => format!("A published list never {least} than {run}. "),
        };
        let figures = format!("{} in all: {list}; with {run} {all}. ", counted(runs, "time"));
        verdict + &figures + DIFFERENCE
    }
}

/// The difference between a list and a run.
const DIFFERENCE: &str = "Its threat model differs: a client queries keys of its choice, one after the other and in \
                          the light of earlier answers, and only limits on its queries keep it from trying all keys; a \
                          run compares one set that is fixed in advance. See docs/guides/lists.md";

fn nth(from: u64) -> String {
    match from {
        1 => "the first time".to_owned(),
        2 => "the second time".to_owned(),
        3 => "the third time".to_owned(),
        _ => format!("time {}", grouped(from)),
    }
}
