//! A published list instead of runs, where one side has more keys than the other: what it takes, and from when on it takes
//! less.

use serde::Serialize;
use vesica_core::words::{counted, grouped};
use vesica_planner::{LookupPrediction, Planner, Prediction, unit::Unit};
use vesica_psi::lookup::{Asking, LOOKUPS, Lookup};

use super::money;

/// What a published list is predicted to take, and what the chosen protocol takes for the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListPlan {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// What it may be used for.
    pub status: &'static str,
    /// The adversary against which it is secure.
    pub secure_against: &'static str,
    /// Keys of the publisher, the side with more of them.
    pub items: usize,
    /// Keys of the client, which it asks for each time.
    pub keys: usize,
    /// How often the client asks in an epoch, or the protocol runs.
    pub runs: u64,
    /// Keys that one client may ask for in an epoch, with the promise of right answers.
    pub queries: u64,
    /// Some one of these answers is wrong with a probability of at most 2^-λ.
    pub lambda: u32,
    /// Bits of a tag.
    pub tag_bits: u32,
    /// What the publisher computes once, for all its clients.
    pub publish_seconds: f64,
    /// The same on a processor without AVX-512 IFMA.
    pub publish_seconds_without_ifma: f64,
    /// Bytes that a client downloads once.
    pub list_bytes: u64,
    /// How long that takes.
    pub fetch_seconds: f64,
    /// Looking the client's keys up once, with the list at hand.
    pub ask_seconds: f64,
    /// Of that, what both sides compute.
    pub ask_work_seconds: f64,
    /// Bytes to the client each time.
    pub bytes_to_client: u64,
    /// Bytes to the publisher each time.
    pub bytes_to_publisher: u64,
    /// Flights of messages each time.
    pub rounds: u32,
    /// All of it for this client: making the list, downloading it, and asking so often.
    pub total_seconds: f64,
    /// Bytes of that.
    pub total_bytes: u64,
    /// Its price, where there are prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_price: Option<f64>,
    /// As many runs of the chosen protocol.
    pub runs_seconds: f64,
    /// Bytes of that.
    pub runs_bytes: u64,
    /// Its price, where there are prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_price: Option<f64>,
    /// From which time on the list has taken less than runs, by time or by price; absent if it never does.
    pub better_from: Option<u64>,
    /// Whether it takes less for this many.
    pub is_better: bool,
    /// That in a sentence, and what is different about it.
    pub why: String,
}

impl ListPlan {
    /// What a list takes instead of runs like this one; nothing where no list can do it.
    pub(super) fn of(
        planner: &Planner,
        run: &Prediction,
        (keys, items): (usize, usize),
        runs: u64,
    ) -> Option<Self> {
        let lookup = LOOKUPS.iter().find(|lookup| lookup.adversary >= run.candidate.adversary)?;
        let asking = Asking { items, keys, times: runs };
        let list = planner.predict_lookup(lookup, asking)?;
        Some(Self::new(lookup, &list, run, planner.prices != Default::default()))
    }

    fn new(lookup: &Lookup, list: &LookupPrediction, run: &Prediction, priced: bool) -> Self {
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
            runs_bytes: times(run.candidate.cost.bytes()) as u64,
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

/// What distinguishes a list from a run.
const DIFFERENCE: &str = "It is for another threat model: a client asks for keys of its choice, one after the other and in \
                          the light of earlier answers, and only limits on its questions keep it from asking for all keys; a \
                          run compares one set that is fixed before. docs/guides/lists.md says more";

fn nth(from: u64) -> String {
    match from {
        1 => "the first time".to_owned(),
        2 => "the second time".to_owned(),
        3 => "the third time".to_owned(),
        _ => format!("time {}", grouped(from)),
    }
}
