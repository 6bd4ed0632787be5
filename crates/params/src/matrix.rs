//! The bit matrix of CM20.

use crate::{
    KAPPA, binomial::log2_lower_tail, bins::simple, failure::log2_sum, log2, search::least,
};

/// A matrix of bits, in blocks of rows. Each item has one block, and one row of it in each column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// The number of blocks.
    pub blocks: usize,
    /// Rows of a block, a multiple of 128.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

/// The maximal number of rows of a block: its columns have 16 KiB, and two of them fit the first-level cache.
const MAX_HEIGHT: usize = 1 << 17;

/// Rows per two items of the receiver.
///
/// The product of rows and columns is smallest at about 1.2 rows per item, and grows by less than 3 % up to
/// 1.5, where there are a third fewer columns than with the paper's 1 row per item; all work is by column.
const ROWS_PER_TWO_ITEMS: usize = 3;

/// The matrix for sets of these sizes, such that with probability at least 1 − 2^-λ every item of the sender
/// that the receiver does not have meets at least κ cells that the receiver left unmarked.
///
/// With more than one block, this holds unless some block gets more of the receiver's items than assumed, which
/// has half of the probability.
pub fn matrix(receiver: usize, sender: usize, lambda: u32) -> Matrix {
    let rows = (receiver * ROWS_PER_TWO_ITEMS).div_ceil(2).max(1);
    let blocks = rows.div_ceil(MAX_HEIGHT);
    let height = rows.div_ceil(blocks).next_multiple_of(128);
    let lambda = if blocks == 1 { lambda } else { lambda + 1 };
    let load = simple::max_load(receiver, blocks, lambda);
    Matrix { blocks, height, width: width(height, load, sender, lambda) }
}

impl Matrix {
    /// log2 of a bound on the probability that, for sets of these sizes, some item of the sender that the receiver does
    /// not have meets fewer than κ unmarked cells: the least over all loads that blocks may be assumed to have.
    pub fn log2_failure(self, receiver: usize, sender: usize) -> f64 {
        let Self { blocks, height, width } = self;
        let of_load = |load: usize| {
            let overflow = simple::log2_failure(receiver, blocks, load);
            log2_sum([overflow, log2_few(width, height, load, sender)])
        };
        let loads = (1..=128).map(|lambda| simple::max_load(receiver, blocks, lambda));
        loads.map(of_load).fold(0.0, f64::min)
    }
}

/// The most by which the probability of a row exceeds 1/height.
const BIAS: f64 = 1.0 / (1u64 << 32) as f64;

/// log2 of sender · Pr\[Bin(width, p) < κ\], as in [`width`].
fn log2_few(width: usize, height: usize, load: usize, sender: usize) -> f64 {
    let row = 1.0 / height as f64 + BIAS;
    let unmarked = libm::exp(load as f64 * libm::log1p(-row));
    log2(sender) + log2_lower_tail(width as u64, unmarked, u64::from(KAPPA))
}

/// The minimal number of columns of a block of `height` rows such that, if each of `load` items of the receiver marks
/// one row in each column,
///
/// - each of `sender` other items meets at least κ cells that are not marked, except with probability 2^-λ for all of
///   them: sender · Pr\[Bin(width, p) < κ\] ≤ 2^-λ, where p = (1 − 1/height − 2^-32)^load bounds from below the
///   probability that a cell is not marked (CM20 §3.3; the likeliest row may have 2^-32 more than 1/height when it
///   comes from 32 random bits);
/// - two items that one party chooses have different bits, except with probability 2^-κ: (1/2 + 1/(2 height) +
///   2^-33)^width ≤ 2^-κ (CM20, proof of Theorem 3.2).
fn width(height: usize, load: usize, sender: usize, lambda: u32) -> usize {
    let row = 1.0 / height as f64 + BIAS;
    let enough = |width: usize| {
        let alike = width as f64 * libm::log2(0.5 + row / 2.0);
        let few = log2_few(width, height, load, sender);
        few <= -f64::from(lambda) && alike <= -f64::from(KAPPA)
    };
    least(KAPPA as usize, 4 * KAPPA as usize, enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_equal_cm20_table_1() {
        let squares = [8, 10, 12, 14, 16, 18, 20].map(|e| width(1 << e, 1 << e, 1 << e, 40));
        // The paper lists those from 2^16 on.
        assert_eq!(squares, [585, 591, 597, 603, 609, 615, 621]);
    }

    #[test]
    fn a_point_fits_one_compression_at_every_size() {
        let sizes = [0, 1, 2, 85, 86, 1000, 65_537, 87_382, 1 << 20, 10_000_019, 1 << 28];
        for receiver in sizes {
            for sender in sizes {
                let Matrix { blocks, height, width } = matrix(receiver, sender, 40);
                assert!(2 * blocks * height >= 3 * receiver && height.is_multiple_of(128));
                assert!(blocks * height <= 3 * receiver / 2 + 128 * blocks);
                assert!((128..=464).contains(&width), "{receiver} {sender}: {width}");
            }
        }
        let large = Matrix { blocks: 12, height: 131_072, width: 432 };
        assert_eq!(matrix(1 << 20, 1 << 20, 40), large);
    }

    /// Without marks, the probability that two items are alike decides: 128/−log2(1/2 + 1/256 + 2^-33) is 129.5.
    #[test]
    fn two_items_differ_also_where_there_are_no_marks() {
        assert_eq!(matrix(0, 1, 40), Matrix { blocks: 1, height: 128, width: 130 });
    }

    /// Rows come from 32 random bits, so the likeliest of 2^31 rows may be 1.5 times as likely as the average. Then
    /// e^-1.5 of the cells stay unmarked, and fewer than κ of 956 columns do with probability at most 2^-40.
    #[test]
    fn likelier_rows_take_more_columns() {
        assert_eq!(width(1 << 31, 1 << 31, 1, 40), 956);
    }

    /// The bound holds at a λ small enough for a test, and is nearly tight.
    #[test]
    fn unmarked_cells_by_simulation() {
        let (height, load, lambda, trials) = (64, 64, 5, 3000);
        let width = width(height, load, 1, lambda);
        let mut state = 1u64;
        let mut row = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % height
        };
        let mut few = 0;
        for _ in 0..trials {
            let mut unmarked = 0;
            for _ in 0..width {
                let marks = (0..load).fold(0u64, |marks, _| marks | 1 << row());
                unmarked += usize::from(marks >> row() & 1 == 0);
            }
            few += usize::from(unmarked < KAPPA as usize);
        }
        let expected = trials >> lambda;
        assert!((expected / 2..expected * 5 / 4).contains(&few), "{few}, {expected}");
    }
}
