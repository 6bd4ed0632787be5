//! Oblivious key-value stores: a vector from which a public linear map reads the value of each key, and which
//! reveals nothing about the keys if the values are random.
//!
//! Encoding is linear over GF(2), so values can be of any type whose addition is exclusive or. A store is bound
//! to a seed, which must be drawn after the keys are fixed.
//!
//! [`Okvs`] is a store for values of any type, [`Codec`] a store for one type of values, and [`ByteStrings`]
//! one for values whose length is known only at run time.
//!
//! | store | shape | columns per key at 2^20 |
//! |---|---|---|
//! | [`rr22::Rr22`] | [`shape`](vesica_params::okvs::shape) | 1.23, or 1.31 in clusters that fit a cache |
//! | the same, as three-hash garbled cuckoo table | [`three_hash`](vesica_params::okvs::three_hash) | 1.30 |
//! | [`band::Band`] (RB-OKVS) | [`band`](vesica_params::okvs::band) | 1.03 to 1.10 |
//! | the same, as random matrix, for few keys | [`random_matrix`](vesica_params::okvs::random_matrix) | – |
//! | [`paxos::Paxos`], [`depth_first::DepthFirst`] | [`paxos`](vesica_params::okvs::paxos) | 2.40 |
//! | [`polynomial::Polynomial`] | [`polynomial`](vesica_params::okvs::polynomial()) | 1, or 4.15 in mega-bins |
//! | [`garbled_bloom::GarbledBloom`] | [`garbled_bloom`](vesica_params::okvs::garbled_bloom) | 86.6 |
//!
//! The stores with a few scattered columns per row share a solver, `solve`; bands are eliminated, and a
//! garbled Bloom filter is filled key by key.
//!
//! **Distribution.** Filling writes each determined column as an affine function of the undetermined ones,
//! one column for each independent equation, and leaves the others as they were. Started from uniformly
//! random columns ([`Free::Random`]), it therefore produces every solution of the equations with the same
//! probability; and if the values are uniform too and the rows independent, every vector.

pub mod band;
mod bytes;
mod dense;
pub mod depth_first;
pub mod garbled_bloom;
pub mod paxos;
mod placed;
pub mod polynomial;
pub mod rr22;
mod solve;

use rand::Rng;
use rayon::prelude::*;
use vesica_params::okvs::Shape;
use vesica_primitives::{BinaryVector, Block, threads};

pub use bytes::ByteStrings;
pub use dense::{Binary, Field};
pub use placed::PlacedKeys;

/// Keys handled at a time: enough to fill the pipeline of the cipher.
const BATCH: usize = 32;

/// Encoding failed. For distinct keys and a seed drawn after them, the probability is at most 2^-λ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A cluster has more keys than it can take.
    #[error("a cluster of an OKVS has too many keys")]
    Overflow,
    /// The equations of a cluster contradict each other, as with equal keys that have different values.
    #[error("the equations of an OKVS have no solution")]
    NoSolution,
}

/// The contents of the columns that no equation determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Free {
    /// Zeros: sufficient if the store is sent masked.
    Zero,
    /// Uniformly random values: needed if the store itself is seen.
    Random,
}

/// A store with some shape and seed: clusters of columns, and the rows of keys in them.
pub trait Okvs: Sync {
    /// Scratch space for solving clusters one after another.
    type Workspace: Default + Send + Sync;

    /// The store of a shape under a seed that was drawn after the keys were fixed.
    ///
    /// # Panics
    /// If the shape is for another kind of store.
    fn new(shape: Shape, seed: Block) -> Self
    where
        Self: Sized;

    /// The number of clusters; each is a separate store for its share of the keys.
    fn clusters(&self) -> usize;

    /// Columns of one cluster, at least 1.
    fn cluster_columns(&self) -> usize;

    /// The number of all columns: the length of an encoding.
    fn columns(&self) -> usize {
        self.clusters() * self.cluster_columns()
    }

    /// Sorts keys by their cluster.
    ///
    /// # Panics
    /// If there are 2^32 keys or more.
    fn place(&self, keys: &[Block]) -> PlacedKeys;

    /// Finds an order in which the equations of a cluster's keys can be solved for any values.
    ///
    /// # Errors
    /// [`Error::Overflow`] and [`Error::NoSolution`], with a probability of at most 2^-λ over all
    /// clusters for distinct keys.
    fn solve_cluster(&self, keys: &[Block], workspace: &mut Self::Workspace) -> Result<(), Error>;

    /// Whether part of decoding depends only on keys, so that it can be done before columns exist, and need not be
    /// repeated after solving.
    const PREPARES: bool = false;

    /// Does that part for a cluster.
    fn prepare_cluster(&self, keys: &[Block], workspace: &mut Self::Workspace) {
        let _ = (keys, workspace);
    }
}

/// A store for values of the type `V`.
pub trait Codec<V: BinaryVector>: Okvs {
    /// Makes the keys that `workspace` solved last decode to `values`, in their order. Columns that no equation
    /// determines keep their value in `columns`.
    ///
    /// # Errors
    /// [`Error::NoSolution`] if dependent equations have values that do not agree: for two equal keys with different
    /// values, and otherwise with a probability of at most 2^-λ.
    fn fill_cluster(
        &self,
        keys: &[Block],
        values: &[V],
        columns: &mut [V],
        workspace: &Self::Workspace,
    ) -> Result<(), Error>;

    /// Writes the decoded value of each key of a cluster with these `columns`.
    fn decode_cluster(&self, keys: &[Block], columns: &[V], values: &mut [V]);

    /// The same with the workspace that last solved this cluster, or was prepared for it.
    fn decode_prepared(
        &self,
        keys: &[Block],
        columns: &[V],
        values: &mut [V],
        workspace: &Self::Workspace,
    ) {
        let _ = workspace;
        self.decode_cluster(keys, columns, values);
    }

    /// Solves and fills one cluster: returns its part of an encoding.
    ///
    /// # Errors
    /// Same as [`Okvs::solve_cluster`] and [`Codec::fill_cluster`].
    fn encode_cluster(
        &self,
        keys: &[Block],
        values: &[V],
        columns: &mut [V],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        self.solve_cluster(keys, workspace)?;
        self.fill_cluster(keys, values, columns, workspace)
    }

    /// The encoding under which each key decodes to `value(position, key)`.
    ///
    /// # Errors
    /// Same as [`Codec::encode_cluster`].
    fn encode<R: Rng + ?Sized>(
        &self,
        keys: &PlacedKeys,
        value: impl Fn(u32, Block) -> V + Sync,
        free: Free,
        rng: &mut R,
    ) -> Result<Vec<V>, Error> {
        let mut columns = vec![V::default(); self.columns()];
        if free == Free::Random {
            columns.iter_mut().for_each(|column| *column = V::random(rng));
        }
        let clusters = columns.par_chunks_exact_mut(self.cluster_columns()).enumerate();
        clusters.try_for_each_init(Self::Workspace::default, |workspace, (cluster, columns)| {
            let (positions, keys) = (&keys.positions()[keys.cluster(cluster)], keys.keys(cluster));
            let rows = positions.iter().zip(keys);
            let values: Vec<V> = rows.map(|(position, key)| value(*position, *key)).collect();
            self.encode_cluster(keys, &values, columns, workspace)
        })?;
        Ok(columns)
    }

    /// The decoded value of each key, in the order of the placed keys.
    ///
    /// # Panics
    /// If `columns` is not as long as an encoding.
    fn decode(&self, keys: &PlacedKeys, columns: &[V]) -> Vec<V> {
        assert_eq!(columns.len(), self.columns(), "as many columns as the shape has");
        let mut values = vec![V::default(); keys.len()];
        let clusters = columns.chunks_exact(self.cluster_columns()).enumerate();
        let tasks = clusters.zip(keys.cut(&mut values, 1));
        threads::for_each(tasks, |((cluster, columns), values)| {
            self.decode_cluster(keys.keys(cluster), columns, values);
        });
        values
    }
}
