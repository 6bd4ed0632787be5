//! Balanced allocation (Azar, Broder, Karlin, Upfal, SICOMP 1999): each ball goes into the emptiest of its
//! bins, so that a bin holds few.

use super::simple;
use crate::{binomial::log2_upper_tail, failure::largest, search::least};

/// A load that some bin exceeds with probability at most 2^-λ, when each of `balls` balls goes to the emptiest
/// of `choices` distinct random ones of `bins` bins.
///
/// The layered induction of Azar et al., Theorem 4, with exact binomial tails instead of its asymptotic ones.
/// At most balls / i bins have i balls. If at most β bins have i balls at any time, a ball comes to lie at
/// height i + 1 or more with probability at most (β / bins)^d, so that the number of such balls exceeds a
/// quantile K of a binomial with probability at most 2^-(λ + i), and at most K bins have i + 1 balls. j balls
/// above height i in one bin require j − 1 of them in each of d − 1 other bins, and so d·j − d + 1 among the K.
/// The result is never more than the bound for one choice, which holds as well (their Theorem 3.5: more choices
/// majorize). `bins` must be at least `choices`.
///
/// The published figure, ln ln n / ln d + O(1) for n = bins, has no constant: [`published`].
pub fn max_load(balls: usize, bins: usize, choices: usize, lambda: u32) -> usize {
    let one_choice = simple::max_load(balls, bins, lambda);
    if choices < 2 {
        return one_choice;
    }
    let mut best = one_choice;
    let mut heavy = bins.min(balls);
    for height in 1..one_choice {
        heavy = heavy.min(balls / height);
        let above = most_above(balls, heavy, bins, choices, lambda + height as u32);
        best = best.min(height + above.div_ceil(choices));
        heavy = heavy.min(above);
    }
    best
}

/// log2 of that bound on the probability that some bin gets more than `load` balls, to a whole number.
pub fn log2_failure(balls: usize, bins: usize, choices: usize, load: usize) -> f64 {
    -f64::from(largest(|lambda| max_load(balls, bins, choices, lambda) <= load))
}

/// The least K such that the probability that more than K of `balls` balls have only choices among `heavy` bins
/// is at most 2^-λ.
fn most_above(balls: usize, heavy: usize, bins: usize, choices: usize, lambda: u32) -> usize {
    if heavy < choices {
        // The choices are distinct.
        return 0;
    }
    let share = libm::pow(heavy as f64 / bins as f64, choices as f64);
    if share >= 1.0 {
        return balls;
    }
    let enough =
        |k: usize| log2_upper_tail(balls as u64, share, k as u64 + 1) <= -f64::from(lambda);
    least(0, balls, enough)
}

/// ln ln n / ln d, rounded up: the figure used in PSZ14 §6.1 for n balls in n bins. It omits the O(1) term and
/// does not bound the probability of higher loads.
pub fn published(n: usize, choices: usize) -> usize {
    let ln_ln = libm::log(libm::log(n.max(3) as f64));
    libm::ceil(ln_ln / libm::log(choices as f64)).max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two bins hold both choices of some of a thousand balls, though of few.
    #[test]
    fn as_many_bins_as_choices_can_be_heavy() {
        assert_eq!(most_above(1000, 1, 10, 2, 40), 0);
        assert!((40..200).contains(&most_above(1000, 2, 10, 2, 40)));
    }

    #[test]
    fn two_choices_beat_one_by_far() {
        let at = |choices: usize| {
            [8, 12, 16, 20, 24].map(|e: u32| max_load(1 << e, 1 << e, choices, 40))
        };
        assert_eq!(at(1), [16, 17, 18, 19, 20]);
        assert_eq!(at(2), [16, 10, 9, 8, 8]);
        assert_eq!(at(3), [7, 6, 6, 6, 6]);
    }

    /// The published figure is not a bound: it is exceeded in nearly every run.
    #[test]
    fn the_published_figure_is_no_bound() {
        assert_eq!([8, 16, 24].map(|e: u32| published(1 << e, 2)), [3, 4, 5]);
        assert!(published(1 << 20, 2) < max_load(1 << 20, 1 << 20, 2, 1));
    }

    #[test]
    fn edges() {
        assert_eq!(max_load(0, 5, 2, 40), 0);
        assert_eq!(max_load(1, 5, 2, 40), 1);
        assert_eq!(max_load(2, 2, 2, 40), 2);
        // Never above the bound for one choice, even with many balls per bin.
        let (balls, bins) = (1 << 16, 1 << 8);
        assert!(max_load(balls, bins, 2, 40) <= simple::max_load(balls, bins, 40));
    }
}
