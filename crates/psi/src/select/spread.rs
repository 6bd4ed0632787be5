//! Groups by labels of S: a column of S for each of its labels.
//!
//! T does not learn S's labels, so S spreads them over columns. For each label it has a column of ones and zeros, and
//! its numbers with zeros for the items that have another label. A [spread](Plan::spread) plan adds up these columns by
//! T's labels; its sums are the numbers of the cells of both labels together, which the [joint](Plan::joint) plan
//! opens. The cost grows with the number of S's labels: by some four bytes an item for each byte of a cell, and for
//! each sum of T's own by a product in each bin, with an OT for each bit of T's number.

use rand::{CryptoRng, SeedableRng};
use vesica_circuit::Width;
use vesica_net::Channel;
use zeroize::Zeroizing;

use super::{
    CellShares, Cells, Column, Input, OpenedCells, Owner, Plan, Sharer, Term, TermKind, share,
};
use crate::{Party, Result};

/// The most rows of a set in all partitions, as a power of two.
const LOG_ROWS: usize = 40;

impl Plan {
    /// The number of cells: one for each label of T and each label of S.
    pub(super) fn cell_count(&self) -> usize {
        self.groups * self.other_groups
    }

    /// The number of S's columns before they are spread.
    fn other_columns(&self) -> usize {
        let columns = self.terms.iter().flat_map(|term| [term.column, term.times]).flatten();
        let other = columns.filter(|column| column.owner == Owner::Other);
        other.map(|column| column.index + 1).max().unwrap_or(0)
    }

    /// The plan that adds up S's columns for each of its labels, without opening anything; the plan itself if S has no
    /// labels.
    pub(super) fn spread(&self) -> Self {
        if self.other_groups == 1 {
            return self.clone();
        }
        let step = 1 + self.other_columns();
        let mut terms = Vec::new();
        for label in 0..self.other_groups {
            let ones = Column { owner: Owner::Other, index: label * step };
            let spread = |column: Column| match column.owner {
                Owner::Table => column,
                Owner::Other => Column { index: label * step + 1 + column.index, ..column },
            };
            let column = Some(ones);
            if self.counts() {
                let (width, is_of_item) = (self.count_width(), true);
                terms.push(Term { column, times: None, is_of_item, width, noise: None });
            }
            terms.extend(self.terms.iter().map(|term| {
                let mut term = Term {
                    column: term.column.map(spread).or(column),
                    times: term.times.map(spread),
                    noise: None,
                    ..*term
                };
                if term.kind() == TermKind::Table {
                    term.times = column;
                    // The least width of a number of T's, multiplied with ones and zeros.
                    let rows = self.rows_of_item().next_power_of_two().ilog2() as usize;
                    let bits = self.factor_bits as usize + LOG_ROWS + rows + 1;
                    term.width = term.width.max(Width::holding(bits));
                }
                term
            }));
        }
        let cells = Cells { shows_count: false, ..Cells::default() };
        Self { terms, other_groups: 1, cells, ..self.clone() }
    }

    /// The plan that opens the cells of both labels, as if T had them all.
    pub(super) fn joint(&self) -> Self {
        Self { groups: self.cell_count(), other_groups: 1, ..self.clone() }
    }

    /// Makes a share of the cells from one of the spread plan.
    fn joined(&self, spread: &CellShares) -> CellShares {
        let (wide, from) = self.spread().layout();
        let (layout, to) = self.layout();
        let mut cells = vec![0; self.cell_count() * layout.len()];
        let rows = spread
            .cells
            .chunks_exact(wide.len())
            .zip(cells.chunks_exact_mut(self.other_groups * layout.len()));
        for (row, joined) in rows {
            let of_labels = from.chunks_exact(to.len()).zip(joined.chunks_exact_mut(layout.len()));
            for (from, cell) in of_labels {
                // A wider sum is the same number modulo a smaller power of two.
                to.iter().zip(from).for_each(|(to, from)| to.set(cell, from.get(row)));
            }
        }
        CellShares { cells }
    }

    /// Bytes of S's columns, spread.
    pub(super) fn spread_len(&self) -> usize {
        let columns = self.other_groups * (1 + self.other_columns());
        let rows = self.sizes.sender * self.rows_of_item();
        if self.other_groups == 1 { 0 } else { columns * rows * size_of::<i64>() }
    }

    /// S's columns, spread.
    fn spread_columns(&self, input: Input<'_>) -> Vec<Zeroizing<Vec<i64>>> {
        let Input { items, columns, labels, .. } = input;
        let rows = self.rows_of_item();
        let mut spread = Vec::new();
        for label in 0..self.other_groups as u32 {
            // All ones or all zeros.
            let mask = |row: usize| -i64::from(labels[row / rows] == label);
            let masked = |value: &dyn Fn(usize) -> i64| {
                let all = 0..items.len() * rows;
                Zeroizing::new(all.map(|row| value(row) & mask(row)).collect())
            };
            spread.push(masked(&|_| 1));
            let columns = columns.iter().take(self.other_columns());
            spread.extend(columns.map(|column| masked(&|row| column[row])));
        }
        spread
    }
}

/// A party whose plan has labels of S.
pub(super) struct Spread {
    plan: Plan,
    me: Owner,
    party: Box<Sharer>,
}

impl Spread {
    /// Prepares a party.
    pub(super) fn prepare(
        plan: Plan,
        me: Owner,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let party = share::prepare(plan.spread(), me, channel, rng)?;
        Ok(Self { plan, me, party })
    }

    fn share(
        self,
        input: Input<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<CellShares> {
        let Self { plan, me, party } = self;
        let share = match me {
            Owner::Table => party.run(Input { texts: &[], ..input }, channel, rng)?,
            Owner::Other => {
                let columns = plan.spread_columns(input);
                let columns: Vec<&[i64]> = columns.iter().map(|column| &column[..]).collect();
                let input = Input { columns: &columns, labels: &[], texts: &[], ..input };
                party.run(input, channel, rng)?
            }
        };
        Ok(plan.joined(&share))
    }
}

impl Party<Input<'_>, CellShares> for Spread {
    fn run(
        self: Box<Self>,
        input: Input<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<CellShares> {
        self.share(input, channel, rng)
    }
}

impl Party<Input<'_>, Option<OpenedCells>> for Spread {
    fn run(
        self: Box<Self>,
        input: Input<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<OpenedCells>> {
        let (plan, me, texts) = (self.plan.clone(), self.me, input.texts);
        plan.check(me, input)?;
        let share = self.share(input, channel, rng)?;
        let mut noise = rand::rngs::StdRng::from_rng(&mut *rng);
        plan.open(me, &share, texts, channel, rng, &mut noise)
    }
}
