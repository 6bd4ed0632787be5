//! Predictions for a published list, which is made once, downloaded once and queried often.

use vesica_net::transport::shaper::Link;
use vesica_psi::lookup::{Asking, LookupCost, LookupProtocol};

use crate::{
    Planner, Prices,
    figures::work::{ASK, PUBLISH, PUBLISH_PORTABLE, READ},
};

/// The predicted time and price of a published list for one client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookupPrediction {
    /// The lookups.
    pub asking: Asking,
    /// Predicted bytes and rounds.
    pub cost: LookupCost,
    /// The publisher's computation, once for all clients: with and without AVX-512 IFMA.
    pub publish_seconds: [f64; 2],
    /// Download of the list, once.
    pub fetch_seconds: f64,
    /// Each lookup of the items.
    pub ask_seconds: f64,
    /// The part of this time that is work of both sides.
    pub ask_work_seconds: f64,
    prices: Prices,
}

impl Planner {
    /// Predicts the protocol. Returns `None` beyond its limits.
    pub fn predict_lookup(
        &self,
        lookup: &LookupProtocol,
        asking: Asking,
    ) -> Option<LookupPrediction> {
        let cost = (lookup.cost)(asking).ok()?;
        let seconds = |work: &str, number: f64| Some(self.figures.seconds_each(work)? * number);
        let items = asking.items as f64;
        let ask_work_seconds = seconds(ASK, asking.keys as f64)? + seconds(READ, cost.reads)?;
        let over = |bytes: f64, rounds: u32| match self.link {
            None => 0.0,
            Some(Link { bits_per_second, round_trip }) => {
                let half = round_trip.as_secs_f64() / 2.0;
                bytes * 8.0 / bits_per_second.max(1) as f64 + f64::from(rounds) * half
            }
        };
        Some(LookupPrediction {
            asking,
            cost,
            publish_seconds: [seconds(PUBLISH, items)?, seconds(PUBLISH_PORTABLE, items)?],
            fetch_seconds: over(cost.list_bytes, cost.list_rounds),
            // A question is sent only after all of it has been blinded, so nothing overlaps.
            ask_seconds: ask_work_seconds + over(cost.asking.bytes(), cost.asking.rounds),
            ask_work_seconds,
            prices: self.prices,
        })
    }
}

impl LookupPrediction {
    /// Returns the seconds before the first question, for making and downloading the list.
    pub fn first_seconds(&self) -> f64 {
        self.publish_seconds[0] + self.fetch_seconds
    }

    /// Returns the price of making and downloading the list.
    pub fn first_price(&self) -> f64 {
        self.prices.of_run(self.first_seconds(), 0.0, self.cost.list_bytes)
    }

    /// Returns the price of one lookup of the items.
    pub fn ask_price(&self) -> f64 {
        let asking = self.cost.asking;
        self.prices.of_run(self.ask_seconds, asking.bytes_to_sender, asking.bytes_to_receiver)
    }

    /// Returns the number of lookups from which on the list has taken less time than runs of these seconds, or less
    /// money than runs of this price if anything is charged. Returns `None` if a lookup takes no less than a run.
    pub fn better_from(&self, run_seconds: f64, run_price: f64) -> Option<u64> {
        let (first, each, run) = match self.prices == Prices::default() {
            true => (self.first_seconds(), self.ask_seconds, run_seconds),
            false => (self.first_price(), self.ask_price(), run_price),
        };
        (each < run).then(|| (first / (run - each)) as u64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vesica_psi::{MAX_ITEMS, lookup::LOOKUPS};

    use super::*;
    use crate::{Figures, Run};

    fn asking(items: usize, keys: usize) -> Asking {
        Asking { items, keys, times: 1 }
    }

    #[test]
    fn a_link_adds_what_it_takes() {
        let link = Link { bits_per_second: 100_000_000, round_trip: Duration::from_millis(20) };
        let (near, far) = (Planner::new(None), Planner::new(Some(link)));
        let [near, far] = [near, far]
            .map(|planner| planner.predict_lookup(LOOKUPS[0], asking(1 << 20, 1000)).unwrap());
        assert_eq!(near.fetch_seconds, 0.0);
        assert_eq!(near.ask_seconds, near.ask_work_seconds);
        let close = |x: f64, y: f64| (x / y - 1.0).abs() < 1e-9;
        assert!(close(far.fetch_seconds, far.cost.list_bytes * 8e-8 + 0.06));
        let bytes = (1000 * 64 + 64) as f64;
        assert!(close(far.ask_seconds, far.ask_work_seconds + bytes * 8e-8 + 0.04));
    }

    #[test]
    fn a_list_pays_from_some_time_on() {
        let planner = Planner::new(None);
        let predicted = planner.predict_lookup(LOOKUPS[0], asking(1 << 20, 1000)).unwrap();
        let (first, each) = (predicted.first_seconds(), predicted.ask_seconds);
        assert_eq!(predicted.better_from(each, 0.0), None);
        for run in [1.001 * each, 2.0 * each, each + first / 2.5, each + 2.0 * first] {
            let from = predicted.better_from(run, 0.0).unwrap() as f64;
            assert!(first + from * each < from * run);
            assert!(first + (from - 1.0) * each >= (from - 1.0) * run);
        }
    }

    #[test]
    fn prices_and_a_slow_machine_count() {
        let mut planner = Planner::new(None);
        planner.prices = Prices { per_hour: 0.0, per_gb_to_sender: 2.0, per_gb_to_receiver: 1.0 };
        let predicted = planner.predict_lookup(LOOKUPS[0], asking(1 << 20, 1000)).unwrap();
        assert_eq!(predicted.first_price(), predicted.cost.list_bytes / 1e9);
        let asked = (2.0 * 32_000.0 + 32_064.0) / 1e9;
        assert!((predicted.ask_price() / asked - 1.0).abs() < 1e-9);
        assert_eq!(predicted.better_from(1e9, asked / 2.0), None);
        assert!(predicted.better_from(0.0, 1.0).is_some());

        let run = Figures::reference().iter().find(|(name, _)| *name == "rr22").unwrap().1;
        planner.figures.insert("rr22", Run { seconds: run.seconds * 3.0, ..run });
        let slow = planner.predict_lookup(LOOKUPS[0], asking(1 << 20, 1000)).unwrap();
        assert!((slow.ask_seconds / predicted.ask_seconds - 3.0).abs() < 1e-9);
        assert!((slow.first_seconds() / predicted.first_seconds() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn unsupported_lookups_have_no_prediction() {
        let planner = Planner::new(None);
        assert!(planner.predict_lookup(LOOKUPS[0], asking(MAX_ITEMS, 1)).is_some());
        let many = Asking { times: u64::MAX, ..asking(1, 2) };
        assert!(planner.predict_lookup(LOOKUPS[0], many).is_none());
    }
}
