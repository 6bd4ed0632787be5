//! The number of a key in a key set.

use std::num::NonZero;

/// The number of a key in a key set, counted from 0. It is also the key's position among the items of a protocol.
///
/// A missing key is `None`, which takes no more memory: both have four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct KeyNumber(NonZero<u32>);

const _: () = assert!(size_of::<Option<KeyNumber>>() == size_of::<u32>());

impl KeyNumber {
    /// The number of the first key.
    pub(crate) const FIRST: Self = Self(NonZero::<u32>::MIN);

    /// Creates the number of the key at this position, less than 2^32 − 1: no set has more keys.
    pub fn at(position: usize) -> Self {
        Self(NonZero::<u32>::MIN.saturating_add(position as u32))
    }

    /// Returns the number as an index into a list of all keys.
    pub fn index(self) -> usize {
        (self.0.get() - 1) as usize
    }

    /// Returns the numbers of the keys at these positions.
    pub fn at_all(positions: &[u32]) -> impl Iterator<Item = Self> + Clone {
        positions.iter().map(|position| Self::at(*position as usize))
    }

    /// Returns the number of the next key.
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}
