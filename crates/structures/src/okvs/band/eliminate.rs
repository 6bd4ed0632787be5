//! Solving and filling one cluster of bands.
//!
//! 1. Take rows in the order of their start. Add to each the reduced row of its first column, as long as that
//!    column has one; the column at which this ends is determined by this row. A reduced row lies within the
//!    band of the row it comes from, and bands of later rows do not end earlier, so a row stays within its
//!    band.
//! 2. Do the same to the values.
//! 3. Go through the determined columns from the last to the first: each equals its value plus the sum of the
//!    other columns of its reduced row.
//!
//! Step 1 does not look at values. For each row it records the columns whose reduced rows were added; these
//! are few and near the start, and are stored in as many words as needed.

use vesica_primitives::{BinaryVector, Block};

use super::{Band, WindowSums};
use crate::okvs::{BATCH, Error};

/// The state of the cluster that was last solved.
#[derive(Default)]
pub struct Elimination {
    /// Words per row.
    words: usize,
    /// The reduced row of each determined column, starting at the word that contains the column.
    reduced: Vec<u64>,
    /// One bit for each column: whether it is determined.
    determined: Vec<u64>,
    /// The rows in the order in which they were reduced.
    steps: Vec<EliminationStep>,
    /// The columns that the steps refer to.
    added: Vec<u64>,
}

/// The reduction of a row.
struct EliminationStep {
    /// The number of its key.
    key: u32,
    /// The column that it determines, or [`DEPENDENT`].
    column: u32,
    /// The word in which it starts, and its number of words in `added`: the columns, counted from that word,
    /// whose reduced rows were added to it.
    first: u32,
    words: u32,
}

/// Instead of a column: the row reduced to zero.
const DEPENDENT: u32 = u32::MAX;

impl Elimination {
    /// Step 1.
    pub fn solve(&mut self, store: &Band, keys: &[Block]) -> Result<(), Error> {
        let shape = store.shape();
        if keys.len() > shape.capacity {
            return Err(Error::Overflow);
        }
        self.words = store.words();
        self.steps.clear();
        self.added.clear();
        self.steps.reserve(keys.len());
        self.determined.clear();
        self.determined.resize(shape.sparse.div_ceil(64), 0);
        // The entry of a determined column is always written when the column becomes determined, so old
        // contents do not matter.
        if self.reduced.len() != shape.sparse * self.words {
            self.reduced = vec![0; shape.sparse * self.words];
        }
        let order = in_order(store, keys);
        let mut rows = store.rows();
        for numbers in order.chunks(BATCH) {
            let mut batch = [Block::ZERO; BATCH];
            for (key, number) in batch.iter_mut().zip(numbers) {
                *key = keys[*number as usize];
            }
            rows.read(store, &batch[..numbers.len()]);
            let starts = rows.starts.iter().zip(rows.bits.chunks_exact_mut(self.words));
            for (number, (start, row)) in numbers.iter().zip(starts) {
                let first = *start as usize / 64;
                // A number of words that is known at compile time halves the time.
                match row.len() {
                    4 => self.reduce(*number, first, &mut row[..4]),
                    5 => self.reduce(*number, first, &mut row[..5]),
                    6 => self.reduce(*number, first, &mut row[..6]),
                    7 => self.reduce(*number, first, &mut row[..7]),
                    8 => self.reduce(*number, first, &mut row[..8]),
                    10 => self.reduce(*number, first, &mut row[..10]),
                    11 => self.reduce(*number, first, &mut row[..11]),
                    _ => self.reduce(*number, first, row),
                }
            }
        }
        Ok(())
    }

    /// Reduces the row of a key, which starts in the word `first`.
    #[inline(always)]
    fn reduce(&mut self, key: u32, first: usize, row: &mut [u64]) {
        let (before, mut added, mut at) = (self.added.len(), 0, 0);
        let column = loop {
            // The words of the row from `at` on, followed by zeros.
            if row[0] == 0 {
                self.added.push(added);
                (added, at) = (0, at + 1);
                if at == row.len() {
                    break DEPENDENT;
                }
                row.copy_within(1.., 0);
                row[row.len() - 1] = 0;
                continue;
            }
            let bit = row[0].trailing_zeros();
            let column = 64 * (first + at) + bit as usize;
            let reduced = &mut self.reduced[column * row.len()..][..row.len()];
            if self.determined[first + at] >> bit & 1 == 0 {
                reduced.copy_from_slice(row);
                self.determined[first + at] |= 1 << bit;
                break column as u32;
            }
            row.iter_mut().zip(reduced).for_each(|(row, reduced)| *row ^= *reduced);
            added |= 1 << bit;
        };
        if added != 0 {
            self.added.push(added);
        }
        let words = (self.added.len() - before) as u32;
        self.steps.push(EliminationStep { key, column, first: first as u32, words });
    }

    /// Steps 2 and 3: makes the keys that were last solved decode to `values`.
    pub fn fill<V: BinaryVector>(&self, values: &[V], columns: &mut [V]) -> Result<(), Error> {
        let mut added = self.added.iter();
        for EliminationStep { key, column, first, words } in &self.steps {
            let mut value = values[*key as usize];
            for (word, bits) in (*first as usize..).zip(added.by_ref().take(*words as usize)) {
                let mut bits = *bits;
                while bits != 0 {
                    value ^= columns[64 * word + bits.trailing_zeros() as usize];
                    bits &= bits - 1;
                }
            }
            if *column != DEPENDENT {
                columns[*column as usize] = value;
            } else if value != V::default() {
                return Err(Error::NoSolution);
            }
        }
        self.substitute(columns);
        Ok(())
    }

    /// Step 3.
    fn substitute<V: BinaryVector>(&self, columns: &mut [V]) {
        let mut sums = WindowSums::new(self.words);
        let rows = self.reduced.chunks_exact(self.words);
        for ((number, column), row) in columns.iter_mut().enumerate().rev().zip(rows.rev()) {
            if self.determined[number / 64] >> (number % 64) & 1 == 1 {
                // Excludes the column itself, which is the first of its row.
                *column ^= sums.sum(number / 64, row[0] & (row[0] - 1), &row[1..]);
            }
            sums.set(number, *column);
        }
    }
}

/// The indices of keys in the order in which their rows start.
fn in_order(store: &Band, keys: &[Block]) -> Vec<u32> {
    let mut starts = Vec::with_capacity(keys.len());
    for keys in keys.chunks(BATCH) {
        let fractions = store.fractions(keys);
        starts.extend(fractions[..keys.len()].iter().map(|fraction| store.start(*fraction)));
    }
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    // Placed keys are already in order.
    if !starts.is_sorted() {
        order.sort_by_key(|number| starts[*number as usize]);
    }
    order
}
