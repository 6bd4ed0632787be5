//! The OKVS of Raghuraman and Rindal (CCS 2022), §§2–4: three sparse columns per row and a few dense ones,
//! binary or over GF(2^128), in one cluster or in many that fit a cache.
//!
//! A key's row falls into one cluster and has three distinct sparse columns there; see
//! [`vesica_params::okvs::DensePart`] for the dense ones. Deviation from the paper: the failure bound of each
//! cluster accounts for the number of clusters (the authors' code does not do this), see
//! `vesica_params::okvs`.
//!
//! Rows are hashes of keys by AES with feed-forward, which in the ideal-cipher model is a one-way function even
//! though the seed is public; with the columns of [`Shape::one_way`] nobody can choose keys by their rows.

use std::marker::PhantomData;

use vesica_params::okvs::{DensePart, Shape, SparsePart};
use vesica_primitives::{
    BinaryVector, Block,
    aes::{Aes128, CorrelationRobust},
};

use super::{
    BATCH, Binary, Codec, Error, Okvs, PlacedKeys,
    dense::{Dense, DenseValues},
    solve::{self, Rows, Solver},
};
use crate::fraction::digit;

const WEIGHT: usize = 3;

/// A store with some shape and seed.
pub struct Rr22<D = Binary> {
    shape: Shape,
    sparse_hash: CorrelationRobust,
    dense_hash: CorrelationRobust,
    /// The bits of a row's dense block that are used.
    dense_mask: Block,
    dense_part: PhantomData<D>,
}

/// Scratch space for solving clusters one after another.
pub struct Workspace<D: Dense = Binary> {
    /// For clusters of fewer than 2^16 rows and columns.
    narrow: Solver<u16, WEIGHT, D>,
    wide: Solver<u32, WEIGHT, D>,
}

impl<D: Dense> Default for Workspace<D> {
    fn default() -> Self {
        Self { narrow: Solver::default(), wide: Solver::default() }
    }
}

impl<D: Dense> Rr22<D> {
    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether numbers of rows and columns fit 16 bits.
    fn is_narrow(&self) -> bool {
        self.shape.sparse.max(self.shape.capacity) < 1 << 16
    }

    /// A hash of each of up to [`BATCH`] keys, from which cluster and sparse columns are derived.
    #[inline]
    fn places(&self, keys: &[Block]) -> [Block; BATCH] {
        hashes(&self.sparse_hash, keys)
    }

    #[inline]
    fn cluster(&self, place: Block) -> u32 {
        scaled(place.0 as u32, self.shape.clusters)
    }
}

/// A number below `range` from 32 random bits; the deviation from uniform is below range / 2^32.
#[inline]
fn scaled(random: u32, range: usize) -> u32 {
    ((u64::from(random) * range as u64) >> 32) as u32
}

/// `count` independent hashes for the parts of a row.
pub(super) fn row_hashes(seed: Block, count: usize) -> Vec<CorrelationRobust> {
    let seed = Aes128::new(seed);
    let hash = |purpose| CorrelationRobust::new(seed.encrypt_block(Block(purpose as u128)));
    (0..count).map(hash).collect()
}

/// The hash of each of up to [`BATCH`] keys.
#[inline]
pub(super) fn hashes(hash: &CorrelationRobust, keys: &[Block]) -> [Block; BATCH] {
    let mut hashes = [Block::ZERO; BATCH];
    hashes[..keys.len()].copy_from_slice(keys);
    hash.apply(&mut hashes[..keys.len()]);
    hashes
}

/// Three distinct columns from three numbers, each counted among the columns not taken yet.
#[inline]
fn distinct(first: u32, mut second: u32, mut third: u32) -> [u32; WEIGHT] {
    second += u32::from(second >= first);
    third += u32::from(third >= first.min(second));
    third += u32::from(third >= first.max(second));
    [first, second, third]
}

impl<D: Dense> Rows<u16, WEIGHT> for Rr22<D> {
    type Dense = D;

    fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Columns are fields of 32 bits, scaled: with fewer than 2^16 columns, uniform up to 2^-16.
    #[inline]
    fn sparse(&self, keys: &[Block]) -> [[u16; WEIGHT]; BATCH] {
        let sparse = self.shape.sparse;
        self.places(keys).map(|place| {
            let scaled = |field: u32, range| scaled((place.0 >> (32 * field)) as u32, range);
            let columns = distinct(scaled(1, sparse), scaled(2, sparse - 1), scaled(3, sparse - 2));
            columns.map(|column| column as u16)
        })
    }

    #[inline]
    fn dense(&self, keys: &[Block]) -> [Block; BATCH] {
        hashes(&self.dense_hash, keys).map(|hash| hash & self.dense_mask)
    }
}

impl<D: Dense> Rows<u32, WEIGHT> for Rr22<D> {
    type Dense = D;

    fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The low 32 bits select the cluster. The other 96, as a fraction, give three of 2^29 columns, uniform up
    /// to 2^-9, or of 2^21 columns, uniform up to 2^-33.
    #[inline]
    fn sparse(&self, keys: &[Block]) -> [[u32; WEIGHT]; BATCH] {
        let sparse = self.shape.sparse;
        self.places(keys).map(|place| {
            let mut fraction = place.0 & !u128::from(u32::MAX);
            let mut next = |range| digit(&mut fraction, range);
            distinct(next(sparse), next(sparse - 1), next(sparse - 2))
        })
    }

    #[inline]
    fn dense(&self, keys: &[Block]) -> [Block; BATCH] {
        <Self as Rows<u16, WEIGHT>>::dense(self, keys)
    }
}

impl<D: Dense> Okvs for Rr22<D> {
    type Workspace = Workspace<D>;

    fn new(shape: Shape, seed: Block) -> Self {
        assert_eq!(shape.weight, WEIGHT, "three sparse columns a row");
        assert_eq!(shape.dense_part, D::PART, "dense columns of this kind");
        assert!(shape.sparse_part == SparsePart::Scattered, "scattered columns");
        assert!(shape.sparse == 0 || shape.sparse >= WEIGHT, "columns for a row");
        assert!(shape.sparse > 0 || shape.capacity <= 128, "few rows where all columns are dense");
        assert!(shape.dense <= 128, "sets of dense columns fit a block");
        assert!(
            u32::try_from(shape.sparse.max(shape.capacity)).is_ok(),
            "columns and rows have 32-bit numbers"
        );
        let seed = Aes128::new(seed);
        let hash = |purpose| CorrelationRobust::new(seed.encrypt_block(Block(purpose)));
        Self {
            shape,
            sparse_hash: hash(0),
            dense_hash: hash(1),
            dense_mask: Block(match D::PART {
                DensePart::Binary => u128::MAX.checked_shr(128 - shape.dense as u32).unwrap_or(0),
                DensePart::Field => u128::MAX,
            }),
            dense_part: PhantomData,
        }
    }

    fn clusters(&self) -> usize {
        self.shape.clusters
    }

    fn cluster_columns(&self) -> usize {
        self.shape.cluster_columns()
    }

    fn place(&self, keys: &[Block]) -> PlacedKeys {
        let clusters_of = |keys: &[Block]| self.places(keys).map(|place| self.cluster(place));
        PlacedKeys::new(keys, self.shape.clusters, clusters_of)
    }

    fn solve_cluster(&self, keys: &[Block], workspace: &mut Workspace<D>) -> Result<(), Error> {
        if self.is_narrow() {
            workspace.narrow.solve(self, keys)
        } else {
            workspace.wide.solve(self, keys)
        }
    }
}

impl<V: BinaryVector, D: DenseValues<V>> Codec<V> for Rr22<D> {
    fn fill_cluster(
        &self,
        keys: &[Block],
        values: &[V],
        columns: &mut [V],
        workspace: &Workspace<D>,
    ) -> Result<(), Error> {
        if self.is_narrow() {
            workspace.narrow.fill(self, keys, values, columns)
        } else {
            workspace.wide.fill(self, keys, values, columns)
        }
    }

    fn decode_cluster(&self, keys: &[Block], columns: &[V], values: &mut [V]) {
        if self.is_narrow() {
            solve::decode::<u16, WEIGHT, V, Self>(self, keys, columns, values);
        } else {
            solve::decode::<u32, WEIGHT, V, Self>(self, keys, columns, values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_distinct_and_each_choice_is_as_likely() {
        let mut seen = [0; 125];
        for first in 0..5 {
            for second in 0..4 {
                for third in 0..3 {
                    let [a, b, c] = distinct(first, second, third);
                    assert!(a != b && b != c && c != a);
                    seen[(25 * a + 5 * b + c) as usize] += 1;
                }
            }
        }
        assert_eq!(seen.into_iter().max(), Some(1));
        assert_eq!(seen.into_iter().sum::<u32>(), 60);
    }
}
