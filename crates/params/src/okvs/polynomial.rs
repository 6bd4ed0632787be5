//! Polynomials: a single one for all keys, or one for each mega-bin.

use super::{DensePart, Shape, SparsePart, fixed};
use crate::bins::simple;

/// ln 2, rounded down.
const LN_2: u64 = 2_977_044_471;

/// The shape of polynomials over GF(2^128) for `n` keys in bins of about `target`, which all have room for their keys
/// except with probability at most 2^-λ (exact union bound). `usize::MAX` gives a single polynomial with n
/// coefficients, which never fails and takes n log² n steps; [`mega_bin`] is the target of PSTY19.
pub fn polynomial(n: usize, target: usize, lambda: u32) -> Shape {
    let clusters = n.div_ceil(target).max(1);
    let capacity = simple::max_load(n, clusters, lambda);
    // A cluster has a column even if it has no keys.
    let dense = capacity.max(1);
    let (sparse_part, dense_part) = (SparsePart::Scattered, DensePart::Field);
    Shape { clusters, capacity, weight: 0, sparse: 0, sparse_part, dense, dense_part }
}

/// The average number of keys per mega-bin (Pinkas, Schneider, Tkachenko, Yanai: EUROCRYPT 2019, "PSTY19"): ⌊ln
/// n⌋, at least 1. The number of steps then grows as n log n, and there are four to six times as many columns
/// as keys.
pub fn mega_bin(n: usize) -> usize {
    let ln = u128::from(fixed::log2(n.max(1) as u64)) * u128::from(LN_2);
    ((ln >> 64) as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_polynomial_has_a_column_a_key() {
        for n in [1, 7, 1000, 4097, 1 << 20] {
            assert_eq!(polynomial(n, usize::MAX, 40).columns(), n);
        }
        assert_eq!(polynomial(0, usize::MAX, 40).columns(), 1);
    }

    #[test]
    fn mega_bins_are_logarithmic() {
        for n in [1, 2, 3, 8, 100, 1000, 65_537, 1 << 20, 1 << 24] {
            let expected = (n as f64).ln() as usize;
            assert_eq!(mega_bin(n), expected.max(1), "{n}");
        }
        assert_eq!((mega_bin(0), mega_bin(1 << 20)), (1, 13));
    }

    #[test]
    fn mega_bins_cost_columns() {
        let per_key = |log: u32| {
            let n = 1 << log;
            polynomial(n, mega_bin(n), 40).columns() as f64 / n as f64
        };
        assert!([8, 12, 16, 20, 24].map(per_key).iter().all(|ratio| (3.5..6.0).contains(ratio)));
    }
}
