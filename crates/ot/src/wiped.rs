//! Long secrets.

use std::ops::{Deref, DerefMut};

use bytemuck::Zeroable;
use zeroize::{DefaultIsZeroes, Zeroize};

/// Secret entries, wiped when dropped.
///
/// What `Zeroizing` does for a short vector: it wipes spare room byte by byte, which takes some times
/// as long as wiping entries does. Here whoever needs fewer entries hides the others, and all of them
/// are wiped as entries, once.
pub struct Wiped<V: DefaultIsZeroes> {
    entries: Vec<V>,
    len: usize,
}

impl<V: DefaultIsZeroes + Zeroable> Wiped<V> {
    /// `len` zeros, which the operating system provides: it takes no time to write them.
    pub fn zeros(len: usize) -> Self {
        Self { entries: bytemuck::zeroed_vec(len), len }
    }
}

impl<V: DefaultIsZeroes> Wiped<V> {
    /// Hides the entries from `len` on.
    ///
    /// # Panics
    /// Where there are fewer.
    pub fn truncate(&mut self, len: usize) {
        assert!(len <= self.len, "no more than there are");
        self.len = len;
    }
}

impl<V: DefaultIsZeroes> Deref for Wiped<V> {
    type Target = [V];

    fn deref(&self) -> &[V] {
        &self.entries[..self.len]
    }
}

impl<V: DefaultIsZeroes> DerefMut for Wiped<V> {
    fn deref_mut(&mut self) -> &mut [V] {
        &mut self.entries[..self.len]
    }
}

impl<V: DefaultIsZeroes> Drop for Wiped<V> {
    fn drop(&mut self) {
        self.entries.as_mut_slice().zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_not_seen() {
        let mut wiped = Wiped::<u64>::zeros(5);
        wiped.copy_from_slice(&[1, 2, 3, 4, 5]);
        wiped.truncate(3);
        assert_eq!(*wiped, [1, 2, 3]);
    }
}
