//! Values of any number of bytes.

use std::ops::Range;

use rand::Rng;
use rayon::prelude::*;
use vesica_primitives::{BinaryVector, Block, threads};

use super::{Codec, Error, Field, Free, Okvs, PlacedKeys, polynomial::Polynomial, rr22::Rr22};

/// A store for values whose length is known only at run time. A cluster is solved once and filled one plane of
/// the values at a time, each 16 or 8 bytes wide; bytes beyond the end of the last plane are not kept.
///
/// Stores for values over GF(2) take any number of bytes. An element of GF(2^128) cannot be cut.
pub trait ByteStrings: Codec<Block> {
    /// The length of values is a multiple of this many bytes.
    const UNIT: usize;

    /// The encoding under which the key at each position decodes to the `len` bytes at that position of
    /// `values`. It has `len` bytes for each column.
    ///
    /// # Errors
    /// Same as [`Codec::encode_cluster`].
    ///
    /// # Panics
    /// If `values` does not have `len` bytes for each key, or `len` is not a multiple of [`ByteStrings::UNIT`].
    fn encode_bytes<R: Rng + ?Sized>(
        &self,
        keys: &PlacedKeys,
        values: &[u8],
        len: usize,
        free: Free,
        rng: &mut R,
    ) -> Result<Vec<u8>, Error>;

    /// The decoded value of each key, `len` bytes each, in the order of the placed keys.
    ///
    /// # Panics
    /// If `columns` does not have `len` bytes for each column of an encoding.
    fn decode_bytes(&self, keys: &PlacedKeys, columns: &[u8], len: usize) -> Vec<u8>;
}

impl<S: Codec<Block> + Codec<u64>> ByteStrings for S {
    const UNIT: usize = 1;

    fn encode_bytes<R: Rng + ?Sized>(
        &self,
        keys: &PlacedKeys,
        values: &[u8],
        len: usize,
        free: Free,
        rng: &mut R,
    ) -> Result<Vec<u8>, Error> {
        let rows = Table { bytes: values, len };
        encode(self, keys, rows, free, rng, |keys, positions, columns, plane, workspace| {
            if plane.len() <= size_of::<u64>() {
                fill::<u64, _>(self, keys, rows, positions, columns, plane, workspace)
            } else {
                fill::<Block, _>(self, keys, rows, positions, columns, plane, workspace)
            }
        })
    }

    fn decode_bytes(&self, keys: &PlacedKeys, columns: &[u8], len: usize) -> Vec<u8> {
        decode_all(self, keys, columns, len, |keys, columns, values, plane| {
            if plane.len() <= size_of::<u64>() {
                decode::<u64, _>(self, keys, columns, values, plane);
            } else {
                decode::<Block, _>(self, keys, columns, values, plane);
            }
        })
    }
}

/// Implements [`ByteStrings`] for stores over GF(2^128).
macro_rules! in_whole_elements {
    ($($store:ty),*) => {$(
        impl ByteStrings for $store {
            const UNIT: usize = size_of::<Block>();

            fn encode_bytes<R: Rng + ?Sized>(
                &self,
                keys: &PlacedKeys,
                values: &[u8],
                len: usize,
                free: Free,
                rng: &mut R,
            ) -> Result<Vec<u8>, Error> {
                assert!(len.is_multiple_of(Self::UNIT), "whole elements");
                let rows = Table { bytes: values, len };
                encode(self, keys, rows, free, rng, |keys, positions, columns, plane, workspace| {
                    fill::<Block, _>(self, keys, rows, positions, columns, plane, workspace)
                })
            }

            fn decode_bytes(&self, keys: &PlacedKeys, columns: &[u8], len: usize) -> Vec<u8> {
                decode_all(self, keys, columns, len, |keys, columns, values, plane| {
                    decode::<Block, _>(self, keys, columns, values, plane);
                })
            }
        }
    )*};
}

in_whole_elements!(Polynomial, Rr22<Field>);

/// Encodes: `fill_plane` fills the columns of a cluster for one plane of the values of its keys, whose
/// positions it is given.
fn encode<S: Okvs, R: Rng + ?Sized>(
    store: &S,
    keys: &PlacedKeys,
    Table { bytes: values, len }: Table<'_>,
    free: Free,
    rng: &mut R,
    fill_plane: impl Fn(&[Block], &[u32], &mut [u8], Range<usize>, &S::Workspace) -> Result<(), Error>
    + Sync,
) -> Result<Vec<u8>, Error> {
    assert_eq!(values.len(), keys.len() * len, "a value for each key");
    let mut columns = vec![0; store.columns() * len];
    if len == 0 {
        return Ok(columns);
    }
    if free == Free::Random {
        rng.fill_bytes(&mut columns);
    }
    let clusters = columns.par_chunks_exact_mut(store.cluster_columns() * len).enumerate();
    clusters.try_for_each_init(S::Workspace::default, |workspace, (cluster, columns)| {
        let (positions, keys) = (&keys.positions()[keys.cluster(cluster)], keys.keys(cluster));
        store.solve_cluster(keys, workspace)?;
        planes(len).try_for_each(|plane| fill_plane(keys, positions, columns, plane, workspace))
    })?;
    Ok(columns)
}

/// Decodes: `decode_plane` decodes one plane of the values of some keys of a cluster.
fn decode_all<S: Okvs>(
    store: &S,
    keys: &PlacedKeys,
    columns: &[u8],
    len: usize,
    decode_plane: impl Fn(&[Block], Table<'_>, &mut [u8], Range<usize>) + Sync,
) -> Vec<u8> {
    assert_eq!(columns.len(), store.columns() * len, "as many columns as the shape has");
    let mut values = vec![0; keys.len() * len];
    if len == 0 {
        return values;
    }
    let clusters = columns.chunks_exact(store.cluster_columns() * len).enumerate();
    let tasks = clusters.zip(keys.cut(&mut values, len));
    threads::for_each(tasks, |((cluster, columns), values)| {
        for plane in planes(len) {
            decode_plane(keys.keys(cluster), Table { bytes: columns, len }, values, plane);
        }
    });
    values
}

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

/// The planes of values of `len` bytes: whole blocks, then the rest.
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
