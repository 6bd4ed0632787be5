//! Simple hashing: every ball goes into all of its bins, and a bin holds everything that falls into it.

use crate::{binomial::log2_upper_tail, search::least};

/// The least μ such that, if `balls` balls fall into `bins` bins independently and uniformly, some bin gets
/// more than μ of them with probability at most 2^-λ.
///
/// The bound is the exact union bound: bins · Pr[Bin(balls, 1/bins) > μ] ≤ 2^-λ. An item that goes to several
/// *distinct* bins makes loads slightly negatively correlated, under which it stays valid. `bins` must be at
/// least 1.
pub fn max_load(balls: usize, bins: usize, lambda: u32) -> usize {
    if bins == 1 || balls == 0 {
        return balls;
    }
    let fits = |load: usize| log2_failure(balls, bins, load) <= -f64::from(lambda);
    let mean = balls.div_ceil(bins);
    least(mean, mean, fits)
}

/// log2 of that bound on the probability that some bin gets more than `load` balls.
pub fn log2_failure(balls: usize, bins: usize, load: usize) -> f64 {
    match (load >= balls, bins) {
        (true, _) => f64::NEG_INFINITY,
        (false, 1) => 0.0,
        _ => {
            let tail = log2_upper_tail(balls as u64, 1.0 / bins as f64, load as u64 + 1);
            libm::log2(bins as f64) + tail
        }
    }
}

/// The number of bins in PSZ14 §6 for `n` items that go to one bin each: n / ln n, so that the fullest has a
/// few times the average load. At least 1.
pub fn published_bins(n: usize) -> usize {
    let ln = libm::log(n.max(3) as f64);
    (libm::ceil(n as f64 / ln) as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bin_has_all_and_no_balls_load_none() {
        assert_eq!(max_load(1000, 1, 40), 1000);
        assert_eq!(max_load(0, 1, 40), 0);
        assert_eq!(max_load(0, 10, 40), 0);
    }

    #[test]
    fn equals_the_derived_tables() {
        let sizes = [8, 10, 12, 14, 16, 18, 20, 22, 24];
        let row = |hashes: usize, factor: f64| {
            sizes.map(|e: u32| {
                let n = 1usize << e;
                max_load(hashes * n, libm::ceil(factor * n as f64) as usize, 40)
            })
        };
        assert_eq!(row(3, 1.2), [23, 23, 24, 25, 25, 26, 26, 27, 27]);
        assert_eq!(row(3, 1.27), [22, 23, 23, 24, 25, 25, 26, 26, 27]);
        assert_eq!(row(2, 2.4), [15, 16, 16, 17, 17, 18, 18, 19, 19]);
        assert_eq!(row(1, 1.0), [16, 17, 17, 18, 18, 18, 19, 19, 20]);
    }

    /// PSZ14 Table 4 counts 3.7 n places, an asymptotic estimate; at λ = 40 the exact bound has more.
    #[test]
    fn places_of_the_published_bins() {
        let places = |n: usize| {
            let bins = published_bins(n);
            (bins * max_load(n, bins, 40)) as f64 / n as f64
        };
        let rounded = [8, 12, 16, 18, 20].map(|e: u32| (10.0 * places(1 << e)).round());
        assert_eq!(rounded, [55.0, 48.0, 43.0, 42.0, 40.0]);
        assert_eq!([0, 1, 2, 3].map(published_bins), [1, 1, 2, 3]);
    }

    #[test]
    fn edges() {
        assert_eq!(max_load(0, 5, 40), 0);
        assert_eq!(max_load(7, 1, 40), 7);
        assert_eq!(max_load(1, 1000, 40), 1);
        assert!(max_load(2, 3, 40) == 2);
    }

    /// The bound holds at a λ small enough for a test: over many seeded throws, overflow is at most as frequent as
    /// promised, and with room for one ball less it would be frequent enough to show that the bound is not vacuous.
    #[test]
    fn overflow_by_simulation() {
        let (balls, bins, lambda, trials) = (300, 100, 5, 4000);
        let load = max_load(balls, bins, lambda);
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize
        };
        let (mut over, mut over_tight) = (0, 0);
        for _ in 0..trials {
            let mut loads = vec![0; bins];
            (0..balls).for_each(|_| loads[next() % bins] += 1);
            let max = loads.into_iter().max().unwrap();
            over += usize::from(max > load);
            over_tight += usize::from(max > load - 2);
        }
        assert!(over * (1 << lambda) <= trials + trials / 4, "{over} of {trials}");
        assert!(over_tight * (1 << lambda) > trials, "{over_tight} of {trials}");
    }
}
