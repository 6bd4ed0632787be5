//! `lookup`: which keys of a table are in a published list.

use std::path::{Path, PathBuf};

use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica::{
    Normalize, Source,
    files::{Dialect, Format, Formulas, KeyColumn, NullValues, Nulls},
    lists::{
        DEFAULT_QUESTION, ListOrigin, LookUp, MAX_QUESTION, Subscription, lists_cache, look_up,
    },
    report::{counted, grouped},
    spec::{self, NullValuesForm, Parsed},
};
use vesica_net::Fingerprint;

use crate::{
    columns::{self, Names},
    delimiter::DelimiterArg,
    exit::Failure,
    flags, numbers,
    progress::Show,
    query,
};

#[derive(clap::Args)]
pub struct Args {
    /// The list: an address that begins with https://, as in https://lists.example.org/v1, or a directory with a copy of it
    #[arg(long, value_name = "PLACE")]
    list: String,
    /// Ask here instead, if the list lies elsewhere than where questions are answered
    #[arg(long, value_name = "URL")]
    ask: Option<String>,
    /// The fingerprint of the publisher, who has to have signed the list
    #[arg(long, value_name = "FINGERPRINT")]
    publisher: Fingerprint,
    /// The table with the keys: CSV with a header row, NDJSON, Parquet, or Arrow IPC; `-` is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "value")]
    input: Option<PathBuf>,
    #[command(flatten)]
    rows: query::Args,
    /// Look this key up instead of a table's. It is seen by everybody who sees this machine's processes
    #[arg(long, value_name = "KEY", conflicts_with_all = ["input", "key"])]
    value: Vec<String>,
    /// The columns that make up the key, by name and with commas between them
    #[arg(long, value_name = "COLS", value_parser = columns::key, required_unless_present = "value")]
    key: Option<Names>,
    /// How keys are made comparable, which has to be as in the list: one for all columns, or one a column
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_value = "none", value_parser = flags::read::<Parsed<Normalize>>)]
    normalize: Vec<Normalize>,
    /// Values that count as empty in key columns that are normalised, as in `run`. A list that counts others is refused
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true, value_parser = flags::read::<NullValuesForm>)]
    null_values: Option<NullValues>,
    /// The file for the rows that are in the list, with its labels in further columns; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write all rows, with a column `in_list`; those that are not in the list have no labels
    #[arg(long)]
    all: bool,
    /// Keep labels that a spreadsheet would take for formulas as they are in CSV, or escape them with an apostrophe before
    /// each
    #[arg(long, default_value = "keep", value_parser = flags::word::<Formulas>())]
    formulas: Formulas,
    /// The directory in which lists are kept from one time to the next [default: vesica/lists below $XDG_CACHE_HOME or
    /// ~/.cache]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Refuse a list of more bytes than this, as in 2G
    #[arg(long, value_name = "SIZE", value_parser = numbers::amount, default_value = "4G")]
    budget: u64,
    /// Keys in a question
    #[arg(long, value_name = "N", default_value_t = DEFAULT_QUESTION as u32, value_parser = clap::value_parser!(u32).range(1..=MAX_QUESTION as i64))]
    batch: u32,
    /// A file with the token that the publisher gave this client
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// The table's format [default: told from its content, or else its name]
    #[arg(long, value_name = "FORMAT", value_parser = flags::word::<Format>())]
    format: Option<Format>,
    #[command(flatten)]
    delimiter: DelimiterArg,
    /// Show progress: auto (on a terminal), plain (a line for each phase, more in long ones) or off
    #[arg(long, value_enum, default_value = "auto", hide_possible_values = true)]
    progress: Show,
    /// Print only errors and warnings
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let names = match &args.key {
        Some(Names(names)) => names.clone(),
        None => vec!["key".to_owned()],
    };
    let profiles = spec::profiles(names.len(), &args.normalize)?;
    let column = |(name, normalize)| KeyColumn { name, normalize };
    let input = match &args.input {
        Some(path) => args.rows.source(path)?,
        None => Source::Memory { name: "--value".into(), bytes: table(&args.value).into() },
    };
    let delimiter = args.delimiter.of(args.input.as_deref().unwrap_or(Path::new("")));
    let job = LookUp {
        input,
        dialect: Dialect { format: args.format, delimiter, ..Dialect::default() },
        columns: names.into_iter().zip(profiles).map(column).collect(),
        null_values: args.null_values.clone().unwrap_or_default(),
        nulls: Nulls::Skip,
        output: args.output.clone().into(),
        all: args.all,
        formulas: args.formulas,
        batch: args.batch as usize,
    };
    let cache = args.cache.clone().or_else(lists_cache);
    let cache = cache.ok_or_else(|| Failure::usage("say with --cache where lists are kept"))?;
    let token = args.token.as_ref().map(|path| {
        let failed = |error| Failure::input(format!("{}: {error}", path.display()));
        std::fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(failed)
    });
    let token = token.transpose()?;
    let mut origin = ListOrigin::new(&args.list, args.ask.as_deref(), args.publisher, token)?;
    let rng = &mut StdRng::try_from_rng(&mut SysRng)
        .map_err(|_| Failure::bug("the operating system gives no randomness"))?;
    let publisher = args.publisher;
    let subscription = Subscription { publisher, cache, budget: Some(args.budget) };
    let observer = args.progress.observer(args.quiet, args.output == Path::new("-"));
    let found = look_up(&job, &mut origin, &subscription, &observer, rng)?;
    if !args.quiet {
        let rows = counted(found.rows, "row");
        let keys = counted(found.keys, "key");
        crate::say(&format!(
            "{} of {keys} are in the list; {rows} written",
            grouped(found.matches)
        ));
        found.formulas.iter().for_each(|column| crate::say(&column.sentence()));
    }
    Ok(())
}

/// A table of keys.
fn table(values: &[String]) -> String {
    let quoted = values.iter().map(|value| format!("\"{}\"\n", value.replace('"', "\"\"")));
    std::iter::once("key\n".to_owned()).chain(quoted).collect()
}
