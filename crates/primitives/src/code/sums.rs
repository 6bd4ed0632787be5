//! Places that are sums of bits, for many words at a time.

use crate::Block;

/// Bits of a group: the number that minimises the sums, including those for the table.
const GROUP_BITS: usize = 6;

/// Places that are each the sum of some of up to 6·`GROUPS` bits.
pub(super) struct Sums<const GROUPS: usize> {
    /// For each place, the bits whose sum it is, in groups.
    picks: Box<[[u8; GROUPS]]>,
}

impl<const GROUPS: usize> Sums<GROUPS> {
    /// The number of groups for this many bits.
    pub(super) const fn groups(bits: usize) -> usize {
        bits.div_ceil(GROUP_BITS)
    }

    /// For each place, a mask of the bits whose sum it is.
    pub(super) fn new(places: impl Iterator<Item = u128>) -> Self {
        let group = |place: u128, i| (place >> (i * GROUP_BITS)) as u8 & ((1 << GROUP_BITS) - 1);
        let picks = places.map(|place| std::array::from_fn(|i| group(place, i)));
        Self { picks: picks.collect() }
    }

    /// By the method of the four Russians: computes all sums of each group of bits, and adds one per group for
    /// each place. Which one depends on the code, not on the words.
    pub(super) fn add_up<const T: usize>(&self, bits: &[[Block; T]], places: &mut [[Block; T]]) {
        let mut sums = [[[Block::ZERO; T]; 1 << GROUP_BITS]; GROUPS];
        for (bits, sums) in bits.chunks(GROUP_BITS).zip(&mut sums) {
            for (i, bit) in bits.iter().enumerate() {
                let (below, with) = sums.split_at_mut(1 << i);
                for (with, below) in with.iter_mut().zip(below) {
                    *with = add(below, bit);
                }
            }
        }
        for (place, pick) in places.iter_mut().zip(&self.picks) {
            let picked = sums.iter().zip(pick).map(|(sums, pick)| &sums[usize::from(*pick)]);
            *place = picked.fold([Block::ZERO; T], |sum, picked| add(&sum, picked));
        }
    }
}

pub(super) fn add<const T: usize>(a: &[Block; T], b: &[Block; T]) -> [Block; T] {
    std::array::from_fn(|t| a[t] ^ b[t])
}
