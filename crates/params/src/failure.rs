//! Bounds on the events that may go wrong by chance, computed from the lengths that parties use.
//!
//! Functions elsewhere in this crate choose a length for a λ. Those named `log2_failure` go the other way: they bound
//! the probability of the same event from the length that was chosen, so that a test can add up the events of a run.

/// An event by which a run ends without a result, has a wrong one, or reveals more than its result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// The event, as a clause.
    pub event: &'static str,
    /// log2 of a bound on its probability.
    pub log2: f64,
}

impl Failure {
    /// An event, and log2 of a bound on its probability.
    pub const fn new(event: &'static str, log2: f64) -> Self {
        Self { event, log2 }
    }
}

/// log2 of the sum of probabilities, given the log2 of each.
pub fn log2_sum(logs: impl IntoIterator<Item = f64>) -> f64 {
    libm::log2(logs.into_iter().map(libm::exp2).sum())
}

/// The largest λ up to 256 that is met; 0 if none is. If a λ is met, so are all smaller ones.
pub(crate) fn largest(meets: impl Fn(u32) -> bool) -> u32 {
    (1..=256).rev().find(|lambda| meets(*lambda)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bins::{balanced, cuckoo, padded, phasing, simple, two_choice},
        code, cut_and_choose, matrix,
        okvs::{self, Excess},
        slices, subfield, tag,
    };

    /// A length, and the logarithm of the bound for a number of items and λ.
    type Length = (&'static str, fn(usize, u32) -> f64);

    /// Each function that chooses a length, with the bound on the failure probability of that length.
    const LENGTHS: &[Length] = &[
        ("tag", |n, lambda| tag::log2_failure(n, 3 * n, tag::bits(n, 3 * n, lambda))),
        ("subfield", |n, lambda| subfield::log2_failure(n, subfield::bits(n, lambda))),
        ("code", |n, lambda| code::log2_failure(n, code::least_width(n, lambda))),
        ("matrix", |n, lambda| matrix::matrix(n, 2 * n, lambda).log2_failure(n, 2 * n)),
        ("okvs", |n, lambda| okvs::shape(n, 1 << 10, lambda).log2_failure(n)),
        ("one-way okvs", |n, lambda| okvs::shape(n, 1 << 10, lambda).one_way().log2_failure(n)),
        ("okvs over the field", |n, lambda| {
            okvs::shape_over_field(n, 1 << 10, lambda).log2_failure(n)
        }),
        ("paxos", |n, lambda| okvs::paxos(n, lambda).log2_failure(n)),
        ("band", |n, lambda| okvs::band(n, 1 << 12, Excess::Percent10, lambda).log2_failure(n)),
        ("one band", |n, lambda| {
            okvs::band(n, usize::MAX, Excess::Percent5, lambda).one_way().log2_failure(n)
        }),
        ("garbled Bloom filter", |n, lambda| okvs::garbled_bloom(n, lambda).log2_failure(n)),
        ("polynomials", |n, lambda| okvs::polynomial(n, 1 << 7, lambda).log2_failure(n)),
        ("cuckoo, 2", |n, lambda| cuckoo::sound::<2>(n, lambda).log2_failure(n)),
        ("cuckoo, 3", |n, lambda| cuckoo::sound::<3>(n, lambda).log2_failure(n)),
        ("cuckoo, 4", |n, lambda| cuckoo::sound::<4>(n, lambda).log2_failure(n)),
        ("simple", |n, lambda| {
            let bins = simple::published_bins(n);
            simple::log2_failure(n, bins, simple::max_load(n, bins, lambda))
        }),
        ("balanced", |n, lambda| {
            balanced::log2_failure(n, n.max(2), 2, balanced::max_load(n, n.max(2), 2, lambda))
        }),
        ("two-choice", |n, lambda| two_choice::log2_no_table(n, two_choice::sound(n, lambda))),
        ("padded", |n, lambda| {
            let shape = padded::Shape::new(n.div_ceil(10), n, 2 * n, lambda);
            // A bound for each party.
            shape.log2_failure(n, 2 * n) - 1.0
        }),
        ("phasing", |n, lambda| {
            let bits = phasing::sound_bits(128, n, 2 * n, lambda);
            phasing::log2_failure(128, n, 2 * n, bits)
        }),
        ("slices", |n, lambda| slices::shape(448, n.div_ceil(300), 1000, lambda).log2_failure()),
        ("cut and choose", |n, lambda| {
            let all = cut_and_choose::Shape::new(n, lambda).log2_failures(n);
            all.into_iter().fold(f64::NEG_INFINITY, f64::max)
        }),
    ];

    /// A length that is chosen for a λ keeps it, and one for a smaller λ does not meet a much larger one.
    #[test]
    fn lengths_keep_what_they_are_chosen_for() {
        for (name, log2) in LENGTHS {
            for n in [1, 3, 64, 65, 100, 1000, 10_007] {
                for lambda in [20, 40, 41, 46, 52] {
                    let reached = log2(n, lambda);
                    assert!(
                        reached <= -f64::from(lambda) + 1e-6,
                        "{name}, {n}: {lambda}, {reached}"
                    );
                }
            }
            let [few, many] = [20, 90].map(|lambda| log2(10_007, lambda));
            assert!(few > -90.0 && many <= -90.0 + 1e-6, "{name}: {few} and {many}");
        }
    }

    #[test]
    fn probabilities_add_up() {
        assert_eq!(log2_sum([-40.0, -40.0]), -39.0);
        assert_eq!(log2_sum([f64::NEG_INFINITY, -1.0]), -1.0);
        assert_eq!(log2_sum([]), f64::NEG_INFINITY);
        assert_eq!((largest(|lambda| lambda <= 7), largest(|_| false)), (7, 0));
    }
}
