//! Rows of numbers of several widths, which are added and subtracted as wholes.
//!
//! Two parties that share many numbers for each item keep them side by side: one mask covers a whole row, and one OT
//! serves all its numbers.

use std::ops::Range;

use vesica_primitives::{Block, aes::CircularRobust, arch::opaque};

/// The width of a number: it is an integer modulo 2^32, 2^64 or 2^128, read as a signed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// Four bytes.
    Bits32,
    /// Eight bytes.
    Bits64,
    /// Sixteen bytes.
    Bits128,
}

impl Width {
    /// The narrowest width of at least this many bits, or else the widest.
    pub fn holding(bits: usize) -> Self {
        Self::ALL.into_iter().find(|width| bits <= width.bits()).unwrap_or(Self::Bits128)
    }

    /// All widths, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Bits32, Self::Bits64, Self::Bits128];

    /// Bits of a number.
    pub const fn bits(self) -> usize {
        8 * self.bytes()
    }

    /// Bytes of a number.
    pub const fn bytes(self) -> usize {
        4 << self as usize
    }
}

/// The place of a number in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberField {
    width: Width,
    start: usize,
}

impl NumberField {
    /// The number's width.
    pub fn width(self) -> Width {
        self.width
    }

    fn bytes(self) -> Range<usize> {
        self.start..self.start + self.width.bytes()
    }

    /// Returns the number in a row; higher bits are 0.
    pub fn get(self, row: &[u8]) -> u128 {
        let mut bytes = [0; 16];
        bytes[..self.width.bytes()].copy_from_slice(&row[self.bytes()]);
        u128::from_le_bytes(bytes)
    }

    /// Returns the signed integer that the number in a row represents.
    pub fn signed(self, row: &[u8]) -> i128 {
        let unused = 128 - self.width.bits();
        (self.get(row) << unused) as i128 >> unused
    }

    /// Sets the number in a row to the low bits of another.
    pub fn set(self, row: &mut [u8], number: u128) {
        row[self.bytes()].copy_from_slice(&number.to_le_bytes()[..self.width.bytes()]);
    }
}

/// The numbers of a row, in ascending order of their widths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowLayout {
    counts: [u16; 3],
}

impl RowLayout {
    /// A row of numbers of these widths, with the place of each.
    pub fn new(widths: &[Width]) -> (Self, Vec<NumberField>) {
        let mut layout = Self::default();
        widths.iter().for_each(|width| layout.counts[*width as usize] += 1);
        let mut next = Width::ALL.map(|width| layout.range(width).start);
        let place = |width: &Width| {
            let start = next[*width as usize];
            next[*width as usize] += width.bytes();
            NumberField { width: *width, start }
        };
        let fields = widths.iter().map(place).collect();
        (layout, fields)
    }

    /// Bytes of a row.
    pub fn len(self) -> usize {
        self.range(Width::Bits128).end
    }

    /// Whether a row has no number.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The bytes of the numbers of one width.
    fn range(self, width: Width) -> Range<usize> {
        let len = |width: Width| usize::from(self.counts[width as usize]) * width.bytes();
        let start = Width::ALL.into_iter().take_while(|before| *before < width).map(len).sum();
        start..start + len(width)
    }

    /// Adds a row to another, number by number.
    ///
    /// # Panics
    /// If a row has another length.
    pub fn add(self, sum: &mut [u8], row: &[u8]) {
        self.combine(sum, row, u32::wrapping_add, u64::wrapping_add, u128::wrapping_add);
    }

    /// Subtracts a row from another, number by number.
    ///
    /// # Panics
    /// If a row has another length.
    pub fn subtract(self, difference: &mut [u8], row: &[u8]) {
        self.combine(difference, row, u32::wrapping_sub, u64::wrapping_sub, u128::wrapping_sub);
    }

    /// Adds each row of `rows` to the row at the same place in `sums`.
    ///
    /// # Panics
    /// If the lengths differ or are not a multiple of a row's.
    pub fn add_all(self, sums: &mut [u8], rows: &[u8]) {
        self.each(sums, rows, Self::add);
    }

    /// Subtracts each row of `rows` from the row at the same place in `differences`.
    ///
    /// # Panics
    /// Same as [`add_all`](Self::add_all).
    pub fn subtract_all(self, differences: &mut [u8], rows: &[u8]) {
        self.each(differences, rows, Self::subtract);
    }

    /// Writes the row whose numbers are, each modulo its width, the sums over i of 2^(32·i) times word i of the number;
    /// `word` gives word i of the row.
    pub(crate) fn set_words(self, row: &mut [u8], word: impl Fn(usize) -> u64) {
        for width in Width::ALL {
            let range = self.range(width);
            let places = (range.start / 4..).step_by(width.bytes() / 4);
            for (number, first) in row[range].chunks_exact_mut(width.bytes()).zip(places) {
                let sum = (0..width.bytes() / 4).fold(0u128, |sum, i| {
                    sum.wrapping_add(u128::from(word(first + i)) << (32 * i))
                });
                number.copy_from_slice(&sum.to_le_bytes()[..width.bytes()]);
            }
        }
    }

    fn each(self, left: &mut [u8], right: &[u8], combine: impl Fn(Self, &mut [u8], &[u8])) {
        assert_eq!(left.len(), right.len(), "as many rows");
        if self.is_empty() {
            return;
        }
        let rows = left.chunks_exact_mut(self.len()).zip(right.chunks_exact(self.len()));
        rows.for_each(|(left, right)| combine(self, left, right));
    }

    /// The sum of rows that stand one after another.
    pub fn sum(self, rows: &[u8]) -> Vec<u8> {
        let mut sum = vec![0; self.len()];
        if !self.is_empty() {
            rows.chunks_exact(self.len()).for_each(|row| self.add(&mut sum, row));
        }
        sum
    }

    #[inline]
    fn combine(
        self,
        left: &mut [u8],
        right: &[u8],
        narrow: impl Fn(u32, u32) -> u32,
        middle: impl Fn(u64, u64) -> u64,
        wide: impl Fn(u128, u128) -> u128,
    ) {
        assert!(left.len() == self.len() && right.len() == self.len(), "rows of this layout");
        macro_rules! numbers {
            ($width:expr, $number:ty, $combine:expr) => {
                let range = self.range($width);
                let (left, _) = left[range.clone()].as_chunks_mut::<{ $width.bytes() }>();
                let (right, _) = right[range].as_chunks::<{ $width.bytes() }>();
                for (left, right) in left.iter_mut().zip(right) {
                    let [a, b] = [*left, *right].map(<$number>::from_le_bytes);
                    *left = $combine(a, b).to_le_bytes();
                }
            };
        }
        numbers!(Width::Bits32, u32, narrow);
        numbers!(Width::Bits64, u64, middle);
        numbers!(Width::Bits128, u128, wide);
    }
}

/// Replaces a row by zeros if `bit` is 0, without a branch.
pub(crate) fn keep_if(bit: u8, row: &mut [u8]) {
    let mask = (opaque(bit.into()) as u8).wrapping_neg();
    row.iter_mut().for_each(|byte| *byte &= mask);
}

/// Stretches pseudo-random blocks, each used once, to masks of any length.
///
/// A mask of more than 16 bytes is H(x ⊕ 1), H(x ⊕ 2), … for a hash that is robust against correlations with a secret
/// x and their circular kind (GKWY20 §7.3), under a public key that the sender draws for each chunk.
pub(crate) struct Stretch(CircularRobust);

impl Stretch {
    pub(crate) fn new(key: Block) -> Self {
        Self(CircularRobust::new(key))
    }

    /// Replaces the blocks, if masks have `len` bytes, by block number `number` of the mask of each.
    pub(crate) fn apply(&self, len: usize, number: usize, blocks: &mut [Block]) {
        if len > size_of::<Block>() {
            blocks.iter_mut().for_each(|block| *block ^= Block(number as u128 + 1));
            self.0.apply(blocks);
        }
    }

    /// Fills `out` from a block.
    pub(crate) fn fill(&self, block: Block, out: &mut [u8]) {
        if let Some(short) = block.to_bytes().get(..out.len()) {
            out.copy_from_slice(short);
            return;
        }
        for (i, out) in out.chunks_mut(4 * size_of::<Block>()).enumerate() {
            let first = 4 * i as u128 + 1;
            let mut blocks = [0, 1, 2, 3].map(|next| block ^ Block(first + next));
            self.0.apply(&mut blocks);
            out.copy_from_slice(&bytemuck::cast_slice(&blocks)[..out.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTHS: [Width; 5] =
        [Width::Bits64, Width::Bits32, Width::Bits128, Width::Bits32, Width::Bits64];

    #[test]
    fn numbers_of_a_row_do_not_carry_into_each_other() {
        let (layout, fields) = RowLayout::new(&WIDTHS);
        assert_eq!(layout.len(), 8 + 4 + 16 + 4 + 8);
        for (i, field) in fields.iter().enumerate() {
            let mut row = vec![0; layout.len()];
            field.set(&mut row, u128::MAX);
            assert_eq!((field.width(), field.signed(&row)), (WIDTHS[i], -1));
            let mut sum = row.clone();
            layout.add(&mut sum, &row);
            assert_eq!(field.signed(&sum), -2);
            let mut one = vec![0; layout.len()];
            field.set(&mut one, 1);
            layout.add(&mut row, &one);
            assert_eq!(row, vec![0; layout.len()], "wraps to zero, and nothing else changes");
            layout.subtract(&mut row, &one);
            assert_eq!(field.signed(&row), -1);
            assert_eq!(field.get(&row).count_ones() as usize, field.width().bits());
        }
    }

    #[test]
    fn sums_of_rows_are_sums_of_their_numbers() {
        let (layout, fields) = RowLayout::new(&WIDTHS);
        let row = |i: u128| {
            let mut row = vec![0; layout.len()];
            (0..).zip(&fields).for_each(|(j, field)| field.set(&mut row, i * 1000 + j));
            row
        };
        let rows: Vec<u8> = (0..10).flat_map(row).collect();
        let sum = layout.sum(&rows);
        for (j, field) in (0..).zip(&fields) {
            assert_eq!(field.get(&sum), 45_000 + 10 * j);
        }
        let mut twice = rows.clone();
        layout.add_all(&mut twice, &rows);
        layout.subtract_all(&mut twice, &rows);
        assert_eq!(twice, rows);
        let (empty, _) = RowLayout::new(&[]);
        assert!(empty.is_empty() && empty.sum(&[]).is_empty());
        empty.add_all(&mut [], &[]);
    }

    #[test]
    fn a_block_is_stretched_to_any_length() {
        let stretch = Stretch::new(Block(5));
        let mut long = [0; 200];
        stretch.fill(Block(7), &mut long);
        for len in [17, 32, 64, 65, 199] {
            let mut out = vec![0; len];
            stretch.fill(Block(7), &mut out);
            assert_eq!(out, long[..len], "a prefix");
        }
        let mut short = [0; 12];
        stretch.fill(Block(7), &mut short);
        assert_eq!(short, Block(7).to_bytes()[..12], "short masks are the block itself");
        assert_ne!(long[..16], Block(7).to_bytes());
        let blocks: std::collections::HashSet<_> = long.chunks_exact(16).collect();
        assert_eq!(blocks.len(), 12);
    }
}
