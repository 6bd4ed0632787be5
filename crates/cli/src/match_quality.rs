//! `match-quality`: rules on tables whose people are known.

use std::path::PathBuf;

use vesica::{
    Source,
    files::{Delimiter, Dialect},
    report::{Interval, LabelledTable, MatchQuality, Quality, grouped},
    spec,
};

use crate::{
    exit::Failure,
    flags::{Flags, required},
};

#[derive(clap::Args)]
pub struct Args {
    /// The table whose rows are to be found, or the only table
    ///
    /// Of a single table, the first row of each person is compared with the others.
    table: PathBuf,
    /// The other table
    second: Option<PathBuf>,
    #[command(flatten)]
    options: Flags<spec::Judged>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let options = args.options.value()?;
    let people = &options.people;
    let truth = required(people.truth.clone(), &["truth"], "which column names the person")?;
    let own = &*options.tables;
    if options.rules.r#match.is_empty() {
        return Err(Failure::usage("say with --match by which rules rows match"));
    }
    let labelled = |file: &PathBuf, table: &spec::Table, truth: String| -> Result<_, Failure> {
        let mut dialect = Dialect::from(own.delimiter.unwrap_or_else(|| Delimiter::of_name(file)));
        dialect.format = own.format;
        dialect.most_bytes = options.resources.memory;
        let rules = table.rules(&options.rules.r#match)?;
        Ok(LabelledTable { source: Source::from_path(file), dialect, rules, truth })
    };
    let first = labelled(&args.table, own, truth.clone())?;
    let second = match &args.second {
        None if people.their_truth.is_some() || !people.their_field.is_empty() => {
            return Err(Failure::usage("--their-truth and --their-field are for a second table"));
        }
        None => None,
        Some(file) => {
            let mut table = own.clone();
            let is_other = |name: &str| people.their_field.iter().any(|field| field.name == name);
            table.field.retain(|field| !is_other(&field.name));
            table.field.extend(people.their_field.iter().cloned());
            let truth = people.their_truth.clone().unwrap_or(truth);
            Some(labelled(file, &table, truth)?)
        }
    };
    let null_values = options.rules.null_values.clone().unwrap_or_default();
    let found = vesica::match_quality(first, second, &null_values)?;
    if options.shown.json {
        let text = serde_json::to_string_pretty(&found);
        let text = text.map_err(|_| Failure::bug("the numbers have no JSON"))?;
        return crate::print(&format!("{text}\n"));
    }
    crate::print(&table(&found))
}

fn table(found: &MatchQuality) -> String {
    let [mine, theirs] = found.rows.map(grouped);
    let mut text = format!(
        "{mine} rows here, {theirs} there; {} here are of people who are there too\n\n",
        grouped(found.linked)
    );
    let names: Vec<_> = found
        .rules
        .iter()
        .zip(1..)
        .map(|(rule, number)| format!("{number} {}", rule.rule))
        .collect();
    let width = names.iter().map(String::len).max().unwrap_or_default().max(24);
    text += &heading("each rule by itself", width);
    for (name, rule) in names.iter().zip(&found.rules) {
        text += &line(name, width, &rule.alone);
    }
    text += &format!("\n{}", heading("with those before it", width));
    for (name, rule) in names.iter().zip(&found.rules) {
        text += &line(name, width, &rule.so_far);
    }
    text += &format!("\n{}", heading("in the order of most gain", width));
    for step in &found.greedy {
        text += &line(&names[step.number - 1], width, &step.so_far);
    }
    text + "\nBehind each share is the interval of Wilson that covers the true one in 95 % of samples.\n"
}

fn heading(what: &str, width: usize) -> String {
    format!(
        "{what:<width$} {:>10} {:>9} {:>22} {:>22}\n",
        "matched", "false", "recall %", "precision %"
    )
}

fn line(name: &str, width: usize, found: &Quality) -> String {
    let percent = |interval: Option<Interval>| match interval {
        None => "-".to_owned(),
        Some(Interval { share, low, high }) => {
            let [share, low, high] = [share, low, high].map(|share| 100.0 * share);
            format!("{share:.2} ({low:.2}–{high:.2})")
        }
    };
    format!(
        "{name:<width$} {:>10} {:>9} {:>22} {:>22}\n",
        grouped(found.matched),
        grouped(found.matched - found.right),
        percent(found.recall),
        percent(found.precision)
    )
}
