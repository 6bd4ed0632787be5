//! Linear codes, encoding many words at a time.

use super::{Code, Row, TILES};
use crate::{Block, arch::Backend, declassify};

/// A code whose codewords are sums of rows of a matrix.
///
/// Words are encoded 128 at a time, with bit i of all of them in one block. A place of the codewords is then a
/// sum of such blocks, the same for all words, and nothing depends on the words' values.
pub trait LinearCode: Send + Sync {
    /// A codeword.
    type Row: Row;

    /// Bits of a word.
    const DIMENSION: usize;

    /// Bits of a codeword.
    const WIDTH: usize;

    /// The least number of places in which two codewords differ.
    const DISTANCE: usize;

    /// Encodes T times 128 words: from their bits ([`LinearCode::DIMENSION`] of them) to the places of
    /// their codewords ([`LinearCode::WIDTH`]), both with T blocks each.
    fn spread<const T: usize>(&self, bits: &[[Block; T]], places: &mut [[Block; T]]);

    /// Encodes each word into a row, 128 at a time unless a code has a faster way.
    fn encode_rows(&self, words: &[Block], rows: &mut [Self::Row]) {
        // Whole tiles, with zeros beyond the width.
        let mut places = vec![[Block::ZERO; 1]; 128 * Self::Row::BLOCKS];
        for (words, rows) in words.chunks(128).zip(rows.chunks_mut(128)) {
            let tile = bits_of(words);
            let bits: &[[Block; 1]] = bytemuck::cast_slice(&tile[..Self::DIMENSION]);
            self.spread(bits, &mut places[..Self::WIDTH]);
            places[Self::WIDTH..].fill([Block::ZERO]);
            let (tiles, _) = places.as_flattened_mut().as_chunks_mut::<128>();
            let rows: &mut [Block] = bytemuck::cast_slice_mut(rows);
            for (across, tile) in tiles.iter_mut().enumerate() {
                Backend::current().transpose(tile);
                let rows = rows.iter_mut().skip(across).step_by(Self::Row::BLOCKS);
                rows.zip(tile).for_each(|(row, bits)| *row = *bits);
            }
        }
    }
}

impl<L: LinearCode> Code for L {
    type Row = L::Row;

    const DIMENSION: usize = L::DIMENSION;

    fn width(&self) -> usize {
        L::WIDTH
    }

    fn encode(&self, words: &[Block], rows: &mut [L::Row]) {
        assert_eq!(words.len(), rows.len(), "a row for each word");
        assert_words::<L>(words);
        self.encode_rows(words, rows);
    }

    fn encode_columns(&self, words: &[Block], columns: &mut [Block]) {
        let len = columns.len() / L::WIDTH;
        assert_eq!(len * L::WIDTH, columns.len(), "{} columns", L::WIDTH);
        assert!(words.len() <= 128 * len, "a place for each word");
        assert_words::<L>(words);
        let mut bits = vec![[Block::ZERO; TILES]; L::DIMENSION];
        let mut places = vec![[Block::ZERO; TILES]; L::WIDTH];
        let mut groups = words.chunks(128);
        for first in (0..len).step_by(TILES) {
            for t in 0..TILES {
                let tile = bits_of(groups.next().unwrap_or_default());
                bits.iter_mut().zip(tile).for_each(|(bits, tile)| bits[t] = tile);
            }
            self.spread(&bits, &mut places);
            let end = len.min(first + TILES);
            for (column, place) in columns.chunks_exact_mut(len).zip(&places) {
                column[first..end].copy_from_slice(&place[..end - first]);
            }
        }
    }
}

fn assert_words<L: LinearCode>(words: &[Block]) {
    assert!(are_words(words, L::DIMENSION), "words of {} bits", L::DIMENSION);
}

/// Whether no word has more than `bits` bits; nothing else about them shows in the time.
pub fn are_words(words: &[Block], bits: usize) -> bool {
    let set = words.iter().fold(0, |set, word| set | word.0);
    declassify(set.checked_shr(bits as u32).unwrap_or(0)) == 0
}

/// Block i holds bit i of each of up to 128 words.
fn bits_of(words: &[Block]) -> [Block; 128] {
    let mut tile = [Block::ZERO; 128];
    tile[..words.len()].copy_from_slice(words);
    Backend::current().transpose(&mut tile);
    tile
}

/// Tests that linear codes share.
#[cfg(test)]
pub(super) mod tests {
    use bytemuck::Zeroable;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;
    use crate::matrix::columns_to_rows;

    pub fn codeword<L: LinearCode>(code: &L, word: u128) -> L::Row {
        let mut rows = [L::Row::zeroed()];
        code.encode(&[Block(word)], &mut rows);
        rows[0]
    }

    pub fn blocks(row: &impl Row) -> &[Block] {
        bytemuck::cast_slice(std::slice::from_ref(row))
    }

    pub fn weight(row: &impl Row) -> usize {
        blocks(row).iter().map(|block| block.0.count_ones() as usize).sum()
    }

    pub fn random_words<L: LinearCode>(n: usize, seed: u64) -> Vec<Block> {
        let mut rng = StdRng::seed_from_u64(seed);
        (0..n).map(|_| Block(rng.random::<u128>() >> (128 - L::DIMENSION))).collect()
    }

    /// Columns and rows agree for every number of words; sums of words become sums of codewords; no sampled
    /// codeword is lighter than the distance; bits beyond the width are 0.
    pub fn conforms<L: LinearCode>(code: &L) {
        assert_eq!(code.width(), L::WIDTH);
        for n in [0, 1, 2, 127, 128, 129, 511, 512, 513, 1000] {
            let words = random_words::<L>(n, n as u64);
            let mut rows = vec![L::Row::zeroed(); n];
            code.encode(&words, &mut rows);
            let len = n.div_ceil(128);
            let mut columns = vec![Block(5); len * L::WIDTH];
            code.encode_columns(&words, &mut columns);
            let mut transposed = vec![L::Row::zeroed(); n];
            if n > 0 {
                let out = bytemuck::cast_slice_mut(&mut transposed);
                columns_to_rows(&columns, 128 * len, out, L::Row::BLOCKS);
            }
            for (i, (row, transposed)) in rows.iter().zip(&transposed).enumerate() {
                assert_eq!(blocks(row), blocks(transposed), "word {i} of {n}");
                let alone = codeword(code, words[i].0);
                assert_eq!(blocks(row), blocks(&alone), "word {i} of {n}");
                let beyond = |bit: usize| blocks(row)[bit / 128].0 >> (bit % 128) & 1;
                assert!((L::WIDTH..128 * L::Row::BLOCKS).all(|bit| beyond(bit) == 0));
                assert!(words[i] == Block::ZERO || weight(row) >= L::DISTANCE);
            }
            for i in 1..n {
                let mut sum = rows[i - 1];
                sum.add(&rows[i]);
                let of_sum = codeword(code, (words[i - 1] ^ words[i]).0);
                assert_eq!(blocks(&sum), blocks(&of_sum), "word {i} of {n}");
            }
        }
        assert_eq!(weight(&codeword(code, 0)), 0);
    }
}
