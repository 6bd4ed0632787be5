//! Prints a document made from `docs/reference/performance.tsv`: `performance.md` or one of its charts.
//!
//! `cargo run -p vesica-lab --example performance -- FILE NAME`; `cargo xtask docs` uses it.

use std::fs;

use vesica_lab::{Result, publish::performance};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let [Some(file), Some(name)] = [arguments.next(), arguments.next()] else {
        return Err("the arguments are the table and the name of a document".into());
    };
    let table = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let documents = performance::from_table(&table).map_err(|error| format!("{file}: {error}"))?;
    let document = documents.into_iter().find(|document| document.name == name);
    print!("{}", document.ok_or_else(|| format!("there is no document {name}"))?.text);
    Ok(())
}
