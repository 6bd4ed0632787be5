//! Random bands and random matrices.

use super::{Clusters, DensePart, Shape, SparsePart};
use crate::failure::largest;

/// Additional columns of a band store, beyond one per key: more of them allow narrower bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// 3 in 100.
    Percent3,
    /// 5 in 100.
    Percent5,
    /// 7 in 100.
    Percent7,
    /// 10 in 100.
    Percent10,
}

/// A line fitted to measured failures at one number of keys: 2^-λ with λ = slope · width − offset.
struct BandLine {
    /// log2 of the number of keys.
    keys: u32,
    /// In units of 10^-5.
    slope: u64,
    /// In units of 10^-3.
    offset: u64,
}

const fn line(keys: u32, slope: u64, offset: u64) -> BandLine {
    BandLine { keys, slope, offset }
}

/// The smallest number of keys with a line.
const FEWEST: usize = 1 << 10;

const PERCENT_3: [BandLine; 6] = [
    line(10, 8047, 3464),
    line(14, 8253, 5751),
    line(16, 8241, 7023),
    line(18, 8192, 8569),
    line(20, 8313, 10_880),
    line(24, 8253, 14_671),
];

const PERCENT_5: [BandLine; 6] = [
    line(10, 13_880, 4424),
    line(14, 13_890, 6976),
    line(16, 13_990, 8942),
    line(18, 13_880, 10_710),
    line(20, 14_070, 12_920),
    line(24, 13_760, 16_741),
];

const PERCENT_7: [BandLine; 5] = [
    line(10, 19_470, 5383),
    line(14, 19_260, 8150),
    line(16, 19_610, 10_430),
    line(18, 19_550, 12_300),
    line(20, 19_390, 14_100),
];

const PERCENT_10: [BandLine; 6] = [
    line(10, 27_470, 6296),
    line(14, 26_850, 9339),
    line(16, 27_400, 11_610),
    line(18, 27_150, 13_390),
    line(20, 26_910, 15_210),
    line(24, 27_510, 19_830),
];

impl Excess {
    const ALL: [Self; 4] = [Self::Percent3, Self::Percent5, Self::Percent7, Self::Percent10];

    /// The percentage.
    pub fn percent(self) -> usize {
        match self {
            Self::Percent3 => 3,
            Self::Percent5 => 5,
            Self::Percent7 => 7,
            Self::Percent10 => 10,
        }
    }

    fn lines(self) -> &'static [BandLine] {
        match self {
            Self::Percent3 => &PERCENT_3,
            Self::Percent5 => &PERCENT_5,
            Self::Percent7 => &PERCENT_7,
            Self::Percent10 => &PERCENT_10,
        }
    }

    /// The width with which `n` keys fail with probability at most 2^-λ, which is the width for the next measured
    /// number of keys; beyond the last, λ grows by 1 for each doubling (dependent rows are close to each other, so
    /// twice the keys have twice as many).
    fn width(self, n: usize, lambda: u32) -> usize {
        let log = n.max(1).next_power_of_two().ilog2();
        let lines = self.lines();
        let last = &lines[lines.len() - 1];
        let line = lines.iter().find(|line| log <= line.keys).unwrap_or(last);
        let lambda = u64::from(lambda + log.saturating_sub(line.keys));
        ((lambda * 1000 + line.offset) * 100).div_ceil(line.slope) as usize
    }
}

/// The shape of RB-OKVS (BPSY23) for `n` keys in clusters of about `target`, such that encoding fails with
/// probability at most 2^-λ. `usize::MAX` for a target gives a single cluster, which has the fewest columns and
/// has good locality anyway.
///
/// A cluster of c keys has c columns plus `excess`, but at least c + λ' + 2, where 2^-λ' is the failure probability
/// allowed for each cluster; so the failures of a random matrix with as many columns are a small part of it. Widths
/// come from the lines that BPSY23 fitted to measured failures, as in their implementations. The lines begin at 2^10
/// keys. A smaller cluster is a [`random_matrix`] with its own bound: with the width for 2^10 keys and λ = 5, 100 keys
/// fail almost twice as often as 2^-5.
pub fn band(n: usize, target: usize, excess: Excess, lambda: u32) -> Shape {
    let clusters = Clusters::new(n, target, lambda);
    // A single cluster cannot overflow.
    let strict = if clusters.clusters == 1 { lambda } else { clusters.strict };
    let capacity = clusters.capacity;
    if capacity < FEWEST {
        return Shape { clusters: clusters.clusters, ..random_matrix(capacity, strict) };
    }
    let sparse = capacity + (excess.percent() * capacity).div_ceil(100).max(strict as usize + 2);
    let weight = excess.width(capacity, strict).min(sparse);
    Shape { clusters: clusters.clusters, capacity, weight, sparse, ..random_matrix(n, lambda) }
}

/// The λ with which a full cluster of this shape has a solution, by the line for its excess and width, and by the
/// bound for a random matrix with as many columns.
pub(super) fn lambda(shape: &Shape) -> u32 {
    let spare = shape.sparse - shape.capacity;
    if shape.capacity < FEWEST {
        return spare as u32;
    }
    let columns = |excess: &Excess| (excess.percent() * shape.capacity).div_ceil(100);
    let widths = Excess::ALL.into_iter().filter(|excess| columns(excess) <= spare);
    let of_width =
        |excess: Excess| largest(|lambda| excess.width(shape.capacity, lambda) <= shape.weight);
    let of_matrix = (spare as u32).saturating_sub(2);
    widths.map(of_width).max().unwrap_or(0).min(of_matrix)
}

/// The shape of a random matrix (RS21 §2) for `n` keys, in one cluster of n + λ columns: a band as wide as the
/// store. Encoding takes time n³, so this is for few keys.
///
/// The first bit of each row is 1, and the others are random. A sum of an even number of rows is zero with
/// probability 2^-(n + λ − 1), and one of an odd number never; there are at most 2^(n − 1) sums of an even
/// number, so that rows are dependent with probability at most 2^-λ.
pub fn random_matrix(n: usize, lambda: u32) -> Shape {
    let columns = (n + lambda as usize).max(1);
    Shape {
        clusters: 1,
        capacity: n,
        weight: columns,
        sparse: columns,
        sparse_part: SparsePart::Band,
        dense: 0,
        dense_part: DensePart::Binary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_clusters_are_random_matrices() {
        assert_eq!(random_matrix(100, 40).sparse, 140);
        let many = band(4096, 100, Excess::Percent5, 40);
        assert!(many.clusters > 10 && many.weight == many.sparse, "{many:?}");
    }

    #[test]
    fn widths_equal_the_derived_table() {
        let row = |excess: Excess| {
            [10, 14, 16, 18, 20, 24].map(|log| band(1 << log, usize::MAX, excess, 40).weight)
        };
        assert_eq!(row(Excess::Percent3), [541, 555, 571, 593, 613, 663]);
        assert_eq!(row(Excess::Percent5), [321, 339, 350, 366, 377, 413]);
        assert_eq!(row(Excess::Percent7), [234, 250, 258, 268, 280, 300]);
        assert_eq!(row(Excess::Percent10), [169, 184, 189, 197, 206, 218]);
    }

    #[test]
    fn widths_grow_with_the_keys() {
        for excess in [Excess::Percent3, Excess::Percent5, Excess::Percent7, Excess::Percent10] {
            let width = |n| excess.width(n, 40);
            let sizes: Vec<usize> = (0..30).map(|log| (1 << log) + 1).collect();
            assert!(sizes.windows(2).all(|sizes| width(sizes[0]) <= width(sizes[1])));
            assert!(width(1 << 28) > width(1 << 24));
            assert_eq!(width((1 << 14) + 1), width(1 << 16));
        }
    }

    #[test]
    fn small_stores_are_random_matrices() {
        for n in [0, 1, 2, 100, 280, 1023] {
            let shape = band(n, usize::MAX, Excess::Percent5, 40);
            assert_eq!(shape, random_matrix(n, 40));
        }
        let shape = band(1024, usize::MAX, Excess::Percent5, 40);
        assert_eq!((shape.sparse, shape.weight), (1076, 321));
        // 31 columns, which are 3 %, would be too few.
        assert_eq!(band(1024, usize::MAX, Excess::Percent3, 40).sparse, 1024 + 42);
    }

    #[test]
    fn clusters_pay_for_their_number() {
        let (one, many) =
            [usize::MAX, 1 << 15].map(|target| band(1 << 20, target, Excess::Percent5, 40)).into();
        assert_eq!((one.clusters, one.columns()), (1, 1_101_005));
        assert_eq!((many.clusters, many.capacity), (32, 34_132));
        // λ' = 46, at the line of 2^16 keys.
        assert_eq!(many.weight, 393);
    }

    #[test]
    fn bands_are_one_way_when_they_are_wide() {
        let wide = band(1 << 20, usize::MAX, Excess::Percent10, 40);
        assert_eq!(wide.one_way(), wide);
        let narrow = Shape { weight: 100, ..wide };
        assert_eq!(narrow.one_way(), Shape { weight: 129, ..wide });
        let small = random_matrix(2, 40).one_way();
        assert_eq!((small.weight, small.sparse), (129, 129));
    }
}
