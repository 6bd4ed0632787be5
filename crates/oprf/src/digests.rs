//! Points that are digests of 256 bits, for use against malicious parties: every operation on a point
//! involves all of it.

use rayon::prelude::*;
use vesica_primitives::{
    Block,
    aes::CorrelationRobust,
    block::add_to,
    hash::{IndexedRow, RowHash},
};
use vesica_structures::okvs::{Okvs, PlacedKeys};

/// Points whose hashes are made together: fill the pipelines of cipher and hash.
pub(crate) const BATCH: usize = 64;

/// Points that one thread hashes at least: fewer are not worth handing over, and these fit a cache.
pub(crate) const CHUNK: usize = 4096;

/// Points as digests of 256 bits, in two halves: as many heads as tails. For semi-honest parties, heads are
/// enough, and there are no tails.
#[derive(Debug, Clone, Copy)]
pub struct Digests<'a> {
    /// The first halves.
    pub heads: &'a [Block],
    /// The second halves.
    pub tails: &'a [Block],
}

impl Digests<'_> {
    /// The OKVS keys of the points, head ⊕ π(tail) ⊕ tail: with an ideal cipher π, points that share a head
    /// or a tail have unrelated ones.
    ///
    /// # Panics
    /// Where there are not as many tails as heads.
    pub(crate) fn okvs_keys(self, pi: &CorrelationRobust) -> Vec<Block> {
        assert_eq!(self.heads.len(), self.tails.len(), "a tail for each head");
        let mut keys: Vec<Block> = bytemuck::zeroed_vec(self.heads.len());
        let halves = self.heads.par_chunks(CHUNK).zip(self.tails.par_chunks(CHUNK));
        keys.par_chunks_mut(CHUNK).zip(halves).for_each(|(keys, (heads, tails))| {
            keys.copy_from_slice(tails);
            pi.apply(keys);
            add_to(keys, heads);
        });
        keys
    }
}

/// Points in the order of their clusters, by OKVS keys and tails, which determine heads.
pub(crate) struct Points {
    pub(crate) keys: PlacedKeys,
    /// As many, or none.
    tails: Vec<Block>,
}

impl Points {
    /// The points with these OKVS keys.
    pub(crate) fn place(okvs: &impl Okvs, keys: &[Block], points: Digests<'_>) -> Self {
        let keys = okvs.place(keys);
        let tails = match points.tails {
            [] => Vec::new(),
            tails => keys.positions().iter().map(|i| tails[*i as usize]).collect(),
        };
        Self { keys, tails }
    }

    /// Some of them.
    pub(crate) fn range(&self, of: std::ops::Range<usize>) -> Part<'_> {
        let tails = self.tails.get(of.clone()).unwrap_or_default();
        Part { keys: &self.keys.all()[of], tails }
    }

    /// Those of a cluster.
    pub(crate) fn cluster(&self, cluster: usize) -> Part<'_> {
        self.range(self.keys.cluster(cluster))
    }
}

/// Some placed points.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) keys: &'a [Block],
    /// As many, or none.
    pub(crate) tails: &'a [Block],
}

impl<'a> Part<'a> {
    /// In parts of so many.
    pub(crate) fn chunks(self, size: usize) -> impl IndexedParallelIterator<Item = Part<'a>> {
        self.keys.par_chunks(size).enumerate().map(move |(i, keys)| {
            let first = i * size;
            let tails = self.tails.get(first..first + keys.len()).unwrap_or_default();
            Part { keys, tails }
        })
    }

    /// Replaces each of `values`, one for each of these points y, by the hash of value and y.
    pub(crate) fn hash_with(self, hash: &RowHash, values: &mut [Block]) {
        let mut points = self.keys.iter().zip(self.tails);
        let mut rows = [IndexedRow::default(); BATCH];
        for values in values.chunks_mut(BATCH) {
            let rows = &mut rows[..values.len()];
            for ((row, value), (key, tail)) in rows.iter_mut().zip(&*values).zip(&mut points) {
                *row = IndexedRow::new(0, &[*value, *key, *tail, Block::ZERO]);
            }
            hash.hash(rows, values);
        }
    }
}
