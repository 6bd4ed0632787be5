//! The number of each distinct digest.

use std::hash::{BuildHasher, RandomState};

use super::{counts::NO_KEY, digest::Digest};

/// Which digests were there already: a hash table of numbers.
pub(crate) struct Places {
    /// A number, and beside it bits of its digest that spare most looks at the digests.
    slots: Vec<(u32, u32)>,
    shift: u32,
    /// Random, so that whoever chose the keys cannot have them crowd in one place.
    factor: u64,
}

impl Places {
    /// With room for so many. At least half of the slots stay free.
    pub(crate) fn new(most: usize) -> Self {
        let slots = (2 * most).next_power_of_two().max(2);
        let factor = RandomState::new().hash_one(0) | 1;
        Self { slots: vec![(NO_KEY, 0); slots], shift: 64 - slots.ilog2(), factor }
    }

    /// The number of the digest, which is `next` if it is new.
    pub(crate) fn find_or_insert(&mut self, digest: &Digest, next: u32, digests: &[Digest]) -> u32 {
        let spread = digest.prefix().wrapping_mul(self.factor);
        let check = spread as u32;
        let mut place = (spread >> self.shift) as usize;
        loop {
            match self.slots[place] {
                (NO_KEY, _) => {
                    self.slots[place] = (next, check);
                    return next;
                }
                (key, bits) if bits == check && digests[key as usize] == *digest => return key,
                _ => place = (place + 1) & (self.slots.len() - 1),
            }
        }
    }
}
