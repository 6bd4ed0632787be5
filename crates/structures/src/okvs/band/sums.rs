//! Sums of the columns selected by the bits of a band.

use vesica_primitives::BinaryVector;

/// Columns looked up together in a table of all their sums. With 4, the tables of a band fit the
/// first-level cache.
const GROUP: usize = 4;

/// The sums of each group of columns in a word of 64.
type Word<V> = [[V; 1 << GROUP]; 64 / GROUP];

/// The sums of the columns in a window of words, which moves over the columns.
pub struct WindowSums<V> {
    /// The table of word `i` is at `i` modulo the length, which is a power of two.
    tables: Vec<Word<V>>,
    /// Words per band.
    words: usize,
    /// The words whose tables are ready: from this one up to `end`.
    start: usize,
    end: usize,
}

impl<V: BinaryVector> WindowSums<V> {
    /// For bands of `words` words.
    pub fn new(words: usize) -> Self {
        let tables = vec![[[V::default(); 1 << GROUP]; 64 / GROUP]; words.next_power_of_two()];
        Self { tables, words, start: 0, end: 0 }
    }

    /// The sum of the columns in a band that begins in the word `first` with the bits `head` and continues with the
    /// bits of `tail`.
    #[inline]
    pub fn sum(&self, first: usize, head: u64, tail: &[u64]) -> V {
        let mask = self.tables.len() - 1;
        let mut sum = sum_of_word(&self.tables[first & mask], head);
        for (i, word) in (first + 1..).zip(tail) {
            sum ^= sum_of_word(&self.tables[i & mask], *word);
        }
        sum
    }

    /// Adds a column. Columns come from the last to the first; until the other columns of its group have been
    /// added, only bands without these can be summed.
    #[inline]
    pub fn set(&mut self, column: usize, value: V) {
        let mask = self.tables.len() - 1;
        let sums = &mut self.tables[(column / 64) & mask][column % 64 / GROUP];
        match column % GROUP {
            0 => add::<0, V>(sums, value),
            1 => add::<1, V>(sums, value),
            2 => add::<2, V>(sums, value),
            _ => add::<3, V>(sums, value),
        }
    }

    /// Adds the columns that a band starting in the word `first` may have. Cheap if this is the word of the
    /// last call, or one of the next.
    #[inline]
    pub fn cover(&mut self, first: usize, columns: &[V]) {
        if first < self.start || first > self.end {
            (self.start, self.end) = (first, first);
        }
        while self.end < first + self.words {
            self.take(self.end, columns);
            self.end += 1;
            self.start = self.start.max(self.end.saturating_sub(self.tables.len()));
        }
    }

    /// Adds the columns of a word; those beyond the last are zero.
    fn take(&mut self, word: usize, columns: &[V]) {
        let mask = self.tables.len() - 1;
        let columns = columns.get(64 * word..).unwrap_or_default();
        let mut groups = columns.chunks(GROUP);
        for sums in &mut self.tables[word & mask] {
            let mut group = [V::default(); GROUP];
            if let Some(columns) = groups.next() {
                group[..columns.len()].copy_from_slice(columns);
            }
            add::<3, V>(sums, group[3]);
            add::<2, V>(sums, group[2]);
            add::<1, V>(sums, group[1]);
            add::<0, V>(sums, group[0]);
        }
    }
}

/// Adds column `I` of a group, given the sums of the columns after it.
#[inline(always)]
fn add<const I: usize, V: BinaryVector>(sums: &mut [V; 1 << GROUP], value: V) {
    for set in (0..1 << GROUP).step_by(2 << I) {
        sums[set + (1 << I)] = sums[set] ^ value;
    }
}

/// Sums in two chains that do not wait for each other.
#[inline(always)]
fn sum_of_word<V: BinaryVector>(tables: &Word<V>, mut bits: u64) -> V {
    let (mut even, mut odd) = (V::default(), V::default());
    for pair in tables.as_chunks::<2>().0 {
        even ^= pair[0][(bits & 15) as usize];
        odd ^= pair[1][(bits >> GROUP & 15) as usize];
        bits >>= 2 * GROUP;
    }
    even ^ odd
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    fn bit_by_bit(columns: &[u64], first: usize, row: &[u64]) -> u64 {
        let bit = |i: &usize| row[i / 64] >> (i % 64) & 1 == 1;
        let ones = (0..row.len() * 64).filter(bit);
        ones.fold(0, |sum, i| sum ^ columns.get(first * 64 + i).unwrap_or(&0))
    }

    #[test]
    fn windows_move_in_any_direction() {
        let mut rng = StdRng::seed_from_u64(1);
        let columns: Vec<u64> = (0..64 * 20 + 7).map(|_| rng.random()).collect();
        for words in [1, 2, 3, 4, 7] {
            let mut sums = WindowSums::new(words);
            for first in [0, 0, 1, 2, 5, 6, 20, 20, 3, 12, 13, 0, 19] {
                let row: Vec<u64> = (0..words).map(|_| rng.random()).collect();
                sums.cover(first, &columns);
                let expected = bit_by_bit(&columns, first, &row);
                assert_eq!(sums.sum(first, row[0], &row[1..]), expected, "{words}, {first}");
            }
        }
    }

    #[test]
    fn columns_become_known_from_the_last_to_the_first() {
        let mut rng = StdRng::seed_from_u64(2);
        let columns: Vec<u64> = (0..64 * 9 + 3).map(|_| rng.random()).collect();
        let mut sums = WindowSums::new(3);
        for column in (0..columns.len()).rev() {
            sums.set(column, columns[column]);
            let first = column / 64;
            let rows =
                [rng.random::<u64>() >> (column % 64) << (column % 64), rng.random(), rng.random()];
            // Columns beyond the last are unknown.
            let words = rows.len().min(9 - first);
            let expected = bit_by_bit(&columns, first, &rows[..words]);
            if first < 9 {
                assert_eq!(sums.sum(first, rows[0], &rows[1..words]), expected, "{column}");
            }
        }
    }
}
