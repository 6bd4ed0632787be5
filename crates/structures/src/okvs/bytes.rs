//! Values of any number of bytes.

use std::ops::Range;

use rand::Rng;
use rayon::prelude::*;
use vesica_primitives::{BinaryVector, Block};

use super::{Codec, Error, Free, PlacedKeys};

/// A store for values of a length known only at run time. A cluster is solved once and filled for one
/// plane of the values after the other, 16 or 8 bytes wide; bytes beyond the end of the last plane
/// are not kept.
///
/// Only stores for values over GF(2) are such: an element of GF(2^128) cannot be cut.
pub trait ByteStrings: Codec<Block> + Codec<u64> {
    /// The encoding under which the key at each position decodes to the `len` bytes at that position
    /// of `values`; `len` bytes for each column.
    ///
    /// # Errors
    /// As [`Codec::encode_cluster`].
    ///
    /// # Panics
    /// If `values` has not `len` bytes for each key.
    fn encode_bytes<R: Rng + ?Sized>(
        &self,
        keys: &PlacedKeys,
        values: &[u8],
        len: usize,
        free: Free,
        rng: &mut R,
    ) -> Result<Vec<u8>, Error> {
        assert_eq!(values.len(), keys.len() * len, "a value for each key");
        let mut columns = vec![0; self.columns() * len];
        if len == 0 {
            return Ok(columns);
        }
        if free == Free::Random {
            rng.fill_bytes(&mut columns);
        }
        let clusters = columns.par_chunks_exact_mut(self.cluster_columns() * len).enumerate();
        clusters.try_for_each_init(Self::Workspace::default, |workspace, (cluster, columns)| {
            let (positions, keys) = (&keys.positions()[keys.cluster(cluster)], keys.keys(cluster));
            self.solve_cluster(keys, workspace)?;
            planes(len).try_for_each(|plane| {
                let rows = Table { bytes: values, len };
                if plane.len() <= size_of::<u64>() {
                    fill::<u64, _>(self, keys, rows, positions, columns, plane, workspace)
                } else {
                    fill::<Block, _>(self, keys, rows, positions, columns, plane, workspace)
                }
            })
        })?;
        Ok(columns)
    }

    /// What each key decodes to, `len` bytes each, in the order of the placed keys.
    ///
    /// # Panics
    /// If `columns` has not `len` bytes for each column of an encoding.
    fn decode_bytes(&self, keys: &PlacedKeys, columns: &[u8], len: usize) -> Vec<u8> {
        assert_eq!(columns.len(), self.columns() * len, "as many columns as the shape has");
        let mut values = vec![0; keys.len() * len];
        if len == 0 {
            return values;
        }
        let clusters = columns.par_chunks_exact(self.cluster_columns() * len).enumerate();
        clusters.zip(keys.cut(&mut values, len)).for_each(|((cluster, columns), values)| {
            for plane in planes(len) {
                let columns = Table { bytes: columns, len };
                if plane.len() <= size_of::<u64>() {
                    decode::<u64, _>(self, keys.keys(cluster), columns, values, plane);
                } else {
                    decode::<Block, _>(self, keys.keys(cluster), columns, values, plane);
                }
            }
        });
        values
    }
}

impl<S: Codec<Block> + Codec<u64>> ByteStrings for S {}

/// Rows of `len` bytes.
#[derive(Clone, Copy)]
struct Table<'a> {
    bytes: &'a [u8],
    len: usize,
}

impl Table<'_> {
    /// The bytes of a plane in one row.
    fn at<V: BinaryVector>(&self, row: usize, plane: &Range<usize>) -> V {
        let mut value = V::default();
        let bytes = &self.bytes[row * self.len..][plane.clone()];
        bytemuck::bytes_of_mut(&mut value)[..plane.len()].copy_from_slice(bytes);
        value
    }
}

/// The planes of values of `len` bytes: blocks, and what is left.
fn planes(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(size_of::<Block>()).map(move |at| at..(at + size_of::<Block>()).min(len))
}

/// Writes the bytes of a plane into each row of a table.
fn write<V: BinaryVector>(from: &[V], to: &mut [u8], len: usize, plane: &Range<usize>) {
    for (value, row) in from.iter().zip(to.chunks_exact_mut(len)) {
        row[plane.clone()].copy_from_slice(&bytemuck::bytes_of(value)[..plane.len()]);
    }
}

/// Fills one plane of a cluster.
fn fill<V: BinaryVector, S: Codec<V> + ?Sized>(
    store: &S,
    keys: &[Block],
    values: Table<'_>,
    positions: &[u32],
    columns: &mut [u8],
    plane: Range<usize>,
    workspace: &S::Workspace,
) -> Result<(), Error> {
    let len = values.len;
    let values: Vec<V> =
        positions.iter().map(|position| values.at(*position as usize, &plane)).collect();
    let before = Table { bytes: columns, len };
    let mut filled: Vec<V> =
        (0..columns.len() / len).map(|column| before.at(column, &plane)).collect();
    store.fill_cluster(keys, &values, &mut filled, workspace)?;
    write(&filled, columns, len, &plane);
    Ok(())
}

/// Decodes one plane of a cluster.
fn decode<V: BinaryVector, S: Codec<V> + ?Sized>(
    store: &S,
    keys: &[Block],
    columns: Table<'_>,
    values: &mut [u8],
    plane: Range<usize>,
) {
    let (rows, len) = (columns.bytes.len() / columns.len, columns.len);
    let columns: Vec<V> = (0..rows).map(|column| columns.at(column, &plane)).collect();
    let mut decoded = vec![V::default(); keys.len()];
    store.decode_cluster(keys, &columns, &mut decoded);
    write(&decoded, values, len, &plane);
}
