//! Points that are digests of 256 bits, for use against malicious parties: every operation on a point
//! involves all of it.

use vesica_primitives::{
    Block,
    aes::CorrelationRobust,
    block::add_to,
    hash::{IndexedRow, RowHash},
    threads,
};
use vesica_structures::okvs::{Okvs, PlacedKeys};

/// Points hashed together: enough to fill the pipelines of cipher and hash.
pub(crate) const BATCH: usize = 64;

/// Minimum number of points per thread: fewer are not worth a task, and these fit a cache.
pub(crate) const CHUNK: usize = 4096;

/// Points as digests of 256 bits, in two halves. Semi-honest parties need only the low halves and leave the
/// high halves empty.
#[derive(Debug, Clone, Copy)]
pub struct Digests<'a> {
    /// The first 128 bits of each digest.
    pub low_halves: &'a [Block],
    /// The last 128 bits of each digest, or none.
    pub high_halves: &'a [Block],
}

impl<'a> From<&'a [Block]> for Digests<'a> {
    /// Points of 128 bits.
    fn from(low_halves: &'a [Block]) -> Self {
        Self { low_halves, high_halves: &[] }
    }
}

impl Digests<'_> {
    /// The OKVS keys of the points, low ⊕ π(high) ⊕ high: with an ideal cipher π, points that share one half have
    /// unrelated keys.
    ///
    /// # Panics
    /// If there are not as many high halves as low halves.
    pub(crate) fn okvs_keys(self, pi: &CorrelationRobust) -> Vec<Block> {
        assert_eq!(self.low_halves.len(), self.high_halves.len(), "a high half for each low half");
        let mut keys: Vec<Block> = bytemuck::zeroed_vec(self.low_halves.len());
        let halves = self.low_halves.chunks(CHUNK).zip(self.high_halves.chunks(CHUNK));
        let tasks = keys.chunks_mut(CHUNK).zip(halves);
        threads::for_each(tasks, |(keys, (low_halves, high_halves))| {
            keys.copy_from_slice(high_halves);
            pi.apply(keys);
            add_to(keys, low_halves);
        });
        keys
    }

    /// Replaces each of `values` by its hash with the number `index` and the point at its position.
    pub(crate) fn hash_at(
        self,
        positions: &[u32],
        hash: &RowHash,
        index: u64,
        values: &mut [Block],
    ) {
        let tasks = values.chunks_mut(CHUNK).zip(positions.chunks(CHUNK));
        threads::for_each(tasks, |(values, positions)| {
            let mut rows = [IndexedRow::default(); BATCH];
            for (values, positions) in values.chunks_mut(BATCH).zip(positions.chunks(BATCH)) {
                let rows = &mut rows[..values.len()];
                for ((row, value), position) in rows.iter_mut().zip(&*values).zip(positions) {
                    let point = [self.low_halves, self.high_halves].map(|h| h[*position as usize]);
                    *row = IndexedRow::new(index, &[*value, point[0], point[1], Block::ZERO]);
                }
                hash.hash(rows, values);
            }
        });
    }
}

/// Points in the order of their clusters, given by OKVS keys and high halves, which determine the low halves.
pub(crate) struct Points {
    pub(crate) keys: PlacedKeys,
    /// As many high halves, or none.
    high_halves: Vec<Block>,
}

impl Points {
    /// The points with these OKVS keys.
    pub(crate) fn place(okvs: &impl Okvs, keys: &[Block], points: Digests<'_>) -> Self {
        let keys = okvs.place(keys);
        let mut high_halves = vec![Block::ZERO; points.high_halves.len()];
        let tasks = high_halves.chunks_mut(CHUNK).zip(keys.positions().chunks(CHUNK));
        threads::for_each(tasks, |(placed, positions)| {
            let from = positions.iter().map(|i| points.high_halves[*i as usize]);
            placed.iter_mut().zip(from).for_each(|(placed, from)| *placed = from);
        });
        Self { keys, high_halves }
    }

    /// A range of the points.
    pub(crate) fn range(&self, of: std::ops::Range<usize>) -> Part<'_> {
        let high_halves = self.high_halves.get(of.clone()).unwrap_or_default();
        Part { keys: &self.keys.all()[of], high_halves }
    }

    /// The points of a cluster.
    pub(crate) fn cluster(&self, cluster: usize) -> Part<'_> {
        self.range(self.keys.cluster(cluster))
    }
}

/// Some placed points.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) keys: &'a [Block],
    /// As many high halves, or none.
    pub(crate) high_halves: &'a [Block],
}

impl<'a> Part<'a> {
    /// The points in parts of `size`.
    pub(crate) fn chunks(self, size: usize) -> impl ExactSizeIterator<Item = Part<'a>> + Send {
        self.keys.chunks(size).enumerate().map(move |(i, keys)| {
            let first = i * size;
            let high_halves = self.high_halves.get(first..first + keys.len()).unwrap_or_default();
            Part { keys, high_halves }
        })
    }

    /// Replaces each of `values`, one for each of these points y, by the hash of value and y.
    pub(crate) fn hash_with(self, hash: &RowHash, values: &mut [Block]) {
        let mut points = self.keys.iter().zip(self.high_halves);
        let mut rows = [IndexedRow::default(); BATCH];
        for values in values.chunks_mut(BATCH) {
            let rows = &mut rows[..values.len()];
            for ((row, value), (key, high)) in rows.iter_mut().zip(&*values).zip(&mut points) {
                *row = IndexedRow::new(0, &[*value, *key, *high, Block::ZERO]);
            }
            hash.hash(rows, values);
        }
    }
}
