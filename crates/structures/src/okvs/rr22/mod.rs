//! The OKVS of Raghuraman and Rindal (CCS 2022), §§2–4: three sparse columns a row, a few binary
//! dense ones, in clusters that fit a cache.
//!
//! A key's row falls into one cluster and has three distinct sparse columns there and a random bit
//! for each dense column. To encode a cluster:
//!
//! 1. Peel: while a sparse column has a single row left, that row is solved by it later; take it away.
//! 2. Where rows remain and none can be peeled, set one aside (the *gap*) and go on.
//! 3. Rows set aside determine the dense columns: each sparse column is an affine function of the
//!    dense ones, so a row set aside is an equation in dense columns alone.
//! 4. Go through the peeled rows backwards; each determines its column.
//!
//! Mostly nothing is set aside and the dense columns stay 0. Deviation from the paper: each cluster
//! pays for the number of clusters (the authors' code does not), see `vesica_params::okvs`.

mod solve;

use rand::Rng;
use rayon::prelude::*;
use vesica_params::okvs::Shape;
use vesica_primitives::{BinaryVector, Block, aes::Aes128};

use super::{Error, Free};
pub use solve::Workspace;

/// Keys handled at a time: fills the pipeline of the cipher.
const BATCH: usize = 32;

/// Dense columns looked up together in a table of all their sums, by one byte of a row's bits.
const GROUP: usize = 8;

/// A store for some shape and seed.
pub struct Rr22 {
    shape: Shape,
    place_hash: Aes128,
    dense_hash: Aes128,
    dense_mask: u128,
}

/// Keys sorted by cluster, so that a store is worked on one cluster at a time.
#[derive(Debug)]
pub struct PlacedKeys {
    keys: Vec<Block>,
    positions: Vec<u32>,
    /// `starts[cluster]..starts[cluster + 1]` are a cluster's keys.
    starts: Vec<usize>,
}

impl PlacedKeys {
    /// The position that each key had before, in the order in which [`Rr22::decode`] gives values.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// As [`PlacedKeys::positions`], for good.
    pub fn into_positions(self) -> Vec<u32> {
        self.positions
    }

    /// The keys of a cluster.
    pub fn keys(&self, cluster: usize) -> &[Block] {
        &self.keys[self.cluster(cluster)]
    }

    /// Where a cluster's keys stand among all placed keys.
    pub fn cluster(&self, cluster: usize) -> std::ops::Range<usize> {
        self.starts[cluster]..self.starts[cluster + 1]
    }
}

impl Rr22 {
    /// The store of a shape under a seed that was drawn after the keys were fixed.
    ///
    /// # Panics
    /// If the shape has more than 2^16 sparse columns or keys a cluster; `vesica_params::okvs::shape`
    /// gives none such for targets of up to 2^15.
    pub fn new(shape: Shape, seed: Block) -> Self {
        assert!(shape.sparse.max(shape.capacity) < 1 << 16, "columns and rows have 16-bit numbers");
        assert!(shape.dense <= 128, "dense columns fit a block");
        let seed = Aes128::new(seed);
        let hash = |purpose: u128| Aes128::new(seed.encrypt_block(Block(purpose)));
        let dense_mask = (1u128 << (shape.dense % 128)).wrapping_sub(1);
        let dense_mask = if shape.dense == 128 { u128::MAX } else { dense_mask };
        Self { shape, place_hash: hash(0), dense_hash: hash(1), dense_mask }
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Columns in all: the length of an encoding.
    pub fn columns(&self) -> usize {
        self.shape.columns()
    }

    /// Sorts keys by their cluster.
    ///
    /// # Panics
    /// If there are more than 2^32 keys.
    pub fn place(&self, keys: &[Block]) -> PlacedKeys {
        assert!(u32::try_from(keys.len()).is_ok(), "positions have 32 bits");
        let mut clusters = vec![0u32; keys.len()];
        let mut starts = vec![0; self.shape.clusters + 1];
        for (keys, clusters) in keys.chunks(BATCH).zip(clusters.chunks_mut(BATCH)) {
            let places = self.places(keys);
            for (place, cluster) in places.iter().zip(clusters) {
                *cluster = place.cluster;
                starts[place.cluster as usize + 1] += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut placed = vec![Block::ZERO; keys.len()];
        let mut positions = vec![0; keys.len()];
        for (position, (key, cluster)) in keys.iter().zip(clusters).enumerate() {
            let slot = &mut next[cluster as usize];
            placed[*slot] = *key;
            positions[*slot] = position as u32;
            *slot += 1;
        }
        PlacedKeys { keys: placed, positions, starts }
    }

    /// The encoding under which each key decodes to `value(position, key)`.
    ///
    /// # Errors
    /// As [`Rr22::encode_cluster`].
    pub fn encode<V: BinaryVector>(
        &self,
        keys: &PlacedKeys,
        value: impl Fn(u32, Block) -> V + Sync,
        free: Free,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<Vec<V>, Error> {
        let mut columns = vec![V::default(); self.columns()];
        if free == Free::Random {
            columns.iter_mut().for_each(|column| *column = V::random(rng));
        }
        let clusters = columns.par_chunks_exact_mut(self.shape.cluster_columns()).enumerate();
        clusters.try_for_each_init(Workspace::default, |workspace, (cluster, columns)| {
            let rows = keys.cluster(cluster);
            let values = rows.map(|i| value(keys.positions[i], keys.keys[i])).collect::<Vec<V>>();
            self.encode_cluster(cluster, keys, &values, columns, workspace)
        })?;
        Ok(columns)
    }

    /// The part of an encoding that belongs to one cluster, whose keys take `values` in order. What
    /// `columns` holds stays where no equation determines a column.
    ///
    /// # Errors
    /// [`Error::Overflow`] and [`Error::NoSolution`], with a probability of at most 2^-λ over all
    /// clusters for distinct keys; the latter where two keys are equal and their values differ.
    pub fn encode_cluster<V: BinaryVector>(
        &self,
        cluster: usize,
        keys: &PlacedKeys,
        values: &[V],
        columns: &mut [V],
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        workspace.encode(self, keys.keys(cluster), values, columns)
    }

    /// What each key decodes to, in the order of the placed keys.
    ///
    /// # Panics
    /// If `columns` is not as long as an encoding.
    pub fn decode<V: BinaryVector>(&self, keys: &PlacedKeys, columns: &[V]) -> Vec<V> {
        assert_eq!(columns.len(), self.columns(), "as many columns as the shape has");
        let clusters = columns.par_chunks_exact(self.shape.cluster_columns()).enumerate();
        let decoded: Vec<Vec<V>> = clusters
            .map(|(cluster, columns)| self.decode_cluster(cluster, keys, columns))
            .collect();
        decoded.concat()
    }

    /// What each key of one cluster decodes to.
    pub fn decode_cluster<V: BinaryVector>(
        &self,
        cluster: usize,
        keys: &PlacedKeys,
        columns: &[V],
    ) -> Vec<V> {
        let keys = keys.keys(cluster);
        let (sparse, dense) = columns.split_at(self.shape.sparse);
        let sums = DenseSums::new(dense);
        let mut values = vec![V::default(); keys.len()];
        for (keys, values) in keys.chunks(BATCH).zip(values.chunks_mut(BATCH)) {
            let (places, bits) = (self.places(keys), self.dense_bits(keys));
            for ((value, place), bits) in values.iter_mut().zip(&places).zip(bits) {
                *value = sums.of(bits);
                if !sparse.is_empty() {
                    *value ^= sum(sparse, place.sparse);
                }
            }
        }
        values
    }

    /// Cluster and sparse columns of up to [`BATCH`] keys.
    #[inline]
    fn places(&self, keys: &[Block]) -> [Place; BATCH] {
        let mut hashes = [Block::ZERO; BATCH];
        hashes[..keys.len()].copy_from_slice(keys);
        self.place_hash.encrypt(&mut hashes[..keys.len()]);
        hashes.map(|hash| self.place_of(hash))
    }

    /// Four fields of 32 bits, each scaled to its range; the deviation from uniform is below the
    /// range divided by 2^32.
    #[inline]
    fn place_of(&self, hash: Block) -> Place {
        let scaled = |field: u32, range: usize| {
            let field = u64::from((hash.0 >> (32 * field)) as u32);
            ((field * range as u64) >> 32) as u32
        };
        let cluster = scaled(0, self.shape.clusters);
        let sparse = self.shape.sparse;
        if sparse == 0 {
            return Place { cluster, sparse: [0; 3] };
        }
        // Each further column is counted among those not taken yet: step over the taken ones.
        let first = scaled(1, sparse);
        let mut second = scaled(2, sparse - 1);
        second += u32::from(second >= first);
        let (low, high) = (first.min(second), first.max(second));
        let mut third = scaled(3, sparse - 2);
        third += u32::from(third >= low);
        third += u32::from(third >= high);
        Place { cluster, sparse: [first as u16, second as u16, third as u16] }
    }

    /// The bits for the dense columns of up to [`BATCH`] keys.
    #[inline]
    fn dense_bits(&self, keys: &[Block]) -> [u128; BATCH] {
        let mut hashes = [Block::ZERO; BATCH];
        hashes[..keys.len()].copy_from_slice(keys);
        self.dense_hash.encrypt(&mut hashes[..keys.len()]);
        hashes.map(|hash| hash.0 & self.dense_mask)
    }
}

/// Where a key falls.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    cluster: u32,
    /// Three distinct columns, unless the shape has no sparse ones.
    sparse: [u16; 3],
}

/// The sum of three columns.
#[inline]
fn sum<V: BinaryVector>(columns: &[V], [a, b, c]: [u16; 3]) -> V {
    columns[a as usize] ^ columns[b as usize] ^ columns[c as usize]
}

/// Sums of dense columns by tables of every subset of a few of them.
struct DenseSums<V>(Vec<[V; 1 << GROUP]>);

impl<V: BinaryVector> DenseSums<V> {
    /// No table at all where every column is zero.
    fn new(dense: &[V]) -> Self {
        if dense.iter().all(|column| *column == V::default()) {
            return Self(Vec::new());
        }
        let table = |columns: &[V]| {
            let mut sums = [V::default(); 1 << GROUP];
            for subset in 1..1usize << columns.len() {
                let lowest = subset & subset.wrapping_neg();
                sums[subset] = sums[subset ^ lowest] ^ columns[lowest.trailing_zeros() as usize];
            }
            sums
        };
        Self(dense.chunks(GROUP).map(table).collect())
    }

    /// The sum of the columns whose bits are set.
    #[inline]
    fn of(&self, bits: u128) -> V {
        let mut sum = V::default();
        for (table, subset) in self.0.iter().zip(bits.to_le_bytes()) {
            sum ^= table[usize::from(subset)];
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_params::okvs::shape;

    use super::*;

    fn random_blocks(n: usize, rng: &mut StdRng) -> Vec<Block> {
        (0..n).map(|_| Block::random(rng)).collect()
    }

    fn round_trip<V: BinaryVector>(shape: Shape, n: usize, free: Free, rng: &mut StdRng) {
        let keys = random_blocks(n, rng);
        let values: Vec<V> = (0..n).map(|_| V::random(rng)).collect();
        let okvs = Rr22::new(shape, Block::random(rng));
        let placed = okvs.place(&keys);
        let value = |position: u32, key: Block| {
            assert_eq!(keys[position as usize], key);
            values[position as usize]
        };
        let columns = okvs.encode(&placed, value, free, rng).unwrap();
        assert_eq!(columns.len(), shape.columns());
        let decoded = okvs.decode(&placed, &columns);
        for (value, position) in decoded.iter().zip(placed.positions()) {
            assert!(*value == values[*position as usize], "{n} keys, {shape:?}");
        }
    }

    #[test]
    fn every_key_decodes_to_its_value() {
        let mut rng = StdRng::seed_from_u64(1);
        for n in [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 66, 100, 255, 1000, 4097, 65_537, 99_991] {
            for target in [100, 1 << 14, 1 << 15] {
                let shape = shape(n, target, 40);
                for free in [Free::Zero, Free::Random] {
                    round_trip::<u64>(shape, n, free, &mut rng);
                    round_trip::<Block>(shape, n, free, &mut rng);
                }
            }
        }
    }

    /// Tables so tight that rows have to be set aside, which in proper shapes hardly ever happens.
    #[test]
    fn gaps_are_solved() {
        let mut rng = StdRng::seed_from_u64(2);
        for sparse in [1223, 1200, 1150, 1130] {
            let shape = Shape { clusters: 1, capacity: 1000, sparse, dense: 128 };
            (0..30).for_each(|_| round_trip::<u64>(shape, 1000, Free::Zero, &mut rng));
            (0..30).for_each(|_| round_trip::<Block>(shape, 1000, Free::Random, &mut rng));
        }
    }

    #[test]
    fn decoding_is_linear() {
        let mut rng = StdRng::seed_from_u64(3);
        let okvs = Rr22::new(shape(1000, 300, 40), Block(7));
        let placed = okvs.place(&random_blocks(1000, &mut rng));
        let a = random_blocks(okvs.columns(), &mut rng);
        let b = random_blocks(okvs.columns(), &mut rng);
        let sum: Vec<Block> = a.iter().zip(&b).map(|(a, b)| *a ^ *b).collect();
        let decoded = [a, b, sum].map(|columns| okvs.decode(&placed, &columns));
        let [a, b, sum] = &decoded;
        assert!((0..1000).all(|i| a[i] ^ b[i] == sum[i]));
    }

    #[test]
    fn equal_keys_contradict_each_other_or_agree() {
        let mut rng = StdRng::seed_from_u64(4);
        for n in [2, 50, 500, 5000] {
            let mut keys = random_blocks(n, &mut rng);
            keys[n - 1] = keys[0];
            let okvs = Rr22::new(shape(n, 1 << 14, 40), Block::random(&mut rng));
            let placed = okvs.place(&keys);
            let by_position = |position: u32, _: Block| u64::from(position);
            let error = okvs.encode(&placed, by_position, Free::Zero, &mut rng).unwrap_err();
            assert_eq!(error, Error::NoSolution);
            let by_key = |_: u32, key: Block| key.low();
            assert!(okvs.encode(&placed, by_key, Free::Zero, &mut rng).is_ok());
        }
        let same = vec![Block(1); 3000];
        let okvs = Rr22::new(shape(3000, 1000, 40), Block(1));
        let error = okvs.encode(&okvs.place(&same), |i, _| i, Free::Zero, &mut rng).unwrap_err();
        assert_eq!(error, Error::Overflow);
    }

    /// At a λ small enough to see, encoding fails no more often than the shape allows.
    #[test]
    fn failures_keep_to_the_bound() {
        let mut rng = StdRng::seed_from_u64(5);
        for (n, target, lambda) in [(200, 200, 4), (1000, 1000, 4), (2000, 500, 5)] {
            let shape = shape(n, target, lambda);
            let trials = 3000;
            let failures = (0..trials).filter(|_| {
                let okvs = Rr22::new(shape, Block::random(&mut rng));
                let placed = okvs.place(&random_blocks(n, &mut rng));
                okvs.encode(&placed, |_, key| key.high(), Free::Zero, &mut rng).is_err()
            });
            let failures = failures.count();
            assert!(
                failures << lambda <= trials,
                "{failures} of {trials} at 2^-{lambda}, {shape:?}"
            );
        }
    }

    /// A vector for values that are random says nothing of the keys: no column stands out.
    #[test]
    fn free_columns_are_random_on_request() {
        let mut rng = StdRng::seed_from_u64(6);
        let okvs = Rr22::new(shape(500, 1000, 40), Block(3));
        let placed = okvs.place(&random_blocks(500, &mut rng));
        let mut zeros = |free| {
            let columns = okvs.encode(&placed, |_, key| key.low(), free, &mut rng).unwrap();
            columns.iter().filter(|column| **column == 0).count()
        };
        assert!(zeros(Free::Zero) > okvs.columns() / 10);
        assert_eq!(zeros(Free::Random), 0);
    }
}
