//! The plan by which the engine answers a query.

use vesica_core::parties::Role;
use vesica_keyset::query_columns::{MAX_LABEL, QueryColumns, Slot};
use vesica_psi::{
    Sizes,
    select::{Cells, Column, Owner, Plan, Term, Width},
};
use vesica_select::{Keys, Range, Shape, Side, Summand};
use vesica_table::rows::MAX_ROWS;

use super::Selection;

/// The way from a query to the engine's plan and back.
pub(crate) struct Route {
    /// The columns of each table, by its letter.
    columns: [QueryColumns; 2],
    /// The letter of the table whose keys lie in the engine's table.
    table: Side,
    /// The plan, for sets that are not compared in partitions, with this learner.
    pub(crate) plan: Plan,
    /// The place of each of the query's sums in the plan; `None` for the count.
    places: Vec<Option<usize>>,
}

/// Bits of a number of rows with one key, in two's complement.
const ROW_BITS: u32 = MAX_ROWS.ilog2() + 2;

impl Route {
    /// Plans a query whose columns are declared. The receiver of the protocol has the table; one of the sides learns.
    pub(crate) fn new(
        selection: &Selection,
        shape: &Shape,
        receiver: Role,
        learner: Role,
        sizes: Sizes,
        partitions: usize,
    ) -> Self {
        let select = selection.select();
        let columns = Side::BOTH.map(|side| {
            let declared = selection.declared(side).expect("a query with a shape is declared");
            QueryColumns::new(select, shape, side, declared)
        });
        let table = selection.side(receiver);
        let owner = |side| if side == table { Owner::Table } else { Owner::Other };
        let mut terms: Vec<Term> = Vec::new();
        let mut factor_bits = 1;
        let mut places = Vec::new();
        for sum in &shape.sums {
            if sum.summand == Summand::Key {
                places.push(None);
                continue;
            }
            let factors = Side::BOTH.map(|side| columns[side.index()].factors(&sum.summand, side));
            let mut all = Side::BOTH.into_iter().flat_map(|side| {
                factors[side.index()].iter().map(move |slot| (side, slot.clone()))
            });
            let column = |(side, slot): (Side, Slot)| Column {
                owner: owner(side),
                index: number(&columns[side.index()], &slot),
            };
            let (first, times) = (all.next(), all.next());
            let is_mixed = factors.iter().all(|factors| !factors.is_empty());
            let mut width = match sum.width {
                vesica_select::Width::W32 => Width::Bits32,
                vesica_select::Width::W64 => Width::Bits64,
                vesica_select::Width::W128 => Width::Bits128,
            };
            if is_mixed {
                let slot = |side: Side| (&columns[side.index()], &factors[side.index()][0]);
                let (columns, of_table) = slot(table);
                let bits = bits(columns, of_table);
                factor_bits = factor_bits.max(bits);
                let (columns, of_other) = slot(table.other());
                width = width.max(least_width(bits, columns, of_other));
            }
            // A sum without a factor counts each row of a side whose keys are unique, and so counts keys.
            let Some(first) = first else {
                places.push(None);
                continue;
            };
            let term = Term { column: column(first), times: times.map(column), width, noise: None };
            let place = terms.iter().position(|known| *known == term).unwrap_or_else(|| {
                terms.push(term);
                terms.len() - 1
            });
            places.push(Some(place));
        }
        // Mixed terms are wider than the widest factor.
        for term in &mut terms {
            let is_mixed = term.times.is_some_and(|times| times.owner != term.column.owner);
            if is_mixed && term.width.bits() <= factor_bits as usize {
                term.width = if factor_bits < 64 { Width::Bits64 } else { Width::Bits128 };
            }
        }
        let is_empty_hidden = !select.labels().is_empty() || !terms.is_empty();
        let learner = if learner == receiver { Owner::Table } else { Owner::Other };
        let private = columns[table.index()].private_labels();
        let text_len = if learner == Owner::Other { private * (1 + MAX_LABEL) } else { 0 };
        let cells = Cells {
            learner,
            // SQL has no row for an empty group, and a sum of nothing is null.
            least: select.least().max(is_empty_hidden.into()),
            shows_count: places.contains(&None) || terms.is_empty(),
            remainder: select.has_remainder(),
            text_len,
            ..Cells::default()
        };
        let groups = shape.groups as usize;
        let plan = Plan { sizes, partitions, factor_bits, terms, groups, cells };
        Self { columns, table, plan, places }
    }

    /// Returns the bytes that a row of a party of the protocol contributes.
    pub(crate) fn brought(&self, receives: bool) -> usize {
        let side = if receives { self.table } else { self.table.other() };
        self.columns[side.index()].slots().len() * size_of::<i64>()
    }

    /// Returns the query's sums of a cell, from its count and the plan's sums.
    pub(crate) fn sums(&self, count: i128, sums: &[i128]) -> Vec<i128> {
        let sum = |place: &Option<usize>| place.map_or(count, |place| sums[place]);
        self.places.iter().map(sum).collect()
    }
}

/// Returns the number of the column of a slot among those of the engine, which takes all numbers of a side but labels.
fn number(columns: &QueryColumns, slot: &Slot) -> usize {
    let place = columns.place(slot).expect("a slot of the query");
    place - usize::from(columns.place(&Slot::Label).is_some())
}

/// Returns the number of bits of a slot's values, in two's complement.
fn bits(columns: &QueryColumns, slot: &Slot) -> u32 {
    match (slot, columns.range(slot)) {
        (Slot::Value(_), Some(range)) => (range.bits() + u32::from(range.low >= 0)).clamp(1, 64),
        (Slot::Row | Slot::Present(_), _) if columns.keys() == Keys::Unique => 2,
        (Slot::Row | Slot::Present(_) | Slot::Label, _) => ROW_BITS,
        (Slot::Value(_) | Slot::Product(..), _) => 64,
    }
}

/// Returns the least width of a sum of products of a factor of this many bits with one of the other side's: the sum of
/// that one's magnitudes is bounded by the terms.
fn least_width(bits: u32, columns: &QueryColumns, slot: &Slot) -> Width {
    let of_key = match slot {
        Slot::Value(_) => columns.range(slot).unwrap_or(Range::FULL).magnitude(),
        Slot::Row | Slot::Present(_) if columns.keys() == Keys::Unique => 1,
        Slot::Row | Slot::Present(_) | Slot::Product(..) | Slot::Label => Range::FULL.magnitude(),
    };
    let of_all = (u128::from(of_key) * u128::from(MAX_ROWS)).min(1 << 63);
    let needed = bits + (of_all.ilog2() + 1);
    match needed {
        ..=32 => Width::Bits32,
        33..=64 => Width::Bits64,
        _ => Width::Bits128,
    }
}
