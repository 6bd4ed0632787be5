//! The Bloom filter: an item has one cell in each of its parts.

use rayon::prelude::*;
use vesica_params::cut_and_choose::Shape;
use vesica_primitives::{Bits, Block};

use crate::Items;

/// Items that are handled together.
pub(super) const CHUNK: usize = 1 << 13;

/// Items that one thread takes at least.
const MIN_ITEMS: usize = 64;

/// The hash functions of a run.
pub(super) struct Filter {
    shape: Shape,
    key: [u8; 32],
}

impl Filter {
    /// The hash functions under a seed that both drew.
    pub(super) fn new(shape: Shape, seed: Block) -> Self {
        Self { shape, key: blake3::derive_key("vesica rr16 filter v1", &seed.to_bytes()) }
    }

    /// Fills `cells` with an item's, one in each part: a random oracle on the whole item. A cell comes
    /// from 32 bits and so has its probability up to a factor of 1 ± part·2^-32.
    fn cells(&self, (head, tail): (&Block, &Block), cells: &mut [u32]) {
        let part = self.shape.part as u64;
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&head.to_bytes()).update(&tail.to_bytes());
        hasher.finalize_xof().fill(bytemuck::cast_slice_mut(cells));
        for (number, cell) in (0..).zip(cells) {
            let within = u64::from(u32::from_le(*cell)) * part >> 32;
            *cell = (number * part + within) as u32;
        }
    }

    /// The cells that items set.
    pub(super) fn of(&self, items: Items<'_>) -> Bits {
        let weight = self.shape.weight;
        let mut filter = Bits::zeros(self.shape.cells());
        let mut cells = vec![0; weight * CHUNK.min(items.len())];
        for (heads, tails) in items.heads().chunks(CHUNK).zip(items.tails().chunks(CHUNK)) {
            let cells = &mut cells[..weight * heads.len()];
            let items = heads.par_iter().zip(tails).with_min_len(MIN_ITEMS);
            cells.par_chunks_mut(weight).zip(items).for_each(|(cells, item)| {
                self.cells(item, cells);
            });
            cells.iter().for_each(|cell| filter.set(*cell as usize, 1));
        }
        filter
    }

    /// Appends the sum over each item's cells of what stands there.
    pub(super) fn sums(
        &self,
        (heads, tails): (&[Block], &[Block]),
        string: impl Fn(usize) -> Block + Sync,
        sums: &mut Vec<Block>,
    ) {
        let items = heads.par_iter().zip(tails).with_min_len(MIN_ITEMS);
        sums.par_extend(items.map_init(
            || vec![0; self.shape.weight],
            |cells, item| {
                self.cells(item, cells);
                cells.iter().fold(Block::ZERO, |sum, cell| sum ^ string(*cell as usize))
            },
        ));
    }
}
