//! The bits on the wires of many instances of a circuit.

use std::ops::Range;

use rand::Rng;
use vesica_primitives::{
    Bits, Block, declassify_all,
    matrix::{columns_to_rows, rows_to_columns},
};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Values;

/// Instances transposed at a time between items and rows: a few pages for each wire.
const TURNED: usize = 1 << 11;

/// The number of wires from which instances are moved as items rather than bit by bit.
const WORTH_TURNING: usize = 6;

/// Bits of `wires` wires in `instances` instances: one row per wire, 64 instances per word. Unused bits of the
/// last word of a row are 0. Zeroized when dropped, because inputs and shares are secret.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct WireBits {
    wires: usize,
    instances: usize,
    words: Vec<u64>,
}

impl WireBits {
    /// All zero.
    pub fn zeros(wires: usize, instances: usize) -> Self {
        Self { wires, instances, words: vec![0; wires * instances.div_ceil(64)] }
    }

    /// Random bits.
    pub fn random(wires: usize, instances: usize, rng: &mut (impl Rng + ?Sized)) -> Self {
        let mut random = Self::zeros(wires, instances);
        rng.fill_bytes(bytemuck::cast_slice_mut(&mut random.words));
        random.clear_beyond();
        random
    }

    /// The rows of all wires one after another, ⌈instances / 64⌉ words each; bits beyond the last instance are
    /// cleared.
    ///
    /// # Panics
    /// If the number of words does not fit.
    pub fn from_words(wires: usize, instances: usize, words: Vec<u64>) -> Self {
        assert_eq!(words.len(), wires * instances.div_ceil(64), "a row for each wire");
        let mut of_words = Self { wires, instances, words };
        of_words.clear_beyond();
        of_words
    }

    /// One number per instance: wire `i` holds bit `i`. Bits from `wires` on are ignored.
    ///
    /// # Panics
    /// For more than 64 wires.
    pub fn from_items(items: &[u64], wires: usize) -> Self {
        assert!(wires <= 64, "an item has 64 bits");
        Self::turn(items.len(), wires, |i| Block(items[i].into()))
    }

    /// One block per instance: wire `i` holds bit `i`. Bits from `wires` on are ignored.
    ///
    /// # Panics
    /// For more than 128 wires.
    pub fn from_blocks(blocks: &[Block], wires: usize) -> Self {
        assert!(wires <= 128, "a block has 128 bits");
        Self::turn(blocks.len(), wires, |i| blocks[i])
    }

    /// The same bits, which this party may know from here on.
    pub(crate) fn revealed(mut self) -> Self {
        declassify_all(&mut self.words);
        self
    }

    /// The number of wires.
    pub fn wires(&self) -> usize {
        self.wires
    }

    /// The number of instances.
    pub fn instances(&self) -> usize {
        self.instances
    }

    /// Words of a row.
    pub fn row_words(&self) -> usize {
        self.instances.div_ceil(64)
    }

    /// All rows, one after another.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The bits of one wire.
    pub fn row(&self, wire: usize) -> &[u64] {
        let width = self.row_words();
        &self.words[wire * width..][..width]
    }

    /// The bits of one wire, for writing; those beyond the last instance must stay 0.
    pub fn row_mut(&mut self, wire: usize) -> &mut [u64] {
        let width = self.row_words();
        &mut self.words[wire * width..][..width]
    }

    /// The bit of a wire in an instance.
    pub fn get(&self, wire: usize, instance: usize) -> bool {
        debug_assert!(instance < self.instances);
        self.row(wire)[instance / 64] >> (instance % 64) & 1 == 1
    }

    /// Sets the bit of a wire in an instance.
    pub fn set(&mut self, wire: usize, instance: usize, bit: bool) {
        debug_assert!(instance < self.instances);
        let word = &mut self.row_mut(wire)[instance / 64];
        *word = *word & !(1 << (instance % 64)) | u64::from(bit) << (instance % 64);
    }

    /// The inverse of [`WireBits::from_items`].
    ///
    /// # Panics
    /// For more than 64 wires.
    pub fn to_items(&self) -> Vec<u64> {
        assert!(self.wires <= 64, "an item has 64 bits");
        self.to_blocks().iter().map(|block| block.low()).collect()
    }

    /// The inverse of [`WireBits::from_blocks`].
    ///
    /// # Panics
    /// For more than 128 wires.
    pub fn to_blocks(&self) -> Vec<Block> {
        assert!(self.wires <= 128, "a block has 128 bits");
        self.blocks_of(0..self.wires)
    }

    /// All bits, wire by wire, without gaps: the choices of as many OTs.
    pub fn to_bits(&self) -> Bits {
        let len = self.wires * self.instances;
        let mut words = vec![0; len.div_ceil(128) * 2];
        for wire in 0..self.wires {
            append(&mut words, wire * self.instances, self.row(wire));
        }
        let blocks = words
            .chunks_exact(2)
            .map(|pair| Block(u128::from(pair[1]) << 64 | u128::from(pair[0])));
        let bits = Bits::from_blocks(blocks.collect(), len);
        words.zeroize();
        bits
    }

    /// Adds other bits of the same shape, modulo 2.
    ///
    /// # Panics
    /// If they have another shape.
    pub fn xor_with(&mut self, other: &Self) {
        assert_eq!(
            (self.wires, self.instances),
            (other.wires, other.instances),
            "bits of one shape"
        );
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word ^= other);
    }

    /// Transposes items of `wires` bits into one row per wire.
    fn turn(instances: usize, wires: usize, item: impl Fn(usize) -> Block) -> Self {
        let mut turned = Self::zeros(wires, instances);
        turned.put_blocks(0..wires, item);
        turned
    }

    /// Up to 128 wires as one block per instance.
    fn blocks_of(&self, wires: Range<usize>) -> Vec<Block> {
        let mut blocks = vec![Block::ZERO; self.instances];
        let mut columns = vec![Block::ZERO; wires.len() * TURNED / 128];
        for (i, out) in blocks.chunks_mut(TURNED).enumerate() {
            let height = out.len().next_multiple_of(128);
            let columns = &mut columns[..wires.len() * height / 128];
            for (column, wire) in columns.chunks_exact_mut(height / 128).zip(wires.clone()) {
                let words = &self.row(wire)[i * TURNED / 64..][..out.len().div_ceil(64)];
                for (block, pair) in column.iter_mut().zip(words.chunks(2)) {
                    let high = pair.get(1).map_or(0, |&word| u128::from(word) << 64);
                    *block = Block(high | u128::from(pair[0]));
                }
            }
            columns_to_rows(columns, height, out, 1);
        }
        columns.zeroize();
        blocks
    }

    /// Writes up to 128 wires from one block per instance.
    fn put_blocks(&mut self, wires: Range<usize>, item: impl Fn(usize) -> Block) {
        let mut rows = vec![Block::ZERO; TURNED];
        let mut columns = vec![Block::ZERO; wires.len() * TURNED / 128];
        for first in (0..self.instances).step_by(TURNED) {
            let count = TURNED.min(self.instances - first);
            let height = count.next_multiple_of(128);
            for (i, row) in rows[..height].iter_mut().enumerate() {
                *row = if i < count { item(first + i) } else { Block::ZERO };
            }
            let columns = &mut columns[..wires.len() * height / 128];
            rows_to_columns(&rows[..height], 1, wires.len(), columns);
            for (column, wire) in columns.chunks_exact(height / 128).zip(wires.clone()) {
                let words = &mut self.row_mut(wire)[first / 64..][..count.div_ceil(64)];
                for (pair, block) in words.chunks_mut(2).zip(column) {
                    let halves = [block.low(), block.high()];
                    pair.copy_from_slice(&halves[..pair.len()]);
                }
            }
        }
        rows.zeroize();
        columns.zeroize();
    }

    pub(crate) fn clear_beyond(&mut self) {
        let used = self.instances % 64;
        if used > 0 {
            for wire in 0..self.wires {
                let last = self.row_words() - 1;
                self.row_mut(wire)[last] &= (1 << used) - 1;
            }
        }
    }
}

impl Values for WireBits {
    fn wires(&self) -> usize {
        self.wires
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn gather(&self, instances: &[u32]) -> Self {
        let mut gathered = Self::zeros(self.wires, instances.len());
        for first in (0..self.wires).step_by(128) {
            let wires = first..self.wires.min(first + 128);
            if wires.len() >= WORTH_TURNING {
                let mut blocks = self.blocks_of(wires.clone());
                gathered.put_blocks(wires, |i| blocks[instances[i] as usize]);
                blocks.zeroize();
                continue;
            }
            for wire in wires {
                let from = self.row(wire);
                for (word, instances) in gathered.row_mut(wire).iter_mut().zip(instances.chunks(64))
                {
                    let bit = |instance: u32| from[instance as usize / 64] >> (instance % 64) & 1;
                    let bits = instances.iter().enumerate();
                    *word = bits.fold(0, |word, (i, &instance)| word | bit(instance) << i);
                }
            }
        }
        gathered
    }

    fn stack(parts: &[&Self]) -> Self {
        let instances = parts.first().map_or(0, |part| part.instances);
        assert!(
            parts.iter().all(|part| part.instances == instances),
            "parts of the same instances"
        );
        let wires = parts.iter().map(|part| part.wires).sum();
        let mut words = Vec::with_capacity(wires * instances.div_ceil(64));
        parts.iter().for_each(|part| words.extend_from_slice(&part.words));
        Self { wires, instances, words }
    }

    fn join(parts: &[&Self]) -> Self {
        let wires = parts.first().map_or(0, |part| part.wires);
        assert!(parts.iter().all(|part| part.wires == wires), "parts of the same wires");
        let mut joined = Self::zeros(wires, parts.iter().map(|part| part.instances).sum());
        for wire in 0..wires {
            let row = joined.row_mut(wire);
            let mut at = 0;
            for part in parts {
                append(row, at, part.row(wire));
                at += part.instances;
            }
        }
        joined
    }

    fn rows(&self, wires: Range<usize>) -> Self {
        let width = self.row_words();
        let words = self.words[wires.start * width..wires.end * width].to_vec();
        Self { wires: wires.len(), instances: self.instances, words }
    }
}

/// Writes bits from bit `at` on, into bits that are still 0.
fn append(row: &mut [u64], at: usize, bits: &[u64]) {
    let (first, shift) = (at / 64, at % 64);
    for (i, &word) in bits.iter().enumerate() {
        // Bits beyond the last instance are 0, so nothing is lost where the row ends. Bits may be secret, so the
        // decision depends on whether a place exists, not on whether a word has set bits.
        if let Some(place) = row.get_mut(first + i) {
            *place |= word << shift;
        }
        if shift > 0
            && let Some(place) = row.get_mut(first + i + 1)
        {
            *place |= word >> (64 - shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    const WIDTHS: [usize; 12] = [0, 1, 2, 5, 6, 7, 63, 64, 65, 127, 128, 129];
    const SIZES: [usize; 11] = [0, 1, 63, 64, 65, 127, 128, 129, 2047, 2049, 4200];

    fn rng() -> StdRng {
        StdRng::seed_from_u64(1)
    }

    /// Whether the bits beyond the last instance are 0.
    fn is_clear(instances: &WireBits) -> bool {
        let mut cleared = instances.clone();
        cleared.clear_beyond();
        cleared == *instances
    }

    #[test]
    fn items_come_back_and_are_where_they_should_be() {
        let mut rng = rng();
        for instances in SIZES {
            for wires in WIDTHS.into_iter().filter(|&wires| wires <= 128) {
                let blocks: Vec<Block> = (0..instances).map(|_| Block::random(&mut rng)).collect();
                let mask = if wires == 128 { u128::MAX } else { (1 << wires) - 1 };
                let turned = WireBits::from_blocks(&blocks, wires);
                assert_eq!((turned.wires(), turned.instances()), (wires, instances));
                assert!(is_clear(&turned));
                for (instance, block) in blocks.iter().enumerate() {
                    let bits =
                        (0..wires).map(|wire| u128::from(turned.get(wire, instance)) << wire);
                    assert_eq!(bits.fold(0, |sum, bit| sum | bit), block.0 & mask);
                }
                let cut: Vec<Block> = blocks.iter().map(|block| Block(block.0 & mask)).collect();
                assert_eq!(turned.to_blocks(), cut);
                if wires <= 64 {
                    let items: Vec<u64> = blocks.iter().map(|block| block.low()).collect();
                    assert!(WireBits::from_items(&items, wires) == turned);
                    let cut: Vec<u64> = cut.iter().map(|block| block.low()).collect();
                    assert_eq!(turned.to_items(), cut);
                }
            }
        }
    }

    #[test]
    fn lanes_are_gathered_stacked_joined_and_taken() {
        let mut rng = rng();
        for instances in SIZES {
            for wires in WIDTHS {
                let all = WireBits::random(wires, instances, &mut rng);
                assert!(is_clear(&all));
                let picks = if instances == 0 { 0 } else { rng.random_range(0..2 * instances) };
                let picks: Vec<u32> =
                    (0..picks).map(|_| rng.random_range(0..instances as u32)).collect();
                let gathered = all.gather(&picks);
                assert!(is_clear(&gathered) && gathered.instances() == picks.len());
                let other = WireBits::random(wires, 77, &mut rng);
                let joined = WireBits::join(&[&all, &other, &all]);
                assert!(is_clear(&joined) && joined.instances() == 2 * instances + 77);
                let stacked = WireBits::stack(&[&all, &all.rows(wires / 2..wires)]);
                assert_eq!(stacked.wires(), wires + wires.div_ceil(2));
                for wire in 0..wires {
                    let picked = |(i, &instance): (usize, &u32)| {
                        gathered.get(wire, i) == all.get(wire, instance as usize)
                    };
                    assert!(picks.iter().enumerate().all(picked));
                    assert!((0..instances).all(|i| {
                        joined.get(wire, i) == all.get(wire, i)
                            && joined.get(wire, instances + 77 + i) == all.get(wire, i)
                    }));
                    assert!((0..77).all(|i| joined.get(wire, instances + i) == other.get(wire, i)));
                    let from = if wire < wires { wire } else { wire - wires + wires / 2 };
                    assert_eq!(stacked.row(wire), all.row(from));
                }
            }
        }
    }

    #[test]
    fn bits_are_set_and_added() {
        let mut rng = rng();
        let a = WireBits::random(3, 100, &mut rng);
        let mut copied = WireBits::zeros(3, 100);
        for wire in 0..3 {
            (0..100).for_each(|instance| copied.set(wire, instance, a.get(wire, instance)));
        }
        assert!(copied == a);
        let bits = a.to_bits();
        assert_eq!(bits.len(), 300);
        assert!((0..300).all(|i| (bits.get(i) == 1) == a.get(i / 100, i % 100)));
        let b = WireBits::random(3, 100, &mut rng);
        copied.xor_with(&b);
        assert!(
            (0..100)
                .all(|instance| copied.get(2, instance) == a.get(2, instance) ^ b.get(2, instance))
        );
        let ones: u32 =
            WireBits::random(64, 6400, &mut rng).words().iter().map(|w| w.count_ones()).sum();
        assert!(ones.abs_diff(64 * 6400 / 2) < 2000);
    }
}
