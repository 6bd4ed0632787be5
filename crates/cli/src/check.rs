//! `check`: numbers about one table.

use std::path::PathBuf;

use vesica::{Check, Normalize, Source, words::grouped};

use crate::{exit::Failure, run};

#[derive(clap::Args)]
pub struct Args {
    /// The table; `-` is standard input
    file: PathBuf,
    /// The key columns, by name
    #[arg(long, required = true, value_name = "COL", value_delimiter = ',')]
    key: Vec<String>,
    /// How keys are made comparable: none, trim, lower or email; one for all, or one a column
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_value = "none", value_parser = run::normalize)]
    normalize: Vec<Normalize>,
    /// What separates the fields: comma, semicolon, tab, bar or auto
    #[arg(long, default_value = "comma", value_parser = run::delimiter)]
    delimiter: vesica::Delimiter,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let keys = run::key_columns(&args.key, &args.normalize)?;
    let found = vesica::check(Source::from_path(&args.file), args.delimiter, &keys)?;
    if args.json {
        let text = serde_json::to_string_pretty(&found);
        let text = text.map_err(|_| Failure::bug("the numbers have no JSON"))?;
        return crate::print(&format!("{text}\n"));
    }
    crate::print(&table(&found))
}

fn table(found: &Check) -> String {
    let encoding = match (found.utf8, found.byte_order_mark) {
        (true, true) => "UTF-8 with byte-order mark",
        (true, false) => "UTF-8",
        (false, _) => "not UTF-8 throughout",
    };
    let lines = [
        ("rows", grouped(found.rows.read)),
        ("  without a key", grouped(found.rows.null)),
        ("  repeating a key", grouped(found.rows.duplicate)),
        ("distinct keys", grouped(found.rows.used)),
        ("keys changed by normalisation", grouped(found.keys_changed)),
        ("keys merged by normalisation", grouped(found.keys_merged)),
        ("keys of digits only", grouped(found.digit_keys)),
        ("columns", grouped(found.columns as u64)),
        ("bytes", grouped(found.bytes)),
        ("encoding", encoding.to_owned()),
        ("line ends", found.line_ends.to_owned()),
        ("delimiter", found.delimiter.to_owned()),
    ];
    let mut text: String =
        lines.iter().map(|(name, value)| format!("{name:<30} {value:>15}\n")).collect();
    for warning in &found.warnings {
        text += &format!("warning: {warning}\n");
    }
    text
}
