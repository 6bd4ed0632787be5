//! Rows of bits as values of polynomials, cut into slices that are elements of a field (PRTY19).

use crate::{KAPPA, log2};

/// The bins of keys, and the columns of each bin for each slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bins, at least 1, each with its own polynomials.
    pub bins: usize,
    /// The maximal number of keys in a bin, and the number of coefficients of each of its polynomials.
    pub capacity: usize,
    /// Slices over GF(2^128), whose nodes are the keys.
    pub wide: usize,
    /// Slices over GF(2^64), whose nodes are hashes of the keys; they come last in a row.
    pub narrow: usize,
    /// Columns of each narrow slice in addition to its polynomials', for keys whose nodes collide.
    pub spare: usize,
}

/// If a bin has more keys than this, all slices are narrow: they share one tree over the nodes, which takes a
/// third of the memory of two trees and no more time.
const MANY: usize = 256;

/// Slices for rows of at least `bits` bits, with room for all keys except with probability 2^-λ.
///
/// Keys of one bin whose 64-bit nodes collide cannot all be values of one polynomial. The nodes are independent
/// of the bins, so two keys of a bin collide with probability 2^-64. More than `spare` excess keys require
/// `spare` + 1 collisions without a cycle, for which there are at most pairs^(spare + 1) choices; one more bit is
/// reserved for the spare columns' own equations, which are dependent with probability spare² · 2^-64.
pub fn shape(bits: usize, bins: usize, capacity: usize, lambda: u32) -> Shape {
    let block = KAPPA as usize;
    let wide = if capacity > MANY { 0 } else { bits / block };
    let narrow = (bits - wide * block).div_ceil(64);
    let pairs = pairs(bins, capacity);
    let meet = log2(pairs) - 64.0;
    let need = f64::from(lambda + 1);
    let spare = match (narrow, pairs) {
        (0, _) | (_, 0) => 0,
        _ => libm::ceil(need / -meet) as usize - 1,
    };
    Shape { bins, capacity, wide, narrow, spare }
}

/// Pairs of keys of one bin.
fn pairs(bins: usize, capacity: usize) -> usize {
    bins * (capacity * capacity.saturating_sub(1) / 2)
}

impl Shape {
    /// log2 of a bound on the probability that some keys find no room.
    pub fn log2_failure(self) -> f64 {
        match (self.narrow, pairs(self.bins, self.capacity)) {
            (0, _) | (_, 0) => f64::NEG_INFINITY,
            // As much again for the spare columns' own equations.
            (_, pairs) => (self.spare + 1) as f64 * (log2(pairs) - 64.0) + 1.0,
        }
    }

    /// Bits of a row.
    pub fn bits(self) -> usize {
        128 * self.wide + 64 * self.narrow
    }

    /// Bytes of all columns.
    pub fn bytes(self) -> usize {
        self.bins * self.capacity * self.bits() / 8 + self.narrow * self.spare * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bins::two_choice, code::least_width};

    #[test]
    fn widths_are_those_of_prty19_rounded_up_to_a_slice() {
        // The paper has 412 at 2^8, and 2 more in fast.
        let exponents = [8, 10, 12, 14, 16, 18, 20, 22, 24];
        let low = exponents.map(|e: u32| least_width(1 << e, 40));
        assert_eq!(low, [411, 416, 420, 424, 428, 432, 436, 440, 444]);
        let fast = exponents.map(|e: u32| least_width(2 << e, 40));
        assert_eq!(fast, low.map(|width| width + 2));
        for width in low.into_iter().chain(fast) {
            let shape = shape(width, 1, 100, 40);
            assert_eq!((shape.wide, shape.narrow, shape.bits()), (3, 1, 448));
        }
        let many = shape(436, 1, 1 << 20, 40);
        assert_eq!((many.wide, many.narrow, many.bits()), (0, 7, 448));
        assert_eq!(shape(449, 1, 100, 40).bits(), 512);
        assert_eq!(shape(512, 1, 100, 40).wide, 4);
    }

    #[test]
    fn slices_are_narrow_from_many_keys_on() {
        let wide = |capacity| shape(448, 1, capacity, 40).wide;
        assert_eq!([256, 257].map(wide), [3, 0]);
        // Nodes of wide slices do not meet, however many bins there are.
        let all_wide = shape(384, 1 << 30, 256, 40);
        assert_eq!((all_wide.narrow, all_wide.spare), (0, 0));
    }

    #[test]
    fn bytes_are_those_of_all_columns() {
        let wide = Shape { bins: 2, capacity: 100, wide: 3, narrow: 1, spare: 2 };
        assert_eq!(wide.bytes(), 2 * 100 * (3 * 16 + 8) + 2 * 8);
        let narrow = Shape { bins: 3, capacity: 300, wide: 0, narrow: 7, spare: 1 };
        assert_eq!(narrow.bytes(), 3 * 300 * 7 * 8 + 7 * 8);
    }

    #[test]
    fn spare_columns_cover_nodes_that_meet() {
        let low = |e: u32| shape(448, 1, 1 << e, 40).spare;
        assert_eq!([0, 1, 8, 11, 12, 16, 20, 22, 24, 28].map(low), [0, 0, 0, 0, 0, 1, 1, 1, 2, 4]);
        // 41 bits of five each, not 40.
        assert_eq!(low(30), 8);
        let fast = |e: u32| {
            let bins = two_choice::sound(1 << e, 40);
            shape(448, bins.bins, bins.capacity, 40).spare
        };
        assert_eq!([0, 8, 12, 16, 18, 20, 24, 28].map(fast), [0, 0, 0, 0, 0, 1, 1, 1]);
        // By hand: the bound on more than `spare` of them, and no more columns than necessary.
        for e in [8u32, 16, 20, 28] {
            let meet = f64::from(2 * e - 1) - 64.0;
            let spare = low(e) as f64;
            assert!((spare + 1.0) * meet <= -41.0 && (spare == 0.0 || spare * meet > -41.5), "{e}");
        }
    }
}
