//! The multi-point OPRF of Pinkas, Rosulek, Trieu and Yanai (CRYPTO 2019), §4, which they call sparse OT
//! extension. Semi-honest.
//!
//! F(k, x) is one pseudo-random bit, of AES under the key k. The points of R are in bins; a value belongs to
//! a point in a bin.
//!
//! - **O1.** Once, without input: ℓ base OTs with the parties' roles exchanged. R has k_i^0 and k_i^1, S has Δ_i and
//!   k_i^{Δ_i}.
//! - **O2.** R → S: for each bin b polynomials P_b with P_b(x) = R_x at the points of the bin, where bit i of R_x is
//!   F(k_i^0, x) ⊕ F(k_i^1, x). S lacks one of the two, so the R_x look random, and so do the polynomials,
//!   which have as many coefficients as a bin can hold points ([`vesica_structures::slices`]).
//! - **O3.** S can compute, for any y, Q_b(y) with bits F(k_i^{Δ_i}, y) ⊕ Δ_i · P_b(y)_i. R has T_x with
//!   bits F(k_i^0, x).
//! - **O4.** The value of y in bin b is H(b, y, Q_b(y)); R has H(b, x, T_x).
//!
//! Q_b(y) = T_y ⊕ (D ∧ Δ) with D = R_y ⊕ P_b(y), which is 0 at R's points. Elsewhere R_y is independent of
//! P_b, so D is uniformly random for any P_b(y), and has at least κ ones except with the probability
//! that `vesica_params::code::least_width` bounds. R would then have to know κ bits of Δ. Rows share Δ, so H
//! must be robust against Hamming correlations: it is BLAKE3 over all of its arguments.

use std::ops::Range;

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_ot::{
    Bytes, ZeroizingVec,
    base::{BaseOt, np01::Np01},
};
use vesica_params::{Adversary, slices::Shape};
use vesica_primitives::{
    Bits, Block, Delta,
    aes::Aes128,
    group::Ristretto,
    hash::{IndexedRow, RowHash},
    poly::{Field, Gf64},
};
use vesica_structures::slices::{
    Bins, Decoder, Encoder, Excess, ROW_BLOCKS, Row, Spares, add_masked, narrow_node, slice,
};
use zeroize::Zeroizing;

use crate::Error;

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: nothing binds the receiver to its values, and inputs are not extracted from H.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, Adversary::SemiHonest]);

/// Approximate number of points whose columns are sent together: their bins stay in the cache.
const GROUP: usize = 2048;

/// Points per thread at a time: they and their images under one key stay in the first-level cache.
const BATCH: usize = 128;

const SPARES: &str = "prty19/spare-columns";
const WIDE: &str = "prty19/wide-columns";
const NARROW: &str = "prty19/narrow-columns";

/// Payload bytes of the setup.
pub fn setup_bytes(shape: Shape) -> Bytes {
    let base = Base::bytes(shape.bits());
    Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender }
}

/// The bins whose columns are sent together.
fn groups(shape: Shape) -> impl Iterator<Item = Range<usize>> {
    let group = (GROUP / shape.capacity.max(1)).max(1);
    (0..shape.bins).step_by(group).map(move |first| first..(first + group).min(shape.bins))
}

/// Adds to each row the bits of F of its point under as many keys.
fn add_function(keys: &[Aes128], points: &[Block], rows: &mut [Row]) {
    let mut sums = Zeroizing::new([Block::ZERO; BATCH]);
    for (points, rows) in points.chunks(BATCH).zip(rows.chunks_mut(BATCH)) {
        let sums = &mut sums[..points.len()];
        for (block, keys) in keys.chunks(128).enumerate() {
            sums.fill(Block::ZERO);
            Aes128::add_bits(keys, points, sums);
            rows.iter_mut().zip(&*sums).for_each(|(row, sum)| row[block] ^= *sum);
        }
    }
}

/// The public data of a run: the hashes, derived from a public seed.
struct Public {
    nodes: Aes128,
    hash: RowHash,
}

impl Public {
    fn new(seed: Block) -> Self {
        let root = Aes128::new(seed);
        let key = |purpose| root.encrypt_block(Block(purpose));
        Self { nodes: Aes128::new(key(0)), hash: RowHash::new(key(1)) }
    }

    /// The hashes of points, for their nodes in narrow slices.
    fn hash_points(&self, points: &[Block]) -> Vec<Block> {
        let mut hashes = points.to_vec();
        hashes.par_chunks_mut(BATCH).for_each(|hashes| self.nodes.encrypt(hashes));
        hashes
    }

    /// H of bins, points and rows; overwrites the rows.
    fn finish(&self, bins: &[u32], points: &[Block], rows: &mut [Row], values: &mut [Block]) {
        self.hash.shorten(rows);
        let indexed = rows.iter_mut().zip(points).zip(bins).map(|((row, point), bin)| {
            row[2] = *point;
            IndexedRow::new(u64::from(*bin), row)
        });
        let indexed: Vec<IndexedRow> = indexed.collect();
        self.hash.hash(&indexed, values);
    }
}

/// The bin of each point of a group.
fn bins_of(group: Range<usize>, starts: &[u32]) -> Vec<u32> {
    let bins = group.flat_map(|bin| {
        let points = starts[bin + 1] - starts[bin];
        std::iter::repeat_n(bin as u32, points as usize)
    });
    bins.collect()
}

/// The range of a group's points among all points.
fn points_of(group: &Range<usize>, starts: &[u32]) -> Range<usize> {
    starts[group.start] as usize..starts[group.end] as usize
}

/// The party that can evaluate the function everywhere.
pub struct Sender {
    shape: Shape,
    delta: Zeroizing<Row>,
    keys: Vec<Aes128>,
}

impl Sender {
    /// Step O1.
    ///
    /// # Panics
    /// If a row of the shape has more than 512 bits.
    pub fn setup(
        shape: Shape,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let bits = shape.bits();
        let delta = Delta::random(bits, rng);
        let choices = Bits::from_blocks(delta.expose().to_vec(), bits);
        let seeds = Base::receive(&choices, channel, rng)?;
        let mut row = Zeroizing::new(Row::default());
        row[..delta.expose().len()].copy_from_slice(delta.expose());
        let keys = seeds.iter().map(|seed| Aes128::new(*seed.expose())).collect();
        Ok(Self { shape, delta: row, keys })
    }

    /// Steps O2 to O4 with a public seed that was drawn after both parties' points were fixed. `starts` gives for
    /// each bin where its points start among all points, followed by their number; `point(i)` is the i-th
    /// point. Returns the value of each.
    pub fn evaluate(
        self,
        seed: Block,
        starts: &[u32],
        point: impl Fn(usize) -> Block + Sync,
        channel: &mut Channel,
    ) -> vesica_net::Result<Vec<Block>> {
        let public = Public::new(seed);
        let mut spares = vec![Gf64::ZERO; self.shape.narrow * self.shape.spare];
        if !spares.is_empty() {
            channel.recv_slice(SPARES, &mut spares)?;
        }
        let spares = Spares::new(self.shape, spares);
        let mut values = vec![Block::ZERO; starts[self.shape.bins] as usize];
        for group in groups(self.shape) {
            let range = points_of(&group, starts);
            let points: Vec<Block> = range.clone().map(&point).collect();
            let mut rows = ZeroizingVec::<Block>::zeros(points.len() * ROW_BLOCKS);
            let rows: &mut [Row] = bytemuck::cast_slice_mut(&mut rows);
            self.add_keys(&points, rows);
            let starts_of_group = &starts[group.start..=group.end];
            self.add_wide(starts_of_group, &points, rows, channel)?;
            self.add_narrow(starts_of_group, &public.hash_points(&points), &spares, rows, channel)?;
            let bins = bins_of(group, starts);
            let tasks = values[range].par_chunks_mut(BATCH).zip(rows.par_chunks_mut(BATCH));
            let tasks = tasks.zip(points.par_chunks(BATCH)).zip(bins.par_chunks(BATCH));
            tasks.for_each(|(((values, rows), points), bins)| {
                public.finish(bins, points, rows, values);
            });
        }
        Ok(values)
    }

    /// F(k_i^{Δ_i}, y) for each point.
    fn add_keys(&self, points: &[Block], rows: &mut [Row]) {
        let tasks = points.par_chunks(BATCH).zip(rows.par_chunks_mut(BATCH));
        tasks.for_each(|(points, rows)| add_function(&self.keys, points, rows));
    }

    /// The wide slices of Δ ∧ P_b(y) for each point.
    fn add_wide(
        &self,
        starts: &[u32],
        points: &[Block],
        rows: &mut [Row],
        channel: &mut Channel,
    ) -> vesica_net::Result<()> {
        if self.shape.wide == 0 {
            return Ok(());
        }
        let decoder = Decoder::new(self.shape, &Bins { starts, nodes: points });
        let mut columns = vec![Block::ZERO; (starts.len() - 1) * self.shape.capacity];
        for index in 0..self.shape.wide {
            channel.keep_alive()?;
            channel.recv_slice(WIDE, &mut columns)?;
            for (row, value) in rows.iter_mut().zip(decoder.decode(&columns)) {
                add_masked(row, 2 * index, value, &self.delta);
            }
        }
        Ok(())
    }

    /// The narrow slices, from the points' hashes.
    fn add_narrow(
        &self,
        starts: &[u32],
        hashes: &[Block],
        spares: &Spares,
        rows: &mut [Row],
        channel: &mut Channel,
    ) -> vesica_net::Result<()> {
        if self.shape.narrow == 0 {
            return Ok(());
        }
        let nodes: Vec<Gf64> = hashes.iter().map(|hash| narrow_node(*hash)).collect();
        let decoder = Decoder::new(self.shape, &Bins { starts, nodes: &nodes });
        let mut columns = vec![Gf64::ZERO; (starts.len() - 1) * self.shape.capacity];
        for index in 0..self.shape.narrow {
            channel.keep_alive()?;
            channel.recv_slice(NARROW, &mut columns)?;
            let word = 2 * self.shape.wide + index;
            for ((row, value), hash) in rows.iter_mut().zip(decoder.decode(&columns)).zip(hashes) {
                add_masked(row, word, value.add(spares.share(index, *hash)), &self.delta);
            }
        }
        Ok(())
    }
}

/// The party that learns the function's values at its points.
pub struct Receiver {
    shape: Shape,
    keys: [Vec<Aes128>; 2],
}

/// The points of one group with their rows R, which are secret.
struct Group<'a> {
    starts: &'a [u32],
    points: &'a [Block],
    hashes: &'a [Block],
    rows: &'a [Row],
}

impl Receiver {
    /// Step O1, with the sender's shape.
    ///
    /// # Panics
    /// If a row of the shape has more than 512 bits.
    pub fn setup(
        shape: Shape,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        assert!(shape.bits() <= 128 * ROW_BLOCKS, "rows of at most four blocks");
        let pairs = Base::send(shape.bits(), channel, rng)?;
        let keys = |j: usize| pairs.iter().map(|pair| Aes128::new(*pair[j].expose())).collect();
        Ok(Self { shape, keys: [keys(0), keys(1)] })
    }

    /// Steps O2 to O4, with the sender's seed, for points in bins given as for [`Sender::evaluate`]: the value of
    /// each.
    ///
    /// # Errors
    /// [`Error::Okvs`] if a bin has too many points or two equal ones, and otherwise with a probability of at
    /// most 2^-λ.
    pub fn evaluate(
        self,
        seed: Block,
        starts: &[u32],
        points: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Block>, Error> {
        let public = Public::new(seed);
        let hashes = public.hash_points(points);
        let excess = Excess::find(self.shape, starts, &hashes);
        let row = |point: usize| {
            let mut row = [Row::default()];
            self.keys.iter().for_each(|keys| add_function(keys, &points[point..=point], &mut row));
            row[0]
        };
        let spares = Spares::solve(self.shape, &excess, &hashes, row, rng)?;
        if !spares.columns().is_empty() {
            channel.send_slice(SPARES, spares.columns())?;
        }
        let mut values = vec![Block::ZERO; points.len()];
        for group in groups(self.shape) {
            let range = points_of(&group, starts);
            let (points, hashes) = (&points[range.clone()], &hashes[range.clone()]);
            let bins = bins_of(group.clone(), starts);
            let rows = self.rows(&public, &bins, points, &mut values[range]);
            let rows = bytemuck::cast_slice(&rows);
            let group = Group { starts: &starts[group.start..=group.end], points, hashes, rows };
            self.send_wide(&group, channel, rng)?;
            self.send_narrow(&group, &excess, &spares, channel, rng)?;
        }
        Ok(values)
    }

    /// The rows R of points; fills in their values.
    fn rows(
        &self,
        public: &Public,
        bins: &[u32],
        points: &[Block],
        values: &mut [Block],
    ) -> ZeroizingVec<Block> {
        let mut rows = ZeroizingVec::<Block>::zeros(points.len() * ROW_BLOCKS);
        let r: &mut [Row] = bytemuck::cast_slice_mut(&mut rows);
        let tasks = values.par_chunks_mut(BATCH).zip(r.par_chunks_mut(BATCH));
        let tasks = tasks.zip(points.par_chunks(BATCH)).zip(bins.par_chunks(BATCH));
        tasks.for_each(|(((values, r), points), bins)| {
            add_function(&self.keys[0], points, r);
            let mut t = Zeroizing::new([Row::default(); BATCH]);
            let t = &mut t[..r.len()];
            t.copy_from_slice(r);
            add_function(&self.keys[1], points, r);
            public.finish(bins, points, t, values);
        });
        rows
    }

    fn send_wide(
        &self,
        group: &Group<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        if self.shape.wide == 0 {
            return Ok(());
        }
        let bins = Bins { starts: group.starts, nodes: group.points };
        let encoder = Encoder::new(self.shape, &bins, &Excess::default(), rng)?;
        for index in 0..self.shape.wide {
            channel.keep_alive()?;
            let columns = encoder.encode(|point| slice(&group.rows[point], 2 * index), rng);
            channel.send_slice(WIDE, &columns)?;
            // Let the sender start on this slice.
            channel.flush()?;
        }
        Ok(())
    }

    fn send_narrow(
        &self,
        group: &Group<'_>,
        excess: &Excess,
        spares: &Spares,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        if self.shape.narrow == 0 {
            return Ok(());
        }
        let nodes: Vec<Gf64> = group.hashes.iter().map(|hash| narrow_node(*hash)).collect();
        let bins = Bins { starts: group.starts, nodes: &nodes };
        let encoder = Encoder::new(self.shape, &bins, excess, rng)?;
        for index in 0..self.shape.narrow {
            channel.keep_alive()?;
            let word = 2 * self.shape.wide + index;
            let value = |point: usize| {
                let share = spares.share(index, group.hashes[point]);
                slice::<Gf64>(&group.rows[point], word).subtract(share)
            };
            let columns = encoder.encode(value, rng);
            channel.send_slice(NARROW, &columns)?;
            channel.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_params::slices;

    use super::*;

    fn random(n: usize, rng: &mut StdRng) -> Vec<Block> {
        (0..n).map(|_| Block::random(rng)).collect()
    }

    #[test]
    fn a_row_has_one_bit_of_each_cipher() {
        let mut rng = StdRng::seed_from_u64(1);
        for (width, n) in [(448, 300), (130, 1), (512, 128)] {
            let keys: Vec<Aes128> = random(width, &mut rng).into_iter().map(Aes128::new).collect();
            let points = random(n, &mut rng);
            let before = [Block(1), Block(2), Block(3), Block(4)];
            let mut rows = vec![before; n];
            add_function(&keys, &points, &mut rows);
            for (point, row) in points.iter().zip(&rows) {
                for bit in 0..512 {
                    let image = keys.get(bit).map(|key| key.encrypt_block(*point));
                    let f = image.map_or(0, |image| image.0 >> (bit % 128) & 1);
                    let added = (row[bit / 128] ^ before[bit / 128]).0 >> (bit % 128) & 1;
                    assert_eq!(added, f, "{bit}");
                }
            }
        }
    }

    /// The property on which privacy is based: at a point that is not R's, the sender's row differs from any row that R
    /// could compute in about half of the places, and never in fewer than κ, even if one of R's points has the same
    /// narrow node.
    #[test]
    fn rows_of_others_are_far_from_the_receivers() {
        let mut rng = StdRng::seed_from_u64(2);
        let shape = slices::shape(448, 1, 50, 40);
        let public = Public::new(Block(7));
        let keys = [(); 2].map(|()| random(448, &mut rng).into_iter().map(Aes128::new).collect());
        let receiver = Receiver { shape, keys };
        let points = random(50, &mut rng);
        let hashes = public.hash_points(&points);
        let mut values = vec![Block::ZERO; 50];
        let rows = receiver.rows(&public, &[0; 50], &points, &mut values);
        let rows: &[Row] = bytemuck::cast_slice(&rows);
        let starts = [0, 50];
        let others = random(400, &mut rng);
        let mut others_hashes = public.hash_points(&others);
        // Half of them share a narrow node with one of R's points.
        others_hashes[..200].iter_mut().zip(hashes.iter().cycle()).for_each(|(a, b)| *a = *b);
        let mut distances = vec![Row::default(); 400];
        receiver.keys.iter().for_each(|keys| add_function(keys, &others, &mut distances));
        let keep = [Block(u128::MAX); ROW_BLOCKS];
        let bins = Bins { starts: &starts, nodes: &points };
        let encoder = Encoder::new(shape, &bins, &Excess::default(), &mut rng).unwrap();
        let decoder = Decoder::new(shape, &Bins { starts: &[0, 400], nodes: &others });
        for index in 0..3 {
            let columns = encoder.encode(|point| slice(&rows[point], 2 * index), &mut rng);
            let values = decoder.decode(&columns).into_iter().zip(&mut distances);
            values.for_each(|(value, row)| add_masked(row, 2 * index, value, &keep));
        }
        let [nodes, others] = [&hashes, &others_hashes]
            .map(|h| h.iter().map(|h| narrow_node(*h)).collect::<Vec<_>>());
        let bins = Bins { starts: &starts, nodes: &nodes };
        let encoder = Encoder::new(shape, &bins, &Excess::default(), &mut rng).unwrap();
        let columns = encoder.encode(|point| slice(&rows[point], 6), &mut rng);
        let decoder = Decoder::new(shape, &Bins { starts: &[0, 400], nodes: &others });
        let values = decoder.decode(&columns).into_iter().zip(&mut distances);
        values.for_each(|(value, row)| add_masked(row, 6, value, &keep));
        for half in distances.chunks(200) {
            let ones = |row: &Row| row.iter().map(|block| block.0.count_ones()).sum::<u32>();
            assert!(half.iter().all(|row| ones(row) >= 128));
            // Expected 44800, standard deviation 150.
            let all: u32 = half.iter().map(ones).sum();
            assert!((43_600..46_000).contains(&all), "{all}");
            let last: u32 = half.iter().map(|row| row[3].0.count_ones()).sum();
            assert!((5_950..6_850).contains(&last), "{last}");
        }
    }
}
