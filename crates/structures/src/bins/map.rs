//! The bins of an item.

use std::num::NonZeroU32;

use vesica_params::bins::cuckoo::HASHES;
use vesica_primitives::Block;

use super::Error;
use crate::{fraction::digit, sort};

/// Items with their bins: the input of every table.
pub trait Hashed<const H: usize> {
    /// The number of items.
    fn count(&self) -> usize;

    /// The number of bins.
    fn bin_count(&self) -> usize;

    /// The distinct bins of the item at a position, one for each hash function.
    fn bins(&self, position: usize) -> [u32; H];

    /// Identifies the item: equal only for equal items, and ideally pseudo-random.
    fn name(&self, position: usize) -> Block;
}

/// The bins of pseudo-random items: `H` distinct ones each.
///
/// Both parties use the same map, on items that were made pseudo-random with a key drawn after both sets were
/// fixed. For up to three bins an item's 128 bits give as many fields of up to 64 bits; field `i` is scaled to
/// the `count - i` bins that the item does not have yet. The deviation from uniform is below count / 2^42. For
/// more bins the 128 bits are a fraction from which one digit after another is taken, in base `count - i`: the
/// probabilities of any two choices of bins agree up to count^H / 2^128, which is 2^-8 for five of 2^24 bins,
/// and 2^-28 for five of 2^20.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinMap<const H: usize = HASHES> {
    count: u32,
}

impl<const H: usize> BinMap<H> {
    /// The map to `count` bins.
    ///
    /// # Panics
    /// If `count` is below `H` or does not fit 32 bits; shapes from `vesica_params` satisfy both conditions.
    pub fn new(count: usize) -> Self {
        const { assert!(1 <= H && H <= Entry::MAX_HASHES, "one to five hash functions") };
        let count = u32::try_from(count).expect("bins are numbered with 32 bits");
        assert!(count as usize >= H, "distinct bins");
        Self { count }
    }

    /// The number of bins.
    pub fn count(self) -> usize {
        self.count as usize
    }

    /// Items under this map.
    pub fn of(self, items: &[Block]) -> Mapped<'_, H> {
        Mapped { map: self, items }
    }

    /// The bins of a pseudo-random item, one for each hash function.
    #[inline]
    pub fn bins(self, item: Block) -> [u32; H] {
        let mut fraction = item.0;
        let mut bins = [0; H];
        // The bins found so far, in ascending order.
        let mut taken = [0; H];
        for i in 0..H {
            let range = self.count - i as u32;
            let mut bin = if H <= 3 {
                field::<H>(item, i, range)
            } else {
                digit(&mut fraction, range as usize)
            };
            // Each further bin is counted among those not taken yet: skip the taken ones.
            for earlier in &taken[..i] {
                bin += u32::from(bin >= *earlier);
            }
            bins[i] = bin;
            let mut carried = bin;
            for earlier in &mut taken[..i] {
                (*earlier, carried) = ((*earlier).min(carried), (*earlier).max(carried));
            }
            taken[i] = carried;
        }
        bins
    }
}

/// The `i`-th of an item's `H` fields, scaled to a range.
#[inline]
fn field<const H: usize>(item: Block, i: usize, range: u32) -> u32 {
    let width = const { if H == 1 { 64 } else { 128 / H as u32 } };
    let field = (item.0 >> (i as u32 * width)) as u64 & (u64::MAX >> (64 - width));
    ((u128::from(field) * u128::from(range)) >> width) as u32
}

/// Pseudo-random items with the bins that a map gives them.
#[derive(Clone, Copy)]
pub struct Mapped<'a, const H: usize = HASHES> {
    map: BinMap<H>,
    items: &'a [Block],
}

impl<const H: usize> Hashed<H> for Mapped<'_, H> {
    fn count(&self) -> usize {
        self.items.len()
    }

    fn bin_count(&self) -> usize {
        self.map.count()
    }

    #[inline]
    fn bins(&self, position: usize) -> [u32; H] {
        self.map.bins(self.items[position])
    }

    #[inline]
    fn name(&self, position: usize) -> Block {
        self.items[position]
    }
}

/// Positions in the order of the items' names, which reveals nothing about the original order.
///
/// # Errors
/// [`Error::Duplicate`].
pub(super) fn canonical_order<const H: usize>(items: &impl Hashed<H>) -> Result<Vec<usize>, Error> {
    let mut named: Vec<(u128, usize)> =
        (0..items.count()).map(|position| (items.name(position).0, position)).collect();
    sort::by_uniform_key(&mut named, 128, |(name, _)| *name);
    match named.array_windows().find(|[a, b]| a.0 == b.0) {
        Some([a, b]) => Err(Error::Duplicate { first: a.1.min(b.1), second: a.1.max(b.1) }),
        None => Ok(named.into_iter().map(|(_, position)| position).collect()),
    }
}

/// An item in a bin: its position in the set, and which of its hash functions led there. Never zero, so that an
/// `Option<Entry>` needs no extra space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry(NonZeroU32);

impl Entry {
    /// The number of positions that an entry can represent.
    pub const MAX_POSITIONS: usize = 1 << 29;

    /// The number of hash functions that an entry can represent.
    pub const MAX_HASHES: usize = 5;

    /// The entry of the item at a position, in the bin of one of its hash functions.
    pub fn new(position: usize, hash: usize) -> Self {
        debug_assert!(position < Self::MAX_POSITIONS && hash < Self::MAX_HASHES);
        Self(NonZeroU32::new((position << 3 | (hash + 1)) as u32).expect("hash + 1 is 1 to 5"))
    }

    /// The item's position in the set.
    pub fn position(self) -> usize {
        (self.0.get() >> 3) as usize
    }

    /// Which of the item's hash functions, from 0.
    pub fn hash(self) -> usize {
        (self.0.get() & 7) as usize - 1
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    fn bins_are_distinct_and_all_are_used<const H: usize>() {
        let mut rng = StdRng::seed_from_u64(1);
        for count in [H, H + 1, H + 2, 64, 1000] {
            let map = BinMap::<H>::new(count);
            let mut hits = vec![[0u32; H]; count];
            for _ in 0..200 * count {
                let bins = map.bins(Block::random(&mut rng));
                let mut distinct = bins;
                distinct.sort_unstable();
                assert!(distinct.is_sorted_by(|a, b| a < b));
                (0..H).for_each(|hash| hits[bins[hash] as usize][hash] += 1);
            }
            // Expected 200 in each cell, standard deviation 14: allow eight of them either way.
            assert!(
                hits.as_flattened().iter().all(|h| (88..312).contains(h)),
                "{H} of {count} bins"
            );
        }
    }

    #[test]
    fn bins_are_distinct_and_all_are_used_for_each_number_of_functions() {
        bins_are_distinct_and_all_are_used::<1>();
        bins_are_distinct_and_all_are_used::<2>();
        bins_are_distinct_and_all_are_used::<3>();
        bins_are_distinct_and_all_are_used::<4>();
        bins_are_distinct_and_all_are_used::<5>();
    }

    #[test]
    fn extremes() {
        let extremes = [Block::ZERO, Block(u128::MAX)];
        assert_eq!(extremes.map(|item| BinMap::<3>::new(9).bins(item)), [[0, 1, 2], [8, 7, 6]]);
        assert_eq!(
            extremes.map(|item| BinMap::<5>::new(9).bins(item)),
            [[0, 1, 2, 3, 4], [8, 7, 6, 5, 4]]
        );
        assert_eq!(extremes.map(|item| BinMap::<1>::new(9).bins(item)), [[0], [8]]);
        let most = u32::MAX as usize;
        assert_eq!(BinMap::<2>::new(most).bins(Block(u128::MAX)), [u32::MAX - 1, u32::MAX - 2]);
    }

    #[test]
    fn entries_keep_what_they_are_given() {
        for position in [0, 1, Entry::MAX_POSITIONS - 1] {
            for hash in 0..Entry::MAX_HASHES {
                let entry = Entry::new(position, hash);
                assert_eq!((entry.position(), entry.hash()), (position, hash));
            }
        }
        assert_eq!(size_of::<Option<Entry>>(), 4);
    }
}
