//! Hall's theorem as a count: the probability that some set of items has too few bins in total.

use std::f64::consts::LN_2;

use crate::binomial::log2_choose;

/// log2 of a bound on the probability that `n` items, each with a random choice of `hashes` distinct bins out of
/// `bins`, cannot all except `stash` have their own bin.
///
/// If so, there is a minimal set of t items that have only v = t − stash − 1 bins in total. In a minimal set each bin
/// belongs to at least two items: if leaving out an item removed a bin, a smaller set would do. The bound is the
/// expected number of such sets, Σ_t C(n, t) · C(bins, v) times the probability that given items have exactly given
/// bins. Two bounds exist for this. The first is better for few items, the second for many:
/// - that all choices fall inside, (v · (v − 1) ⋯ / bins · (bins − 1) ⋯)^t;
/// - (h·t)! · \[z^(h·t)\] (e^z − 1 − z)^v / (bins · (bins − 1) ⋯)^t, which counts the ways to hit each of v
///   bins twice or more.
pub(super) fn log2_no_table(n: usize, hashes: usize, bins: usize, stash: usize) -> f64 {
    let (n, bins, hashes) = (n as u64, bins as u64, hashes as u64);
    let left_over = stash as u64 + 1;
    let log2_falling = |x: u64| (0..hashes).map(|i| libm::log2((x - i) as f64)).sum::<f64>();
    let choices = log2_falling(bins);
    let term = |items: u64| {
        let used = items - left_over;
        let hits = hashes * items;
        if used < hashes || used > bins || hits < 2 * used {
            return f64::NEG_INFINITY;
        }
        let sets = log2_choose(n, items) + log2_choose(bins, used);
        let inside = items as f64 * log2_falling(used);
        let twice = log2_factorial(hits) + log2_twice_hit(hits, used);
        sets + inside.min(twice) - items as f64 * choices
    };
    log2_sum_thinned(left_over + hashes, n, term)
}

/// log2 of a bound on \[z^hits\] (e^z − 1 − z)^bins, the coefficient whose product with hits! is the number of
/// ways in which `hits` balls hit each of `bins` bins at least twice.
fn log2_twice_hit(hits: u64, bins: u64) -> f64 {
    if hits == 2 * bins {
        return -(bins as f64);
    }
    // Any z gives a bound; the best one has z · (e^z − 1) / (e^z − 1 − z) = hits / bins.
    let mean = hits as f64 / bins as f64;
    let (mut low, mut high) = (0.0, mean);
    for _ in 0..STEPS {
        let z = (low + high) / 2.0;
        if z * libm::expm1(z) < mean * twice_or_more(z) { low = z } else { high = z }
    }
    let z = (low + high) / 2.0;
    bins as f64 * libm::log2(twice_or_more(z)) - hits as f64 * libm::log2(z)
}

/// Halvings of the interval for z.
const STEPS: u32 = 40;

/// e^z − 1 − z, exact for small z too.
fn twice_or_more(z: f64) -> f64 {
    if z > 0.5 {
        return libm::expm1(z) - z;
    }
    let tail = (3..16).rev().fold(1.0, |sum, k| 1.0 + sum * z / f64::from(k));
    z * z / 2.0 * tail
}

fn log2_factorial(x: u64) -> f64 {
    libm::lgamma(x as f64 + 1.0) / LN_2
}

/// log2 of Σ 2^term over `first..=last`, for terms without a peak inside a short interval.
///
/// The first terms are added one by one. After that, intervals whose length grows with their position count as
/// if each term in them were as large as the larger of those at the ends.
pub(super) fn log2_sum_thinned(first: u64, last: u64, term: impl Fn(u64) -> f64) -> f64 {
    let mut logs = Vec::new();
    let singles = last.min(first + SINGLES);
    logs.extend((first..=singles).map(&term));
    let mut start = singles + 1;
    while start <= last {
        let end = last.min(start + start / SPACING);
        let width = libm::log2((end - start + 1) as f64);
        logs.push(term(start).max(term(end)) + width);
        start = end + 1;
    }
    let max = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return max;
    }
    max + libm::log2(logs.iter().map(|log| libm::exp2(log - max)).sum())
}

/// The number of terms added one by one.
const SINGLES: u64 = 40;

/// The ratio of an interval's distance from zero to its length.
const SPACING: u64 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_by_hand() {
        // Four items on one triple of ten: C(10, 3)^-3.
        let exact = -3.0 * log2_choose(10, 3);
        assert!((log2_no_table(4, 3, 10, 0) - exact).abs() < 1e-9);
        // With a stash for one item there is nothing to fail.
        assert_eq!(log2_no_table(4, 3, 10, 1), f64::NEG_INFINITY);
        assert_eq!(log2_no_table(0, 2, 4, 0), f64::NEG_INFINITY);
    }

    /// (e^z − 1 − z)^2 = z^4/4 + z^5/6 + ..., and the bound is within a factor of four.
    #[test]
    fn coefficients_are_bounded() {
        assert_eq!(log2_twice_hit(4, 2), -2.0);
        let exact = libm::log2(1.0 / 6.0);
        let bound = log2_twice_hit(5, 2);
        assert!(bound >= exact && bound < exact + 2.0, "2^{bound:.2}");
        assert!((twice_or_more(0.5) - (libm::exp(0.5) - 1.5)).abs() < 1e-15);
        assert!((twice_or_more(1e-4) / 5e-9 - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_thinned_sum_is_a_little_above_the_sum() {
        for decay in [0.001, 0.1, 3.0] {
            let term = |t: u64| -decay * t as f64;
            let full = libm::log2((5..=20_000).map(|t| libm::exp2(term(t))).sum());
            let thinned = log2_sum_thinned(5, 20_000, term);
            assert!(thinned >= full - 1e-9 && thinned < full + 0.6, "{decay}: {full} {thinned}");
        }
    }
}
