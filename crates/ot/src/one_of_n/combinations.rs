//! Random sums of rows, as checked by [`oos17`](super::oos17).

use rayon::prelude::*;
use vesica_params::LAMBDA;
use vesica_primitives::{Block, Seed, aes::Prg, code::Row};

/// The number of sums. Wrong rows escape s sums with probability below 2^-(s − 1), so one more than λ keeps
/// that below 2^-λ.
pub const SUMS: usize = LAMBDA as usize + 1;

/// Rows whose coefficients are drawn together: a byte for each sum.
const GROUP: usize = 8;

/// Groups that one thread takes at a time.
const TASK_GROUPS: usize = 128;

/// Coefficients of the rows in all sums, derived from a public challenge.
///
/// They are the stream of a generator whose seed is the challenge, so rows do not drop out for any challenge, such as
/// 0.
pub struct Combinations {
    /// For each group of rows, one byte per sum, whose bit i is the coefficient of row i.
    coefficients: Vec<Block>,
}

impl Combinations {
    /// The coefficients of `rows` rows.
    pub fn new(challenge: Block, rows: usize) -> Self {
        let bytes = rows.div_ceil(GROUP) * SUMS;
        let mut coefficients = vec![Block::ZERO; bytes.div_ceil(size_of::<Block>())];
        Prg::new(&Seed::new(challenge)).fill(&mut coefficients);
        Self { coefficients }
    }

    /// The sums of these rows. Each sum also has one of the last [`SUMS`] rows, which belongs to no other sum
    /// and hides it.
    ///
    /// # Panics
    /// If the number of rows is not the one given at construction, plus the masks.
    pub fn of<R: Row>(&self, rows: &[R]) -> [R; SUMS] {
        let (rows, masks) = rows.split_at(rows.len() - SUMS);
        let bytes: &[u8] = bytemuck::cast_slice(&self.coefficients);
        let (groups, _) = bytes.as_chunks::<SUMS>();
        assert_eq!(groups.len(), rows.len().div_ceil(GROUP), "coefficients for each row");
        let tasks = rows.par_chunks(TASK_GROUPS * GROUP).zip(groups.par_chunks(TASK_GROUPS));
        let sums = tasks.map(|(rows, groups)| {
            let mut sums = [R::zeroed(); SUMS];
            let rows = rows.chunks(GROUP).zip(groups);
            rows.for_each(|(rows, coefficients)| add(&mut sums, rows, coefficients));
            sums
        });
        let nothing = || [R::zeroed(); SUMS];
        let mut sums = sums.reduce(nothing, |mut left, right| {
            left.iter_mut().zip(&right).for_each(|(left, right)| left.add(right));
            left
        });
        sums.iter_mut().zip(masks).for_each(|(sum, mask)| sum.add(mask));
        sums
    }
}

/// Adds a group of rows to the sums that they belong to. All sums of the lower four and of the upper four are
/// computed first, so that each sum takes two additions instead of four.
fn add<R: Row>(sums: &mut [R; SUMS], rows: &[R], coefficients: &[u8; SUMS]) {
    // The last group may be incomplete; its missing rows have coefficients too.
    let mut whole = [R::zeroed(); GROUP];
    whole[..rows.len()].copy_from_slice(rows);
    let mut tables = [[R::zeroed(); 1 << (GROUP / 2)]; 2];
    for (rows, table) in whole.chunks(GROUP / 2).zip(&mut tables) {
        for (i, row) in rows.iter().enumerate() {
            let (below, with) = table.split_at_mut(1 << i);
            for (with, below) in with.iter_mut().zip(below) {
                *with = *below;
                with.add(row);
            }
        }
    }
    let [low, high] = &tables;
    for (sum, coefficients) in sums.iter_mut().zip(coefficients) {
        sum.add(&low[usize::from(coefficients & 15)]);
        sum.add(&high[usize::from(coefficients >> 4)]);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    /// An upper bound on the probability that rows that span `dimension` dimensions modulo the code pass
    /// because the sums span fewer and the receiver guesses a bit of Δ for each of those: see
    /// [`oos17`](crate::one_of_n::oos17).
    fn wrong_rows_pass(dimension: usize) -> f64 {
        let power = |e: usize, of: usize| 2f64.powi(e as i32 - of as i32);
        let has_rank = |rank: usize| {
            let factor =
                |i| (1.0 - power(i, SUMS)) * (1.0 - power(i, dimension)) / (1.0 - power(i, rank));
            power(0, (SUMS - rank) * (dimension - rank)) * (0..rank).map(factor).product::<f64>()
        };
        (0..dimension.min(SUMS + 1)).map(|rank| has_rank(rank) * power(0, rank)).sum()
    }

    #[test]
    fn wrong_rows_pass_no_more_often_than_lambda_allows() {
        for dimension in 1..=4 * SUMS {
            // A single dimension that every sum misses needs no guess.
            assert!(wrong_rows_pass(dimension) <= 2f64.powi(-(LAMBDA as i32)), "{dimension}");
        }
    }

    #[test]
    fn sums_are_those_of_the_coefficients() {
        let rng = &mut StdRng::seed_from_u64(1);
        for n in [0, 1, 3, 4, 5, 7, 8, 9, 1000, 1024, 1025, 5000] {
            let rows: Vec<[Block; 2]> =
                (0..n + SUMS).map(|_| [Block(rng.random()), Block(rng.random())]).collect();
            let combinations = Combinations::new(Block(rng.random()), n);
            let bytes: &[u8] = bytemuck::cast_slice(&combinations.coefficients);
            let sums = combinations.of(&rows);
            for (l, sum) in sums.iter().enumerate() {
                let mut expected = rows[n + l];
                for (j, row) in rows[..n].iter().enumerate() {
                    if bytes[j / 8 * SUMS + l] >> (j % 8) & 1 == 1 {
                        expected.add(row);
                    }
                }
                assert_eq!(*sum, expected, "sum {l} of {n} rows");
            }
        }
    }

    /// Each row occurs in about half of the sums, for every challenge.
    #[test]
    fn no_row_drops_out() {
        for challenge in [0, 1, u128::MAX] {
            let n = 2000;
            let mut taken = 0;
            for row in 0..n {
                let mut rows = vec![[Block::ZERO]; n + SUMS];
                rows[row] = [Block(1)];
                let sums = Combinations::new(Block(challenge), n).of(&rows);
                let here = sums.iter().filter(|sum| sum[0] == Block(1)).count();
                // Three or fewer, or all but three or fewer, have probability 2^-26.
                assert!((4..=SUMS - 4).contains(&here), "row {row}: {here}");
                taken += here;
            }
            let expected = n * SUMS / 2;
            assert!(taken.abs_diff(expected) < 5 * (expected as f64 / 2.0).sqrt() as usize);
        }
    }
}
