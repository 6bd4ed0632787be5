//! Random queries against DuckDB, which runs the same texts on both tables.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use vesica_select::{Datum, Declared, FixedPoint, Formula, Keys, Select, Shape, Side, Summand};

use crate::random::{COLUMNS, Column, Values, Writer, declared};

/// The package for Python, in the version with which the expectations were written.
const DUCKDB: &str = "duckdb==2.0.0";

/// Pairs of tables, and queries for each.
const TABLES: u64 = 20;
const QUERIES: usize = 25;

/// A value of a table; null is `None`.
#[derive(Clone)]
enum Cell {
    Number(FixedPoint),
    Text(&'static str),
    Boolean(bool),
}

struct Row {
    key: u32,
    cells: BTreeMap<&'static str, Option<Cell>>,
}

impl Row {
    fn datum(&self, name: &str) -> Option<Datum<'static>> {
        self.cells[name].as_ref().map(|cell| match cell {
            Cell::Number(number) => Datum::Number(*number),
            Cell::Text(text) => Datum::Text(text),
            Cell::Boolean(is_true) => Datum::Boolean(*is_true),
        })
    }
}

fn cell(column: &Column, rng: &mut StdRng) -> Option<Cell> {
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

fn table(side: Side, keys: Keys, rng: &mut StdRng) -> Vec<Row> {
    let mut rows = Vec::new();
    for key in 0..100 {
        let copies = match keys {
            Keys::Unique => rng.random_range(0..4).min(1),
            Keys::Repeats => rng.random_range(0..4),
        };
        for _ in 0..copies {
            let columns = COLUMNS[side.index()].iter();
            rows.push(Row {
                key,
                cells: columns.map(|column| (column.name, cell(column, rng))).collect(),
            });
        }
    }
    rows
}

/// Writes the statements that make a table.
fn statements(side: Side, rows: &[Row]) -> Vec<String> {
    let columns: Vec<_> = COLUMNS[side.index()]
        .iter()
        .map(|column| format!("\"{}\" {}", column.name, column.sql))
        .collect();
    let value = |cell: &Option<Cell>| match cell {
        None => "NULL".to_owned(),
        Some(Cell::Number(number)) => number.to_string(),
        Some(Cell::Text(text)) => format!("'{}'", text.replace('\'', "''")),
        Some(Cell::Boolean(is_true)) => is_true.to_string(),
    };
    let insert = |row: &Row| {
        let values: Vec<_> =
            COLUMNS[side.index()].iter().map(|column| value(&row.cells[column.name])).collect();
        format!("INSERT INTO {side} VALUES ({}, {})", row.key, values.join(", "))
    };
    let create = format!("CREATE OR REPLACE TABLE {side} (key INTEGER, {})", columns.join(", "));
    std::iter::once(create).chain(rows.iter().map(insert)).collect()
}

/// Answers a query by the meaning that the crate gives to its parts: a row of results for each group, by its labels.
fn answer(
    query: &Select,
    shape: &Shape,
    tables: &[Vec<Row>; 2],
) -> BTreeMap<Vec<Option<String>>, Vec<Option<FixedPoint>>> {
    let counted = Side::BOTH.map(|side| {
        let rows = tables[side.index()].iter();
        let holds = |row: &&Row| {
            query
                .filter(side)
                .is_none_or(|filter| filter.holds(&|name| row.datum(name)) == Some(true))
        };
        rows.filter(holds).collect::<Vec<_>>()
    });
    let mut groups: BTreeMap<_, Vec<[&Row; 2]>> = BTreeMap::new();
    if query.labels().is_empty() {
        groups.insert(Vec::new(), Vec::new());
    }
    for a in &counted[0] {
        for b in counted[1].iter().filter(|b| b.key == a.key) {
            let joined = [*a, *b];
            let label = |label: &vesica_select::Label| {
                let column = label.column();
                label
                    .of(joined[column.side.index()].datum(&column.name))
                    .map(|label| label.into_owned())
            };
            groups.entry(query.labels().iter().map(label).collect()).or_default().push(joined);
        }
    }
    let keys = |rows: &[[&Row; 2]]| {
        rows.iter().map(|row| row[0].key).collect::<BTreeSet<_>>().len() as u64
    };
    groups.retain(|_, rows| keys(rows) >= query.least());
    let results = |rows: Vec<[&Row; 2]>| {
        let datum = |row: &[&Row; 2], column: &vesica_select::ColumnRef| {
            row[column.side.index()].datum(&column.name)
        };
        let sum = |sum: &vesica_select::CellSum| match &sum.summand {
            Summand::Key => i128::from(keys(&rows)),
            Summand::Row => rows.len() as i128,
            Summand::Present(columns) => {
                let is_present =
                    |row: &&[&Row; 2]| columns.iter().all(|column| datum(row, column).is_some());
                rows.iter().filter(is_present).count() as i128
            }
            Summand::Product(factors) => {
                let factor = |row: &[&Row; 2], column| match datum(row, column) {
                    Some(Datum::Number(number)) => number.number(),
                    _ => 0,
                };
                let product =
                    |row| factors.iter().map(|one| factor(row, &one.column)).product::<i128>();
                rows.iter().map(product).sum()
            }
        };
        let sums: Vec<i128> = shape.sums.iter().map(sum).collect();
        let mut results = shape.aggregates(&sums);
        // A group without rows has no sums, even of a column that is never null.
        if rows.is_empty() {
            let sums = shape.results.iter().zip(&mut results);
            sums.filter(|(formula, _)| matches!(formula, Formula::Sum { .. }))
                .for_each(|(_, sum)| *sum = None);
        }
        results
    };
    groups.into_iter().map(|(labels, rows)| (labels, results(rows))).collect()
}

/// Whether DuckDB's value is ours: exactly for counts and sums, up to the precision of floating-point numbers for means
/// and variances.
fn agree(ours: Option<FixedPoint>, theirs: &Value, is_exact: bool) -> bool {
    let Some(ours) = ours else { return theirs.is_null() };
    let Some(theirs) = theirs.as_str() else { return false };
    match is_exact {
        true => decimal(theirs) == ours,
        false => {
            let theirs: f64 = theirs.parse().unwrap();
            let ours: f64 = ours.to_string().parse().unwrap();
            (ours - theirs).abs() <= 0.6e-6 + theirs.abs() * 1e-9
        }
    }
}

fn decimal(text: &str) -> FixedPoint {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    FixedPoint::new(format!("{whole}{fraction}").parse().unwrap(), fraction.len() as u8)
}

#[test]
#[ignore = "assure: a package for Python from the network"]
fn random_queries_mean_what_they_mean_in_duckdb() {
    let scratch = tempfile::tempdir().unwrap();
    let python = scratch.path().join("venv/bin/python");
    run(Command::new("python3").args(["-m", "venv"]).arg(scratch.path().join("venv")));
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", DUCKDB]));

    let mut rng = StdRng::seed_from_u64(3);
    let (mut cases, mut expected) = (Vec::new(), Vec::new());
    for i in 0..TABLES {
        let keys = match i % 4 {
            0 => [Keys::Repeats, Keys::Unique],
            1 => [Keys::Unique, Keys::Repeats],
            _ => [Keys::Unique, Keys::Unique],
        };
        let tables = Side::BOTH.map(|side| table(side, keys[side.index()], &mut rng));
        let declared: [Declared; 2] = Side::BOTH.map(|side| declared(side, keys[side.index()]));
        let setup: Vec<_> =
            Side::BOTH.iter().flat_map(|side| statements(*side, &tables[side.index()])).collect();
        let mut queries = Vec::new();
        while queries.len() < QUERIES {
            let text = Writer { rng: &mut rng, text: String::new() }.query(false);
            let query: Select = text.parse().unwrap();
            let Ok(shape) = query.check(&declared[0], &declared[1]) else { continue };
            expected.push((answer(&query, &shape, &tables), shape, query.clone()));
            queries.push(json!([text, query.to_string()]));
        }
        cases.push(json!({ "setup": setup, "queries": queries }));
    }
    let [asked, answered] = ["asked.json", "answered.json"].map(|name| scratch.path().join(name));
    fs::write(&asked, Value::from(cases).to_string()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/program/oracle/queries.py");
    run(Command::new(&python).arg(script).arg(&asked).arg(&answered));

    let answered: Vec<Vec<Vec<Value>>> =
        serde_json::from_str(&fs::read_to_string(answered).unwrap()).unwrap();
    assert_eq!(answered.len(), expected.len());
    let mut groups = 0;
    for (rows, (expected, shape, query)) in answered.iter().zip(&expected) {
        assert_eq!(rows.len(), expected.len(), "{query}: {rows:?}");
        groups += rows.len();
        for row in rows {
            let (mut labels, mut results) = (Vec::new(), Vec::new());
            for (item, value) in query.items().iter().zip(row) {
                match item {
                    vesica_select::SelectItem::Label { .. } => {
                        labels.push(value.as_str().map(str::to_owned))
                    }
                    vesica_select::SelectItem::Aggregate { .. } => results.push(value),
                }
            }
            let ours =
                expected.get(&labels).unwrap_or_else(|| panic!("{query}: no group {labels:?}"));
            for ((ours, theirs), formula) in ours.iter().zip(results).zip(&shape.results) {
                let is_exact = matches!(formula, Formula::Count { .. } | Formula::Sum { .. });
                assert!(
                    agree(*ours, theirs, is_exact),
                    "{query}, {labels:?}: {ours:?} and {theirs}"
                );
            }
        }
    }
    println!("{} queries with {groups} groups", expected.len());
    assert!(groups > 2 * expected.len(), "{groups}");
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{err}");
}
