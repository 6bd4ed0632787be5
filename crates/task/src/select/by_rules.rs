//! Queries over rows that match by rules.
//!
//! A row of one side may match several rows of the other. So the query counts and adds up the rows of one side, each of
//! them once, and of the other side it takes no more than the rows that may match.

use vesica_select::{Select, Side};

/// Returns the side whose rows a query counts: the one whose numbers or labels it takes. `None` if that is neither
/// side, or both.
pub(super) fn counted(select: &Select) -> Option<Side> {
    let mut sides = Side::BOTH.into_iter().filter(|side| takes(select, *side));
    sides.next().filter(|_| sides.next().is_none())
}

/// Returns whether a query takes numbers or labels of a side.
pub(super) fn takes(select: &Select, side: Side) -> bool {
    first_taken(select, side).is_some()
}

/// Returns the first column of a side whose numbers or labels a query takes.
fn first_taken(select: &Select, side: Side) -> Option<String> {
    let columns = select.columns(side);
    let mut taken =
        columns.iter().filter(|column| column.is_number || column.is_counted || column.is_label);
    taken.next().map(|column| format!("{side}.{}", column.name))
}

/// Refuses a query that is not well defined if a row may match several rows. `repeats` is whether each side has
/// declared several rows with one key, as far as it is known.
///
/// # Errors
/// The reason, and the way out of it.
pub(super) fn check(select: &Select, repeats: [bool; 2]) -> Result<(), String> {
    if select.as_of().is_some() {
        return Err(
            "by rules (--match), a row may match several rows, so there is no latest one: use JOIN in place of ASOF JOIN, \
             or one --key"
                .to_owned(),
        );
    }
    let counted = counted(select);
    if let [Some(a), Some(b)] = Side::BOTH.map(|side| first_taken(select, side)) {
        return Err(format!(
            "by rules (--match), a row may match several rows of the other side, so a query takes numbers and labels of one \
             side only: use {a} and {b} in two queries, use one of them in WHERE, or name one --key"
        ));
    }
    let is_refused = |side: &Side| repeats[side.index()] && counted != Some(*side);
    match Side::BOTH.into_iter().find(is_refused) {
        None => Ok(()),
        Some(side) => Err(format!(
            "by rules (--match), --repeated-keys is for the side whose numbers or labels the query takes; equal rows of side \
             {side} count as one: leave it out there"
        )),
    }
}
