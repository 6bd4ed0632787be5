//! The dense columns of a cluster: a row's coefficients in them, and the equations in only dense columns that remain
//! once the sparse columns are solved.

use vesica_params::okvs::DensePart;
use vesica_primitives::{
    BinaryVector, Block, declassify,
    gf::{invert128, multiply128},
};

use super::Error;

/// Dense columns looked up together in a table of all their sums, indexed by one byte of a row's bits.
const GROUP: usize = 8;

/// A kind of dense part. A row's part is given by a random block.
pub trait Dense: Send + Sync {
    /// Which part of a shape this is.
    const PART: DensePart;

    /// Left-over equations, solved independently of their values.
    type System: Default + Send + Sync;

    /// Blocks that hold a row's coefficients in this many columns.
    fn width(columns: usize) -> usize;

    /// Adds a row to the coefficients of an equation.
    fn add_row(coefficients: &mut [Block], row: Block);

    /// Solves equations of [`Dense::width`] blocks each, at most 128 of them.
    fn eliminate(equations: &[Block], width: usize) -> Self::System;
}

/// The dense part for values of a type.
pub trait DenseValues<V>: Dense {
    /// Columns prepared for [`DenseValues::sum`]; empty if all are zero.
    type Sums;

    /// Prepares columns.
    fn sums(columns: &[V]) -> Self::Sums;

    /// Whether every sum is zero.
    fn are_zero(sums: &Self::Sums) -> bool;

    /// The sum of a row's columns.
    fn sum(sums: &Self::Sums, row: Block) -> V;

    /// Makes the equations of a system take `values`. Columns that no equation determines stay as they are.
    fn fill(system: &Self::System, values: &[V], columns: &mut [V]) -> Result<(), Error>;
}

/// A random bit for each column. Values are vectors over GF(2).
#[derive(Debug, Clone, Copy)]
pub struct Binary;

/// The powers k̂, k̂², … of the row's block k̂ in GF(2^128). Values are elements of that field.
///
/// Left-over equations are independent with overwhelming probability: each has a row that no other has. With
/// the other rows at 0, these few k̂ alone give a Vandermonde matrix, so that the determinant of g equations is
/// a polynomial in the k̂ that is not 0; its degree is g (g + 1) / 2, and random k̂ are a root of it with
/// probability at most g (g + 1) / 2^129.
#[derive(Debug, Clone, Copy)]
pub struct Field;

/// Equations over GF(2): the columns of each equation that has a column to itself, its *pivot*, which is the
/// lowest bit; and the equations whose sum it is.
#[derive(Default)]
pub struct BinarySystem {
    solved: Vec<(u128, u128)>,
    /// Sums of equations in which no column remains.
    dependent: Vec<u128>,
}

impl Dense for Binary {
    const PART: DensePart = DensePart::Binary;

    type System = BinarySystem;

    fn width(_: usize) -> usize {
        1
    }

    fn add_row(coefficients: &mut [Block], row: Block) {
        coefficients[0] ^= row;
    }

    /// Gauss–Jordan elimination: no mask contains another equation's pivot.
    fn eliminate(equations: &[Block], _: usize) -> BinarySystem {
        let mut system = BinarySystem::default();
        let pivot = |mask: u128| mask & mask.wrapping_neg();
        for (i, equation) in equations.iter().enumerate() {
            let (mut mask, mut parts) = (equation.0, 1 << i);
            for (other, others) in &system.solved {
                if mask & pivot(*other) != 0 {
                    mask ^= other;
                    parts ^= others;
                }
            }
            if mask == 0 {
                system.dependent.push(parts);
                continue;
            }
            for (other, others) in &mut system.solved {
                if *other & pivot(mask) != 0 {
                    *other ^= mask;
                    *others ^= parts;
                }
            }
            system.solved.push((mask, parts));
        }
        system
    }
}

impl<V: BinaryVector> DenseValues<V> for Binary {
    /// Tables of the sums of every subset of a few columns.
    type Sums = Vec<[V; 1 << GROUP]>;

    fn sums(columns: &[V]) -> Self::Sums {
        if all_zero(columns) {
            return Vec::new();
        }
        let table = |columns: &[V]| {
            let mut sums = [V::default(); 1 << GROUP];
            for subset in 1..1usize << columns.len() {
                let lowest = subset & subset.wrapping_neg();
                sums[subset] = sums[subset ^ lowest] ^ columns[lowest.trailing_zeros() as usize];
            }
            sums
        };
        columns.chunks(GROUP).map(table).collect()
    }

    fn are_zero(sums: &Self::Sums) -> bool {
        sums.is_empty()
    }

    #[inline]
    fn sum(sums: &Self::Sums, row: Block) -> V {
        let mut sum = V::default();
        for (table, subset) in sums.iter().zip(row.to_bytes()) {
            sum ^= table[usize::from(subset)];
        }
        sum
    }

    fn fill(system: &BinarySystem, values: &[V], columns: &mut [V]) -> Result<(), Error> {
        let sum_of = |set: u128, values: &[V]| {
            let inside = values.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
            inside.fold(V::default(), |sum, (_, value)| sum ^ *value)
        };
        if system.dependent.iter().any(|parts| sum_of(*parts, values) != V::default()) {
            return Err(Error::NoSolution);
        }
        for (mask, parts) in &system.solved {
            let pivot = mask.trailing_zeros() as usize;
            columns[pivot] = V::default();
            columns[pivot] = sum_of(*parts, values) ^ sum_of(*mask, columns);
        }
        Ok(())
    }
}

/// Equations over GF(2^128).
#[derive(Default)]
pub struct FieldSystem {
    solved: Vec<FieldEquation>,
    /// Linear combinations of equations in which no column remains, by their factors.
    dependent: Vec<Vec<Block>>,
}

/// A linear combination of equations.
struct FieldEquation {
    /// The column that only this equation has, with the coefficient 1.
    pivot: usize,
    coefficients: Vec<Block>,
    /// The factor of each equation in it.
    factors: Vec<Block>,
}

impl FieldEquation {
    fn times(&mut self, factor: Block) {
        let all = self.coefficients.iter_mut().chain(&mut self.factors);
        all.for_each(|x| *x = multiply128(*x, factor));
    }

    /// Adds the multiple of `other` that removes its pivot from this equation.
    fn reduce(&mut self, other: &Self) {
        let factor = self.coefficients[other.pivot];
        let all = self.coefficients.iter_mut().chain(&mut self.factors);
        for (x, y) in all.zip(other.coefficients.iter().chain(&other.factors)) {
            *x ^= multiply128(*y, factor);
        }
    }
}

impl Dense for Field {
    const PART: DensePart = DensePart::Field;

    type System = FieldSystem;

    fn width(columns: usize) -> usize {
        columns
    }

    fn add_row(coefficients: &mut [Block], row: Block) {
        let mut power = row;
        for coefficient in coefficients {
            *coefficient ^= power;
            power = multiply128(power, row);
        }
    }

    /// Gauss–Jordan elimination.
    fn eliminate(equations: &[Block], width: usize) -> FieldSystem {
        let mut system = FieldSystem::default();
        let count = equations.len() / width;
        for (i, coefficients) in equations.chunks_exact(width).enumerate() {
            let factors = (0..count).map(|j| Block(u128::from(i == j))).collect();
            let coefficients = coefficients.to_vec();
            let mut equation = FieldEquation { pivot: 0, coefficients, factors };
            system.solved.iter().for_each(|other| equation.reduce(other));
            let first = equation.coefficients.iter().position(|x| *x != Block::ZERO);
            let Some(pivot) = first else {
                system.dependent.push(equation.factors);
                continue;
            };
            equation.pivot = pivot;
            equation.times(invert128(equation.coefficients[pivot]));
            system.solved.iter_mut().for_each(|other| other.reduce(&equation));
            system.solved.push(equation);
        }
        system
    }
}

impl DenseValues<Block> for Field {
    type Sums = Vec<Block>;

    fn sums(columns: &[Block]) -> Vec<Block> {
        if all_zero(columns) { Vec::new() } else { columns.to_vec() }
    }

    fn are_zero(sums: &Vec<Block>) -> bool {
        sums.is_empty()
    }

    /// Horner's rule.
    #[inline]
    fn sum(sums: &Vec<Block>, row: Block) -> Block {
        sums.iter().rev().fold(Block::ZERO, |sum, column| multiply128(sum ^ *column, row))
    }

    fn fill(system: &FieldSystem, values: &[Block], columns: &mut [Block]) -> Result<(), Error> {
        let product = |factors: &[Block], values: &[Block]| {
            let products = factors.iter().zip(values).map(|(x, y)| multiply128(*x, *y));
            products.fold(Block::ZERO, |sum, x| sum ^ x)
        };
        if system.dependent.iter().any(|factors| product(factors, values) != Block::ZERO) {
            return Err(Error::NoSolution);
        }
        for FieldEquation { pivot, coefficients, factors } in &system.solved {
            columns[*pivot] = Block::ZERO;
            columns[*pivot] = product(factors, values) ^ product(coefficients, columns);
        }
        Ok(())
    }
}

fn all_zero<V: BinaryVector>(columns: &[V]) -> bool {
    // Columns may be secret; that all are 0 is not.
    let set = bytemuck::cast_slice::<V, u8>(columns).iter().fold(0, |set, byte| set | byte);
    declassify(set) == 0
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    /// Equations of known columns, some of them dependent: the columns found satisfy them, and a value that
    /// contradicts the others is noticed.
    fn dependent_equations<D: DenseValues<Block>>(columns: usize, rng: &mut StdRng) {
        let random = |n: usize, rng: &mut StdRng| -> Vec<Block> {
            (0..n).map(|_| Block::random(rng)).collect()
        };
        let width = D::width(columns);
        // A binary row has no bits beyond its columns.
        let mask = Block(if width == 1 { u128::MAX >> (128 - columns) } else { u128::MAX });
        let rows: Vec<Block> = random(columns + 3, rng).into_iter().map(|row| row & mask).collect();
        // The fourth equation is the sum of the first two, the fifth is a copy of the second.
        let sets = [vec![0], vec![1], vec![2], vec![0, 1], vec![1], vec![3, 0]];
        let mut equations = vec![Block::ZERO; width * sets.len()];
        for (equation, set) in equations.chunks_exact_mut(width).zip(&sets) {
            set.iter().for_each(|row| D::add_row(equation, rows[*row]));
        }
        let sums = D::sums(&random(columns, rng));
        let of_set = |sums: &D::Sums, set: &Vec<usize>| {
            set.iter().fold(Block::ZERO, |sum, row| sum ^ D::sum(sums, rows[*row]))
        };
        let mut values: Vec<Block> = sets.iter().map(|set| of_set(&sums, set)).collect();
        let system = D::eliminate(&equations, width);
        let mut found = random(columns, rng);
        D::fill(&system, &values, &mut found).unwrap();
        let found = D::sums(&found);
        assert!(sets.iter().zip(&values).all(|(set, value)| of_set(&found, set) == *value));
        values[3] ^= Block(1);
        let error = D::fill(&system, &values, &mut random(columns, rng)).unwrap_err();
        assert_eq!(error, Error::NoSolution);
    }

    #[test]
    fn dependent_equations_agree_or_contradict() {
        let mut rng = StdRng::seed_from_u64(1);
        for columns in [20, 50, 128] {
            dependent_equations::<Binary>(columns, &mut rng);
        }
        for columns in [4, 5, 9] {
            let full = |rng: &mut StdRng| dependent_equations::<Field>(columns, rng);
            (0..10).for_each(|_| full(&mut rng));
        }
    }
}
