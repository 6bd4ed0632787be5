//! The Bloom filter: an item has one cell in each of its parts.

use rayon::prelude::*;
use vesica_params::cut_and_choose::Shape;
use vesica_primitives::{Bits, Block};

use crate::Items;

/// Items that are handled together.
pub(super) const CHUNK: usize = 1 << 13;

/// Minimum number of items per thread.
const MIN_ITEMS: usize = 64;

/// The hash functions of a run.
pub(super) struct Filter {
    shape: Shape,
    key: [u8; 32],
}

impl Filter {
    /// The hash functions under a seed that both parties drew.
    pub(super) fn new(shape: Shape, seed: Block) -> Self {
        Self { shape, key: blake3::derive_key("vesica rr16 filter v1", &seed.to_bytes()) }
    }

    /// Fills `cells` with an item's cells, one in each part: a random oracle on the whole item. A cell derives
    /// from 32 bits and so has its probability up to a factor of 1 ± part·2^-32.
    fn cells(&self, low: &Block, high: &Block, cells: &mut [u32]) {
        let part = self.shape.part as u64;
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&low.to_bytes()).update(&high.to_bytes());
        hasher.finalize_xof().fill(bytemuck::cast_slice_mut(cells));
        for (number, cell) in (0..).zip(cells) {
            let within = (u64::from(u32::from_le(*cell)) * part) >> 32;
            *cell = (number * part + within) as u32;
        }
    }

    /// The cells that items set.
    pub(super) fn of(&self, items: Items<'_>) -> Bits {
        let weight = self.shape.weight;
        let mut filter = Bits::zeros(self.shape.cells());
        let mut cells = vec![0; weight * CHUNK.min(items.len())];
        for (low_halves, high_halves) in
            items.low_halves().chunks(CHUNK).zip(items.high_halves().chunks(CHUNK))
        {
            let cells = &mut cells[..weight * low_halves.len()];
            let items = low_halves.par_iter().zip(high_halves).with_min_len(MIN_ITEMS);
            cells.par_chunks_mut(weight).zip(items).for_each(|(cells, (low, high))| {
                self.cells(low, high, cells);
            });
            cells.iter().for_each(|cell| filter.set(*cell as usize, 1));
        }
        filter
    }

    /// Appends, for each item, the sum of the values at its cells.
    pub(super) fn sums(
        &self,
        low_halves: &[Block],
        high_halves: &[Block],
        string: impl Fn(usize) -> Block + Sync,
        sums: &mut Vec<Block>,
    ) {
        let items = low_halves.par_iter().zip(high_halves).with_min_len(MIN_ITEMS);
        sums.par_extend(items.map_init(
            || vec![0; self.shape.weight],
            |cells, (low, high)| {
                self.cells(low, high, cells);
                cells.iter().fold(Block::ZERO, |sum, cell| sum ^ string(*cell as usize))
            },
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    const SHAPE: Shape = Shape { weight: 4, part: 50, opened: 0, threshold: 0, set: 0, most: 0 };

    fn cells(seed: u128, low: u128, high: u128) -> [u32; 4] {
        let mut cells = [0; 4];
        Filter::new(SHAPE, Block(seed)).cells(&Block(low), &Block(high), &mut cells);
        cells
    }

    #[test]
    fn the_whole_item_and_the_seed_matter() {
        let base = cells(1, 2, 3);
        assert_eq!(base, cells(1, 2, 3));
        for bit in [0, 1, 64, 127] {
            let flip = 1 << bit;
            let others = [cells(1 ^ flip, 2, 3), cells(1, 2 ^ flip, 3), cells(1, 2, 3 ^ flip)];
            assert!(others.iter().all(|other| *other != base), "{bit}");
        }
    }

    #[test]
    fn each_part_has_one_cell_and_every_cell_is_as_likely() {
        let mut counts = [0; 200];
        for item in 0..10_000 {
            for (part, cell) in (0..).zip(cells(1, item, 0)) {
                assert_eq!(cell / 50, part);
                counts[cell as usize] += 1;
            }
        }
        // 200 of each expected, with a standard deviation of 14.
        assert!(counts.iter().all(|count: &i32| count.abs_diff(200) < 5 * 14), "{counts:?}");
    }

    #[test]
    fn sums_are_over_the_cells_that_are_set() {
        let filter = Filter::new(SHAPE, Block(1));
        let set = Set::long(vec![Block(5)], vec![Block(6)]);
        let is_set = filter.of(set.items());
        let string = |cell: usize| Block(1 << (cell % 128) ^ cell as u128);
        let expected = (0..200).filter(|cell| is_set.get(*cell) == 1).map(string);
        let mut sums = Vec::new();
        let items = set.items();
        filter.sums(items.low_halves(), items.high_halves(), string, &mut sums);
        assert_eq!(sums, [expected.fold(Block::ZERO, |sum, string| sum ^ string)]);
        assert_eq!(is_set.iter().filter(|bit| *bit == 1).count(), 4);
    }
}
