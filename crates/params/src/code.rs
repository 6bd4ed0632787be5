//! Widths of the pseudo-random code of KKRT16.

use crate::{KAPPA, binomial::log2_fewer_heads, log2};

/// The width in bits, a multiple of 8, of codewords as given by [`least_width`] (KKRT16 Table 2, which rounds
/// in the same way).
pub fn width(pairs: usize, lambda: u32) -> usize {
    least_width(pairs, lambda).next_multiple_of(8)
}

/// The least width in bits at which the codewords of each of `pairs` pairs of different words are at
/// distance at least κ, except with probability 2^-λ over the code's key.
///
/// The least k with 2^-k · Σ_{i<κ} C(k, i) ≤ 2^-(λ + log pairs) (KKRT16 §3.3).
pub fn least_width(pairs: usize, lambda: u32) -> usize {
    let kappa = KAPPA as usize;
    let is_rare = |width: &usize| log2_failure(pairs, *width) <= -f64::from(lambda);
    // The median of a binomial is at half its width, so no width below 2κ suffices.
    (2 * kappa..).find(is_rare).expect("the tail falls below any bound")
}

/// log2 of a bound on the probability that the codewords of any of `pairs` pairs are closer than κ.
pub fn log2_failure(pairs: usize, width: usize) -> f64 {
    log2(pairs) + log2_fewer_heads(width as u64, u64::from(KAPPA))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_kkrt16_table_2() {
        // With the stash of the paper, (3 + s) n pairs.
        let paper = [(8, 12), (12, 6), (16, 4), (20, 3), (24, 2)];
        let widths = paper.map(|(e, stash): (u32, usize)| width((3 + stash) << e, 40));
        assert_eq!(widths, [424, 432, 440, 448, 448]);
        let stashless = [8, 12, 16, 20, 24].map(|e: u32| width(3usize << e, 40));
        assert_eq!(stashless, [416, 424, 432, 440, 448]);
        let exact = [8, 12, 16, 20, 24].map(|e: u32| least_width(3usize << e, 40));
        assert_eq!(exact, [415, 423, 431, 439, 447]);
    }
}
