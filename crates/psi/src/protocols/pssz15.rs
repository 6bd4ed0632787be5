//! PSI by set-inclusion tests, with permutation-based hashing: Pinkas, Schneider, Segev and Zohner (USENIX
//! Security 2015), "phasing". Semi-honest.
//!
//! [`psz14`](crate::protocols::psz14) with cuckoo hashing, step by step, except for step 1: an item is
//! truncated to σ' bits. The bin's number determines log b of them, and only the others are compared in a bin,
//! which takes log b / 8 fewer OTs per item. A bin also stores which hash function led an item there, because
//! two items may have the same rest in a bin by different functions.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. Deviations from the
//! paper: see `docs/protocols/ot-extension.md`.

use vesica_params::{
    Failure,
    bins::{cuckoo, phasing},
};
use vesica_primitives::{Block, aes::Aes128};
use vesica_structures::bins::{
    Entry, Hashed,
    cuckoo::CuckooTable,
    phasing::{Phased, Phasing},
};

use crate::{
    Protocol, Result, Setting, Sizes,
    protocols::psz14::inclusion::{Binned, Seating, Shape, protocol},
};

const HASHES: usize = cuckoo::HASHES;

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = protocol::<HASHES, Phase>(
    "pssz15",
    "set inclusion from 1-out-of-256 OT, permutation-based hashing",
    "Pinkas, Schneider, Segev, Zohner (USENIX Security 2015)",
);

/// The length of truncated items, and its division into bin and rest.
fn shape(setting: Setting) -> phasing::Shape {
    let (Sizes { sender, receiver }, lambda) = (setting.sizes, setting.lambda());
    let bits = phasing::sound_bits(u128::BITS, receiver, sender, lambda);
    let bins = cuckoo::sound::<HASHES>(receiver, lambda).bins;
    phasing::Shape::modular(bits, bins).expect("λ bits and more are more than bins have numbers")
}

/// Items, truncated and permuted.
struct PermutedItems {
    phasing: Phasing<HASHES>,
    cut: Vec<Block>,
    phased: Phased<HASHES>,
}

impl PermutedItems {
    fn new(items: &[Block], seed: Block, shape: phasing::Shape) -> Self {
        let keys = Aes128::new(seed);
        let mut cut = items.to_vec();
        Aes128::new(keys.encrypt_block(Block(0))).encrypt(&mut cut);
        cut.iter_mut().for_each(|item| item.0 >>= u128::BITS - shape.bits());
        let phasing = Phasing::new(shape, keys.encrypt_block(Block(1)));
        let phased = phasing.phase(&cut).expect("items are as long as the shape has them");
        Self { phasing, cut, phased }
    }
}

impl Hashed<HASHES> for PermutedItems {
    fn count(&self) -> usize {
        self.phased.count()
    }

    fn bin_count(&self) -> usize {
        self.phased.bin_count()
    }

    fn bins(&self, position: usize) -> [u32; HASHES] {
        self.phased.bins(position)
    }

    /// The truncated item: it differs for different items, except with probability 2^-λ per run.
    fn name(&self, position: usize) -> Block {
        self.phased.name(position)
    }
}

impl Binned<HASHES> for PermutedItems {
    fn string(&self, entry: Entry) -> Block {
        let stored = self.phasing.store(self.cut[entry.position()], entry.hash());
        Block(self.phasing.pack(stored).expect("what an item leaves fits what is stored"))
    }
}

/// The assignment in which each item of R has one of its three bins to itself.
struct Phase;

impl Seating<HASHES> for Phase {
    type Items = PermutedItems;

    fn shape(setting: Setting) -> Shape {
        let shape = shape(setting);
        let letters = shape.stored_bits(HASHES).div_ceil(8) as usize;
        Shape { bins: shape.bins(), seats: 1, letters }
    }

    fn failures(setting: Setting) -> Vec<Failure> {
        let (Sizes { sender, receiver }, shape) = (setting.sizes, shape(setting));
        let equal = phasing::log2_failure(u128::BITS, receiver, sender, shape.bits());
        let table = cuckoo::Shape::<HASHES> { bins: shape.bins(), stash: 0 };
        vec![
            Failure::new("two items have one string", equal),
            Failure::new("the cuckoo table does not exist", table.log2_failure(receiver)),
        ]
    }

    fn bins(items: &[Block], seed: Block, setting: Setting) -> PermutedItems {
        PermutedItems::new(items, seed, shape(setting))
    }

    fn seats(items: &PermutedItems, _: Shape) -> Result<Vec<Option<Entry>>> {
        Ok(CuckooTable::of_set(items, 0)?.bins().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::protocols::psz14;

    fn equal(n: usize) -> Sizes {
        Sizes { sender: n, receiver: n }
    }

    /// Bin and string determine the item and the hash function.
    #[test]
    fn strings_differ_in_a_bin() {
        let items: Vec<Block> = (0..5000).map(Block).collect();
        let binned = PermutedItems::new(&items, Block(3), shape(equal(5000).into()));
        let letters = Phase::shape(equal(5000).into()).letters;
        let mut seen = HashSet::new();
        for position in 0..items.len() {
            for (hash, bin) in binned.bins(position).into_iter().enumerate() {
                let string = binned.string(Entry::new(position, hash));
                assert!(string.0 >> (8 * letters) == 0, "strings have {letters} letters");
                assert!(seen.insert((bin, string)));
            }
        }
    }

    /// The point of the paper: the number of the bin need not be compared.
    #[test]
    fn costs_fewer_letters_than_psz14() {
        let letters = |e: u32| Phase::shape(equal(1 << e).into()).letters;
        assert_eq!([8, 12, 16, 20, 24].map(letters), [7, 7, 8, 8, 9]);
        for e in [8, 12, 16, 20, 24] {
            let [mine, theirs] = [&PROTOCOL, &psz14::CUCKOO].map(|p| p.cost(equal(1 << e)));
            assert!(mine.bytes_to_sender < 0.9 * theirs.bytes_to_sender);
            assert_eq!(mine.bytes_to_receiver, theirs.bytes_to_receiver);
        }
    }
}
