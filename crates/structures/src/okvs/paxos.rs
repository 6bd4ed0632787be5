//! PaXoS (Pinkas, Rosulek, Trieu, Yanai: EUROCRYPT 2020) as in Rindal and Schoppmann (EUROCRYPT 2021), Figure
//! 1: two sparse columns per row and binary dense ones, in a single cluster.
//!
//! Rows are edges between columns. Peeling strips the trees and leaves the 2-core, whose rows need dense
//! columns; with [`Free::Random`](super::Free::Random) this is XoPaXoS, which draws uniformly the vertices of
//! the 2-core and the dense columns that no pivot takes (step 5), and one root of each tree (step 7).
//!
//! Deviation from the papers: of the 2-core, only one row for each independent cycle is solved in the dense columns;
//! once it is set aside, the rest of the 2-core is a forest like any other. Figure 1 solves all of the 2-core in its
//! 1.4 log n + λ dense columns. But at 2.4 n columns a cycle of length k appears with a probability of about (5/6)^k /
//! 2k, so that a 2-core that is too large is far more frequent than 2^-λ. Both are solutions of the same equations,
//! decoded in the same way and with free columns equally distributed.

use vesica_params::okvs::{DensePart, Shape, SparsePart};
use vesica_primitives::{
    BinaryVector, Block,
    aes::{Aes128, CorrelationRobust},
};

use super::{
    BATCH, Binary, Codec, Error, Okvs, PlacedKeys,
    rr22::hashes,
    solve::{self, Rows, Solver},
};
use crate::fraction::digit;

pub(super) const WEIGHT: usize = 2;

/// A store with some shape and seed.
pub struct Paxos {
    shape: Shape,
    sparse_hash: CorrelationRobust,
    dense_hash: CorrelationRobust,
    /// The bits of a row's dense block that are used.
    dense_mask: Block,
}

/// Scratch space for solving.
#[derive(Default)]
pub struct Workspace(Solver<u32, WEIGHT, Binary>);

impl Paxos {
    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }
}

impl Rows<u32, WEIGHT> for Paxos {
    type Dense = Binary;

    fn shape(&self) -> &Shape {
        &self.shape
    }

    #[inline]
    fn sparse(&self, keys: &[Block]) -> [[u32; WEIGHT]; BATCH] {
        let sparse = self.shape.sparse;
        hashes(&self.sparse_hash, keys).map(|mut fraction| {
            let first = digit(&mut fraction.0, sparse);
            // Counted among the columns other than the first.
            let second = digit(&mut fraction.0, sparse - 1);
            [first, second + u32::from(second >= first)]
        })
    }

    #[inline]
    fn dense(&self, keys: &[Block]) -> [Block; BATCH] {
        hashes(&self.dense_hash, keys).map(|hash| hash & self.dense_mask)
    }
}

impl Okvs for Paxos {
    type Workspace = Workspace;

    fn new(shape: Shape, seed: Block) -> Self {
        assert_eq!((shape.weight, shape.clusters), (WEIGHT, 1), "two sparse columns a row");
        assert!(shape.dense_part == DensePart::Binary, "a binary dense part");
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
        let dense_mask = Block(u128::MAX.checked_shr(128 - shape.dense as u32).unwrap_or(0));
        Self { shape, sparse_hash: hash(0), dense_hash: hash(1), dense_mask }
    }

    fn clusters(&self) -> usize {
        1
    }

    fn cluster_columns(&self) -> usize {
        self.shape.cluster_columns()
    }

    fn place(&self, keys: &[Block]) -> PlacedKeys {
        PlacedKeys::new(keys, 1, |_| [0; BATCH])
    }

    fn solve_cluster(&self, keys: &[Block], workspace: &mut Workspace) -> Result<(), Error> {
        workspace.0.solve(self, keys)
    }
}

impl<V: BinaryVector> Codec<V> for Paxos {
    fn fill_cluster(
        &self,
        keys: &[Block],
        values: &[V],
        columns: &mut [V],
        workspace: &Workspace,
    ) -> Result<(), Error> {
        workspace.0.fill(self, keys, values, columns)
    }

    fn decode_cluster(&self, keys: &[Block], columns: &[V], values: &mut [V]) {
        solve::decode::<u32, WEIGHT, V, Self>(self, keys, columns, values);
    }
}
