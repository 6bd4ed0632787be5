//! Every pair of formats, every type of key and every profile, as two processes, against a join that DuckDB makes of
//! tables that others have written.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::harness::Lab;
use serde_json::Value;

/// What Python needs, in the versions with which the expectations were written.
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

    /// Runs one half of the oracle.
    fn oracle(&self, half: &str, directory: &Path) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/oracle/oracle.py");
        run(self.command().args([script, half]).arg(directory));
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
    python.oracle("make", &tables);
    let cases = fs::read_to_string(tables.join("cases.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&cases).unwrap();
    assert!(cases.len() > 2000, "{}", cases.len());
    run_all(&cases);
    python.oracle("judge", &tables);
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
