//! Keys sorted by cluster.

use std::ops::Range;

use vesica_primitives::Block;

use super::BATCH;

/// Keys sorted by cluster, so that a store can be processed one cluster at a time.
#[derive(Debug)]
pub struct PlacedKeys {
    keys: Vec<Block>,
    positions: Vec<u32>,
    /// `starts[cluster]..starts[cluster + 1]` is the range of a cluster's keys.
    starts: Vec<usize>,
}

impl PlacedKeys {
    /// Sorts keys by the clusters that `clusters_of` gives for up to [`BATCH`] of them.
    ///
    /// # Panics
    /// If there are more than 2^32 keys.
    pub(super) fn new(
        keys: &[Block],
        clusters: usize,
        clusters_of: impl Fn(&[Block]) -> [u32; BATCH],
    ) -> Self {
        let count = u32::try_from(keys.len()).expect("positions have 32 bits");
        if clusters == 1 {
            let starts = vec![0, keys.len()];
            return Self { keys: keys.to_vec(), positions: (0..count).collect(), starts };
        }
        let mut cluster_of = vec![0u32; keys.len()];
        let mut starts = vec![0; clusters + 1];
        for (keys, cluster_of) in keys.chunks(BATCH).zip(cluster_of.chunks_mut(BATCH)) {
            let found = clusters_of(keys);
            for (found, cluster) in found.iter().zip(cluster_of) {
                *cluster = *found;
                starts[*found as usize + 1] += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut placed: Vec<Block> = bytemuck::zeroed_vec(keys.len());
        let mut positions = vec![0; keys.len()];
        for ((position, key), cluster) in (0..).zip(keys).zip(cluster_of) {
            let slot = &mut next[cluster as usize];
            placed[*slot] = *key;
            positions[*slot] = position;
            *slot += 1;
        }
        Self { keys: placed, positions, starts }
    }

    /// Sorts keys by the fractions that `fractions_of` gives for up to [`BATCH`] of them. The unit interval is
    /// cut into clusters, and a key belongs to the one that contains its fraction.
    ///
    /// # Panics
    /// If there are more than 2^32 keys.
    pub(super) fn sorted(
        keys: &[Block],
        clusters: usize,
        fractions_of: impl Fn(&[Block]) -> [u64; BATCH],
    ) -> Self {
        // So few keys per bucket that a bucket is sorted in the cache.
        let buckets = keys.len() / 256 + 1;
        let bucket = |fraction| scale(fraction, buckets) as u32;
        let mut placed = Self::new(keys, buckets, |keys| fractions_of(keys).map(bucket));
        let mut starts = vec![0; clusters + 1];
        let mut order = Vec::new();
        for bucket in placed.starts.windows(2) {
            let keys = &mut placed.keys[bucket[0]..bucket[1]];
            let positions = &mut placed.positions[bucket[0]..bucket[1]];
            order.clear();
            for keys in keys.chunks(BATCH) {
                let fractions = fractions_of(keys);
                let numbers = order.len() as u32..;
                order.extend(fractions[..keys.len()].iter().copied().zip(numbers));
            }
            order.sort_unstable();
            let before: Vec<(Block, u32)> =
                keys.iter().copied().zip(positions.iter().copied()).collect();
            for ((key, position), (fraction, number)) in keys.iter_mut().zip(positions).zip(&order)
            {
                (*key, *position) = before[*number as usize];
                starts[scale(*fraction, clusters) + 1] += 1;
            }
        }
        for cluster in 0..clusters {
            starts[cluster + 1] += starts[cluster];
        }
        placed.starts = starts;
        placed
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The original position of each key, in the order in which a store decodes.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Like [`PlacedKeys::positions`], consuming the keys.
    pub fn into_positions(self) -> Vec<u32> {
        self.positions
    }

    /// All keys, sorted by cluster.
    pub fn all(&self) -> &[Block] {
        &self.keys
    }

    /// The keys of a cluster.
    pub fn keys(&self, cluster: usize) -> &[Block] {
        &self.keys[self.cluster(cluster)]
    }

    /// The range of a cluster's keys among all placed keys.
    pub fn cluster(&self, cluster: usize) -> Range<usize> {
        self.starts[cluster]..self.starts[cluster + 1]
    }

    /// A slice with `width` places per key, cut by cluster.
    pub fn cut<'a, T>(&self, mut slice: &'a mut [T], width: usize) -> Vec<&'a mut [T]> {
        assert_eq!(slice.len(), self.len() * width, "a place for each key");
        let cut = |ends: &[usize]| {
            let (part, rest) = std::mem::take(&mut slice).split_at_mut((ends[1] - ends[0]) * width);
            slice = rest;
            part
        };
        self.starts.windows(2).map(cut).collect()
    }
}

/// A number below `range` from a 64-bit fraction, monotonic in the fraction.
#[inline]
pub(super) fn scale(fraction: u64, range: usize) -> usize {
    ((u128::from(fraction) * range as u128) >> 64) as usize
}
