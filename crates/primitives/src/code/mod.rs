//! Codes: some spread the inputs of a 1-out-of-n OT far apart, others compress the sparse noise of a silent
//! VOLE.
//!
//! A [`Code`] maps words to codewords; any two of them differ in many places. The receiver of a 1-out-of-n OT
//! encodes its choices, which are secret, so no code performs a look-up whose address depends on a word.

mod bch;
pub mod block_accumulate;
mod concatenated;
mod linear;
pub mod permutation;
mod pseudo_random;
mod repetition;
mod sums;
mod walsh_hadamard;

use bytemuck::{Pod, Zeroable};
use zeroize::Zeroize;

pub use bch::{Bch, CutBch, ShortBch};
pub use block_accumulate::BlockAccumulate;
pub use concatenated::Concatenated;
pub use linear::{LinearCode, are_words};
pub use pseudo_random::PseudoRandomCode;
pub use repetition::Repetition;
pub use walsh_hadamard::WalshHadamard;

use crate::{Block, arch::Backend, hash::ROW_BLOCKS};

/// A map from words to codewords. A word is a block in which only the lowest [`Code::DIMENSION`] bits may be
/// set.
pub trait Code: Send + Sync {
    /// A codeword; bits beyond the width are 0.
    type Row: Row;

    /// Bits of a word.
    const DIMENSION: usize;

    /// Bits of a codeword.
    fn width(&self) -> usize;

    /// Encodes each word into a row.
    ///
    /// # Panics
    /// If the numbers of rows and words differ, or a word has too many bits.
    fn encode(&self, words: &[Block], rows: &mut [Self::Row]);

    /// Encodes words into the columns of their rows, one column after another: bit j of column i is bit i of
    /// the codeword of word j. Columns may be longer than the number of words; the rest is filled with zeros.
    ///
    /// # Panics
    /// If the number of columns is not the width, or columns are too short; and as [`Code::encode`] does.
    fn encode_columns(&self, words: &[Block], columns: &mut [Block]) {
        let len = columns.len() / self.width();
        assert!(words.len() <= 128 * len, "a place for each word");
        let mut rows = vec![Self::Row::zeroed(); 128 * TILES];
        let mut groups = words.chunks(128 * TILES);
        for first in (0..len).step_by(TILES) {
            let words = groups.next().unwrap_or_default();
            self.encode(words, &mut rows[..words.len()]);
            rows[words.len()..].fill(Self::Row::zeroed());
            let end = len.min(first + TILES);
            let blocks: &[Block] = bytemuck::cast_slice(&rows);
            for (across, columns) in columns.chunks_mut(128 * len).enumerate() {
                let mut tiles = [[Block::ZERO; 128]; TILES];
                let rows = blocks.iter().skip(across).step_by(Self::Row::BLOCKS);
                tiles.as_flattened_mut().iter_mut().zip(rows).for_each(|(bits, row)| *bits = *row);
                tiles[..end - first].iter_mut().for_each(|tile| Backend::current().transpose(tile));
                for (i, column) in columns.chunks_exact_mut(len).enumerate() {
                    for (block, tile) in column[first..end].iter_mut().zip(&tiles) {
                        *block = tile[i];
                    }
                }
            }
        }
    }
}

/// Groups of 128 words whose columns are made together: a cache line's worth of each column.
const TILES: usize = 4;

/// Several blocks that represent a row of a bit matrix.
pub trait Row: Pod + Zeroize + Send + Sync {
    /// The number of blocks.
    const BLOCKS: usize;

    /// The row that begins with these blocks, followed by zeros.
    ///
    /// # Panics
    /// If there are more blocks than fit.
    fn from_blocks(blocks: &[Block]) -> Self;

    /// This row followed by zeros, as [`RowHash`](crate::hash::RowHash) takes it. Does not compile for rows of
    /// more blocks.
    fn widen(&self) -> [Block; ROW_BLOCKS];

    /// Adds another row.
    fn add(&mut self, other: &Self);

    /// This row with `other` added where `mask` is set.
    fn add_masked(&self, other: &Self, mask: &Self) -> Self;
}

impl<const N: usize> Row for [Block; N] {
    const BLOCKS: usize = N;

    fn from_blocks(blocks: &[Block]) -> Self {
        let mut row = [Block::ZERO; N];
        row[..blocks.len()].copy_from_slice(blocks);
        row
    }

    #[inline]
    fn widen(&self) -> [Block; ROW_BLOCKS] {
        const { assert!(N <= ROW_BLOCKS, "the hash takes rows of four blocks") };
        let mut wide = [Block::ZERO; ROW_BLOCKS];
        wide[..N].copy_from_slice(self);
        wide
    }

    #[inline]
    fn add(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(to, from)| *to ^= *from);
    }

    #[inline]
    fn add_masked(&self, other: &Self, mask: &Self) -> Self {
        std::array::from_fn(|b| self[b] ^ (other[b] & mask[b]))
    }
}
