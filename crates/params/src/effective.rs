//! How many inputs a receiver that deviates can make out of an OKVS.

use crate::{KAPPA, LAMBDA};

/// The most points at which a P of `columns` elements of GF(2^128) can agree with a random oracle that
/// was asked 2^`queries` times, except with probability 2^-λ (RS21 §4, equation 1): the least n' with
/// C(q, n') · 2^(128 (m − n')) ≤ 2^-λ. It holds without any assumption on the OKVS's rows.
///
/// # Panics
/// If `queries` is above 128.
pub fn effective_inputs(columns: usize, queries: u32) -> usize {
    assert!(queries <= KAPPA, "no more queries than are out of reach");
    let m = columns as f64;
    // C(q, n') < (e q / n')^n'.
    let holds = |n: f64| {
        let per_point =
            f64::from(KAPPA) - f64::from(queries) + libm::log2(n) - std::f64::consts::LOG2_E;
        n * per_point >= f64::from(KAPPA) * m + f64::from(LAMBDA)
    };
    let (mut low, mut high) = (m, m.max(1.0) * 128.0);
    while high - low > 1.0 {
        let middle = libm::floor((low + high) / 2.0);
        if holds(middle) { high = middle } else { low = middle }
    }
    high as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_what_rs21_computes() {
        // n'/m at m = 2.4 · 2^20, as derived from RS21's bound.
        let m = (1 << 20) * 12 / 5;
        let ratio = |queries| effective_inputs(m, queries) as f64 / m as f64;
        for (queries, derived) in [(64, 1.5), (100, 2.6), (128, 5.7)] {
            assert!((ratio(queries) - derived).abs() < 0.06, "{} for {derived}", ratio(queries));
        }
    }

    #[test]
    fn more_columns_or_queries_never_mean_fewer_inputs() {
        let bounds = |queries| [1usize, 10, 1000, 100_000].map(|m| effective_inputs(m, queries));
        assert!(bounds(64).is_sorted() && bounds(100).is_sorted());
        assert!(bounds(64).iter().zip(bounds(100)).all(|(few, many)| *few <= many));
        assert!(effective_inputs(1000, 64) > 1000);
    }
}
