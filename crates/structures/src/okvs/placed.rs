//! Keys sorted by cluster.

use std::ops::Range;

use rayon::prelude::*;
use vesica_primitives::{Block, threads};

use super::BATCH;
use crate::buckets::{Buckets, cut, put};

/// Keys that are placed together.
const TASK: usize = 64 * BATCH;

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
        clusters_of: impl Fn(&[Block]) -> [u32; BATCH] + Sync,
    ) -> Self {
        let count = u32::try_from(keys.len()).expect("positions have 32 bits");
        if clusters == 1 {
            let starts = vec![0, keys.len()];
            return Self { keys: keys.to_vec(), positions: (0..count).collect(), starts };
        }
        let mut cluster_of = vec![0u32; keys.len()];
        let tasks = keys.chunks(TASK).zip(cluster_of.chunks_mut(TASK));
        threads::for_each(tasks, |(keys, cluster_of)| {
            for (keys, cluster_of) in keys.chunks(BATCH).zip(cluster_of.chunks_mut(BATCH)) {
                cluster_of.copy_from_slice(&clusters_of(keys)[..keys.len()]);
            }
        });
        let buckets = Buckets::count(keys.len(), clusters, |i| cluster_of[i] as usize);
        let mut placed: Vec<Block> = bytemuck::zeroed_vec(keys.len());
        let mut positions = vec![0; keys.len()];
        let part = buckets.part();
        let parts = keys.chunks(part).zip(cluster_of.chunks(part)).enumerate();
        let places = buckets.places(&mut placed).into_iter().zip(buckets.places(&mut positions));
        let tasks = parts.zip(places);
        threads::for_each(tasks, |((i, (keys, cluster_of)), (mut keys_at, mut positions_at))| {
            let numbers = (i * part) as u32..;
            for ((position, key), cluster) in numbers.zip(keys).zip(cluster_of) {
                put(&mut keys_at, *cluster as usize, *key);
                put(&mut positions_at, *cluster as usize, position);
            }
        });
        let starts = buckets.starts();
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
        fractions_of: impl Fn(&[Block]) -> [u64; BATCH] + Sync,
    ) -> Self {
        // So few keys per bucket that a bucket is sorted in the cache.
        let buckets = keys.len() / 256 + 1;
        let bucket = |fraction| scale(fraction, buckets) as u32;
        let mut placed = Self::new(keys, buckets, |keys| fractions_of(keys).map(bucket));
        let keys = cut(&mut placed.keys, &placed.starts, 1);
        let positions = cut(&mut placed.positions, &placed.starts, 1);
        keys.into_par_iter().zip(positions).for_each_init(Vec::new, |order, (keys, positions)| {
            order.clear();
            for keys in keys.chunks(BATCH) {
                let fractions = fractions_of(keys);
                let numbers = order.len() as u32..;
                order.extend(fractions[..keys.len()].iter().copied().zip(numbers));
            }
            order.sort_unstable();
            let before: Vec<(Block, u32)> =
                keys.iter().copied().zip(positions.iter().copied()).collect();
            for ((key, position), (_, number)) in keys.iter_mut().zip(positions).zip(order) {
                (*key, *position) = before[*number as usize];
            }
        });
        let cluster = |key: &Block| scale(fractions_of(&[*key])[0], clusters);
        let begins = |at| placed.keys.partition_point(|key| cluster(key) < at);
        placed.starts = (0..=clusters).map(begins).collect();
        placed
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether it has zero keys.
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
    pub fn cut<'a, T>(&self, slice: &'a mut [T], width: usize) -> Vec<&'a mut [T]> {
        assert_eq!(slice.len(), self.len() * width, "a place for each key");
        cut(slice, &self.starts, width)
    }
}

/// A number below `range` from a 64-bit fraction, monotonic in the fraction.
#[inline]
pub(super) fn scale(fraction: u64, range: usize) -> usize {
    ((u128::from(fraction) * range as u128) >> 64) as usize
}
