//! Matched rows, in the order of the table or in the same order on both sides.
//!
//! Keys are sorted by their items. An item is a hash of the key under the seed of the run, which neither side could
//! choose. So the order is the same on both sides and reveals nothing about the keys; both sides know the matched ones.

use vesica_keyset::{key_number::KeyNumber, key_rows::KeyRows};
use vesica_psi::Items;
use vesica_table::{
    row_number::RowNumber,
    written::{Matched, Numbering},
};

/// Returns the rows with these keys, which are given by their positions.
pub(super) fn matched(
    matches: &[u32],
    numbering: Option<Numbering>,
    items: Items<'_>,
    set: &KeyRows,
) -> Matched {
    match numbering {
        Some(Numbering::Matches) => aligned(matches, items, set),
        _ => Matched { rows: set.rows_of(KeyNumber::at_all(matches)), ..Matched::default() },
    }
}

/// Does the same, in an order that both sides share: matches are numbered from 1, and rows with the same key have the
/// same number and stay in the order of the table.
fn aligned(matches: &[u32], items: Items<'_>, set: &KeyRows) -> Matched {
    let mut keys = matches.to_vec();
    keys.sort_unstable_by_key(|key| items.low_halves()[*key as usize].to_bytes());
    let mut ids = vec![0; set.counts().used as usize];
    for (id, key) in (1..).zip(keys) {
        ids[key as usize] = id;
    }
    let id = |row: RowNumber| set.key_of(row).map_or(0, |key| ids[key.index()]);
    let rows = set.rows_of(KeyNumber::at_all(matches)).into_iter();
    let mut rows: Vec<_> = rows.map(|row| (id(row), row)).collect();
    rows.sort_unstable();
    let (ids, rows): (Vec<u64>, _) = rows.into_iter().unzip();
    Matched { rows, ids: Some(ids), ..Matched::default() }
}
