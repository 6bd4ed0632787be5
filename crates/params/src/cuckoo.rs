//! Cuckoo hashing with three hash functions: how many bins, and how large a stash.

use crate::{LAMBDA, binomial::log2_choose, log2};

/// Number of hash functions.
pub const HASHES: usize = 3;

/// The fewest bins: three distinct ones for each item, of which no three items fill too many.
const MIN_BINS: usize = 4;

/// The shape of a cuckoo table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bins, each of which holds at most one item.
    pub bins: usize,
    /// Items that may stay without a bin.
    pub stash: usize,
}

/// Which authority a shape follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// No stash; failure at most 2^-λ by the exact union bound for n < 256 and by the fits of RS21
    /// §7.2 and of its authors' code from there on (see [`bins`]). Needs three *distinct* bins an
    /// item: with colliding bins small obstructions dominate (2^-27 at n = 2^8).
    Sound,
    /// 1.2 n bins and the stash of KKRT16 Table 2, which is from PSSZ15; n is rounded up to the next
    /// row of the table.
    Kkrt16,
}

/// The shape for `n` items, at λ = [`LAMBDA`].
pub fn shape(n: usize, profile: Profile) -> Shape {
    match profile {
        Profile::Sound => Shape { bins: bins(n, LAMBDA), stash: 0 },
        Profile::Kkrt16 => Shape { bins: times(1.2, n), stash: kkrt16_stash(n) },
    }
}

/// Bins of [`Profile::Sound`] at statistical security `lambda`.
///
/// Simulations, and the lines fitted to them, see the failures of large tables: too many items for
/// too few bins all over. A small table fails for another reason, four items on one triple of bins,
/// which no simulation meets: lines fitted below n = 256 promise 2^-40 where that alone has 2^-33. So
/// small tables follow the union bound over all sets of items that leave too few bins, which is exact
/// and not much wasteful there; from n = 256 on the fits meet it as far as it concerns few items.
pub fn bins(n: usize, lambda: u32) -> usize {
    if n >= FITTED {
        return times(fitted_expansion(n, lambda), n);
    }
    let enough = |bins: usize| log2_no_table(n, bins) <= -f64::from(lambda);
    let mut low = n.max(MIN_BINS);
    let mut high = low;
    while !enough(high) {
        (low, high) = (high + 1, high * 2);
    }
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// From how many items on the fits are used.
const FITTED: usize = 256;

/// Bins per item for `n` ≥ [`FITTED`]: λ = 240 ε − 256 − log n from 512 on, λ = 142 ε − 158 below.
fn fitted_expansion(n: usize, lambda: u32) -> f64 {
    let lambda = f64::from(lambda);
    if n < 512 { (lambda + 158.0) / 142.0 } else { (lambda + log2(n) + 256.0) / 240.0 }
}

/// log2 of a bound on the probability that `n` items, each with a random triple of `bins` ≥ n bins,
/// have no table. By Hall's theorem, some s items have all their bins among s − 1 then:
/// Σ_s C(n, s) · C(bins, s − 1) · (C(s − 1, 3) / C(bins, 3))^s.
fn log2_no_table(n: usize, bins: usize) -> f64 {
    let (n, bins) = (n as u64, bins as u64);
    let all_triples = log2_choose(bins, 3);
    let term = |s: u64| {
        let inside = log2_choose(s - 1, 3) - all_triples;
        libm::exp2(log2_choose(n, s) + log2_choose(bins, s - 1) + s as f64 * inside)
    };
    libm::log2((HASHES as u64 + 1..=n).map(term).sum())
}

fn times(expansion: f64, n: usize) -> usize {
    (libm::ceil(expansion * n as f64) as usize).max(MIN_BINS)
}

fn kkrt16_stash(n: usize) -> usize {
    const ROWS: [(u32, usize); 5] = [(8, 12), (12, 6), (16, 4), (20, 3), (24, 2)];
    ROWS.iter().find(|(e, _)| n <= 1 << e).map_or(2, |(_, stash)| *stash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expansion_equals_the_table() {
        let at = |e: u32| (fitted_expansion(1 << e, 40) * 1000.0).round() as u32;
        let sizes = [8, 10, 12, 14, 16, 18, 20, 22, 24];
        assert_eq!(sizes.map(at), [1394, 1275, 1283, 1292, 1300, 1308, 1317, 1325, 1333]);
    }

    #[test]
    fn small_tables_follow_the_union_bound() {
        // Computed independently.
        let sizes = [1, 3, 4, 8, 16, 32, 64, 128, 255];
        assert_eq!(sizes.map(|n| bins(n, 40)), [4, 4, 41, 67, 97, 136, 188, 258, 427]);
        // Four items and one triple among C(41, 3) = 10,660: 2^-40.1 exactly.
        assert!((log2_no_table(4, 41) + 3.0 * libm::log2(10_660.0)).abs() < 1e-9);
    }

    /// Four items on one triple of bins are the likeliest reason why a small set has no table, and far
    /// too rare to show in a simulation that a line could be fitted to.
    #[test]
    fn four_items_on_three_bins_are_rare_enough() {
        for n in 4..2000 {
            let bins = shape(n, Profile::Sound).bins as u64;
            let log2_failure = log2_choose(n as u64, 4) - 3.0 * log2_choose(bins, 3);
            assert!(log2_failure <= -40.0, "{n} items, {bins} bins: 2^{log2_failure:.1}");
        }
    }

    #[test]
    fn stash_equals_kkrt16_table_2() {
        assert_eq!([8, 12, 16, 20, 24].map(|e| kkrt16_stash(1 << e)), [12, 6, 4, 3, 2]);
        assert_eq!(shape(1 << 20, Profile::Kkrt16).bins, 1_258_292);
    }

    #[test]
    fn tiny_sets_have_room_for_three_distinct_bins() {
        for n in 0..10 {
            assert!(shape(n, Profile::Sound).bins > HASHES);
        }
    }
}
