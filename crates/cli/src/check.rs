//! `check`: numbers about one table.

use std::path::{Path, PathBuf};

use vesica::{
    CheckedKeys, Normalize, Source,
    files::{Delimiter, Dialect, KeyColumn, NullValues},
    report::{Check, ColumnFindings, Oddity, counted, grouped},
    spec,
};

use crate::{
    exit::Failure,
    flags::Flags,
    project::{FILE, Project},
    run::JobTable,
};

#[derive(clap::Args)]
pub struct Args {
    /// The table, - for standard input, or a job of vesica.toml
    ///
    /// A job has the columns and the normalisation that are written there or agreed on; options come before these. A
    /// file comes before a job of the same name.
    table: PathBuf,
    /// The project file that has the job
    ///
    /// [default: vesica.toml]
    #[arg(long, value_name = "FILE", help_heading = "Table")]
    project: Option<PathBuf>,
    #[command(flatten)]
    options: Flags<spec::Check>,
}

/// A table to look at, and its keys.
struct Looked {
    input: Source,
    dialect: Dialect,
    keys: CheckedKeys,
}

impl Args {
    /// Returns the job whose table it is, if it is a job, with its project.
    fn job(&self) -> Result<Option<(Project, &str)>, Failure> {
        let Some(name) = self.table.to_str() else { return Ok(None) };
        let is_file = name == "-" || self.table.exists() || !Path::new(FILE).exists();
        if self.project.is_none() && is_file {
            return Ok(None);
        }
        let project = Project::open(self.project.as_deref())?;
        let is_job = self.project.is_some() || project.jobs().iter().any(|job| job == name);
        Ok(is_job.then_some((project, name)))
    }

    /// Returns the table; options come before the keys of its job.
    fn looked(&self, options: &spec::Check) -> Result<Looked, Failure> {
        let of_job = match self.job()? {
            Some((project, name)) => Some(JobTable::of(&project.specified(name, Vec::new())?)?),
            None => None,
        };
        let is_normalized = self.options.has("normalize");
        let (input, mut dialect, key, rules, normalize, null_values) = match of_job {
            Some(JobTable { input, dialect, key, rules, normalize, null_values }) => {
                if normalize.is_none() && !is_normalized && !options.shown.columns {
                    let message = "this job has no agreement yet: say with --normalize how to normalise its keys";
                    return Err(Failure::input(message));
                }
                (input, dialect, key, rules, normalize.unwrap_or_default(), null_values)
            }
            None => {
                let input = options.table.source(Some(Source::from_path(&self.table)))?;
                let dialect = Dialect::from(Delimiter::of_name(&self.table));
                let (key, profiles) = (Vec::new(), vec![Normalize::NONE]);
                (input, dialect, key, None, profiles, NullValues::default())
            }
        };
        dialect.format = options.table.format.or(dialect.format);
        dialect.delimiter = options.table.delimiter.unwrap_or(dialect.delimiter);
        dialect.most_bytes = options.resources.memory.or(dialect.most_bytes);
        let named = &options.table.key;
        let key = if named.is_empty() { key } else { named.clone() };
        let normalize = if is_normalized { &options.keys.normalize } else { &normalize };
        let null_values = options.keys.null_values.clone().unwrap_or(null_values);
        let texts = &options.keys.r#match;
        let rules = match texts.is_empty() {
            true if !options.table.field.is_empty() => {
                return Err(Failure::usage("--field requires --match"));
            }
            true => rules.filter(|_| named.is_empty()),
            false => Some(options.table.rules(texts)?),
        };
        if let Some(rules) = rules.filter(|_| !options.shown.columns) {
            let keys = CheckedKeys {
                peer_rows: options.shown.peer_rows,
                max_false_per_rule: options.shown.max_false_per_rule,
                ..CheckedKeys::of_rules(rules, null_values)
            };
            return Ok(Looked { input, dialect, keys });
        }
        let (names, identifiers) = spec::identifiers(&key);
        let profiles = match options.shown.columns {
            true => Vec::new(),
            false => spec::profiles(names.len(), normalize)?,
        };
        let column = |(name, normalize)| KeyColumn { name, normalize };
        let columns = names.into_iter().zip(profiles).map(column).collect();
        let keys = CheckedKeys { columns, identifiers, null_values, ..CheckedKeys::default() };
        Ok(Looked { input, dialect, keys })
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let options = args.options.value()?;
    let Looked { input, dialect, keys } = args.looked(&options)?;
    if options.shown.columns {
        let opened = input.open(dialect)?;
        let header = opened.header();
        let line = |(i, field): (usize, String)| match header.column_type(i) {
            Some(found) => format!("{:>4}  {field}  {}\n", i + 1, found.name),
            None => format!("{:>4}  {field}\n", i + 1),
        };
        let lines: String = header.fields().into_iter().enumerate().map(line).collect();
        return crate::print(&lines);
    }
    if keys.columns.is_empty() {
        let message = "name the key columns with --key, or fields and rules with --field and --match; `vesica check TABLE \
                       --columns` lists all columns";
        return Err(Failure::usage(message));
    }
    let found = vesica::check(input, dialect, &keys)?;
    if options.shown.json {
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
    let number = |number| Some(grouped(number));
    let text = |said: Option<&str>| said.map(str::to_owned);
    let lines = [
        ("rows", number(counts.rows.read)),
        ("  without a key", number(counts.rows.null)),
        ("  with a null value as key", number(counts.null_values)),
        ("  repeating a key", number(counts.rows.duplicate)),
        ("distinct keys", number(counts.rows.used)),
        ("keys changed by normalisation", number(counts.keys_changed)),
        ("keys merged by normalisation", number(counts.keys_merged)),
        ("keys of digits only", number(counts.digit_keys)),
        ("columns", number(counts.columns as u64)),
        ("bytes", number(found.bytes)),
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
    text += &of_rules(found);
    for warning in &counts.warnings {
        text += &format!("warning: {warning}\n");
    }
    text + &verdict(counts.rows.used, counts.rows.null) + "\n"
}

/// Returns a line for each rule, and one about all of them.
fn of_rules(found: &Check) -> String {
    if found.rules.is_empty() {
        return String::new();
    }
    let rows = found.findings.rows.read;
    let share = |part: u64, all: u64| match all {
        0 => "-".to_owned(),
        all => format!("{:.2} %", 100.0 * part as f64 / all as f64),
    };
    let texts: Vec<_> =
        found.rules.iter().zip(1..).map(|(rule, at)| format!("{at} {}", rule.rule)).collect();
    let width = texts.iter().map(String::len).max().unwrap_or_default();
    let head = ["with a key", "ambiguous", "false matches", "guess"];
    let mut text = format!(
        "{:<width$} {:>11} {:>11} {:>14} {:>8}\n",
        "rule", head[0], head[1], head[2], head[3]
    );
    for (name, rule) in texts.iter().zip(&found.rules) {
        text += &format!(
            "{name:<width$} {:>11} {:>11} {:>14} {:>8}\n",
            share(rule.found.keyed, rows),
            share(rule.found.ambiguous, rule.found.keyed),
            grouped(rule.false_matches.ceil() as u64),
            format!("2^{:.0}", rule.guess_bits)
        );
    }
    let keys: u64 = found.rules.iter().map(|rule| rule.found.keyed).sum();
    let expected: f64 = found.rules.iter().map(|rule| rule.false_matches).sum();
    text += &format!(
        "all rules: {:.1} keys a row; {} false matches to expect at most, {:.2} % of this table's rows\n",
        keys as f64 / rows.max(1) as f64,
        grouped(expected.ceil() as u64),
        100.0 * expected / rows.max(1) as f64
    );
    if let Some(admitted) = &found.admitted {
        text += &format!(
            "rules with few enough false matches: {} of {}\n",
            admitted.len(),
            found.rules.len()
        );
        let flags = admitted.iter().map(|rule| format!("  --match '{rule}'\n"));
        text.extend(flags);
    }
    text
}

/// Words the last line: whether a run could begin.
fn verdict(keys: u64, without: u64) -> String {
    if keys == 0 {
        return "no key is ready: no row has one".to_owned();
    }
    let rest = match without {
        0 => String::new(),
        1 => "; 1 row has none".to_owned(),
        rows => format!("; {} rows have none", grouped(rows)),
    };
    format!("{} ready{rest}", counted(keys, "key"))
}

/// Returns lines about the effect of normalisation on a key column.
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
