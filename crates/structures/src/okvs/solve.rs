//! Solving and filling one cluster, for rows of any weight and dense part.
//!
//! 1. Peel: while a sparse column has a single row left, that row will be solved by it; remove the row.
//! 2. If rows remain and none can be peeled, set one aside (the *gap*) and continue.
//! 3. Rows set aside determine dense columns: subtract from each the peeled rows that eliminate its sparse
//!    columns; an equation in dense columns and undetermined sparse ones remains.
//! 4. Go through the peeled rows in reverse order; each determines its column.
//!
//! Steps 1 and 2, and the elimination in step 3, do not look at values. Usually nothing is set aside and the
//! dense columns stay as they were.

use std::ops::{AddAssign, BitXorAssign, SubAssign};

use vesica_params::okvs::Shape;
use vesica_primitives::{BinaryVector, Block};

use super::{
    BATCH, Error,
    dense::{Dense, DenseValues},
};

/// An index or a count of rows or sparse columns: short ones keep small clusters in the cache.
pub trait Index:
    Copy + Default + PartialEq + Send + Sync + AddAssign + SubAssign + BitXorAssign
{
    const ONE: Self;

    fn new(number: usize) -> Self;

    fn get(self) -> usize;
}

macro_rules! index {
    ($($integer:ty),*) => {$(
        impl Index for $integer {
            const ONE: Self = 1;

            #[inline]
            fn new(number: usize) -> Self {
                number as Self
            }

            #[inline]
            fn get(self) -> usize {
                self as usize
            }
        }
    )*};
}

index!(u16, u32);

/// The rows of keys in a cluster, with `WEIGHT` distinct sparse columns each, numbered by `I`.
pub trait Rows<I, const WEIGHT: usize>: Sync {
    type Dense: Dense;

    fn shape(&self) -> &Shape;

    /// The sparse columns of up to [`BATCH`] keys, if the shape has such columns.
    fn sparse(&self, keys: &[Block]) -> [[I; WEIGHT]; BATCH];

    /// The blocks for the dense part of up to [`BATCH`] keys.
    fn dense(&self, keys: &[Block]) -> [Block; BATCH];
}

/// The state of the cluster that was last solved.
pub struct Solver<I, const WEIGHT: usize, D: Dense> {
    /// The sparse columns of each row.
    rows: Vec<[I; WEIGHT]>,
    columns: Vec<Remaining<I>>,
    /// Columns that may have a single row left.
    ready: Vec<I>,
    order: Order<I>,
    /// Rows that are part of left-over equations, each with the set of these equations.
    involved: Vec<(I, u128)>,
    /// Undetermined sparse columns that remain in equations, each with the set of these equations.
    undetermined: Vec<(I, u128)>,
    system: D::System,
}

/// The order in which rows are solved: the outcome of steps 1 and 2.
#[derive(Default)]
pub struct Order<I> {
    /// Peeled rows, each with the column it determines; no later row has this column.
    pub peeled: Vec<(I, I)>,
    /// Rows set aside, at most 128.
    pub gap: Vec<I>,
}

impl<I, const WEIGHT: usize, D: Dense> Default for Solver<I, WEIGHT, D> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            columns: Vec::new(),
            ready: Vec::new(),
            order: Order { peeled: Vec::new(), gap: Vec::new() },
            involved: Vec::new(),
            undetermined: Vec::new(),
            system: D::System::default(),
        }
    }
}

/// The rows that a column still has: their number, and the exclusive or of their indices, which is the index of
/// the row itself if only one is left.
#[derive(Clone, Copy, Default)]
struct Remaining<I> {
    count: I,
    rows: I,
}

impl<I: Index, const WEIGHT: usize, D: Dense> Solver<I, WEIGHT, D> {
    /// Steps 1 and 2, and the part of step 3 that does not depend on values.
    pub fn solve<R>(&mut self, rows: &R, keys: &[Block]) -> Result<(), Error>
    where
        R: Rows<I, WEIGHT, Dense = D>,
    {
        self.triangulate(rows, keys)?;
        self.eliminate(rows, keys);
        Ok(())
    }

    /// Like [`Solver::solve`], with another algorithm for steps 1 and 2: `triangulate` is given the sparse
    /// columns of each row.
    pub fn solve_by<R>(
        &mut self,
        rows: &R,
        keys: &[Block],
        triangulate: impl FnOnce(&[[I; WEIGHT]], &mut Order<I>),
    ) -> Result<(), Error>
    where
        R: Rows<I, WEIGHT, Dense = D>,
    {
        self.read(rows, keys, |_, _| {})?;
        triangulate(&self.rows, &mut self.order);
        if self.order.gap.len() > rows.shape().dense {
            return Err(Error::NoSolution);
        }
        self.eliminate(rows, keys);
        Ok(())
    }

    /// Steps 3 and 4: makes the keys that were last solved decode to `values`.
    pub fn fill<V, R>(
        &self,
        rows: &R,
        keys: &[Block],
        values: &[V],
        columns: &mut [V],
    ) -> Result<(), Error>
    where
        V: BinaryVector,
        R: Rows<I, WEIGHT, Dense = D>,
        D: DenseValues<V>,
    {
        let (sparse, dense) = columns.split_at_mut(rows.shape().sparse);
        if !self.order.gap.is_empty() {
            let mut equations = vec![V::default(); self.order.gap.len()];
            let mut add = |value: V, set: u128| bits(set).for_each(|i| equations[i] ^= value);
            self.involved.iter().for_each(|(row, set)| add(values[row.get()], *set));
            self.undetermined.iter().for_each(|(column, set)| add(sparse[column.get()], *set));
            D::fill(&self.system, &equations, dense)?;
        }
        self.substitute(rows, keys, values, sparse, dense);
        Ok(())
    }

    /// Reads the rows of keys and passes each on. If all columns are dense, sets every row aside.
    fn read<R>(
        &mut self,
        rows: &R,
        keys: &[Block],
        mut each: impl FnMut(I, &[I; WEIGHT]),
    ) -> Result<(), Error>
    where
        R: Rows<I, WEIGHT>,
    {
        if keys.len() > rows.shape().capacity {
            return Err(Error::Overflow);
        }
        self.rows.clear();
        self.order.peeled.clear();
        self.order.gap.clear();
        if rows.shape().sparse == 0 {
            self.order.gap.extend((0..keys.len()).map(I::new));
            return Ok(());
        }
        for keys in keys.chunks(BATCH) {
            for columns in &rows.sparse(keys)[..keys.len()] {
                each(I::new(self.rows.len()), columns);
                self.rows.push(*columns);
            }
        }
        Ok(())
    }

    /// Steps 1 and 2.
    fn triangulate<R>(&mut self, rows: &R, keys: &[Block]) -> Result<(), Error>
    where
        R: Rows<I, WEIGHT>,
    {
        let Shape { sparse, dense, .. } = *rows.shape();
        let mut remaining = std::mem::take(&mut self.columns);
        remaining.clear();
        remaining.resize(sparse, Remaining::default());
        self.read(rows, keys, |row, columns| {
            for column in columns {
                let remaining = &mut remaining[column.get()];
                remaining.count += I::ONE;
                remaining.rows ^= row;
            }
        })?;
        self.columns = remaining;
        if sparse == 0 {
            return Ok(());
        }
        self.ready.clear();
        self.ready.extend((0..self.columns.len()).map(I::new));
        self.peel();
        while self.order.peeled.len() + self.order.gap.len() < self.rows.len() {
            if self.order.gap.len() == dense {
                return Err(Error::NoSolution);
            }
            self.set_one_aside();
            self.peel();
        }
        Ok(())
    }

    fn peel(&mut self) {
        while let Some(column) = self.ready.pop() {
            let Remaining { count, rows: row } = self.columns[column.get()];
            if count == I::ONE {
                self.order.peeled.push((row, column));
                self.take_away(row);
            }
        }
    }

    /// Sets aside one of the rows of a column that has few. This is rare, so looking through everything is
    /// affordable.
    fn set_one_aside(&mut self) {
        let mut taken = vec![false; self.rows.len()];
        let peeled = self.order.peeled.iter().map(|(row, _)| row);
        peeled.chain(&self.order.gap).for_each(|row| taken[row.get()] = true);
        let counts = self.columns.iter().map(|column| column.count.get()).enumerate();
        let with_rows = counts.filter(|(_, count)| *count > 0);
        let (column, _) = with_rows.min_by_key(|(_, count)| *count).expect("rows remain");
        let holds = |row: &usize| !taken[*row] && self.rows[*row].contains(&I::new(column));
        let row = (0..self.rows.len()).find(holds).expect("the column has rows");
        self.order.gap.push(I::new(row));
        self.take_away(I::new(row));
    }

    /// Removes a row from its columns.
    fn take_away(&mut self, row: I) {
        for column in self.rows[row.get()] {
            let remaining = &mut self.columns[column.get()];
            remaining.count -= I::ONE;
            remaining.rows ^= row;
            if remaining.count == I::ONE {
                self.ready.push(column);
            }
        }
    }

    /// The part of step 3 that does not depend on values. A set of left-over equations is a bit mask.
    fn eliminate<R>(&mut self, rows: &R, keys: &[Block])
    where
        R: Rows<I, WEIGHT, Dense = D>,
    {
        self.involved.clear();
        if self.order.gap.is_empty() {
            return;
        }
        // The equations in which a column remains after adding the rows so far.
        let mut sets = vec![0u128; rows.shape().sparse];
        let mut toggle = |columns: Option<&[I; WEIGHT]>, set: u128| {
            columns.into_iter().flatten().for_each(|column| sets[column.get()] ^= set);
        };
        for (i, row) in self.order.gap.iter().enumerate() {
            self.involved.push((*row, 1 << i));
            toggle(self.rows.get(row.get()), 1 << i);
        }
        // A column is in no row peeled after the one that it determines, so once that row has been added where
        // it is needed, the column does not return.
        for (row, column) in &self.order.peeled {
            let set = sets[column.get()];
            if set != 0 {
                self.involved.push((*row, set));
                self.rows[row.get()].iter().for_each(|column| sets[column.get()] ^= set);
            }
        }
        let left = sets.into_iter().enumerate().filter(|(_, set)| *set != 0);
        self.undetermined.clear();
        self.undetermined.extend(left.map(|(column, set)| (I::new(column), set)));

        let width = D::width(rows.shape().dense);
        let mut equations = vec![Block::ZERO; self.order.gap.len() * width];
        for involved in self.involved.chunks(BATCH) {
            let keys: Vec<Block> = involved.iter().map(|(row, _)| keys[row.get()]).collect();
            for ((_, set), row) in involved.iter().zip(rows.dense(&keys)) {
                bits(*set).for_each(|i| D::add_row(&mut equations[i * width..][..width], row));
            }
        }
        self.system = D::eliminate(&equations, width);
    }

    /// Step 4.
    fn substitute<V, R>(
        &self,
        rows: &R,
        keys: &[Block],
        values: &[V],
        sparse: &mut [V],
        dense: &[V],
    ) where
        V: BinaryVector,
        R: Rows<I, WEIGHT, Dense = D>,
        D: DenseValues<V>,
    {
        let sums = D::sums(dense);
        let mut adjusted = Vec::new();
        let values = if D::are_zero(&sums) {
            values
        } else {
            adjusted.reserve(values.len());
            for (keys, values) in keys.chunks(BATCH).zip(values.chunks(BATCH)) {
                let with_rows = values.iter().zip(rows.dense(keys));
                adjusted.extend(with_rows.map(|(value, row)| *value ^ D::sum(&sums, row)));
            }
            &adjusted
        };
        for (row, column) in self.order.peeled.iter().rev() {
            sparse[column.get()] = V::default();
            sparse[column.get()] = values[row.get()] ^ sum(sparse, self.rows[row.get()]);
        }
    }
}

/// The decoded value of each key of a cluster with these columns.
pub fn decode<I, const WEIGHT: usize, V, R>(
    rows: &R,
    keys: &[Block],
    columns: &[V],
    values: &mut [V],
) where
    I: Index,
    V: BinaryVector,
    R: Rows<I, WEIGHT>,
    R::Dense: DenseValues<V>,
{
    assert_eq!(keys.len(), values.len(), "a value for each key");
    let (sparse, dense) = columns.split_at(rows.shape().sparse);
    let sums = R::Dense::sums(dense);
    for (keys, values) in keys.chunks(BATCH).zip(values.chunks_mut(BATCH)) {
        let dense_rows = rows.dense(keys);
        for (value, row) in values.iter_mut().zip(dense_rows) {
            *value = R::Dense::sum(&sums, row);
        }
        if !sparse.is_empty() {
            for (value, columns) in values.iter_mut().zip(rows.sparse(keys)) {
                *value ^= sum(sparse, columns);
            }
        }
    }
}

/// The sum of a row's sparse columns.
#[inline]
fn sum<I: Index, const WEIGHT: usize, V: BinaryVector>(sparse: &[V], columns: [I; WEIGHT]) -> V {
    columns.into_iter().fold(V::default(), |sum, column| sum ^ sparse[column.get()])
}

/// The numbers in a set.
fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (lowest < 128).then_some(lowest)
    })
}
