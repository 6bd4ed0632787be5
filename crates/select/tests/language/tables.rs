//! Declarations of the columns of random queries, and random rows.

use rand::{RngExt, rngs::StdRng};
use vesica_select::{Date, Declared, FixedPoint, Keys};

use super::{
    clear::{Cell, Row},
    random::{Column, Values},
};

/// The declarations of a side.
pub fn declared(columns: &[Column], keys: Keys) -> Declared {
    let texts: Vec<_> = columns.iter().map(Column::declaration).collect();
    Declared::parse(&texts, keys).unwrap()
}

/// A random value, which is null in one of four cases if it may be.
pub fn cell(column: &Column, rng: &mut StdRng) -> Option<Cell> {
    if column.is_nullable() && rng.random_range(0..4) == 0 {
        return None;
    }
    Some(match column.values {
        Values::Number(scale) => {
            let unit = 10i128.pow(scale.into());
            let number =
                i128::from(rng.random_range(-15..25)) * unit / i128::from(rng.random_range(1..4));
            Cell::Number(FixedPoint::new(number, scale))
        }
        Values::Text(texts) => Cell::Text(texts[rng.random_range(0..texts.len())]),
        Values::Boolean => Cell::Boolean(rng.random()),
        Values::Date(most) => Cell::Date(date(rng.random_range(-most..=most))),
    })
}

/// The day this many days after 2026-01-31.
fn date(days: i32) -> Date {
    let middle: Date = "2026-01-31".parse().unwrap();
    Date::of_number(middle.number() + days).unwrap()
}

/// The day of a row, if the table has a column of dates.
fn day(row: &Row) -> Option<Date> {
    row.cells.values().flatten().find_map(|cell| match cell {
        Cell::Date(date) => Some(*date),
        _ => None,
    })
}

/// Random rows for three of four of these keys. Several rows of a key may have the same day if `has_same_days`.
pub fn table(
    columns: &[Column],
    keys: Keys,
    among: impl Iterator<Item = u32>,
    has_same_days: bool,
    rng: &mut StdRng,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for key in among {
        let copies = match keys {
            Keys::Unique => rng.random_range(0..4).min(1),
            Keys::Repeats => rng.random_range(0..4),
        };
        let first = rows.len();
        while rows.len() < first + copies {
            let cells = columns.iter().map(|column| (column.name, cell(column, rng))).collect();
            let row = Row { key, cells };
            // DuckDB takes any of several earlier rows of one day.
            let is_new =
                |known: &Row| has_same_days || day(&row).is_none() || day(known) != day(&row);
            if rows[first..].iter().all(is_new) {
                rows.push(row);
            }
        }
    }
    rows
}
