//! Permutation-based hashing (PSSZ15, RR17 §6.1): a bin stores only the part of an item that the bin does not
//! determine.
//!
//! An item consists of a place and a rest. A keyed function of the rest gives `H` *distinct* shifts, and the
//! item's bins are its place shifted by each. So an item has distinct bins, two items with the same rest
//! never meet in one bin by the same function, and bin, function and rest determine the item. A bin must
//! store which function was used: otherwise two items may leave the same rest in the same bin.
//!
//! Bounds for random bins apply if different items have different rests or are themselves pseudo-random, as
//! they are after hashing to `vesica_params::bins::phasing::sound_bits`. With one function the bound on the
//! load applies to any items, because items with the same rest avoid each other.

use vesica_params::bins::phasing::{Form, Shape, hash_bits};
use vesica_primitives::{Block, aes::CorrelationRobust};

use super::{BinMap, Hashed};

/// Rests hashed at a time.
const BATCH: usize = 256;

/// A permutation of items for each of `H` hash functions, under a key.
pub struct Phasing<const H: usize> {
    shape: Shape,
    map: BinMap<H>,
    shifts: CorrelationRobust,
}

/// The part of an item that a bin stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The hash function that led to the bin, from 0.
    pub hash: usize,
    /// The part of the item that bin and hash function do not determine.
    pub rest: u128,
}

impl<const H: usize> Phasing<H> {
    /// Phasing under a key that both parties drew after both sets were fixed.
    ///
    /// # Panics
    /// If there are fewer than `H` bins.
    pub fn new(shape: Shape, key: Block) -> Self {
        Self { shape, map: BinMap::new(shape.bins()), shifts: CorrelationRobust::new(key) }
    }

    /// The bins of items that are each below 2^bits; `None` if an item is not.
    pub fn phase(&self, items: &[Block]) -> Option<Phased<H>> {
        let outside = |item: &Block| item.0.checked_shr(self.shape.bits()).unwrap_or(0) != 0;
        if items.iter().any(outside) {
            return None;
        }
        let mut bins = Vec::with_capacity(items.len());
        let mut rests = [Block::ZERO; BATCH];
        for batch in items.chunks(BATCH) {
            let rests = &mut rests[..batch.len()];
            rests.iter_mut().zip(batch).for_each(|(rest, item)| *rest = Block(self.split(*item).1));
            self.shifts.apply(rests);
            bins.extend(batch.iter().zip(rests).map(|(item, hashed)| {
                let place = self.split(*item).0;
                self.map.bins(*hashed).map(|shift| self.shift(place, shift))
            }));
        }
        Some(Phased { bins, items: items.to_vec(), bin_count: self.shape.bins() })
    }

    /// Returns the part that the bin of an item's `hash`-th function stores.
    pub fn store(&self, item: Block, hash: usize) -> Stored {
        Stored { hash, rest: self.split(item).1 }
    }

    /// The item for which a bin stores `stored`; `None` if [`Phasing::phase`] cannot produce this combination.
    pub fn item(&self, bin: u32, stored: Stored) -> Option<Block> {
        if bin as usize >= self.shape.bins() || stored.hash >= H {
            return None;
        }
        let mut hashed = [Block(stored.rest)];
        self.shifts.apply(&mut hashed);
        let shift = self.map.bins(hashed[0])[stored.hash];
        self.join(self.unshift(bin, shift), stored.rest)
    }

    /// Encodes a stored part as a number of [`Shape::stored_bits`] bits; the encoding is injective.
    pub fn pack(&self, stored: Stored) -> Option<u128> {
        let (bits, rest_bits) = (self.shape.stored_bits(H), self.shape.rest_bits());
        let fits = bits <= 128 && stored.rest.checked_shr(rest_bits).unwrap_or(0) == 0;
        (fits && stored.hash < H)
            .then(|| stored.rest.checked_shl(hash_bits(H)).unwrap_or(0) | stored.hash as u128)
    }

    /// Place and rest of an item.
    fn split(&self, item: Block) -> (u32, u128) {
        let bins = self.shape.bins() as u128;
        match self.shape.form() {
            Form::Xor => {
                let rest_bits = self.shape.rest_bits();
                let place = item.0.checked_shr(rest_bits).unwrap_or(0);
                (place as u32, item.0 & low_ones(rest_bits))
            }
            Form::Modular => ((item.0 % bins) as u32, item.0 / bins),
        }
    }

    /// The item with a place and a rest, if it is one.
    fn join(&self, place: u32, rest: u128) -> Option<Block> {
        if rest & !low_ones(self.shape.rest_bits()) != 0 {
            return None;
        }
        let item = match self.shape.form() {
            Form::Xor => {
                let place = u128::from(place).checked_shl(self.shape.rest_bits());
                place.unwrap_or(0) | rest
            }
            Form::Modular => {
                rest.checked_mul(self.shape.bins() as u128)?.checked_add(u128::from(place))?
            }
        };
        (item & !low_ones(self.shape.bits()) == 0).then_some(Block(item))
    }

    fn shift(&self, place: u32, shift: u32) -> u32 {
        match self.shape.form() {
            Form::Xor => place ^ shift,
            Form::Modular => add_modulo(place, shift, self.shape.bins()),
        }
    }

    fn unshift(&self, bin: u32, shift: u32) -> u32 {
        match self.shape.form() {
            Form::Xor => bin ^ shift,
            Form::Modular => {
                let back = self.shape.bins() as u64 - u64::from(shift);
                ((u64::from(bin) + back) % self.shape.bins() as u64) as u32
            }
        }
    }
}

fn add_modulo(a: u32, b: u32, modulus: usize) -> u32 {
    let sum = u64::from(a) + u64::from(b);
    (if sum >= modulus as u64 { sum - modulus as u64 } else { sum }) as u32
}

fn low_ones(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

/// Items with their bins under a permutation.
pub struct Phased<const H: usize> {
    bins: Vec<[u32; H]>,
    items: Vec<Block>,
    bin_count: usize,
}

impl<const H: usize> Hashed<H> for Phased<H> {
    fn count(&self) -> usize {
        self.items.len()
    }

    fn bin_count(&self) -> usize {
        self.bin_count
    }

    fn bins(&self, position: usize) -> [u32; H] {
        self.bins[position]
    }

    fn name(&self, position: usize) -> Block {
        self.items[position]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// All items of a length, in all bins: each (bin, function, rest) belongs to exactly one item.
    fn is_lossless<const H: usize>(shape: Shape) {
        let phasing = Phasing::<H>::new(shape, Block(7));
        let items: Vec<Block> = (0..1u128 << shape.bits()).map(Block).collect();
        let phased = phasing.phase(&items).unwrap();
        let mut seen = HashSet::new();
        for (position, item) in items.iter().enumerate() {
            let bins = phased.bins(position);
            assert_eq!(HashSet::from(bins).len(), H);
            for (hash, bin) in bins.into_iter().enumerate() {
                let stored = phasing.store(*item, hash);
                assert!(phasing.item(bin, stored) == Some(*item));
                let packed = phasing.pack(stored).unwrap();
                assert!(packed < 1 << shape.stored_bits(H));
                assert!(seen.insert((bin, packed)));
            }
        }
        assert_eq!(seen.len(), H << shape.bits());
    }

    #[test]
    fn items_come_back_from_bin_function_and_rest() {
        for bins in [3, 4, 5, 100, 101, 4095, 4096] {
            is_lossless::<3>(Shape::modular(12, bins).unwrap());
            is_lossless::<1>(Shape::modular(12, bins).unwrap());
        }
        for log_bins in [2, 3, 11, 12] {
            is_lossless::<3>(Shape::xor(12, log_bins).unwrap());
            is_lossless::<2>(Shape::xor(12, log_bins).unwrap());
        }
        is_lossless::<1>(Shape::xor(12, 0).unwrap());
    }

    #[test]
    fn long_items_come_back_too() {
        for shape in [Shape::xor(128, 20).unwrap(), Shape::modular(128, 1_258_292).unwrap()] {
            let phasing = Phasing::<3>::new(shape, Block(8));
            let items = [0, 1, u128::MAX, u128::MAX / 3].map(Block);
            let phased = phasing.phase(&items).unwrap();
            for (position, item) in items.into_iter().enumerate() {
                for (hash, bin) in phased.bins(position).into_iter().enumerate() {
                    assert!(phasing.item(bin, phasing.store(item, hash)) == Some(item));
                }
            }
        }
    }

    /// With three functions, the rest by itself does not distinguish the items of a bin.
    #[test]
    fn the_function_must_be_stored() {
        let shape = Shape::modular(12, 64).unwrap();
        let phasing = Phasing::<3>::new(shape, Block(9));
        let items: Vec<Block> = (0..1 << 12).map(Block).collect();
        let phased = phasing.phase(&items).unwrap();
        let mut with_rest_alone = HashSet::new();
        let ambiguous = (0..items.len()).flat_map(|position| {
            let rest = phasing.store(items[position], 0).rest;
            phased.bins(position).map(|bin| (bin, rest))
        });
        let ambiguous = ambiguous.filter(|seen| !with_rest_alone.insert(*seen)).count();
        assert_eq!(ambiguous, 2 << 12);
    }

    #[test]
    fn impossible_combinations_are_refused() {
        let shape = Shape::modular(12, 100).unwrap();
        let phasing = Phasing::<3>::new(shape, Block(1));
        assert!(phasing.item(100, Stored { hash: 0, rest: 0 }).is_none());
        assert!(phasing.item(0, Stored { hash: 3, rest: 0 }).is_none());
        assert!(phasing.item(0, Stored { hash: 0, rest: 1 << 12 }).is_none());
        assert!(phasing.item(0, Stored { hash: 0, rest: u128::MAX }).is_none());
        assert!(phasing.pack(Stored { hash: 0, rest: 1 << 12 }).is_none());
        assert!(phasing.phase(&[Block(1 << 12)]).is_none());
        // 41 rests times 100 places are 4,100: only 96 of the last rest are items.
        let of_last_rest = |bin| phasing.item(bin, Stored { hash: 0, rest: 40 }).is_some();
        assert_eq!((0..100).filter(|bin| of_last_rest(*bin)).count(), 96);
    }
}
