//! `check`: numbers about one table.

use std::path::PathBuf;

use vesica::{
    Normalize,
    files::{Delimiter, Dialect, Format, KeyColumn, NullValues},
    report::{Check, ColumnFindings, Oddity, grouped},
};

use crate::{
    columns::{self, Names},
    exit::Failure,
    memory, query, run, terms,
};

#[derive(clap::Args)]
pub struct Args {
    /// The table; `-` is standard input
    file: PathBuf,
    #[command(flatten)]
    rows: query::Args,
    /// The key columns, by name and with commas between them; a name that holds a comma stands in quotes
    /// [more than once: several identifiers, as in `run`]
    #[arg(long, value_name = "COLS", value_parser = columns::key, required_unless_present = "columns")]
    key: Vec<Names>,
    /// List the columns by the fields of the first line, with their types where they have any, and do nothing else.
    /// If a CSV file has no header, the fields are data
    #[arg(long, conflicts_with_all = ["key", "json"])]
    columns: bool,
    /// Values that count as empty in key columns that are normalised, as in `run`
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    null_values: Option<Names>,
    /// How keys are made comparable, as in `run`: one for all columns, or one a column
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_value = "none", value_parser = terms::normalize)]
    normalize: Vec<Normalize>,
    /// The table's format, as in `run` [default: told from its content, or else its name]
    #[arg(long, value_name = "FORMAT", value_parser = run::format)]
    format: Option<Format>,
    /// What separates the fields: comma, semicolon, tab, bar or auto [default: a tab where the name ends in .tsv or
    /// .tab, a bar where it ends in .psv, and else a comma]
    #[arg(long, value_parser = run::delimiter)]
    delimiter: Option<Delimiter>,
    /// The most memory to use, as in 2G or 512M [default: three quarters of what the machine, its control group or
    /// ulimit allow]
    #[arg(long, value_name = "SIZE", value_parser = memory::amount)]
    memory: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let input = args.rows.source(&args.file)?;
    let delimiter = args.delimiter.unwrap_or_else(|| Delimiter::of_name(&args.file));
    let (format, most_bytes) = (args.format, args.memory);
    let dialect = Dialect { format, delimiter, most_bytes, spill: None };
    if args.key.is_empty() {
        let opened = input.open(dialect)?;
        let header = opened.header();
        let line = |(i, field): (usize, String)| match header.column_type(i) {
            Some(found) => format!("{:>4}  {field}  {}\n", i + 1, found.name),
            None => format!("{:>4}  {field}\n", i + 1),
        };
        let lines: String = header.fields().into_iter().enumerate().map(line).collect();
        return crate::print(&lines);
    }
    let (names, identifiers) = columns::identifiers(&args.key);
    let profiles = terms::profiles(names.len(), &args.normalize)?;
    let column = |(name, normalize)| KeyColumn { name, normalize };
    let keys: Vec<_> = names.into_iter().zip(profiles).map(column).collect();
    let null_values = match &args.null_values {
        Some(Names(values)) => NullValues::new(values).map_err(vesica::Error::from)?,
        None => NullValues::default(),
    };
    let found = vesica::check(input, dialect, &keys, &identifiers, &null_values)?;
    if args.json {
        let text = serde_json::to_string_pretty(&found);
        let text = text.map_err(|_| Failure::bug("the numbers have no JSON"))?;
        return crate::print(&format!("{text}\n"));
    }
    crate::print(&table(&found))
}

fn table(found: &Check) -> String {
    let counts = &found.findings;
    let encoding = found.byte_order_mark.map(|marked| match (counts.utf8, marked) {
        (true, true) => "UTF-8 with byte-order mark",
        (true, false) => "UTF-8",
        (false, _) => "not UTF-8 throughout",
    });
    let types = Some(found.key_types.join(", ")).filter(|types| !types.is_empty());
    let counted = |number| Some(grouped(number));
    let text = |said: Option<&str>| said.map(str::to_owned);
    let lines = [
        ("rows", counted(counts.rows.read)),
        ("  without a key", counted(counts.rows.null)),
        ("  with a null value as key", counted(counts.null_values)),
        ("  repeating a key", counted(counts.rows.duplicate)),
        ("distinct keys", counted(counts.rows.used)),
        ("keys changed by normalisation", counted(counts.keys_changed)),
        ("keys merged by normalisation", counted(counts.keys_merged)),
        ("keys of digits only", counted(counts.digit_keys)),
        ("columns", counted(counts.columns as u64)),
        ("bytes", counted(found.bytes)),
        ("format", text(Some(found.format))),
        ("compression", text(found.compression)),
        ("types of the key columns", types),
        ("encoding", text(encoding)),
        ("line ends", text(found.line_ends)),
        ("delimiter", text(found.delimiter)),
    ];
    let lines = lines.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let mut text: String = lines.map(|(name, value)| format!("{name:<30} {value:>15}\n")).collect();
    for column in &found.key_columns {
        text += &of_column(column);
    }
    for warning in &counts.warnings {
        text += &format!("warning: {warning}\n");
    }
    text
}

/// What normalisation does to a key column.
fn of_column(found: &ColumnFindings) -> String {
    let lines = [
        ("  rows with a value", found.values),
        ("  changed", found.changed),
        ("  not of this kind, and so no key", found.invalid),
        ("  distinct values made equal", found.merged),
    ];
    let numbers =
        lines.map(|(name, value)| format!("{name:<34} {:>11}\n", grouped(value))).concat();
    let odd = |found: &Oddity| {
        format!("  rows {}: {}\n    hint: {}\n", found.kind, grouped(found.rows), found.advice)
    };
    let odd: String = found.odd.iter().map(odd).collect();
    let hint = match &found.fits[..] {
        [] => String::new(),
        fits => format!("  hint: the values look like --normalize {}\n", fits.join(" or ")),
    };
    format!("key column `{}`, --normalize {}\n{numbers}{odd}{hint}", found.column, found.profile)
}
