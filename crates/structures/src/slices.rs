//! Rows of bits as values of polynomials: columns from which the row of each key can be read, and which are
//! uniformly random if the rows are (Pinkas, Rosulek, Trieu and Yanai, CRYPTO 2019, §4).
//!
//! A row is cut into slices. In each slice, every bin of keys has a polynomial with as many coefficients as the
//! bin can hold keys. Wide slices are elements of GF(2^128) and use the key as their node; narrow ones are
//! elements of GF(2^64) and use half of a hash of the key as their node.
//!
//! **Colliding nodes.** Among many keys two may have the same narrow node, and no polynomial takes two values
//! there. A narrow slice therefore has a few additional spare columns a_1, …, a_s, shared by all bins: a key
//! with the node u and the other half h of its hash reads P(u) + Σ_j a_j h^j. Of the keys that collide in a
//! bin, all but the first are *excess*: the difference from the first is an equation in only the spare
//! columns. `vesica_params::slices` has the bound on their number.
//!
//! **Distribution.** Everything that no equation determines is uniformly random: spare columns, and, by way of the
//! values at dummy nodes, coefficients of bins that are not full. The equations are independent. So each solution has
//! the same probability, and so does each vector if the rows are uniform.

use bytemuck::Pod;
use rand::Rng;
use rayon::prelude::*;
use vesica_params::slices::Shape;
use vesica_primitives::{
    Block, Declassified,
    poly::{Domains, Evaluator, Field, Gf64, Interpolator},
};

use crate::okvs::Error;

/// Blocks of a row.
pub const ROW_BLOCKS: usize = 4;

/// A row; bits beyond the length of the shape are 0.
pub type Row = [Block; ROW_BLOCKS];

/// The slice of a row that starts at a 64-bit word.
pub fn slice<F: Pod>(row: &Row, word: usize) -> F {
    bytemuck::pod_read_unaligned(&bytemuck::bytes_of(row)[8 * word..][..size_of::<F>()])
}

/// Adds `value`, a field element of whole words, to the slice of a row that starts at a 64-bit word, in the
/// bits that `keep` selects.
pub fn add_masked<F: Pod>(row: &mut Row, word: usize, value: F, keep: &Row) {
    // Word by word: a loop over bytes would cost more than the rest of the work on a value.
    let row: &mut [u64] = bytemuck::cast_slice_mut(row);
    let keep: &[u64] = bytemuck::cast_slice(keep);
    let value: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&value));
    for ((row, keep), value) in row[word..].iter_mut().zip(&keep[word..]).zip(value) {
        *row ^= value & keep;
    }
}

/// The node of a key in narrow slices, from the key's hash.
pub fn narrow_node(hash: Block) -> Gf64 {
    Gf64(hash.low())
}

/// The nodes of some adjacent bins, in one kind of slice.
pub struct Bins<'a, F> {
    /// The start of each bin's nodes, counted from any number, followed by the end of the last bin's.
    pub starts: &'a [u32],
    /// The nodes of all these bins.
    pub nodes: &'a [F],
}

impl<'a, F> Bins<'a, F> {
    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn range(&self, bin: usize) -> std::ops::Range<usize> {
        let [start, end] = [bin, bin + 1].map(|bin| (self.starts[bin] - self.starts[0]) as usize);
        start..end
    }
}

/// The excess keys of all bins: those whose narrow node an earlier key of the same bin already has.
#[derive(Debug, Default)]
pub struct Excess {
    /// Each excess key with the first key that has its node, in ascending order.
    pairs: Vec<[u32; 2]>,
}

impl Excess {
    /// Finds the excess keys from the hashes of all keys. Unnecessary if a shape has no spare columns.
    pub fn find(shape: Shape, starts: &[u32], hashes: &[Block]) -> Self {
        if shape.spare == 0 {
            return Self::default();
        }
        let bins = Bins { starts, nodes: hashes };
        let in_bin = |bin: usize| {
            let mut named: Vec<(u64, u32)> =
                bins.range(bin).map(|key| (hashes[key].low(), key as u32)).collect();
            named.sort_unstable();
            let same_node = named.chunk_by(|a, b| a.0 == b.0);
            same_node.flat_map(|keys| keys[1..].iter().map(|key| [key.1, keys[0].1])).collect()
        };
        let mut pairs: Vec<[u32; 2]> =
            (0..bins.count()).into_par_iter().flat_map_iter::<_, Vec<_>>(in_bin).collect();
        pairs.sort_unstable();
        Self { pairs }
    }

    /// Whether the key at this position is an excess key.
    fn contains(&self, key: usize) -> bool {
        !self.pairs.is_empty() && self.pairs.binary_search_by_key(&key, |p| p[0] as usize).is_ok()
    }
}

/// The spare columns of all narrow slices.
pub struct Spares {
    /// Columns a_1 to a_s of each narrow slice.
    columns: Vec<Gf64>,
    spare: usize,
}

impl Spares {
    /// Columns that were received.
    ///
    /// # Panics
    /// If their number does not match the shape.
    pub fn new(shape: Shape, columns: Vec<Gf64>) -> Self {
        assert_eq!(columns.len(), shape.narrow * shape.spare, "as many as the shape has");
        Self { columns, spare: shape.spare }
    }

    /// The columns with which the excess keys have their rows, otherwise random.
    ///
    /// # Errors
    /// [`Error::NoSolution`], with at most the probability that the shape's bound states.
    pub fn solve(
        shape: Shape,
        excess: &Excess,
        hashes: &[Block],
        row: impl Fn(usize) -> Row,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<Self, Error> {
        let mut columns = Vec::with_capacity(shape.narrow * shape.spare);
        for index in 0..shape.narrow {
            let equations = excess.pairs.iter().map(|pair| {
                let [key, first] = pair.map(|key| key as usize);
                let [a, b] = [key, first].map(|key| powers(hashes[key], shape.spare));
                let mut equation: Vec<Gf64> = a.zip(b).map(|(a, b)| a.subtract(b)).collect();
                let values =
                    [key, first].map(|key| slice::<Gf64>(&row(key), 2 * shape.wide + index));
                equation.push(values[0].subtract(values[1]));
                equation
            });
            let free = (0..shape.spare).map(|_| Gf64::random(rng)).collect();
            columns.extend(solve(equations.collect(), free)?);
        }
        Ok(Self::new(shape, columns))
    }

    /// The columns, one narrow slice after another.
    pub fn columns(&self) -> &[Gf64] {
        &self.columns
    }

    /// The contribution of the columns to the value of a key with this hash in the `index`-th narrow slice.
    pub fn share(&self, index: usize, hash: Block) -> Gf64 {
        let columns = &self.columns[index * self.spare..][..self.spare];
        let products = columns.iter().zip(powers(hash, self.spare));
        products.fold(Gf64::ZERO, |sum, (column, power)| sum.add(column.multiply(power)))
    }
}

/// h, h², … for the other half h of a hash.
fn powers(hash: Block, count: usize) -> impl Iterator<Item = Gf64> {
    let h = Gf64(hash.high());
    std::iter::successors(Some(h), move |power| Some(power.multiply(h))).take(count)
}

/// Solves equations, each given by its coefficients and then its value. Unknowns that they leave free keep the
/// given values.
fn solve(mut equations: Vec<Vec<Gf64>>, mut unknowns: Vec<Gf64>) -> Result<Vec<Gf64>, Error> {
    let mut pivots = Vec::with_capacity(equations.len());
    for i in 0..equations.len() {
        let pivot = (0..unknowns.len()).find(|j| equations[i][*j] != Gf64::ZERO);
        let pivot = pivot.ok_or(Error::NoSolution)?;
        pivots.push(pivot);
        let inverse = equations[i][pivot].invert();
        equations[i].iter_mut().for_each(|x| *x = x.multiply(inverse));
        let eliminated = equations[i].clone();
        for other in equations.iter_mut().enumerate().filter(|(k, _)| *k != i).map(|(_, e)| e) {
            let factor = Gf64::ZERO.subtract(other[pivot]);
            Gf64::add_products(other, &eliminated, factor);
        }
    }
    let known = |equation: &Vec<Gf64>| {
        let free = (0..unknowns.len()).filter(|j| !pivots.contains(j));
        free.fold(equation[unknowns.len()], |sum, j| {
            sum.subtract(equation[j].multiply(unknowns[j]))
        })
    };
    let solved: Vec<Gf64> = equations.iter().map(known).collect();
    pivots.into_iter().zip(solved).for_each(|(pivot, value)| unknowns[pivot] = value);
    Ok(unknowns)
}

/// Computes the columns of some bins, in one kind of slice.
pub struct Encoder<F: Domains> {
    capacity: usize,
    /// For each bin, the positions of its keys among the keys of all these bins, and dummies.
    slots: Vec<Option<u32>>,
    interpolators: Vec<Interpolator<F>>,
}

impl<F: Domains> Encoder<F> {
    /// For bins of a shape. `excess` counts positions as `bins.starts` does; wide slices have no excess keys.
    ///
    /// # Errors
    /// [`Error::Overflow`] if a bin has too many keys; [`Error::NoSolution`] if two of its nodes are
    /// equal.
    pub fn new(
        shape: Shape,
        bins: &Bins<'_, F>,
        excess: &Excess,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<Self, Error> {
        let capacity = shape.capacity;
        let mut slots = Vec::with_capacity(bins.count() * capacity);
        let mut nodes = Vec::with_capacity(bins.count() * capacity);
        // Declassified with and without a key: the time of interpolation may depend on the nodes.
        let mut rng = Declassified(rng);
        for bin in 0..bins.count() {
            let start = nodes.len();
            let keys = bins.range(bin).filter(|k| !excess.contains(bins.starts[0] as usize + k));
            for key in keys {
                slots.push(Some(key as u32));
                nodes.push(bins.nodes[key]);
            }
            if nodes.len() > start + capacity {
                return Err(Error::Overflow);
            }
            while nodes.len() < start + capacity {
                let node = F::random(&mut rng);
                if !nodes[start..].contains(&node) {
                    slots.push(None);
                    nodes.push(node);
                }
            }
        }
        // A bin that takes no keys has no columns.
        let nodes = nodes.par_chunks_exact(capacity.max(1));
        let interpolators = nodes.map(Interpolator::new).collect::<Result<_, _>>()?;
        Ok(Self { capacity, slots, interpolators })
    }

    /// The columns under which each key has `value(its position)`.
    pub fn encode(&self, value: impl Fn(usize) -> F, rng: &mut (impl Rng + ?Sized)) -> Vec<F> {
        let value =
            |slot: &Option<u32>| slot.map_or_else(|| F::random(rng), |key| value(key as usize));
        let values: Vec<F> = self.slots.iter().map(value).collect();
        let bins = self.interpolators.par_iter().zip(values.par_chunks_exact(self.capacity.max(1)));
        bins.flat_map_iter(|(interpolator, values)| interpolator.interpolate(values)).collect()
    }
}

/// Computes the values of keys in some bins, in one kind of slice.
pub struct Decoder<F: Domains> {
    capacity: usize,
    evaluators: Vec<Evaluator<F>>,
}

impl<F: Domains> Decoder<F> {
    /// For bins of a shape.
    pub fn new(shape: Shape, bins: &Bins<'_, F>) -> Self {
        let evaluator = |bin| Evaluator::new(&bins.nodes[bins.range(bin)], shape.capacity);
        let evaluators = (0..bins.count()).into_par_iter().map(evaluator).collect();
        Self { capacity: shape.capacity, evaluators }
    }

    /// The values of all keys in order, read from these columns.
    ///
    /// # Panics
    /// If the number of columns does not match the bins.
    pub fn decode(&self, columns: &[F]) -> Vec<F> {
        assert_eq!(columns.len(), self.capacity * self.evaluators.len(), "columns of all bins");
        let bins = self.evaluators.par_iter().enumerate();
        bins.flat_map_iter(|(bin, evaluator)| {
            evaluator.evaluate(&columns[bin * self.capacity..][..self.capacity])
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_params::slices;

    use super::*;

    struct Keys {
        shape: Shape,
        starts: Vec<u32>,
        keys: Vec<Block>,
        hashes: Vec<Block>,
        rows: Vec<Row>,
    }

    impl Keys {
        /// Random keys: `loads` gives their number in each bin.
        fn new(shape: Shape, loads: &[usize], rng: &mut StdRng) -> Self {
            assert_eq!(shape.bins, loads.len());
            let mut starts = vec![0];
            loads.iter().for_each(|load| starts.push(starts[starts.len() - 1] + *load as u32));
            let n = loads.iter().sum();
            let mut random = |n: usize| (0..n).map(|_| Block::random(rng)).collect::<Vec<_>>();
            let (keys, hashes) = (random(n), random(n));
            let row = |_| {
                let mut row: Row = random(4).try_into().unwrap();
                row[shape.bits() / 128..].fill(Block::ZERO);
                if shape.bits() % 128 == 64 {
                    row[shape.bits() / 128] = Block(random(1)[0].low().into());
                }
                row
            };
            let rows = (0..n).map(row).collect();
            Self { shape, starts, keys, hashes, rows }
        }

        fn wide(&self) -> Bins<'_, Block> {
            Bins { starts: &self.starts, nodes: &self.keys }
        }

        /// Encodes and decodes; returns the narrow columns.
        fn round_trip(&self, rng: &mut StdRng) -> Result<Vec<Gf64>, Error> {
            let (shape, none) = (self.shape, Excess::default());
            let excess = Excess::find(shape, &self.starts, &self.hashes);
            let spares = Spares::solve(shape, &excess, &self.hashes, |key| self.rows[key], rng)?;
            let mut decoded = vec![Row::default(); self.keys.len()];
            let keep = [Block(u128::MAX); ROW_BLOCKS];
            let (encoder, decoder) =
                (Encoder::new(shape, &self.wide(), &none, rng)?, Decoder::new(shape, &self.wide()));
            for index in 0..shape.wide {
                let columns = encoder.encode(|key| slice(&self.rows[key], 2 * index), rng);
                let values = decoder.decode(&columns).into_iter().zip(&mut decoded);
                values.for_each(|(value, row)| add_masked(row, 2 * index, value, &keep));
            }
            let nodes: Vec<Gf64> = self.hashes.iter().map(|hash| narrow_node(*hash)).collect();
            let bins = Bins { starts: &self.starts, nodes: &nodes };
            let (encoder, decoder) =
                (Encoder::new(shape, &bins, &excess, rng)?, Decoder::new(shape, &bins));
            let mut narrow = spares.columns().to_vec();
            for index in 0..shape.narrow {
                let word = 2 * shape.wide + index;
                let share = |key: usize| spares.share(index, self.hashes[key]);
                let value = |key: usize| slice::<Gf64>(&self.rows[key], word).subtract(share(key));
                let columns = encoder.encode(value, rng);
                for (key, value) in decoder.decode(&columns).into_iter().enumerate() {
                    add_masked(&mut decoded[key], word, value.add(share(key)), &keep);
                }
                narrow.extend(columns);
            }
            assert!(decoded == self.rows);
            assert_eq!(
                narrow.len() * 8,
                shape.bytes() - shape.bins * shape.capacity * shape.wide * 16
            );
            Ok(narrow)
        }
    }

    #[test]
    fn rows_come_out_again() {
        let mut rng = StdRng::seed_from_u64(1);
        for (bits, loads) in [
            (448, &[0][..]),
            (448, &[1]),
            (420, &[5, 0, 7, 3]),
            (512, &[40, 41, 39]),
            (449, &[300]),
            (128, &[3, 3]),
        ] {
            let capacity = loads.iter().max().unwrap();
            let shape = slices::shape(bits, loads.len(), *capacity, 40);
            Keys::new(shape, loads, &mut rng).round_trip(&mut rng).unwrap();
        }
    }

    /// Each collision of narrow nodes takes one spare column, wherever it is, and fails only when none is left.
    #[test]
    fn nodes_that_meet_keep_their_rows() {
        let mut rng = StdRng::seed_from_u64(2);
        for bits in [448, 449] {
            let shape = Shape { spare: 3, ..slices::shape(bits, 2, 20, 40) };
            let mut keys = Keys::new(shape, &[18, 20], &mut rng);
            let meet = |keys: &mut Keys, a: usize, b: usize| {
                keys.hashes[a].0 = keys.hashes[a].0 >> 64 << 64 | u128::from(keys.hashes[b].low());
            };
            keys.round_trip(&mut rng).unwrap();
            // In different bins: no collision.
            meet(&mut keys, 0, 37);
            assert!(Excess::find(shape, &keys.starts, &keys.hashes).pairs.is_empty());
            // Three keys share one node, and two another.
            for (count, (a, b)) in [(4, 2), (7, 2), (30, 25)].into_iter().enumerate() {
                meet(&mut keys, a, b);
                let excess = Excess::find(shape, &keys.starts, &keys.hashes);
                assert_eq!(excess.pairs.len(), count + 1);
                keys.round_trip(&mut rng).unwrap();
            }
            meet(&mut keys, 10, 11);
            assert_eq!(keys.round_trip(&mut rng), Err(Error::NoSolution));
        }
    }

    /// With random rows, columns look random whether nodes collide or not.
    #[test]
    fn columns_are_random_in_every_place() {
        let mut rng = StdRng::seed_from_u64(3);
        let shape = Shape { spare: 2, ..slices::shape(64 + 128, 1, 4, 40) };
        for met in [false, true] {
            let mut ones = vec![0; 6];
            for _ in 0..2000 {
                let mut keys = Keys::new(shape, &[3], &mut rng);
                if met {
                    keys.hashes[1].0 =
                        keys.hashes[1].0 >> 64 << 64 | u128::from(keys.hashes[0].low());
                }
                let columns = keys.round_trip(&mut rng).unwrap();
                ones.iter_mut().zip(columns).for_each(|(ones, column)| *ones += column.0 & 1);
            }
            // Expected 1000 each, standard deviation 22.
            assert!(ones.iter().all(|ones| (840..1160).contains(ones)), "{ones:?}");
        }
    }

    #[test]
    fn equal_keys_and_too_many_are_refused() {
        let mut rng = StdRng::seed_from_u64(4);
        let shape = slices::shape(448, 2, 6, 40);
        let mut keys = Keys::new(shape, &[6, 5], &mut rng);
        keys.keys[9] = keys.keys[7];
        let refused = |keys: &Keys, rng: &mut StdRng| {
            Encoder::new(keys.shape, &keys.wide(), &Excess::default(), rng).err()
        };
        assert_eq!(refused(&keys, &mut rng), Some(Error::NoSolution));
        let keys = Keys::new(shape, &[7, 5], &mut rng);
        assert_eq!(refused(&keys, &mut rng), Some(Error::Overflow));
    }
}
