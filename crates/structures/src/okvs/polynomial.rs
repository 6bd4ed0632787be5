//! A polynomial as a store: the unique one of degree below n through n keys and values, with exactly as many
//! columns as keys, which never fails (RS21 §2, LIANG §2.3). With several clusters these are the mega-bins of
//! Pinkas, Schneider, Tkachenko and Yanai (EUROCRYPT 2019, "PSTY19"), one polynomial each, padded to the load
//! that no bin exceeds.
//!
//! Keys and values are elements of GF(2^128), and a key's row holds the powers of the key itself: the seed only
//! selects clusters. Equal keys are refused even if their values agree.
//!
//! If a cluster has fewer keys than columns, filling adds to the polynomial F in the columns the polynomial of
//! least degree that corrects the values: if F is uniform, each solution has the same probability. Not constant
//! time, which is not needed for keys that are hashes of one's own items.

use vesica_params::okvs::{DensePart, Shape};
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    poly::{self, DuplicatePoint, Evaluator, Interpolator},
};

use super::{BATCH, Codec, Error, Okvs, PlacedKeys, rr22::hashes};
use crate::fraction::digit;

/// A store with some shape and seed.
pub struct Polynomial {
    shape: Shape,
    cluster_hash: CorrelationRobust,
}

/// The data computed from the keys of a cluster.
#[derive(Default)]
pub struct Workspace(Ready);

#[derive(Default)]
enum Ready {
    /// Nothing, or too little to keep.
    #[default]
    Nothing,
    /// Ready to solve, if a cluster has many keys.
    Solved(Interpolator<Block>),
    /// Ready to decode.
    Prepared(Evaluator<Block>),
}

impl Polynomial {
    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }
}

impl From<DuplicatePoint> for Error {
    fn from(_: DuplicatePoint) -> Self {
        Self::NoSolution
    }
}

impl Okvs for Polynomial {
    type Workspace = Workspace;

    fn new(shape: Shape, seed: Block) -> Self {
        assert!(shape.dense_part == DensePart::Field, "coefficients of GF(2^128)");
        assert_eq!((shape.weight, shape.sparse), (0, 0), "no sparse columns");
        assert!(shape.clusters > 0 && shape.dense >= shape.capacity.max(1), "columns for all keys");
        assert!(u32::try_from(shape.clusters).is_ok(), "clusters have 32-bit numbers");
        Self {
            shape,
            cluster_hash: CorrelationRobust::new(Aes128::new(seed).encrypt_block(Block(0))),
        }
    }

    fn clusters(&self) -> usize {
        self.shape.clusters
    }

    fn cluster_columns(&self) -> usize {
        self.shape.dense
    }

    fn place(&self, keys: &[Block]) -> PlacedKeys {
        PlacedKeys::new(keys, self.shape.clusters, |keys| -> [u32; BATCH] {
            hashes(&self.cluster_hash, keys).map(|mut hash| digit(&mut hash.0, self.shape.clusters))
        })
    }

    fn solve_cluster(&self, keys: &[Block], workspace: &mut Workspace) -> Result<(), Error> {
        if keys.len() > self.shape.capacity {
            return Err(Error::Overflow);
        }
        // Few keys are interpolated when the cluster is filled, and equal keys are refused then.
        let many = keys.len() > poly::INTERPOLATED_QUADRATICALLY;
        workspace.0 = if many { Ready::Solved(Interpolator::new(keys)?) } else { Ready::Nothing };
        Ok(())
    }

    const PREPARES: bool = true;

    fn prepare_cluster(&self, keys: &[Block], workspace: &mut Workspace) {
        workspace.0 = Ready::Prepared(Evaluator::new(keys, self.shape.dense));
    }
}

impl Codec<Block> for Polynomial {
    fn fill_cluster(
        &self,
        keys: &[Block],
        values: &[Block],
        columns: &mut [Block],
        workspace: &Workspace,
    ) -> Result<(), Error> {
        let mut missing = values.to_vec();
        if keys.len() == columns.len() {
            // No column stays free.
            columns.fill(Block::ZERO);
        }
        if columns.iter().any(|column| *column != Block::ZERO) {
            let before = match &workspace.0 {
                Ready::Solved(ready) => ready.evaluate(columns),
                _ => poly::evaluate(columns, keys),
            };
            missing.iter_mut().zip(before).for_each(|(value, x)| *value ^= x);
        }
        let mending = match &workspace.0 {
            Ready::Solved(ready) => ready.interpolate(&missing),
            _ => poly::interpolate(keys, &missing)?,
        };
        columns.iter_mut().zip(mending).for_each(|(column, x)| *column ^= x);
        Ok(())
    }

    fn decode_cluster(&self, keys: &[Block], columns: &[Block], values: &mut [Block]) {
        values.copy_from_slice(&poly::evaluate(columns, keys));
    }

    fn decode_prepared(
        &self,
        keys: &[Block],
        columns: &[Block],
        values: &mut [Block],
        workspace: &Workspace,
    ) {
        match &workspace.0 {
            Ready::Nothing => self.decode_cluster(keys, columns, values),
            Ready::Solved(ready) => values.copy_from_slice(&ready.evaluate(columns)),
            Ready::Prepared(ready) => values.copy_from_slice(&ready.evaluate(columns)),
        }
    }
}
