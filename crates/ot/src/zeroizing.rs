//! Long secrets that are zeroized.

use std::{
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use bytemuck::Pod;
use memmap2::MmapMut;
use rayon::prelude::*;
use zeroize::{DefaultIsZeroes, Zeroize};

/// A vector of secret entries, zeroized when dropped.
///
/// `Zeroizing` is for short vectors: it zeroizes spare capacity byte by byte, which takes several times as long
/// as whole entries. Here [`truncate`](Self::truncate) only hides entries, and all of them are zeroized as
/// entries, once.
pub struct ZeroizingVec<V: DefaultIsZeroes + Pod> {
    entries: Entries<V>,
    len: usize,
}

enum Entries<V: DefaultIsZeroes + Pod> {
    Short(Vec<V>),
    Long(HugePageBuffer<V>),
}

/// The number of bytes from which entries are in huge pages: the system provides one of these in a fraction of the time
/// that it takes to provide as many small ones.
const LONG: usize = 4 << 20;

/// Words that are zeroized at a time: 2 MiB, the size of a huge page.
const PER_TASK: usize = 1 << 18;

impl<V: DefaultIsZeroes + Pod> ZeroizingVec<V> {
    /// `len` zeros, provided by the operating system: no time is spent writing them.
    pub fn zeros(len: usize) -> Self {
        let entries = match len * size_of::<V>() {
            ..LONG => Entries::Short(bytemuck::zeroed_vec(len)),
            _ => Entries::Long(HugePageBuffer::zeros(len)),
        };
        Self { entries, len }
    }

    /// Hides the entries from `len` on.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn truncate(&mut self, len: usize) {
        assert!(len <= self.len, "no more than there are");
        self.len = len;
    }
}

impl<V: DefaultIsZeroes + Pod> Deref for ZeroizingVec<V> {
    type Target = [V];

    fn deref(&self) -> &[V] {
        match &self.entries {
            Entries::Short(entries) => &entries[..self.len],
            Entries::Long(entries) => &entries[..self.len],
        }
    }
}

impl<V: DefaultIsZeroes + Pod> DerefMut for ZeroizingVec<V> {
    fn deref_mut(&mut self) -> &mut [V] {
        match &mut self.entries {
            Entries::Short(entries) => &mut entries[..self.len],
            Entries::Long(entries) => &mut entries[..self.len],
        }
    }
}

impl<V: DefaultIsZeroes + Pod> Drop for Entries<V> {
    fn drop(&mut self) {
        // A buffer zeroizes itself.
        if let Self::Short(entries) = self {
            entries.as_mut_slice().zeroize();
        }
    }
}

/// Like [`ZeroizingVec`], in huge pages if the system has them: for buffers with scattered reads, which would otherwise
/// each first look up a page of 4 KiB.
pub(crate) struct HugePageBuffer<V> {
    map: MmapMut,
    of: PhantomData<V>,
}

impl<V: Pod> HugePageBuffer<V> {
    /// `len` zeros, at least one.
    ///
    /// # Panics
    /// If there is not enough memory.
    pub(crate) fn zeros(len: usize) -> Self {
        const { assert!(align_of::<V>() <= 4096, "no more than a page") };
        let map = MmapMut::map_anon(len * size_of::<V>()).expect("as much memory as is needed");
        // A system without huge pages uses small ones.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Self { map, of: PhantomData }
    }
}

impl<V: Pod> Deref for HugePageBuffer<V> {
    type Target = [V];

    fn deref(&self) -> &[V] {
        bytemuck::cast_slice(&self.map)
    }
}

impl<V: Pod> DerefMut for HugePageBuffer<V> {
    fn deref_mut(&mut self) -> &mut [V] {
        bytemuck::cast_slice_mut(&mut self.map)
    }
}

impl<V> Drop for HugePageBuffer<V> {
    fn drop(&mut self) {
        // Pages begin and end at word boundaries, and so does the zeroized memory.
        let (start, words, end) = bytemuck::pod_align_to_mut::<u8, u64>(&mut self.map);
        start.zeroize();
        words.par_chunks_mut(PER_TASK).for_each(Zeroize::zeroize);
        end.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_entries_are_hidden() {
        for len in [5, LONG / 8 - 1, LONG / 8] {
            let mut wiped = ZeroizingVec::<u64>::zeros(len);
            assert_eq!(*wiped, vec![0; len]);
            wiped[..5].copy_from_slice(&[1, 2, 3, 4, 5]);
            wiped.truncate(3);
            assert_eq!(*wiped, [1, 2, 3]);
        }
    }

    #[test]
    fn large_is_as_long_as_asked_for() {
        for len in [1, 5, 300_000] {
            let mut large = HugePageBuffer::<[u64; 2]>::zeros(len);
            assert_eq!(large.len(), len);
            assert!(large.iter().all(|entry| *entry == [0; 2]));
            large[len - 1] = [1, 2];
            assert_eq!(large.last(), Some(&[1, 2]));
        }
    }
}
