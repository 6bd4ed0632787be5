//! The garbled Bloom filter (Dong, Chen, Wen: CCS 2013), with the insertion of Pinkas, Schneider and Zohner
//! (USENIX Security 2014, §4): a key decodes to the sum of the columns that a Bloom filter would set.
//!
//! Keys are inserted one after another. Of the columns of each key, the first that no earlier key has is
//! determined by this key, and its other new columns are free from then on. A key whose columns all belong to
//! earlier keys is a false positive of the Bloom filter, and its value is right only by chance.
//!
//! Deviation from the papers: there are as many parts as hash functions and a key has one column in each,
//! rather than arbitrary columns, so that they are distinct and the bound is exact; see
//! [`vesica_params::okvs::garbled_bloom`]. As published, columns that no key determines are random:
//! [`Free::Random`](super::Free::Random).
//!
//! Rows are hashes of keys by AES with feed-forward, as in [`rr22`](super::rr22).

use rayon::prelude::*;
use vesica_params::okvs::{Shape, SparsePart};
use vesica_primitives::{BinaryVector, Block, aes::CorrelationRobust};

use super::{
    BATCH, Codec, Error, Okvs, PlacedKeys,
    placed::scale,
    rr22::{hashes, row_hashes},
};

/// The minimum number of batches per thread.
const MIN_BATCHES: usize = 64;

/// A store with some shape and seed.
pub struct GarbledBloom {
    shape: Shape,
    /// Each hash gives a row two columns.
    hashes: Vec<CorrelationRobust>,
}

/// Scratch space for solving.
#[derive(Default)]
pub struct Workspace {
    /// One bit for each column: whether a row has it.
    taken: Vec<u64>,
    /// The column that each row determines, if there is one.
    determined: Vec<Option<u32>>,
}

impl GarbledBloom {
    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Columns of a part. Part i starts at i times this number.
    pub fn part_columns(&self) -> usize {
        self.shape.sparse / self.shape.weight
    }

    /// The column of each key in one part, counted from the part's start.
    ///
    /// # Panics
    /// If the part does not exist, or `columns` and `keys` differ in length.
    pub fn columns_in_part(&self, part: usize, keys: &[Block], columns: &mut [u32]) {
        assert!(part < self.shape.weight && keys.len() == columns.len(), "a column for each key");
        let (hash, range) = (&self.hashes[part / 2], self.part_columns());
        let batches = keys.par_chunks(BATCH).zip(columns.par_chunks_mut(BATCH));
        batches.with_min_len(MIN_BATCHES).for_each(|(keys, columns)| {
            for (column, place) in columns.iter_mut().zip(hashes(hash, keys)) {
                let fraction = if part.is_multiple_of(2) { place.high() } else { place.low() };
                *column = scale(fraction, range) as u32;
            }
        });
    }

    /// Space for the columns of [`BATCH`] keys.
    fn rows(&self) -> Vec<u32> {
        vec![0; BATCH * self.shape.weight]
    }

    /// The columns of each of up to [`BATCH`] keys, `weight` a key.
    fn read<'a>(
        &self,
        keys: &[Block],
        rows: &'a mut [u32],
    ) -> impl Iterator<Item = &'a [u32]> + use<'a> {
        let weight = self.shape.weight;
        let part = self.part_columns();
        for (pair, hash) in self.hashes.iter().enumerate() {
            let places = hashes(hash, keys);
            for (row, place) in rows.chunks_exact_mut(weight).zip(places) {
                let columns = (2 * pair..).zip([place.high(), place.low()]);
                for ((number, fraction), column) in columns.zip(&mut row[2 * pair..]) {
                    *column = (number * part + scale(fraction, part)) as u32;
                }
            }
        }
        rows.chunks_exact(weight).take(keys.len())
    }
}

impl Okvs for GarbledBloom {
    type Workspace = Workspace;

    fn new(shape: Shape, seed: Block) -> Self {
        let Shape { clusters, weight, sparse, sparse_part, dense, .. } = shape;
        assert!(sparse_part == SparsePart::Parts, "a column in each part");
        assert!(clusters == 1 && dense == 0, "one cluster without dense columns");
        assert!(weight > 0 && sparse >= weight && sparse % weight == 0, "equal parts");
        assert!(u32::try_from(sparse).is_ok(), "columns have 32-bit numbers");
        Self { shape, hashes: row_hashes(seed, weight.div_ceil(2)) }
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
        if keys.len() > self.shape.capacity {
            return Err(Error::Overflow);
        }
        let Workspace { taken, determined } = workspace;
        taken.clear();
        taken.resize(self.shape.sparse.div_ceil(64), 0);
        determined.clear();
        let mut rows = self.rows();
        for keys in keys.chunks(BATCH) {
            for row in self.read(keys, &mut rows) {
                let is_free =
                    |column: &&u32| taken[**column as usize / 64] >> (**column % 64) & 1 == 0;
                determined.push(row.iter().find(is_free).copied());
                row.iter().for_each(|column| taken[*column as usize / 64] |= 1 << (column % 64));
            }
        }
        Ok(())
    }
}

impl<V: BinaryVector> Codec<V> for GarbledBloom {
    fn fill_cluster(
        &self,
        keys: &[Block],
        values: &[V],
        columns: &mut [V],
        workspace: &Workspace,
    ) -> Result<(), Error> {
        let mut rows = self.rows();
        let mut determined = workspace.determined.iter();
        for (keys, values) in keys.chunks(BATCH).zip(values.chunks(BATCH)) {
            let rows = self.read(keys, &mut rows).zip(&mut determined);
            for ((row, determined), value) in rows.zip(values) {
                let missing = sum(columns, row) ^ *value;
                match determined {
                    Some(column) => columns[*column as usize] ^= missing,
                    None if missing == V::default() => {}
                    None => return Err(Error::NoSolution),
                }
            }
        }
        Ok(())
    }

    fn decode_cluster(&self, keys: &[Block], columns: &[V], values: &mut [V]) {
        let mut rows = self.rows();
        for (keys, values) in keys.chunks(BATCH).zip(values.chunks_mut(BATCH)) {
            for (row, value) in self.read(keys, &mut rows).zip(values) {
                *value = sum(columns, row);
            }
        }
    }
}

/// The sum of a row's columns.
fn sum<V: BinaryVector>(columns: &[V], row: &[u32]) -> V {
    row.iter().fold(V::default(), |sum, column| sum ^ columns[*column as usize])
}

#[cfg(test)]
mod tests {
    use vesica_params::okvs::garbled_bloom_of_weight;

    use super::*;

    /// The columns given by [`GarbledBloom::columns_in_part`] make up the row, for odd weights too.
    #[test]
    fn columns_of_parts_make_up_the_row() {
        for weight in [1, 2, 7, 40] {
            let store = GarbledBloom::new(garbled_bloom_of_weight(300, weight), Block(3));
            let keys: Vec<Block> = (0..BATCH as u128).map(Block).collect();
            let mut rows = store.rows();
            let rows: Vec<&[u32]> = store.read(&keys, &mut rows).collect();
            for part in 0..weight {
                let mut columns = vec![0; keys.len()];
                store.columns_in_part(part, &keys, &mut columns);
                let start = (part * store.part_columns()) as u32;
                assert!(rows.iter().zip(&columns).all(|(row, column)| row[part] == start + column));
            }
        }
    }
}
