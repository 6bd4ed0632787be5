//! The planner's first choices.

use vesica_planner::{Candidate, Planner};
use vesica_psi::{
    Adversary, Sizes,
    aggregate::{Aggregate, Query, circuit::RS21, dh::COUNT},
};

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
