//! The numbers of distinct digests.

use std::hash::{BuildHasher, RandomState};

use vesica_normalize::digest::Digest;
use vesica_primitives::arch::prefetch;

use crate::{key_number::KeyNumber, seed::Image};

/// A key whose first 64 bits are as good as random.
pub(crate) trait Hashed: Copy + PartialEq {
    /// Returns these bits.
    fn prefix(&self) -> u64;
}

impl Hashed for Digest {
    fn prefix(&self) -> u64 {
        self.prefix()
    }
}

impl Hashed for Image {
    fn prefix(&self) -> u64 {
        self.prefix()
    }
}

/// The digests so far: a hash table of their numbers.
pub(crate) struct Places {
    /// A number, with bits of its digest that make most comparisons of digests unnecessary.
    slots: Vec<(Option<KeyNumber>, u32)>,
    shift: u32,
    /// A random factor, so that nobody can choose keys that crowd in one place.
    factor: u64,
}

impl Places {
    /// Makes a table for up to `most` digests. At least half of the slots stay free.
    pub(crate) fn new(most: usize) -> Self {
        let slots = (2 * most).next_power_of_two().max(2);
        let factor = RandomState::new().hash_one(0) | 1;
        Self { slots: vec![(None, 0); slots], shift: 64 - slots.ilog2(), factor }
    }

    /// Prefetches the first slot of a digest, so that several are on their way at a time.
    pub(crate) fn prefetch(&self, digest: &impl Hashed) {
        prefetch(&self.slots[self.first_place(self.spread(digest))]);
    }

    fn spread(&self, digest: &impl Hashed) -> u64 {
        digest.prefix().wrapping_mul(self.factor)
    }

    fn first_place(&self, spread: u64) -> usize {
        (spread >> self.shift) as usize
    }

    /// Returns the number of the digest, which is `next` if it is new.
    pub(crate) fn find_or_insert<K: Hashed>(
        &mut self,
        digest: &K,
        next: KeyNumber,
        digests: &[K],
    ) -> KeyNumber {
        let spread = self.spread(digest);
        let check = spread as u32;
        let mut place = self.first_place(spread);
        loop {
            match self.slots[place] {
                (None, _) => {
                    self.slots[place] = (Some(next), check);
                    return next;
                }
                (Some(key), bits) if bits == check && digests[key.index()] == *digest => {
                    return key;
                }
                _ => place = (place + 1) & (self.slots.len() - 1),
            }
        }
    }
}
