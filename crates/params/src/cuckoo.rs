//! Cuckoo hashing with three hash functions: how many bins, and how large a stash.

use crate::{LAMBDA, log2};

/// Number of hash functions.
pub const HASHES: usize = 3;

/// The fewest bins: three distinct ones for each item.
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
    /// No stash; failure at most 2^-λ by the fit of RS21 §7.2 (for n ≥ 512: λ = 240 ε − 256 − log n)
    /// and by fits to each power of two below. Needs three *distinct* bins an item: with colliding
    /// bins small obstructions dominate (2^-27 at n = 2^8).
    Sound,
    /// 1.2 n bins and the stash of KKRT16 Table 2, which is from PSSZ15; n is rounded up to the next
    /// row of the table.
    Kkrt16,
}

/// The shape for `n` items, at λ = [`LAMBDA`].
pub fn shape(n: usize, profile: Profile) -> Shape {
    match profile {
        Profile::Sound => Shape { bins: bins_for(n, expansion(n, LAMBDA)), stash: 0 },
        Profile::Kkrt16 => Shape { bins: bins_for(n, 1.2), stash: kkrt16_stash(n) },
    }
}

/// Bins per item of [`Profile::Sound`] at statistical security `lambda`.
pub fn expansion(n: usize, lambda: u32) -> f64 {
    /// λ = a ε + b by ⌊log n⌋, for n < 512.
    const SMALL: [(f64, f64); 9] = [
        (5.5, 6.35),
        (5.5, 6.35),
        (5.5, 6.35),
        (8.5, -0.07),
        (13.4, -6.74),
        (21.9, -16.1),
        (57.8, -62.6),
        (100.0, -113.0),
        (142.0, -158.0),
    ];
    let lambda = f64::from(lambda);
    match SMALL.get(n.max(1).ilog2() as usize) {
        Some((a, b)) => (lambda - b) / a,
        None => (lambda + log2(n) + 256.0) / 240.0,
    }
}

fn bins_for(n: usize, expansion: f64) -> usize {
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
        let at = |e: u32| (expansion(1 << e, 40) * 1000.0).round() as u32;
        let sizes = [8, 10, 12, 14, 16, 18, 20, 22, 24];
        assert_eq!(sizes.map(at), [1394, 1275, 1283, 1292, 1300, 1308, 1317, 1325, 1333]);
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
