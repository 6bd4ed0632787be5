//! RB-OKVS (Bienstock, Patel, Seo, Yeo: USENIX Security 2023): the columns of a row form a band of adjacent
//! columns from a random start, with a random bit each. A band as wide as the store is a random matrix.
//!
//! Keys are placed in the order of their bands, so that eliminating, filling and decoding each pass through
//! the columns once, in one direction, and stay in the cache with a single cluster.
//!
//! Bands are held in words of 64 columns, aligned to the columns of the store: wherever rows start, they are
//! added word by word. See `Elimination` for solving, and `WindowSums` for how sums of about five hundred columns
//! take a hundred look-ups.
//!
//! Deviation from the paper: a row's first bit is always 1, as in the known implementations. Rows are hashes
//! of keys by AES with feed-forward, as in [`rr22`](super::rr22).

mod eliminate;
mod sums;

use vesica_params::okvs::{Shape, SparsePart};
use vesica_primitives::{BinaryVector, Block, aes::CorrelationRobust};

use super::{
    BATCH, Codec, Error, Okvs, PlacedKeys,
    placed::scale,
    rr22::{hashes, row_hashes},
};
use eliminate::Elimination;
use sums::WindowSums;

/// A store with some shape and seed.
pub struct Band {
    shape: Shape,
    /// The first hash gives the position and 64 bits of the band, each further one 128 bits.
    hashes: Vec<CorrelationRobust>,
}

/// Scratch space for solving clusters one after another.
#[derive(Default)]
pub struct Workspace(Elimination);

impl Band {
    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Words needed to hold a row, wherever in a word it starts.
    fn words(&self) -> usize {
        (62 + self.shape.weight) / 64 + 1
    }

    /// The position of each of up to [`BATCH`] keys among all clusters, as a fraction.
    #[inline]
    fn fractions(&self, keys: &[Block]) -> [u64; BATCH] {
        hashes(&self.hashes[0], keys).map(Block::high)
    }

    /// The column of its cluster at which the band of a key with this fraction starts.
    #[inline]
    fn start(&self, fraction: u64) -> u32 {
        let in_cluster = fraction.wrapping_mul(self.shape.clusters as u64);
        scale(in_cluster, self.shape.sparse - self.shape.weight + 1) as u32
    }

    /// Space for the rows of [`BATCH`] keys.
    fn rows(&self) -> Rows {
        Rows { starts: [0; BATCH], words: self.words(), bits: vec![0; BATCH * self.words()] }
    }
}

/// The rows of up to [`BATCH`] keys.
struct Rows {
    starts: [u32; BATCH],
    words: usize,
    /// The words of each row, beginning with the one in which it starts.
    bits: Vec<u64>,
}

impl Rows {
    /// Computes the rows of up to [`BATCH`] keys.
    #[inline]
    fn read(&mut self, store: &Band, keys: &[Block]) {
        let words = self.words;
        let firsts = hashes(&store.hashes[0], keys);
        for (i, first) in firsts.iter().enumerate() {
            self.starts[i] = store.start(first.high());
            self.bits[i * words] = first.low() | 1;
        }
        for (pair, hash) in store.hashes[1..].iter().enumerate() {
            for (i, block) in hashes(hash, keys).iter().enumerate() {
                let row = &mut self.bits[i * words..][..words];
                row[1 + 2 * pair] = block.low();
                if let Some(word) = row.get_mut(2 + 2 * pair) {
                    *word = block.high();
                }
            }
        }
        let (full, part) = (store.shape.weight / 64, store.shape.weight % 64);
        for (row, start) in self.bits.chunks_exact_mut(words).zip(&self.starts).take(keys.len()) {
            if let Some((word, beyond)) = row[full..].split_first_mut() {
                *word &= (1 << part) - 1;
                beyond.fill(0);
            }
            let shift = start % 64;
            for i in (1..words).rev() {
                row[i] = row[i] << shift | (row[i - 1] >> 1) >> (63 - shift);
            }
            row[0] <<= shift;
        }
    }

    /// The rows last computed for `count` keys: the column at which each starts, and its words.
    fn each(&self, count: usize) -> impl Iterator<Item = (usize, &[u64])> {
        let starts = self.starts.iter().map(|start| *start as usize);
        starts.zip(self.bits.chunks_exact(self.words)).take(count)
    }
}

impl Okvs for Band {
    type Workspace = Workspace;

    fn new(shape: Shape, seed: Block) -> Self {
        assert!(shape.sparse_part == SparsePart::Band, "columns side by side");
        assert!(shape.dense == 0, "no dense columns");
        assert!(shape.weight > 0 && shape.weight <= shape.sparse, "columns for a row");
        assert!(
            u32::try_from(shape.sparse.max(shape.capacity)).is_ok(),
            "columns and rows have 32-bit numbers"
        );
        let blocks = 1 + shape.weight.saturating_sub(64).div_ceil(128);
        Self { shape, hashes: row_hashes(seed, blocks) }
    }

    fn clusters(&self) -> usize {
        self.shape.clusters
    }

    fn cluster_columns(&self) -> usize {
        self.shape.cluster_columns()
    }

    /// Sorts keys by their cluster and start.
    fn place(&self, keys: &[Block]) -> PlacedKeys {
        PlacedKeys::sorted(keys, self.shape.clusters, |keys| self.fractions(keys))
    }

    fn solve_cluster(&self, keys: &[Block], workspace: &mut Workspace) -> Result<(), Error> {
        workspace.0.solve(self, keys)
    }
}

impl<V: BinaryVector> Codec<V> for Band {
    fn fill_cluster(
        &self,
        _: &[Block],
        values: &[V],
        columns: &mut [V],
        workspace: &Workspace,
    ) -> Result<(), Error> {
        workspace.0.fill(values, columns)
    }

    /// Fast if keys are in the order in which they were placed.
    fn decode_cluster(&self, keys: &[Block], columns: &[V], values: &mut [V]) {
        let (mut rows, mut sums) = (self.rows(), WindowSums::new(self.words()));
        for (keys, values) in keys.chunks(BATCH).zip(values.chunks_mut(BATCH)) {
            rows.read(self, keys);
            for ((start, row), value) in rows.each(keys.len()).zip(values) {
                let first = start / 64;
                sums.cover(first, columns);
                *value = sums.sum(first, row[0], &row[1..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_params::okvs::{Excess, band, random_matrix};

    use super::*;

    /// The columns of each row, found bit by bit.
    fn columns_of(store: &Band, keys: &[Block]) -> Vec<Vec<usize>> {
        let mut rows = store.rows();
        rows.read(store, keys);
        let columns = |(start, row): (usize, &[u64])| {
            let bit = |i: &usize| row[i / 64] >> (i % 64) & 1 == 1;
            (0..64 * row.len()).filter(bit).map(|i| start / 64 * 64 + i).collect()
        };
        rows.each(keys.len()).map(columns).collect()
    }

    #[test]
    fn bands_begin_with_a_1_and_fill_their_width() {
        let mut rng = StdRng::seed_from_u64(1);
        for weight in [1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 193, 257, 377] {
            let shape = Shape { weight, ..band(1000, usize::MAX, Excess::Percent10, 40) };
            let store = Band::new(shape, Block(3));
            let (mut starts, mut ends, mut ones) = (vec![], 0, 0);
            for _ in 0..100 {
                let keys: Vec<Block> = (0..30).map(|_| Block::random(&mut rng)).collect();
                let fractions = store.fractions(&keys);
                for (columns, fraction) in columns_of(&store, &keys).iter().zip(fractions) {
                    let start = columns[0];
                    assert_eq!(start, store.start(fraction) as usize);
                    assert!(columns[columns.len() - 1] < start + weight);
                    ends += usize::from(columns[columns.len() - 1] == start + weight - 1);
                    starts.push(start);
                    ones += columns.len() - 1;
                }
            }
            assert!(weight == 1 || (1200..1800).contains(&ends), "{ends}");
            let expected = 3000.0 * (weight - 1) as f64 / 2.0;
            assert!((ones as f64 - expected).abs() <= 5.0 * (expected / 2.0).sqrt());
            assert!(*starts.iter().max().unwrap() > (shape.sparse - weight) * 9 / 10);
            assert!(*starts.iter().min().unwrap() < (shape.sparse - weight) / 10 + 1);
        }
    }

    #[test]
    fn a_random_matrix_starts_in_front() {
        let store = Band::new(random_matrix(100, 40), Block(3));
        let rows = columns_of(&store, &[Block(1), Block(2)]);
        assert!(rows.iter().all(|columns| columns[0] == 0 && columns.len() > 40));
    }
}
