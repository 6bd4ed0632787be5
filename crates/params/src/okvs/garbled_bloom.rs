//! The garbled Bloom filter.

use super::{DensePart, Shape, SparsePart, fixed};

/// 1 / ln 2, rounded up.
const INVERSE_LN_2: u64 = 6_196_328_019;

/// The shape of a garbled Bloom filter (DCW13; PSZ14 §4) for `n` keys: each row has k = λ + ⌈log n⌉ of k ⌈n /
/// ln 2⌉ columns, in one cluster.
///
/// A row has one column in each of k equal parts. Before the last key, a part of s ≥ n / ln 2 columns has a
/// given one free with probability (1 − 1/s)^(n − 1) ≥ 1/2, and the parts are independent, so that a key finds
/// no free column with probability at most 2^-k; the union bound over n keys gives 2^-λ. Published choices are
/// k = κ, and k = λ, for which the failure probability is 2^-λ for each key rather than for all.
pub fn garbled_bloom(n: usize, lambda: u32) -> Shape {
    garbled_bloom_of_weight(n, (lambda + n.max(1).next_power_of_two().ilog2()) as usize)
}

/// The shape of a garbled Bloom filter for `n` keys with any number of columns per row, such as κ (PSZ14) or λ
/// (LIANG22): the probability that all columns of a given key are taken by the `n` − 1 others is at most
/// 2^-weight.
pub fn garbled_bloom_of_weight(n: usize, weight: usize) -> Shape {
    let part = (u128::from(INVERSE_LN_2) * n.max(1) as u128).div_ceil(fixed::ONE.into()) as usize;
    Shape {
        clusters: 1,
        capacity: n,
        weight,
        sparse: weight * part,
        sparse_part: SparsePart::Parts,
        dense: 0,
        dense_part: DensePart::Binary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_at_most_half_full() {
        assert!((INVERSE_LN_2 as f64 / fixed::ONE as f64 - 1.0 / std::f64::consts::LN_2) < 1e-9);
        for n in [0, 1, 2, 3, 10, 1000, 65_537, 1 << 20] {
            let Shape { weight, sparse, .. } = garbled_bloom(n, 40);
            let part = (sparse / weight) as f64;
            assert!((1.0 - 1.0 / part).powf(n as f64 - 1.0) >= 0.5, "{n}");
            assert!((n as f64).log2() - weight as f64 <= -40.0);
        }
        assert_eq!(garbled_bloom(1 << 20, 40).weight, 60);
        assert_eq!(garbled_bloom_of_weight(1 << 20, 60), garbled_bloom(1 << 20, 40));
        assert_eq!(garbled_bloom_of_weight(100, 128).columns(), 128 * 145);
    }

    #[test]
    fn one_way_rows_are_too_many_to_try() {
        for n in [0, 1, 2, 3, 10, 1000] {
            let Shape { weight, sparse, .. } = garbled_bloom(n, 40).one_way();
            assert!(weight as f64 * ((sparse / weight) as f64).log2() >= 128.0, "{n}");
        }
        assert_eq!(garbled_bloom(1000, 40).one_way(), garbled_bloom(1000, 40));
    }
}
