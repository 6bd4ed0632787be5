//! DuckDB, which answers the texts of queries over tables of its own.

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use vesica_select::{FixedPoint, Side};

use super::{
    clear::{Cell, Row},
    random::Column,
};

/// The package for Python, in the version with which the expectations were written.
const DUCKDB: &str = "duckdb==2.0.0";

/// Writes the statements that make a table.
pub fn statements(side: Side, columns: &[Column], rows: &[Row]) -> Vec<String> {
    let types: Vec<_> =
        columns.iter().map(|column| format!("\"{}\" {}", column.name, column.sql)).collect();
    let value = |cell: &Option<Cell>| match cell {
        None => "NULL".to_owned(),
        Some(Cell::Number(number)) => number.to_string(),
        Some(Cell::Text(text)) => format!("'{}'", text.replace('\'', "''")),
        Some(Cell::Boolean(is_true)) => is_true.to_string(),
        Some(Cell::Date(date)) => format!("DATE '{date}'"),
    };
    let insert = |row: &Row| {
        let values: Vec<_> = columns.iter().map(|column| value(&row.cells[column.name])).collect();
        format!("INSERT INTO {side} VALUES ({}, {})", row.key, values.join(", "))
    };
    let create = format!("CREATE OR REPLACE TABLE {side} (key INTEGER, {})", types.join(", "));
    std::iter::once(create).chain(rows.iter().map(insert)).collect()
}

/// The rows of the answer to each query. A case has the statements that make its tables in `setup`, and in `queries`
/// pairs of a text and its canonical form.
pub fn answers(cases: Vec<Value>, scratch: &Path) -> Vec<Vec<Vec<Value>>> {
    let python = scratch.join("venv/bin/python");
    run(Command::new("python3").args(["-m", "venv"]).arg(scratch.join("venv")));
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", DUCKDB]));
    let [asked, answered] = ["asked.json", "answered.json"].map(|name| scratch.join(name));
    fs::write(&asked, Value::from(cases).to_string()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/program/oracle/queries.py");
    run(Command::new(&python).arg(script).arg(&asked).arg(&answered));
    serde_json::from_str(&fs::read_to_string(answered).unwrap()).unwrap()
}

/// Whether DuckDB's value is ours: exactly for counts and sums, up to the precision of floating-point numbers for means
/// and variances.
pub fn agree(ours: Option<FixedPoint>, theirs: &Value, is_exact: bool) -> bool {
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

/// Reads a decimal.
pub fn decimal(text: &str) -> FixedPoint {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    FixedPoint::new(format!("{whole}{fraction}").parse().unwrap(), fraction.len() as u8)
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{err}");
}
