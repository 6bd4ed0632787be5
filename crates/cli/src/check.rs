//! `check`: numbers about one table.

use std::path::PathBuf;

use vesica::{Check, Normalize, NullValues, Source, keys::survey::ColumnFindings, words::grouped};

use crate::{
    columns::{self, Names},
    exit::Failure,
    run,
};

#[derive(clap::Args)]
pub struct Args {
    /// The table; `-` is standard input
    file: PathBuf,
    /// The key columns, by name and with commas between them; a name that holds a comma stands in quotes
    /// [more than once: several identifiers, as in `run`]
    #[arg(long, value_name = "COLS", value_parser = columns::key, required_unless_present = "columns")]
    key: Vec<Names>,
    /// List the columns by the fields of the first line, and do nothing else. If the file has no header, these are
    /// data
    #[arg(long, conflicts_with_all = ["key", "json"])]
    columns: bool,
    /// Values that count as empty in key columns that are normalised, as in `run`
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    null_values: Option<Names>,
    /// How keys are made comparable, as in `run`: one for all columns, or one a column
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
    let input = Source::from_path(&args.file);
    if args.key.is_empty() {
        let opened = input.open(args.delimiter)?;
        let fields = opened.header().fields().into_iter().enumerate();
        let lines: String = fields.map(|(i, field)| format!("{:>4}  {field}\n", i + 1)).collect();
        return crate::print(&lines);
    }
    let (names, identifiers) = columns::identifiers(&args.key);
    let keys = run::key_columns(&names, &args.normalize)?;
    let null_values = match &args.null_values {
        Some(Names(values)) => NullValues::new(values)?,
        None => NullValues::default(),
    };
    let found = vesica::check(input, args.delimiter, &keys, &identifiers, &null_values)?;
    if args.json {
        let text = serde_json::to_string_pretty(&found);
        let text = text.map_err(|_| Failure::bug("the numbers have no JSON"))?;
        return crate::print(&format!("{text}\n"));
    }
    crate::print(&table(&found))
}

fn table(found: &Check) -> String {
    let counts = &found.findings;
    let encoding = match (counts.utf8, found.byte_order_mark) {
        (true, true) => "UTF-8 with byte-order mark",
        (true, false) => "UTF-8",
        (false, _) => "not UTF-8 throughout",
    };
    let lines = [
        ("rows", grouped(counts.rows.read)),
        ("  without a key", grouped(counts.rows.null)),
        ("  with a null value as key", grouped(counts.null_values)),
        ("  repeating a key", grouped(counts.rows.duplicate)),
        ("distinct keys", grouped(counts.rows.used)),
        ("keys changed by normalisation", grouped(counts.keys_changed)),
        ("keys merged by normalisation", grouped(counts.keys_merged)),
        ("keys of digits only", grouped(counts.digit_keys)),
        ("columns", grouped(counts.columns as u64)),
        ("bytes", grouped(found.bytes)),
        ("encoding", encoding.to_owned()),
        ("line ends", found.line_ends.to_owned()),
        ("delimiter", found.delimiter.to_owned()),
    ];
    let mut text: String =
        lines.iter().map(|(name, value)| format!("{name:<30} {value:>15}\n")).collect();
    for column in &found.key_columns {
        text += &of_column(column);
    }
    for warning in &counts.warnings {
        text += &format!("warning: {warning}\n");
    }
    text
}

/// What the normalisation makes of a key column.
fn of_column(found: &ColumnFindings) -> String {
    let lines = [
        ("  rows with a value", found.values),
        ("  changed", found.changed),
        ("  not of this kind, and so no key", found.invalid),
        ("  distinct values made equal", found.merged),
    ];
    let numbers =
        lines.map(|(name, value)| format!("{name:<34} {:>11}\n", grouped(value))).concat();
    let hint = match &found.fits[..] {
        [] => String::new(),
        fits => format!("  hint: the values look like --normalize {}\n", fits.join(" or ")),
    };
    format!("key column `{}`, --normalize {}\n{numbers}{hint}", found.column, found.profile)
}
