//! Tables with any number of items in each bin.

use super::{Entry, Hashed};

/// Entries of a set, bin by bin.
#[derive(Debug)]
pub struct Table {
    entries: Vec<Entry>,
    /// `starts[bin]..starts[bin + 1]` are a bin's entries.
    starts: Vec<u32>,
}

impl Table {
    /// Simple hashing: puts each item into all of its bins. The entries of a bin are in the order of positions;
    /// a protocol that shows a bin to the other party must hide this order.
    ///
    /// # Panics
    /// If there are more than [`Entry::MAX_POSITIONS`] items, or 2^32 entries.
    pub fn simple<const H: usize>(items: &impl Hashed<H>) -> Self {
        let bins_of = |position: usize| items.bins(position).into_iter().enumerate();
        let entries = (0..items.count()).flat_map(|position| {
            bins_of(position).map(move |(hash, bin)| (bin, Entry::new(position, hash)))
        });
        Self::group(items.bin_count(), H * items.count(), entries)
    }

    /// Groups entries by bin; each bin keeps them in the order in which they come.
    pub(super) fn group(
        bins: usize,
        count: usize,
        entries: impl Iterator<Item = (u32, Entry)> + Clone,
    ) -> Self {
        assert!(u32::try_from(count).is_ok(), "entries are numbered with 32 bits");
        // Offset by two, so that filling a bin turns its start into the start of the next.
        let mut starts = vec![0u32; bins + 2];
        entries.clone().for_each(|(bin, _)| starts[bin as usize + 2] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut grouped = vec![Entry::new(0, 0); count];
        for (bin, entry) in entries {
            let slot = &mut starts[bin as usize + 1];
            grouped[*slot as usize] = entry;
            *slot += 1;
        }
        starts.pop();
        Self { entries: grouped, starts }
    }

    /// All entries, starting with bin 0.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The start of each bin's entries, followed by the number of all entries.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The entries of one bin.
    pub fn bin(&self, bin: usize) -> &[Entry] {
        &self.entries[self.starts[bin] as usize..self.starts[bin + 1] as usize]
    }

    /// The number of bins.
    pub fn bin_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of entries in the fullest bin.
    pub fn max_load(&self) -> usize {
        self.starts.array_windows().map(|[start, end]| end - start).max().unwrap_or(0) as usize
    }

    /// The positions of two equal items of a simple table: they share the bin of their first hash function.
    /// Takes n log n steps even if a few bins hold all items, as with a peer that has very few.
    pub fn duplicate<const H: usize>(&self, items: &impl Hashed<H>) -> Option<(usize, usize)> {
        let mut firsts = Vec::new();
        (0..self.bin_count()).find_map(|bin| {
            firsts.clear();
            let of_first_hash = self.bin(bin).iter().filter(|entry| entry.hash() == 0);
            firsts.extend(of_first_hash.map(|entry| entry.position()));
            // Sorting does not compute the name of the only item of a bin.
            firsts.sort_unstable_by_key(|position| (items.name(*position), *position));
            let equal = |[a, b]: &&[usize; 2]| items.name(*a) == items.name(*b);
            firsts.array_windows().find(equal).map(|[a, b]| (*a, *b))
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_primitives::Block;

    use super::{super::BinMap, *};

    #[test]
    fn equal_items_are_found() {
        let mut rng = StdRng::seed_from_u64(3);
        for n in [2, 3, 100, 1013] {
            let mut items: Vec<Block> = (0..n).map(|_| Block::random(&mut rng)).collect();
            let map = BinMap::<3>::new(n + 5);
            let hashed = map.of(&items);
            assert_eq!(Table::simple(&hashed).duplicate(&hashed), None);
            items[n - 1] = items[n / 3];
            let hashed = map.of(&items);
            assert_eq!(Table::simple(&hashed).duplicate(&hashed), Some((n / 3, n - 1)));
        }
    }

    #[test]
    fn every_entry_is_in_its_bin_once_and_in_order() {
        let mut rng = StdRng::seed_from_u64(2);
        for n in [0, 1, 2, 3, 100, 1013] {
            let items: Vec<Block> = (0..n).map(|_| Block::random(&mut rng)).collect();
            let map = BinMap::<3>::new(n + 5);
            let table = Table::simple(&map.of(&items));
            let mut seen = vec![[false; 3]; n];
            for bin in 0..map.count() {
                assert!(table.bin(bin).is_sorted_by(|a, b| a.position() < b.position()));
                for entry in table.bin(bin) {
                    let (position, hash) = (entry.position(), entry.hash());
                    assert_eq!(map.bins(items[position])[hash] as usize, bin);
                    assert!(!std::mem::replace(&mut seen[position][hash], true));
                }
            }
            assert!(seen.as_flattened().iter().all(|seen| *seen));
            assert!((0..map.count()).all(|bin| table.bin(bin).len() <= table.max_load()));
        }
    }
}
