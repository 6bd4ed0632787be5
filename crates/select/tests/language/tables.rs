//! Declarations of the columns of random queries, and random rows.

use rand::{RngExt, rngs::StdRng};
use vesica_select::{Declared, FixedPoint, Keys};

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
    })
}

/// Random rows for three of four of these keys.
pub fn table(
    columns: &[Column],
    keys: Keys,
    among: impl Iterator<Item = u32>,
    rng: &mut StdRng,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for key in among {
        let copies = match keys {
            Keys::Unique => rng.random_range(0..4).min(1),
            Keys::Repeats => rng.random_range(0..4),
        };
        for _ in 0..copies {
            let cells = columns.iter().map(|column| (column.name, cell(column, rng))).collect();
            rows.push(Row { key, cells });
        }
    }
    rows
}
