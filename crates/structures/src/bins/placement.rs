//! Tables in which each item is in one of its bins and the bins are nearly equally full.

use std::collections::VecDeque;

use super::{Entry, Error, Hashed, Table, map::canonical_order};

/// Number of passes over all items before the exact search takes over.
const PASSES: usize = 8;

impl Table {
    /// Balanced allocation: each item in turn goes to the emptiest of its bins, or the first of these if there
    /// are several. `vesica_params::bins::balanced` bounds the load.
    ///
    /// # Errors
    /// [`Error::Duplicate`].
    ///
    /// # Panics
    /// Same as [`Table::simple`].
    pub fn balanced<const H: usize>(items: &impl Hashed<H>) -> Result<Self, Error> {
        let order = canonical_order(items)?;
        let mut loads = vec![0u32; items.bin_count()];
        let choose = |position: &usize| {
            let bins = items.bins(*position);
            let emptiest = (1..H).fold(0, |best, hash| {
                let less = loads[bins[hash] as usize] < loads[bins[best] as usize];
                if less { hash } else { best }
            });
            loads[bins[emptiest] as usize] += 1;
            (bins[emptiest], Entry::new(*position, emptiest))
        };
        let chosen: Vec<_> = order.iter().map(choose).collect();
        Ok(Self::group(items.bin_count(), chosen.len(), chosen.into_iter()))
    }

    /// Two-choice hashing: each item in one of its two bins, at most `capacity` in a bin.
    ///
    /// All items start in their first bins. In a constant number of passes, each item moves to its other bin if
    /// that is emptier. Then an exact search relieves overfull bins along shortest paths, so this fails only if
    /// no placement exists.
    ///
    /// # Errors
    /// [`Error::NoTable`], or [`Error::Duplicate`] if two items are equal.
    ///
    /// # Panics
    /// Same as [`Table::simple`].
    pub fn two_choice(items: &impl Hashed<2>, capacity: usize) -> Result<Self, Error> {
        let order = canonical_order(items)?;
        let bins: Vec<[u32; 2]> = order.iter().map(|position| items.bins(*position)).collect();
        let mut choice = TwoChoice::first(bins, items.bin_count());
        for _ in 0..PASSES {
            if !choice.improve() {
                break;
            }
        }
        choice.relieve(capacity)?;
        let TwoChoice { bins, hash, loads } = choice;
        let chosen = order.iter().zip(&bins).zip(&hash).map(|((position, bins), hash)| {
            (bins[usize::from(*hash)], Entry::new(*position, usize::from(*hash)))
        });
        Ok(Self::group(loads.len(), order.len(), chosen))
    }
}

/// Which of its two bins each item is in.
struct TwoChoice {
    bins: Vec<[u32; 2]>,
    hash: Vec<bool>,
    loads: Vec<u32>,
}

impl TwoChoice {
    /// Each item in its first bin.
    fn first(bins: Vec<[u32; 2]>, bin_count: usize) -> Self {
        let mut loads = vec![0; bin_count];
        bins.iter().for_each(|[first, _]| loads[*first as usize] += 1);
        Self { hash: vec![false; bins.len()], bins, loads }
    }

    /// Moves each item whose other bin would still be emptier after the move; returns whether any moved.
    fn improve(&mut self) -> bool {
        let mut moved = false;
        for (bins, hash) in self.bins.iter().zip(&mut self.hash) {
            let (here, there) = (bins[usize::from(*hash)], bins[usize::from(!*hash)]);
            if self.loads[there as usize] + 1 < self.loads[here as usize] {
                self.loads[here as usize] -= 1;
                self.loads[there as usize] += 1;
                *hash = !*hash;
                moved = true;
            }
        }
        moved
    }

    /// Moves items until no bin has more than `capacity`.
    fn relieve(&mut self, capacity: usize) -> Result<(), Error> {
        let overfull = |loads: &[u32], bin: usize| loads[bin] as usize > capacity;
        if !(0..self.loads.len()).any(|bin| overfull(&self.loads, bin)) {
            return Ok(());
        }
        let mut members = vec![Vec::new(); self.loads.len()];
        for item in 0..self.bins.len() {
            members[self.bin(item)].push(item);
        }
        for bin in 0..self.loads.len() {
            while overfull(&self.loads, bin) {
                self.relieve_once(bin, capacity, &mut members)?;
            }
        }
        Ok(())
    }

    /// Takes one item out of a bin, along a shortest path to a bin with room.
    fn relieve_once(
        &mut self,
        bin: usize,
        capacity: usize,
        members: &mut [Vec<usize>],
    ) -> Result<(), Error> {
        // The item by which each bin was reached.
        let mut reached = std::collections::HashMap::from([(bin, None)]);
        let mut frontier = VecDeque::from([bin]);
        let free = 'search: loop {
            let from = frontier.pop_front().ok_or(Error::NoTable)?;
            for item in &members[from] {
                let to = self.other_bin(*item);
                if let std::collections::hash_map::Entry::Vacant(slot) = reached.entry(to) {
                    slot.insert(Some(*item));
                    if (self.loads[to] as usize) < capacity {
                        break 'search to;
                    }
                    frontier.push_back(to);
                }
            }
        };
        let mut to = free;
        while let Some(item) = reached[&to] {
            let from = self.bin(item);
            members[from].retain(|member| *member != item);
            members[to].push(item);
            self.hash[item] = !self.hash[item];
            to = from;
        }
        self.loads[bin] -= 1;
        self.loads[free] += 1;
        Ok(())
    }

    fn bin(&self, item: usize) -> usize {
        self.bins[item][usize::from(self.hash[item])] as usize
    }

    fn other_bin(&self, item: usize) -> usize {
        self.bins[item][usize::from(!self.hash[item])] as usize
    }
}
