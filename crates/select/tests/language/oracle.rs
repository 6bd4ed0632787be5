//! Random queries against DuckDB, which runs the same texts on both tables.

use std::collections::BTreeMap;

use rand::{SeedableRng, rngs::StdRng};
use serde_json::json;
use vesica_select::{Declared, Formula, Keys, Select, SelectItem, Side};

use crate::{
    clear::{Asked, keys},
    duckdb::{agree, answers, statements},
    random::{Column, Columns, Values, Writer},
    tables::{declared, table},
};

/// Pairs of tables, and queries for each.
const TABLES: u64 = 20;
const QUERIES: usize = 25;

const NAMES: &[&str] = &["north", "South", "é", "it's", ""];

/// The columns of both tables, whose keys have at most this many rows in a join as of a day.
pub fn columns(rows: u32) -> Columns {
    let date = |days: &str| {
        if rows > 1 { format!("date[{days}]/{rows}") } else { format!("date[{days}]") }
    };
    // A row that is missing takes the place of a day.
    let seen = if rows > 1 { "2026-01-01..2026-03-04" } else { "2025-12-31..2026-03-04" };
    [
        vec![
            Column::new("spend", "decimal(2)?", "DECIMAL(9,2)", Values::Number(2)),
            Column::new("Visits", "integer[-500..500]", "INTEGER", Values::Number(0)),
            Column::new("first name", "label<=5?", "VARCHAR", Values::Text(NAMES)),
            Column::new("vip", "boolean?", "BOOLEAN", Values::Boolean),
            Column::new("at", date("2026-01-01..2026-03-02"), "DATE", Values::Date(30)),
        ],
        vec![
            Column::new(
                "region",
                "{north,South,é,'it''s'}",
                "VARCHAR",
                Values::Text(NAMES.split_at(4).0),
            ),
            Column::new("balance", "decimal(3)", "DECIMAL(9,3)", Values::Number(3)),
            Column::new("age", "integer?", "INTEGER", Values::Number(0)),
            Column::new("group", "label<=4", "VARCHAR", Values::Text(NAMES.split_at(3).0)),
            Column::new("opted_in", "boolean", "BOOLEAN", Values::Boolean),
            Column::new("seen", date(seen), "DATE", Values::Date(30)),
        ],
    ]
}

#[test]
#[ignore = "assure: a package for Python from the network"]
fn random_queries_mean_what_they_mean_in_duckdb() {
    let mut rng = StdRng::seed_from_u64(3);
    let (mut cases, mut expected) = (Vec::new(), Vec::new());
    for i in 0..TABLES {
        let of_keys = match i % 4 {
            0 => [Keys::Repeats, Keys::Unique],
            1 => [Keys::Unique, Keys::Repeats],
            _ => [Keys::Unique, Keys::Unique],
        };
        let columns = columns(if i % 8 < 4 { 1 } else { 3 });
        let tables = Side::BOTH.map(|side| {
            table(&columns[side.index()], of_keys[side.index()], 0..100, false, &mut rng)
        });
        let declared: [Declared; 2] =
            Side::BOTH.map(|side| declared(&columns[side.index()], of_keys[side.index()]));
        let statements =
            |side: &Side| statements(*side, &columns[side.index()], &tables[side.index()]);
        let setup: Vec<_> = Side::BOTH.iter().flat_map(statements).collect();
        let mut queries = Vec::new();
        while queries.len() < QUERIES {
            let text = Writer::new(&columns, &mut rng).query(false);
            let query: Select = text.parse().unwrap();
            let Ok(shape) = query.check(&declared[0], &declared[1]) else { continue };
            let asked =
                Asked { query: &query, shape: &shape, tables: &tables, declared: &declared };
            let mut groups = asked.groups();
            groups.retain(|_, rows| keys(rows) >= query.least());
            let of_group = |(labels, rows): (_, Vec<_>)| (labels, asked.results(&rows));
            let answer: BTreeMap<_, _> = groups.into_iter().map(of_group).collect();
            queries.push(json!([text, query.to_string()]));
            expected.push((answer, shape, query));
        }
        cases.push(json!({ "setup": setup, "queries": queries }));
    }
    let scratch = tempfile::tempdir().unwrap();
    let answered = answers(cases, scratch.path());
    assert_eq!(answered.len(), expected.len());
    let mut groups = 0;
    for (rows, (expected, shape, query)) in answered.iter().zip(&expected) {
        assert_eq!(rows.len(), expected.len(), "{query}: {rows:?}");
        groups += rows.len();
        for row in rows {
            let (mut labels, mut results) = (Vec::new(), Vec::new());
            for (item, value) in query.items().iter().zip(row) {
                match item {
                    SelectItem::Label { .. } => labels.push(value.as_str().map(str::to_owned)),
                    SelectItem::Aggregate { .. } => results.push(value),
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
