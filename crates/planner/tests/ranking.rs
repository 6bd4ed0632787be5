//! The planner's first choices.

use std::time::Duration;

use vesica_net::transport::shaper::Link;
use vesica_planner::{Candidate, Planner};
use vesica_psi::{
    Adversary, Sizes,
    aggregate::{Aggregate, Query, circuit::RS21, dh::COUNT},
};

/// A protocol with a little memory is not chosen because the quick one needs more partitions.
#[test]
fn more_partitions_of_a_quick_protocol_are_better_than_few_of_a_slow_one() {
    let candidate = |key: &str, partitions: usize| {
        let part = Sizes { sender: 450_000 / partitions, receiver: 400_000 / partitions };
        let candidates = Candidate::protocols(part, Adversary::SemiHonest);
        let named = candidates.into_iter().find(|candidate| candidate.key == key).unwrap();
        Candidate { partitions, ..named }
    };
    let link = Link { bits_per_second: 100_000_000, round_trip: Duration::from_millis(20) };
    let first = |link, ways: [(&str, usize); 2]| {
        let ways = ways.map(|(key, partitions)| candidate(key, partitions));
        let best = Planner::new(link).rank(&ways)[0].candidate;
        (best.key, best.partitions)
    };
    for link in [None, Some(link)] {
        assert_eq!(first(link, [("dh", 32), ("rr22", 64)]), ("rr22", 64));
    }
    // All partitions take time.
    assert_eq!(first(None, [("rr22", 1), ("rr22", 64)]), ("rr22", 1));
}

/// Public-key methods for few items, and circuits for many, where they take a quarter of the time.
#[test]
fn a_count_is_planned_by_what_is_quickest() {
    for (n, quickest) in [(100, COUNT.key), (1_000_000, RS21.key)] {
        let sizes = Sizes { sender: n, receiver: n };
        let query = Query {
            sizes,
            aggregate: Aggregate::Count,
            minimum: 0,
            noise: None,
            partitions: 1,
            people: None,
        };
        let ranked = Planner::new(None).rank(&Candidate::methods(query, Adversary::SemiHonest));
        assert_eq!(ranked[0].candidate.key, quickest, "{ranked:?}");
    }
}
