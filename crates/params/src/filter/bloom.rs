//! The sizes of Bloom filters, and the number of bits that an item sets.

use super::{Rate, Shape};
use crate::search::least;

/// A Bloom filter: each item sets `hashes` of `bits` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomShape {
    /// The number of items.
    pub items: usize,
    /// Bits of the filter.
    pub bits: usize,
    /// The number of positions of an item.
    pub hashes: usize,
    /// Whether an item's positions all differ.
    pub distinct: bool,
}

impl BloomShape {
    /// The classic filter. Positions of an item may coincide, which makes false positives more likely than
    /// fill^hashes; secure shapes for few items have some more bits for that reason.
    pub fn new(items: usize, rate: Rate) -> Self {
        Self::with_rate(items, rate, false)
    }

    /// The filter whose items have distinct positions.
    pub fn distinct(items: usize, rate: Rate) -> Self {
        Self::with_rate(items, rate, true)
    }

    /// The sparse filter of RR16, made for its cut and choose: so sparse that a receiver that cheats on some
    /// bits gains nothing. Positions and bits per item are the authors' (RR16's code, without a formula):
    /// positions from the next larger row, bits per item from the next smaller.
    pub fn sparse(items: usize) -> Self {
        const ROWS: [(u32, usize, usize); 8] = [
            (8, 94, 88_627),
            (10, 94, 302_436),
            (12, 94, 1_121_959),
            (13, 92, 2_181_857),
            (14, 93, 4_270_964),
            (16, 91, 16_579_297),
            (18, 90, 65_163_755),
            (20, 90, 257_635_123),
        ];
        let hashes = ROWS.iter().find(|row| items <= 1 << row.0).map_or(90, |row| row.1);
        let below = ROWS.iter().rfind(|row| items >= 1 << row.0).unwrap_or(&ROWS[0]);
        let bits = (items as u128 * below.2 as u128).div_ceil(1 << below.0) as usize;
        Self { items, bits: bits.max(hashes + 1), hashes, distinct: true }
    }

    fn with_rate(items: usize, rate: Rate, distinct: bool) -> Self {
        let hashes = libm::ceil(rate.bits).max(1.0) as usize;
        let classic = libm::ceil((items * hashes) as f64 / std::f64::consts::LN_2) as usize;
        let shape = |bits| Self { items, bits, hashes, distinct };
        let low = hashes + 1;
        if rate.published {
            return shape(classic.max(low));
        }
        let enough = |bits: usize| shape(bits).log2_rate() <= rate.log2();
        shape(least(low, classic, enough))
    }

    /// The expected fraction of bits that are set.
    pub fn fill(&self) -> f64 {
        let (items, bits) = (self.items as f64, self.bits as f64);
        let missed = if self.distinct {
            items * libm::log1p(-(self.hashes as f64) / bits)
        } else {
            items * self.hashes as f64 * libm::log1p(-1.0 / bits)
        };
        -libm::expm1(missed)
    }
}

impl Shape for BloomShape {
    fn items(&self) -> usize {
        self.items
    }

    /// Set bits are negatively associated, so d distinct ones are all set with probability at most fill^d. If
    /// positions may coincide, this is averaged over the number of distinct positions of a query.
    fn log2_rate(&self) -> f64 {
        let fill = self.fill();
        if self.distinct {
            return self.hashes as f64 * libm::log2(fill);
        }
        // `of[d]` is the probability that the positions so far are d distinct ones.
        let mut of = vec![0.0; self.hashes + 1];
        of[0] = 1.0;
        for drawn in 1..=self.hashes {
            for d in (1..=drawn).rev() {
                let seen = |d: usize| d as f64 / self.bits as f64;
                of[d] = of[d] * seen(d) + of[d - 1] * (1.0 - seen(d - 1));
            }
            of[0] = 0.0;
        }
        let hit = |d: usize| of[d] * libm::pow(fill, d as f64);
        libm::log2((0..=self.hashes).map(hit).sum())
    }

    fn wire_bits(&self) -> u128 {
        self.bits as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adversary, LAMBDA};

    fn sound(queries: usize) -> Rate {
        Rate::sound(Adversary::SemiHonest, queries, LAMBDA).unwrap()
    }

    #[test]
    fn bloom_filters_of_many_items_are_the_classic_ones() {
        let shape = BloomShape::new(1 << 20, sound(1 << 20));
        assert_eq!(shape.hashes, 60);
        let bits = shape.bits as f64 / f64::from(1 << 20);
        assert!((bits - 86.6).abs() < 0.05, "{bits} bits an item");
        // Table 1: n λ / ln 2 bits.
        let published = BloomShape::new(1000, Rate::liang22(Adversary::SemiHonest).unwrap());
        assert_eq!((published.hashes, published.bits), (40, 57_708));
        // For few items, equal positions matter: the rate of the classic filter of one item far exceeds 2^-40,
        // and one with distinct positions is better than fill^40.
        let classic = BloomShape { items: 1, bits: 58, hashes: 40, distinct: false };
        assert!(classic.log2_rate() > -38.0, "{}", classic.log2_rate());
        assert!(BloomShape::new(1, sound(1)).bits > 58);
    }

    #[test]
    fn the_rate_of_few_positions_is_the_sum_by_hand() {
        // Two positions out of three: equal with probability 1/3; one item fills 5/9 on average.
        let shape = BloomShape { items: 1, bits: 3, hashes: 2, distinct: false };
        let fill: f64 = 5.0 / 9.0;
        let by_hand = fill / 3.0 + fill * fill * 2.0 / 3.0;
        assert!((shape.log2_rate() - libm::log2(by_hand)).abs() < 1e-12);
    }

    #[test]
    fn sparse_filters_equal_the_table_and_are_sparse() {
        let at = |e: u32| (BloomShape::sparse(1 << e).hashes, BloomShape::sparse(1 << e).bits);
        assert_eq!([8, 14, 20].map(at), [(94, 88_627), (93, 4_270_964), (90, 257_635_123)]);
        for items in [0, 1, 2, 3, 100, 1000, 5000, 65_537, 3_000_000] {
            let shape = BloomShape::sparse(items);
            assert!(shape.log2_rate() < -128.0, "{items}: 2^{}", shape.log2_rate());
            assert!(shape.fill() < 0.32, "{items}: {}", shape.fill());
        }
    }
}
