//! Binomial coefficients and tails, as base-2 logarithms.

use std::f64::consts::LN_2;

/// log2 of the binomial coefficient C(n, k).
pub fn log2_choose(n: u64, k: u64) -> f64 {
    let ln_factorial = |x: u64| libm::lgamma(x as f64 + 1.0);
    (ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)) / LN_2
}

/// log2 of Pr[Bin(n, p) >= k] for 0 < p < 1.
pub fn log2_upper_tail(n: u64, p: f64, k: u64) -> f64 {
    if k == 0 {
        return 0.0;
    }
    let (log_p, log_q) = (libm::log2(p), libm::log1p(-p) / LN_2);
    let term = |i: u64| log2_choose(n, i) + i as f64 * log_p + (n - i) as f64 * log_q;
    log2_sum_decreasing_tail((k..=n).map(term))
}

/// log2 of Pr[Bin(n, p) < k] for 0 < p <= 1.
pub fn log2_lower_tail(n: u64, p: f64, k: u64) -> f64 {
    if p >= 1.0 {
        return if n < k { 0.0 } else { f64::NEG_INFINITY };
    }
    let (log_p, log_q) = (libm::log2(p), libm::log1p(-p) / LN_2);
    let term = |i: u64| log2_choose(n, i) + i as f64 * log_p + (n - i) as f64 * log_q;
    log2_sum_decreasing_tail((0..k.min(n + 1)).rev().map(term))
}

/// log2 of 2^-n · Σ_{i < k} C(n, i): the probability that n fair coins show fewer than k heads.
pub fn log2_fewer_heads(n: u64, k: u64) -> f64 {
    log2_sum_decreasing_tail((0..k.min(n + 1)).rev().map(|i| log2_choose(n, i))) - n as f64
}

/// log2 of the sum of 2^x over `logs`. Once terms decrease, those far below the largest are left out: they
/// cannot change the first fifty bits of the sum.
fn log2_sum_decreasing_tail(logs: impl Iterator<Item = f64>) -> f64 {
    const NEGLIGIBLE: f64 = 60.0;
    let (mut max, mut previous) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    let mut terms = Vec::new();
    for x in logs {
        if x < previous && x < max - NEGLIGIBLE {
            break;
        }
        terms.push(x);
        max = max.max(x);
        previous = x;
    }
    if terms.is_empty() {
        return f64::NEG_INFINITY;
    }
    max + libm::log2(terms.iter().map(|x| libm::exp2(x - max)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_equal_sums_by_hand() {
        // Bin(4, 1/2): 1/16, 4/16, 6/16, 4/16, 1/16.
        assert!((log2_upper_tail(4, 0.5, 3) - libm::log2(5.0 / 16.0)).abs() < 1e-12);
        assert!((log2_fewer_heads(4, 2) - libm::log2(5.0 / 16.0)).abs() < 1e-12);
        assert!((log2_choose(10, 3) - libm::log2(120.0)).abs() < 1e-9);
        assert_eq!(log2_upper_tail(4, 0.5, 0), 0.0);
        assert_eq!(log2_upper_tail(4, 0.5, 5), f64::NEG_INFINITY);
        assert_eq!(log2_fewer_heads(4, 0), f64::NEG_INFINITY);
        // 27/256 of four zeros, 27/64 of three, at p = 1/4: 81/256 + 108/256.
        assert!((log2_lower_tail(4, 0.25, 2) - libm::log2(189.0 / 256.0)).abs() < 1e-12);
        assert!((log2_lower_tail(400, 0.5, 128) - log2_fewer_heads(400, 128)).abs() < 1e-9);
        assert_eq!(log2_lower_tail(4, 1.0, 4), f64::NEG_INFINITY);
        assert_eq!(log2_lower_tail(3, 1.0, 4), 0.0);
    }

    /// No more than n can be reached, and one more than n is never.
    #[test]
    fn tails_end_where_the_distribution_ends() {
        assert!((log2_fewer_heads(4, 4) - libm::log2(15.0 / 16.0)).abs() < 1e-12);
        assert!((log2_lower_tail(4, 0.25, 4) - libm::log2(255.0 / 256.0)).abs() < 1e-12);
        for beyond in [5, 6, 100] {
            assert!(log2_fewer_heads(4, beyond).abs() < 1e-12);
            assert!(log2_lower_tail(4, 0.25, beyond).abs() < 1e-12);
        }
    }
}
