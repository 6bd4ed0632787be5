//! `match-quality`: rules on tables whose people are known.

use std::path::PathBuf;

use vesica::{
    Source,
    report::{Interval, MatchQuality, Quality, grouped},
    spec,
};

use crate::{exit::Failure, flags::Flags};

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
    let second = args.second.as_deref().map(Source::from_path);
    let found = vesica::match_quality(&options, Source::from_path(&args.table), second)?;
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
