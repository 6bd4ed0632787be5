//! The plan by which the engine answers a query.

use vesica_core::parties::Role;
use vesica_keyset::{
    query_columns::{MAX_LABEL, QueryColumns, Slot},
    touches::Touches,
};
use vesica_params::Laplace;
use vesica_psi::{
    Sizes,
    select::{Cells, Column, Lookup, MAX_NUMBERS, Owner, Plan, Term, Width},
};
use vesica_select::{Keys, LabelShape, Range, Shape, Side, Summand};
use vesica_table::rows::MAX_ROWS;

use super::Selection;
use crate::noise::Noise;

/// The way from a query to the engine's plan and back.
pub(crate) struct Route {
    /// The columns of each table, by its letter.
    columns: [QueryColumns; 2],
    /// The letter of the table whose keys lie in the engine's table.
    pub(crate) table: Side,
    /// The plan, for sets that are not compared in partitions, with this learner.
    pub(crate) plan: Plan,
    /// The place of each of the query's sums in the plan; `None` for the count.
    places: Vec<Option<usize>>,
}

/// Bits of a number of rows with one key, in two's complement.
const ROW_BITS: u32 = MAX_ROWS.ilog2() + 2;

impl Route {
    /// Plans a query whose columns are declared. The receiver of the protocol has the table; one of the sides learns.
    /// Noise is divided evenly among the numbers of a cell.
    ///
    /// # Errors
    /// The reason why the query cannot have the noise.
    pub(crate) fn new(
        selection: &Selection,
        shape: &Shape,
        Between { receiver, learner, sizes, partitions, people }: Between,
        noise: Option<Noise>,
    ) -> Result<Self, String> {
        let select = selection.select();
        let columns = Side::BOTH.map(|side| {
            let declared = selection.declared(side).expect("a query with a shape is declared");
            QueryColumns::new(select, shape, side, declared)
        });
        let table = selection.side(receiver);
        let count = |side: Side| {
            let labels = shape.labels.iter().filter(move |label| label.side == side);
            labels.map(LabelShape::count).product::<u64>() as usize
        };
        let (groups, other_groups) = (count(table), count(table.other()));
        let owner = |side| if side == table { Owner::Table } else { Owner::Other };
        let mut terms: Vec<Term> = Vec::new();
        let (mut factor_bits, mut mixed) = (1, Vec::new());
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
                index: columns[side.index()].number(&slot).expect("a slot of the query"),
            };
            let (first, times) = (all.next(), all.next());
            // Rows that are each looked up are counted without a number of either side.
            let is_one =
                matches!(&first, Some((side, Slot::Row)) if columns[side.index()].rows() > 1);
            let is_mixed = factors.iter().all(|factors| !factors.is_empty());
            let width = match sum.width {
                vesica_select::Width::W32 => Width::Bits32,
                vesica_select::Width::W64 => Width::Bits64,
                vesica_select::Width::W128 => Width::Bits128,
            };
            if is_mixed {
                factor_bits =
                    factor_bits.max(bits(&columns[table.index()], &factors[table.index()][0]));
            }
            // S's labels multiply what only the table's side adds up.
            if let (true, [own], []) =
                (other_groups > 1, &factors[table.index()][..], &factors[table.other().index()][..])
            {
                factor_bits = factor_bits.max(bits(&columns[table.index()], own));
            }
            // A sum without a factor counts each row of a side whose keys are unique, and so counts keys.
            let Some(first) = first else {
                places.push(None);
                continue;
            };
            let column_of_values = (!is_one).then(|| column(first));
            let times = times.map(column);
            let term =
                Term { column: column_of_values, times, is_of_item: false, width, noise: None };
            let place = terms.iter().position(|known| *known == term).unwrap_or_else(|| {
                terms.push(term);
                terms.len() - 1
            });
            places.push(Some(place));
            if is_mixed {
                let other = table.other().index();
                mixed.push((place, sum_bits(&columns[other], &factors[other][0])));
            }
        }
        // The engine multiplies with factors of the widest one's length.
        for (place, sum_bits) in mixed {
            let width = &mut terms[place].width;
            *width = (*width).max(Width::holding((factor_bits + sum_bits) as usize));
        }
        let has_groups = !select.labels().is_empty() || !terms.is_empty();
        let is_empty_hidden = has_groups && noise.is_none();
        let learner = if learner == receiver { Owner::Table } else { Owner::Other };
        let private = columns[table.index()].private_labels();
        let text_len = if learner == Owner::Other { private * (1 + MAX_LABEL) } else { 0 };
        let shows_count = places.contains(&None) || terms.is_empty();
        let mut cells = Cells {
            learner,
            // SQL has no row for an empty group, and a sum of nothing is null.
            least: select.least().max(is_empty_hidden.into()),
            shows_count,
            remainder: select.has_remainder(),
            text_len,
            ..Cells::default()
        };
        if noise.is_some() && shape.latest.is_some_and(|latest| latest.rows > 1) {
            return Err(ONE_ROW.to_owned());
        }
        if let Some(noise) = noise {
            let counts = shows_count || cells.least > 0;
            let numbers = terms.len() + usize::from(counts);
            for (sum, place) in shape.sums.iter().zip(&places) {
                let Some(place) = place else { continue };
                let changes = sensitivity(shape, &sum.summand)?;
                terms[*place].noise = Some(noise.share(numbers, changes)?);
            }
            cells.count_noise = if counts { Some(noise.share(numbers, 1)?) } else { None };
            if private > 0 {
                return Err("noise hides no label: with --epsilon, list the labels of a column, as in {north,south}".to_owned());
            }
            if cells.remainder {
                return Err(
                    "a remainder has no noise: leave out WITH REMAINDER or --epsilon".to_owned()
                );
            }
        }
        let lookup = columns[table.index()].touches().map(lookup);
        let plan = Plan {
            sizes,
            partitions,
            factor_bits,
            terms,
            groups,
            other_groups,
            lookup,
            people,
            cells,
        };
        check_spread(&plan, table)?;
        Ok(Self { columns, table, plan, places })
    }

    /// Returns the bytes that a row of a party of the protocol contributes.
    pub(crate) fn brought(&self, receives: bool) -> usize {
        let side = if receives { self.table } else { self.table.other() };
        let columns = &self.columns[side.index()];
        columns.slots().len() * columns.rows() * size_of::<i64>()
    }

    /// Returns the query's sums of a cell, from its count and the plan's sums.
    pub(crate) fn sums(&self, count: i128, sums: &[i128]) -> Vec<i128> {
        let sum = |place: &Option<usize>| place.map_or(count, |place| sums[place]);
        self.places.iter().map(sum).collect()
    }
}

/// The reason why several rows of a key exclude noise.
const ONE_ROW: &str =
    "with --epsilon, each key has one row: a key with many rows would show in a count of rows";

/// Returns the look-up that finds a key's labels by the days of the other side's rows.
pub(super) fn lookup(touches: Touches) -> Lookup {
    Lookup::holding(touches.positions(), touches.labels(), touches.rows())
}

/// Refuses labels of the side without the table that the engine cannot add up by.
fn check_spread(plan: &Plan, table: Side) -> Result<(), String> {
    let is_square = |term: &Term| {
        let owners = [term.column, term.times].map(|column| column.map(|one| one.owner));
        owners == [Some(Owner::Table); 2]
    };
    let other = table.other();
    if plan.other_groups > 1 && plan.terms.iter().any(is_square) {
        return Err(format!(
            "with labels of both sides, this release adds up no products of two columns of side {table}: group by its labels \
             only, or leave out the labels of side {other}"
        ));
    }
    let numbers = plan.other_groups * (plan.terms.len() + 1);
    match numbers <= MAX_NUMBERS {
        true => Ok(()),
        false if plan.other_groups == 1 => Err(format!(
            "the query needs {numbers} numbers for each group, and there are at most {MAX_NUMBERS}"
        )),
        false => Err(format!(
            "the {} groups of side {other} would need {numbers} numbers, and there are at most {MAX_NUMBERS}: use fewer of \
             its groups or fewer numbers, or group by labels of side {table} only",
            plan.other_groups
        )),
    }
}

/// The sides of a protocol, and the sizes of their sets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Between {
    /// The receiver.
    pub(crate) receiver: Role,
    /// The side that learns first.
    pub(crate) learner: Role,
    /// The sizes, of a partition if there are several.
    pub(crate) sizes: Sizes,
    /// The number of partitions.
    pub(crate) partitions: usize,
    /// The most keys of a row, if rules make the keys.
    pub(crate) people: Option<usize>,
}

/// Returns the most by which a key changes a sum.
fn sensitivity(shape: &Shape, summand: &Summand) -> Result<u64, String> {
    let factors = match summand {
        Summand::Key => return Ok(1),
        _ if shape.keys.contains(&Keys::Repeats) => {
            return Err(ONE_ROW.to_owned());
        }
        Summand::Row | Summand::Present(_) => return Ok(1),
        Summand::Product(factors) => factors,
    };
    let mut most = 1u64;
    for factor in factors {
        let bound = factor.range.magnitude().max(1);
        most = most
            .checked_mul(bound)
            .filter(|most| *most <= Laplace::LARGEST_SENSITIVITY)
            .ok_or_else(|| {
                let column = &factor.column;
                format!(
                    "with --epsilon, {column} needs bounds, as in --column '{}:decimal(2)[0..500]'",
                    column.name
                )
            })?;
    }
    Ok(most)
}

/// Returns the number of bits of a slot's values, in two's complement.
fn bits(columns: &QueryColumns, slot: &Slot) -> u32 {
    match (slot, columns.range(slot)) {
        (Slot::Value(_), Some(range)) => (range.bits() + u32::from(range.low >= 0)).clamp(1, 64),
        (Slot::Row | Slot::Present(_), _) if columns.keys() == Keys::Unique => 2,
        (Slot::Row | Slot::Present(_), _) => ROW_BITS,
        _ => 64,
    }
}

/// Returns a bound on the number of bits of the sum of a slot's magnitudes over all keys.
fn sum_bits(columns: &QueryColumns, slot: &Slot) -> u32 {
    let of_key = match slot {
        Slot::Value(_) => columns.range(slot).unwrap_or(Range::FULL).magnitude(),
        Slot::Row | Slot::Present(_) if columns.keys() == Keys::Unique => 1,
        _ => Range::FULL.magnitude(),
    };
    let of_all = (u128::from(of_key) * u128::from(MAX_ROWS)).min(1 << 63);
    of_all.checked_ilog2().map_or(0, |log| log + 1)
}

#[cfg(test)]
mod tests {
    use vesica_primitives::Block;
    use vesica_psi::{Items, select::Input};
    use vesica_select::Declared;

    use super::*;

    /// A wide factor of one product leaves room for the values of another.
    #[test]
    fn all_products_have_room_for_the_widest_factor() {
        let query = "SELECT sum(a.wide * b.n), sum(a.few * b.n) FROM a JOIN b USING (key)";
        let declared = [
            &["wide:integer[0..1000000000000000000]", "few:integer[0..9]"][..],
            &["n:integer[0..1000]"],
        ];
        let declared =
            declared.map(|columns| Declared::parse(columns, Keys::Unique).map(Some).unwrap());
        let select = std::sync::Arc::new(query.parse().unwrap());
        let selection = Selection::new(select, Role::A, declared).unwrap();
        let sizes = Sizes { sender: 3, receiver: 3 };
        let items = [1, 2, 3].map(Block);
        for (receiver, owner) in [(Role::A, Owner::Other), (Role::B, Owner::Table)] {
            let between =
                Between { receiver, learner: receiver, sizes, partitions: 1, people: None };
            let route = Route::new(&selection, selection.shape().unwrap(), between, None).unwrap();
            let input = Input { columns: &[&[1000; 3]], ..Input::new(Items::from(&items[..])) };
            route.plan.check(owner, input).unwrap();
        }
    }
}
