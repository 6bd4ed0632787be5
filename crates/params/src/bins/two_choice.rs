//! Two-choice hashing with all items known in advance: bins of nearly equal size, as in PRTY19's fast
//! variant.

use super::hall::log2_sum_thinned;
use crate::binomial::{log2_choose, log2_upper_tail};

/// The maximal average number of items per bin.
const MEAN: usize = 40;

/// The bins and their capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bins, at least 2.
    pub bins: usize,
    /// The maximal number of items in a bin, to which a protocol pads it.
    pub capacity: usize,
}

/// The smallest capacity of PRTY19's bins for which the probability that no placement exists is at most 2^-λ,
/// by the union bound over all sets of bins (see [`log2_no_table`]).
pub fn sound(n: usize, lambda: u32) -> Shape {
    let bins = bins(n);
    let mut capacity = n.div_ceil(bins);
    while log2_no_table(n, Shape { bins, capacity }) > -f64::from(lambda) {
        capacity += 1;
    }
    Shape { bins, capacity }
}

/// ⌈n / 40⌉ bins, but at least two, with a capacity one above the average, as in known implementations of
/// PRTY19. From 81 to 600 items no placement exists with a probability of up to 2^-29, by the same bound.
pub fn published(n: usize) -> Shape {
    let bins = bins(n);
    Shape { bins, capacity: n.div_ceil(bins) + 1 }
}

fn bins(n: usize) -> usize {
    n.div_ceil(MEAN).max(2)
}

/// log2 of a bound on the probability that `n` items, which may each go into either of two distinct random bins, have
/// no placement. A placement exists unless some v bins hold all choices of more than v · capacity items (Hall): Σ_v
/// C(bins, v) · Pr\[Bin(n, C(v, 2) / C(bins, 2)) > v · capacity\].
pub fn log2_no_table(n: usize, shape: Shape) -> f64 {
    let (n, bins) = (n as u64, shape.bins as u64);
    if n > bins * shape.capacity as u64 {
        return 0.0;
    }
    let pairs = |v: u64| v as f64 * (v - 1) as f64;
    let term = |v: u64| {
        let too_many = v * shape.capacity as u64 + 1;
        if too_many > n {
            return f64::NEG_INFINITY;
        }
        let share = pairs(v) / pairs(bins);
        log2_choose(bins, v) + log2_upper_tail(n, share, too_many)
    };
    // Few bins, and all but few: the terms are largest at both ends.
    let half = bins / 2;
    let few = log2_sum_thinned(2, half, term);
    let all_but_few = log2_sum_thinned(1, (bins - 1).saturating_sub(half), |u| term(bins - u));
    few.max(all_but_few) + 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of five items one too many has only two of three bins, three pairs of bins of two items each.
    #[test]
    fn the_last_item_that_fits_nowhere_counts() {
        let bound = log2_no_table(5, Shape { bins: 3, capacity: 2 });
        assert!((bound - (1.0 + 3f64.log2() - 5.0 * 3f64.log2())).abs() < 1e-9, "{bound}");
    }

    /// "One more than the average" is enough for large sets and for those that fit in two bins, but not between
    /// 81 and 600.
    #[test]
    fn one_more_than_the_average_is_not_always_enough() {
        let bound = |n: usize| log2_no_table(n, published(n));
        for n in [0, 1, 2, 3, 40, 41, 80, 601, 1000, 1013, 1 << 16, 1 << 20] {
            assert!(bound(n) <= -40.0 && sound(n, 40).capacity <= published(n).capacity, "{n}");
        }
        for n in [81, 128, 256, 600] {
            assert!(bound(n) > -40.0 && sound(n, 40).capacity > published(n).capacity, "{n}");
            assert!(log2_no_table(n, sound(n, 40)) <= -40.0, "{n}");
        }
        assert!(bound(245) > -30.0);
        assert_eq!(sound(1 << 16, 40), Shape { bins: 1639, capacity: 40 });
        assert_eq!(published(1 << 16), Shape { bins: 1639, capacity: 41 });
    }

    #[test]
    fn bounds_by_hand() {
        assert_eq!(log2_no_table(6, Shape { bins: 3, capacity: 1 }), 0.0);
        // Capacity 2: a pair of bins with five items or more: 3 · Pr[Bin(6, 1/3) > 4] = 13/243.
        let bound = log2_no_table(6, Shape { bins: 3, capacity: 2 });
        assert!((bound - 1.0 - libm::log2(13.0 / 243.0)).abs() < 1e-9, "{bound}");
    }
}
