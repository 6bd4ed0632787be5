//! Simple hashing: every item goes to each of its three bins.

use std::num::NonZeroU32;

use vesica_params::cuckoo::HASHES;
use vesica_primitives::Block;

/// The bins of items: three distinct ones each.
///
/// Both parties use the same map, on items that were made pseudo-random with a key drawn after both
/// sets were fixed. An item's 128 bits give three fields of 42 bits; field `i` is scaled to the
/// `count - i` bins that the item does not have yet. The deviation from uniform is below count / 2^42.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinMap {
    count: u32,
}

impl BinMap {
    /// The map to `count` bins.
    ///
    /// # Panics
    /// Where `count` is below 3 or does not fit 32 bits; `vesica_params::cuckoo::shape` gives neither.
    pub fn new(count: usize) -> Self {
        let count = u32::try_from(count).expect("bins are numbered with 32 bits");
        assert!(count as usize >= HASHES, "three distinct bins");
        Self { count }
    }

    /// How many bins there are.
    pub fn count(self) -> usize {
        self.count as usize
    }

    /// The bins of a pseudo-random item, one for each hash function.
    #[inline]
    pub fn bins(self, item: Block) -> [u32; HASHES] {
        const FIELD: u32 = 42;
        let field = |i: u32| (item.0 >> (i * FIELD)) as u64 & ((1 << FIELD) - 1);
        let scaled = |i: u32| {
            let range = u64::from(self.count - i);
            ((u128::from(field(i)) * u128::from(range)) >> FIELD) as u32
        };
        // Each further bin is counted among those not taken yet: step over the taken ones.
        let first = scaled(0);
        let mut second = scaled(1);
        second += u32::from(second >= first);
        let (low, high) = (first.min(second), first.max(second));
        let mut third = scaled(2);
        third += u32::from(third >= low);
        third += u32::from(third >= high);
        [first, second, third]
    }
}

/// An item in a bin: its position in the set, and which of its hash functions led there. Never zero,
/// so that a bin with at most one item takes no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry(NonZeroU32);

impl Entry {
    /// The most positions an entry can tell apart.
    pub const MAX_POSITIONS: usize = 1 << 30;

    /// An entry.
    pub fn new(position: usize, hash: usize) -> Self {
        debug_assert!(position < Self::MAX_POSITIONS && hash < HASHES);
        Self(NonZeroU32::new((position << 2 | (hash + 1)) as u32).expect("hash + 1 is 1 to 3"))
    }

    /// The item's position in the set.
    pub fn position(self) -> usize {
        (self.0.get() >> 2) as usize
    }

    /// Which of the item's hash functions, from 0.
    pub fn hash(self) -> usize {
        (self.0.get() & 3) as usize - 1
    }
}

/// All entries of a set, bin by bin.
#[derive(Debug)]
pub struct SimpleTable {
    entries: Vec<Entry>,
    /// `starts[bin]..starts[bin + 1]` are a bin's entries.
    starts: Vec<u32>,
}

impl SimpleTable {
    /// Puts each of the pseudo-random `items` into its three bins.
    ///
    /// # Panics
    /// Where there are more than [`Entry::MAX_POSITIONS`] items.
    pub fn new(items: &[Block], map: BinMap) -> Self {
        assert!(items.len() <= Entry::MAX_POSITIONS, "positions fit an entry");
        let mut starts = vec![0u32; map.count() + 1];
        for item in items {
            for bin in map.bins(*item) {
                starts[bin as usize] += 1;
            }
        }
        // Counts become the ends of the bins; filling from the end turns them into the starts.
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut entries = vec![Entry::new(0, 0); HASHES * items.len()];
        for (position, item) in items.iter().enumerate().rev() {
            for (hash, bin) in map.bins(*item).into_iter().enumerate() {
                let slot = &mut starts[bin as usize];
                *slot -= 1;
                entries[*slot as usize] = Entry::new(position, hash);
            }
        }
        Self { entries, starts }
    }

    /// All entries, those of bin 0 first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// For each bin where its entries start, and the number of all entries at the end.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Two equal items, by their positions: they share the bin of their first hash function. Takes
    /// n log n steps even where few bins hold all items, as with a peer that has very few.
    pub fn duplicate(&self, items: &[Block]) -> Option<(usize, usize)> {
        let mut firsts = Vec::new();
        (0..self.starts.len() - 1).find_map(|bin| {
            firsts.clear();
            let of_first_hash = self.bin(bin).iter().filter(|entry| entry.hash() == 0);
            firsts.extend(of_first_hash.map(|entry| entry.position()));
            // A sort calls for the item of a lone entry not at all.
            firsts.sort_unstable_by_key(|position| (items[*position], *position));
            firsts.array_windows().find(|[a, b]| items[*a] == items[*b]).map(|[a, b]| (*a, *b))
        })
    }

    /// The entries of one bin.
    pub fn bin(&self, bin: usize) -> &[Entry] {
        &self.entries[self.starts[bin] as usize..self.starts[bin + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn bins_are_distinct_and_all_are_used() {
        let mut rng = StdRng::seed_from_u64(1);
        for count in [3, 4, 5, 7, 64, 1000] {
            let map = BinMap::new(count);
            let mut hits = vec![[0u32; HASHES]; count];
            for _ in 0..200 * count {
                let bins = map.bins(Block::random(&mut rng));
                assert!(bins[0] != bins[1] && bins[0] != bins[2] && bins[1] != bins[2]);
                (0..HASHES).for_each(|hash| hits[bins[hash] as usize][hash] += 1);
            }
            // Expected 200 in each cell, standard deviation 14: eight of them either way.
            assert!(hits.as_flattened().iter().all(|h| (88..312).contains(h)), "{count} bins");
        }
        let extremes = [Block::ZERO, Block(u128::MAX)];
        assert_eq!(extremes.map(|item| BinMap::new(9).bins(item)), [[0, 1, 2], [8, 7, 6]]);
    }

    #[test]
    fn equal_items_are_found() {
        let mut rng = StdRng::seed_from_u64(3);
        for n in [2, 3, 100, 1013] {
            let mut items: Vec<Block> = (0..n).map(|_| Block::random(&mut rng)).collect();
            let map = BinMap::new(n + 5);
            assert_eq!(SimpleTable::new(&items, map).duplicate(&items), None);
            items[n - 1] = items[n / 3];
            let table = SimpleTable::new(&items, map);
            assert_eq!(table.duplicate(&items), Some((n / 3, n - 1)));
        }
    }

    #[test]
    fn every_entry_is_in_its_bin_once() {
        let mut rng = StdRng::seed_from_u64(2);
        for n in [0, 1, 2, 3, 100, 1013] {
            let items: Vec<Block> = (0..n).map(|_| Block::random(&mut rng)).collect();
            let map = BinMap::new(n + 5);
            let table = SimpleTable::new(&items, map);
            let mut seen = vec![[false; HASHES]; n];
            for bin in 0..map.count() {
                for entry in table.bin(bin) {
                    let (position, hash) = (entry.position(), entry.hash());
                    assert_eq!(map.bins(items[position])[hash] as usize, bin);
                    assert!(!std::mem::replace(&mut seen[position][hash], true));
                }
            }
            assert!(seen.as_flattened().iter().all(|seen| *seen));
        }
    }
}
