//! Queues of bits.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// A queue of bits, 64 a word. Zeroized when dropped.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Tape {
    /// The first bit is the lowest bit of the first word; bits not written yet are 0.
    words: Vec<u64>,
    written: usize,
    read: usize,
}

impl Tape {
    /// Creates a tape with room for `bits` bits. More must not be written, since growing would leave a copy of secrets
    /// in memory.
    pub(crate) fn with_room(bits: usize) -> Self {
        Self { words: Vec::with_capacity(bits.div_ceil(64)), written: 0, read: 0 }
    }

    /// The first `bits` bits of `words`.
    pub(crate) fn of_words(words: Vec<u64>, bits: usize) -> Self {
        assert_eq!(words.len(), bits.div_ceil(64), "a word for 64 bits");
        Self { words, written: bits, read: 0 }
    }

    /// The number of unread bits.
    pub(crate) fn left(&self) -> usize {
        self.written - self.read
    }

    /// All that has been written.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// All that has been written, for modification.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Writes the lowest `count` bits of a word whose other bits are 0; `count` is up to 64.
    pub(crate) fn push(&mut self, word: u64, count: usize) {
        debug_assert!(count == 64 || word >> count == 0, "no more than {count} bits");
        let shift = self.written % 64;
        let fits = self.written.next_multiple_of(64) - self.written;
        if let (Some(last), 1..) = (self.words.last_mut(), fits) {
            *last |= word << shift;
        }
        if count > fits {
            debug_assert!(
                self.words.len() < self.words.capacity(),
                "as much room as was asked for"
            );
            self.words.push(word.checked_shr(fits as u32).unwrap_or(0));
        }
        self.written += count;
    }

    /// Writes a row of `count` bits; later bits of the row are 0.
    pub(crate) fn push_row(&mut self, row: &[u64], count: usize) {
        let mut left = count;
        for &word in row {
            self.push(word, left.min(64));
            left -= left.min(64);
        }
    }

    /// Writes the sum of two rows of `count` bits.
    pub(crate) fn push_sum(&mut self, left: &[u64], right: &[u64], count: usize) {
        let mut left_over = count;
        for (left, right) in left.iter().zip(right) {
            self.push(left ^ right, left_over.min(64));
            left_over -= left_over.min(64);
        }
    }

    /// Reads the next `count` bits as a row. Bits beyond them are 0.
    ///
    /// # Panics
    /// If fewer bits are left.
    pub(crate) fn take_row(&mut self, count: usize) -> Vec<u64> {
        assert!(count <= self.left(), "as many bits as are left");
        let (first, shift) = (self.read / 64, (self.read % 64) as u32);
        let words = &self.words[first..self.words.len().min((self.read + count).div_ceil(64))];
        let mut row: Vec<u64> = match shift {
            0 => words.to_vec(),
            _ => {
                let above = words.iter().skip(1).chain([&0]);
                let both = words.iter().zip(above);
                both.map(|(low, high)| low >> shift | high << (64 - shift)).collect()
            }
        };
        row.truncate(count.div_ceil(64));
        if let (Some(last), 1..) = (row.last_mut(), count % 64) {
            *last &= (1 << (count % 64)) - 1;
        }
        self.read += count;
        row
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn written_bits_are_read_back() {
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..300 {
            let counts: Vec<usize> = (0..20).map(|_| rng.random_range(0..=64)).collect();
            let total = counts.iter().sum();
            let mut tape = Tape::with_room(total);
            let mut bits = Vec::new();
            for count in counts {
                let word = rng.random::<u64>()
                    & 1u64.checked_shl(count as u32).unwrap_or(0).wrapping_sub(1);
                tape.push(word, count);
                bits.extend((0..count).map(|i| word >> i & 1));
            }
            assert_eq!((tape.left(), tape.words().len()), (total, total.div_ceil(64)));
            let mut copy = Tape::of_words(tape.words().to_vec(), total);
            let mut read = Vec::new();
            while tape.left() > 0 {
                let count = rng.random_range(0..=tape.left().min(200));
                let row = tape.take_row(count);
                assert_eq!(row.len(), count.div_ceil(64));
                assert!(count % 64 == 0 || row[count / 64] >> (count % 64) == 0);
                read.extend((0..count).map(|i| row[i / 64] >> (i % 64) & 1));
            }
            assert_eq!(read, bits);
            let mut rows = Tape::with_room(2 * total);
            let row = copy.take_row(total);
            rows.push_row(&row, total);
            rows.push_row(&row, total);
            rows.take_row(total);
            assert_eq!(rows.take_row(total), row);
        }
    }
}
