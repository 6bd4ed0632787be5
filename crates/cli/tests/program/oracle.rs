//! Every pair of formats, every type of key and every profile, as two processes, against a join that DuckDB makes of
//! tables that others have written; and delimited texts, against DuckDB's reader.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use vesica::{
    Source,
    files::{Delimiter, Dialect, Format},
};

use crate::harness::Lab;

/// The packages that Python needs, in the versions with which the expectations were written.
const PACKAGES: [&str; 3] = ["duckdb==2.0.0", "phonenumbers==9.0.33", "pyarrow==26.0.1"];

/// A Python of its own, with these packages.
struct Python(PathBuf);

impl Python {
    fn new(directory: &Path) -> Self {
        let path = directory.join("venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(&path));
        let python = Self(path.join("bin/python"));
        run(python.command().args(["-m", "pip", "install", "--quiet"]).args(PACKAGES));
        python
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.0);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Runs one part of the oracle.
    fn oracle(&self, part: &str, directory: &Path, more: &[&str]) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/oracle/oracle.py");
        run(self.command().args([script, part]).arg(directory).args(more));
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
}

#[test]
#[ignore = "assure: thousands of runs, and packages for Python from the network"]
fn every_pair_of_formats_and_every_kind_of_key() {
    let scratch = tempfile::tempdir().unwrap();
    let python = Python::new(scratch.path());
    let tables = scratch.path().join("tables");
    fs::create_dir(&tables).unwrap();
    python.oracle("make", &tables, &[]);
    let cases = fs::read_to_string(tables.join("cases.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&cases).unwrap();
    assert!(cases.len() > 2000, "{}", cases.len());
    run_all(&cases);
    python.oracle("judge", &tables, &[]);
}

/// Runs each case as two processes, several cases at a time.
fn run_all(cases: &[Value]) {
    let next = AtomicUsize::new(0);
    let work = || {
        let lab = Lab::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let flags = ["a", "b"].map(|side| {
                let flags = case[side]["flags"].as_array().unwrap();
                flags.iter().map(|flag| flag.as_str().unwrap()).collect::<Vec<_>>()
            });
            for ended in lab.run(&flags[0], &flags[1]) {
                assert_eq!(ended.code, Some(0), "{}: {ended:#?}", case["name"]);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
}

/// Delimited texts for the comparison with DuckDB, half of them well-formed.
const TEXTS: usize = 20_000;

#[test]
#[ignore = "assure: packages for Python from the network"]
fn delimited_texts_have_the_records_that_duckdb_reads() {
    let scratch = tempfile::tempdir().unwrap();
    let python = Python::new(scratch.path());
    python.oracle("texts", scratch.path(), &[&TEXTS.to_string()]);
    let texts = fs::read_to_string(scratch.path().join("texts.json")).unwrap();
    let texts: Vec<Value> = serde_json::from_str(&texts).unwrap();
    assert_eq!(texts.len(), TEXTS);
    let (mut same, mut refused, mut lenient) = (0, 0, 0);
    for text in &texts {
        let bytes = STANDARD.decode(text["text"].as_str().unwrap()).unwrap();
        let delimiter = text["delimiter"].as_str().unwrap();
        let shown = || format!("{delimiter}: {}", bytes.escape_ascii());
        let ours =
            records(&bytes, Delimiter::ALL.into_iter().find(|d| d.name() == delimiter).unwrap());
        let mut theirs: Option<Vec<Vec<String>>> =
            serde_json::from_value(text["records"].clone()).unwrap();
        // Our header is there only as it is shown.
        theirs.iter_mut().flat_map(|theirs| theirs.first_mut()).flatten().for_each(show);
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                assert_eq!(ours, theirs, "{}", shown());
                same += 1;
            }
            (None, Some(_)) => panic!("a text is refused that others read: {}", shown()),
            (None, None) => {
                assert_eq!(text["kind"], "any", "{}", shown());
                refused += 1;
            }
            // Line ends of several kinds, what follows a closing quotation mark, and what others read each in its own
            // way.
            (Some(_), None) => {
                assert_eq!(text["kind"], "any", "{}", shown());
                lenient += 1;
            }
        }
    }
    println!("{same} texts with the same records, {refused} refused by all, {lenient} by others");
    assert!(same > TEXTS / 2 && refused > TEXTS / 20, "{same} the same, {refused} refused");
}

/// Replaces what a terminal would obey.
fn show(field: &mut String) {
    *field = field.replace(|c: char| c.is_control(), "\u{fffd}");
}

/// The header as it is shown and the rows of a delimited text, or `None` where it is refused.
fn records(text: &[u8], delimiter: Delimiter) -> Option<Vec<Vec<String>>> {
    let bytes = text.to_vec();
    let format = Some(Format::CSV);
    let dialect = Dialect { format, delimiter, most_bytes: None, spill: None };
    let input = Source::Memory { name: "text".to_owned(), bytes }.open(dialect).ok()?;
    let scan = input.read().ok()?;
    let header = scan.header();
    let width = header.width();
    let mut records = Vec::from_iter((!header.is_missing()).then(|| header.fields()));
    let field = |field: &[u8]| String::from_utf8(field.to_vec()).unwrap();
    let read = scan.rows(|row| {
        records.push((0..width).map(|column| field(row.field(column))).collect());
        Ok(())
    });
    read.ok()?;
    Some(records)
}
