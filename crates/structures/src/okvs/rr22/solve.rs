//! Solving one cluster: the steps that the parent module numbers.

use vesica_primitives::{BinaryVector, Block};

use super::{BATCH, DenseSums, Rr22, sum};
use crate::okvs::Error;

/// Room for encoding one cluster after the other.
#[derive(Default)]
pub struct Workspace {
    /// The sparse columns of each row.
    rows: Vec<[u16; 3]>,
    columns: Vec<Remaining>,
    /// Columns that may have a single row left.
    ready: Vec<u16>,
    /// Peeled rows, each with the column it determines.
    order: Vec<(u16, u16)>,
    /// Rows set aside.
    gap: Vec<u16>,
}

/// The rows that a column still has: how many, and the exclusive or of their numbers, which is the
/// row itself where there is one.
#[derive(Clone, Copy, Default)]
struct Remaining {
    count: u16,
    rows: u16,
}

impl Workspace {
    pub(super) fn encode<V: BinaryVector>(
        &mut self,
        okvs: &Rr22,
        keys: &[Block],
        values: &[V],
        columns: &mut [V],
    ) -> Result<(), Error> {
        if keys.len() > okvs.shape.capacity {
            return Err(Error::Overflow);
        }
        let (sparse, dense) = columns.split_at_mut(okvs.shape.sparse);
        self.triangulate(okvs, keys)?;
        if !self.gap.is_empty() {
            self.solve_gap(okvs, keys, values, sparse, dense)?;
        }
        self.substitute(okvs, keys, values, sparse, dense);
        Ok(())
    }

    /// Steps 1 and 2.
    fn triangulate(&mut self, okvs: &Rr22, keys: &[Block]) -> Result<(), Error> {
        self.rows.clear();
        self.order.clear();
        self.gap.clear();
        if okvs.shape.sparse == 0 {
            self.gap.extend(0..keys.len() as u16);
            return Ok(());
        }
        self.columns.clear();
        self.columns.resize(okvs.shape.sparse, Remaining::default());
        for keys in keys.chunks(BATCH) {
            for place in &okvs.places(keys)[..keys.len()] {
                let row = self.rows.len() as u16;
                for column in place.sparse {
                    let remaining = &mut self.columns[column as usize];
                    remaining.count += 1;
                    remaining.rows ^= row;
                }
                self.rows.push(place.sparse);
            }
        }
        self.ready.extend(0..self.columns.len() as u16);
        self.peel();
        while self.order.len() + self.gap.len() < self.rows.len() {
            if self.gap.len() == okvs.shape.dense {
                return Err(Error::NoSolution);
            }
            self.set_one_aside();
            self.peel();
        }
        Ok(())
    }

    fn peel(&mut self) {
        while let Some(column) = self.ready.pop() {
            if let Remaining { count: 1, rows: row } = self.columns[column as usize] {
                self.order.push((row, column));
                self.take_away(row);
            }
        }
    }

    /// Sets aside one of the rows of a column that has few. This is rare, so it takes the time to
    /// look through everything.
    fn set_one_aside(&mut self) {
        let mut taken = vec![false; self.rows.len()];
        let peeled = self.order.iter().map(|(row, _)| row);
        peeled.chain(&self.gap).for_each(|row| taken[*row as usize] = true);
        let with_rows = self.columns.iter().enumerate().filter(|(_, column)| column.count > 0);
        let (column, _) = with_rows.min_by_key(|(_, column)| column.count).expect("rows remain");
        let holds = |row: &usize| !taken[*row] && self.rows[*row].contains(&(column as u16));
        let row = (0..self.rows.len()).find(holds).expect("the column has rows") as u16;
        self.gap.push(row);
        self.take_away(row);
    }

    /// Takes a row out of its columns.
    fn take_away(&mut self, row: u16) {
        for column in self.rows[row as usize] {
            let remaining = &mut self.columns[column as usize];
            remaining.count -= 1;
            remaining.rows ^= row;
            if remaining.count == 1 {
                self.ready.push(column);
            }
        }
    }

    /// Step 3: determines the dense columns. What they hold where no equation says otherwise stays.
    fn solve_gap<V: BinaryVector>(
        &self,
        okvs: &Rr22,
        keys: &[Block],
        values: &[V],
        sparse: &[V],
        dense: &mut [V],
    ) -> Result<(), Error> {
        let bits = all_dense_bits(okvs, keys);
        // Each sparse column as an affine function of the dense ones: a mask of those that it
        // depends on, and a constant.
        let mut masks = vec![0; sparse.len()];
        let mut constants = sparse.to_vec();
        let affine = |row: u16, masks: &[u128], constants: &[V]| {
            let (mut mask, mut constant) = (bits[row as usize], values[row as usize]);
            for column in self.rows.get(row as usize).into_iter().flatten() {
                mask ^= masks[*column as usize];
                constant ^= constants[*column as usize];
            }
            (mask, constant)
        };
        for (row, column) in self.order.iter().rev() {
            let column = *column as usize;
            (masks[column], constants[column]) = (0, V::default());
            (masks[column], constants[column]) = affine(*row, &masks, &constants);
        }
        // Gauss–Jordan elimination: no mask holds another equation's pivot.
        let mut solved: Vec<(u128, V)> = Vec::with_capacity(self.gap.len());
        let pivot = |mask: u128| mask & mask.wrapping_neg();
        for row in &self.gap {
            let (mut mask, mut constant) = affine(*row, &masks, &constants);
            for (other, value) in &solved {
                if mask & pivot(*other) != 0 {
                    mask ^= other;
                    constant ^= *value;
                }
            }
            if mask == 0 {
                if constant == V::default() {
                    continue;
                }
                return Err(Error::NoSolution);
            }
            for (other, value) in &mut solved {
                if *other & pivot(mask) != 0 {
                    *other ^= mask;
                    *value ^= constant;
                }
            }
            solved.push((mask, constant));
        }
        for (mask, constant) in solved {
            let at = mask.trailing_zeros() as usize;
            dense[at] = V::default();
            let free = (0..dense.len()).filter(|i| mask >> i & 1 == 1);
            dense[at] = free.fold(constant, |sum, i| sum ^ dense[i]);
        }
        Ok(())
    }

    /// Step 4.
    fn substitute<V: BinaryVector>(
        &self,
        okvs: &Rr22,
        keys: &[Block],
        values: &[V],
        sparse: &mut [V],
        dense: &[V],
    ) {
        let sums = DenseSums::new(dense);
        let mut adjusted = Vec::new();
        let values = if sums.0.is_empty() {
            values
        } else {
            let with_bits = values.iter().zip(all_dense_bits(okvs, keys));
            adjusted.extend(with_bits.map(|(value, bits)| *value ^ sums.of(bits)));
            &adjusted
        };
        for (row, column) in self.order.iter().rev() {
            let column = *column as usize;
            sparse[column] = V::default();
            sparse[column] = values[*row as usize] ^ sum(sparse, self.rows[*row as usize]);
        }
    }
}

fn all_dense_bits(okvs: &Rr22, keys: &[Block]) -> Vec<u128> {
    let batches = keys.chunks(BATCH);
    batches.flat_map(|keys| okvs.dense_bits(keys).into_iter().take(keys.len())).collect()
}
