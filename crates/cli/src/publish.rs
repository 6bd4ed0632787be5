//! `publish`: a list that others look keys up in.

use std::{path::PathBuf, time::Duration};

use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica::{
    Normalize,
    files::{DEFAULT_BYTES, Dialect, Duplicates, Format, KeyColumn, Nulls},
    lists::{DEFAULT_LAMBDA, DEFAULT_QUERIES, Publication, Published, publish},
    report::{grouped, shown},
};

use crate::{
    cancel,
    columns::{self, Names},
    delimiter::DelimiterArg,
    exit::Failure,
    keygen, memory, numbers,
    progress::Show,
    query, run, terms,
};

#[derive(clap::Args)]
pub struct Args {
    /// The table with the items: CSV with a header row, NDJSON, Parquet, or Arrow IPC; `-` is standard input
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    rows: query::Args,
    /// The directory of the list, which is made if there is none. What is in DIR/public is for everybody and can be
    /// copied to any web server or store; DIR/private is secret
    #[arg(long, value_name = "DIR")]
    list: PathBuf,
    /// The publisher's identity, made by `vesica keygen`: it signs the list
    #[arg(long, value_name = "FILE")]
    identity: PathBuf,
    /// The columns that make up the key, by name and with commas between them
    #[arg(long, value_name = "COLS", value_parser = columns::key)]
    key: Names,
    /// How keys are made comparable, as in `run`: one for all columns, or one a column
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_value = "none", value_parser = terms::normalize)]
    normalize: Vec<Normalize>,
    /// Values that count as empty in key columns that are normalised, as in `run`
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    null_values: Option<Names>,
    /// Give these columns, of the first row with a key, to those who ask for the key
    #[arg(long, value_name = "COLS", value_parser = columns::key)]
    labels: Option<Names>,
    /// With --labels: bytes that a row's values are padded to, two more for each value than it is long. The list has
    /// so many more for each item
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BYTES, requires = "labels")]
    label_bytes: u32,
    /// What the list is called
    #[arg(long, value_name = "NAME", default_value = "", value_parser = plain)]
    name: String,
    /// How many keys one client may look up in an epoch with the promise of right answers below
    #[arg(long, value_name = "N", default_value_t = DEFAULT_QUERIES, value_parser = numbers::number)]
    queries: u64,
    /// Some one of these answers says that a key is in the list although it is not, with a probability of at most
    /// 2^-BITS
    #[arg(long, value_name = "BITS", default_value_t = DEFAULT_LAMBDA, value_parser = clap::value_parser!(u32).range(10..=80))]
    lambda: u32,
    /// The most items that the list may have before the next epoch [default: the next power of two]
    #[arg(long, value_name = "N", value_parser = numbers::number)]
    capacity: Option<u64>,
    /// How many hours the list is valid. Publish it again before, even if nothing has changed
    #[arg(long, value_name = "HOURS", default_value_t = 24 * 7)]
    valid: u64,
    /// Begin a new epoch, with a new key: all items are evaluated again, and clients fetch all of the list
    #[arg(long)]
    new_epoch: bool,
    /// The table's format [default: told from its content, or else its name]
    #[arg(long, value_name = "FORMAT", value_parser = run::format)]
    format: Option<Format>,
    #[command(flatten)]
    delimiter: DelimiterArg,
    /// Accept a table without rows, which is otherwise an error
    #[arg(long)]
    allow_empty: bool,
    /// The most memory to use, as in 2G or 512M [default: three quarters of what the machine, its control group or
    /// ulimit allow]
    #[arg(long, value_name = "SIZE", value_parser = memory::amount)]
    memory: Option<u64>,
    /// Show progress: auto (on a terminal), plain (a line for each phase, more in long ones) or off
    #[arg(long, value_enum, default_value = "auto", hide_possible_values = true)]
    progress: Show,
}

/// A name that clients do not refuse.
fn plain(name: &str) -> Result<String, String> {
    match shown(name) == name {
        true => Ok(name.to_owned()),
        false => Err(
            "a name has no control and format characters, and no separators other than the space"
                .to_owned(),
        ),
    }
}

pub fn run(args: Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let me = keygen::load(&args.identity)?;
    let Names(names) = args.key;
    let profiles = terms::profiles(names.len(), &args.normalize)?;
    let column = |(name, normalize)| KeyColumn { name, normalize };
    let job = Publication {
        input: args.rows.source(&args.input)?,
        dialect: Dialect {
            format: args.format,
            delimiter: args.delimiter.of(&args.input),
            most_bytes: args.memory,
            spill: None,
        },
        columns: names.into_iter().zip(profiles).map(column).collect(),
        null_values: terms::null_values(args.null_values.as_ref())?,
        nulls: Nulls::Skip,
        duplicates: Duplicates::First,
        allow_empty: args.allow_empty,
        labels: args.labels.map(|Names(columns)| (columns, args.label_bytes)),
        directory: args.list,
        name: args.name,
        lambda: args.lambda,
        queries: args.queries,
        capacity: args.capacity,
        valid: Duration::from_secs(args.valid.saturating_mul(3600)),
        new_epoch: args.new_epoch,
        memory: args.memory,
    };
    let rng = &mut StdRng::try_from_rng(&mut SysRng)
        .map_err(|_| Failure::bug("the operating system gives no randomness"))?;
    let published = publish(&job, &me, &args.progress.observer(false, false), &cancel, rng)?;
    crate::print(&summary(&published, &me.fingerprint().to_string()))
}

fn summary(published: &Published, fingerprint: &str) -> String {
    let Published { head, changes, is_whole } = published;
    let bytes = head.file_bytes();
    let an_item = bytes as f64 * 8.0 / head.items.max(1) as f64;
    let kind = match (is_whole, changes.added + changes.removed) {
        (_, 0) => "nothing changed; the list is signed again".to_owned(),
        (true, _) => "a list of all items".to_owned(),
        (false, _) => "what changed since the last version".to_owned(),
    };
    let lines = [
        ("published", kind),
        ("items", grouped(head.items)),
        ("added", grouped(changes.added)),
        ("removed", grouped(changes.removed)),
        ("evaluated", grouped(changes.evaluated)),
        ("epoch and version", format!("{} and {}", head.epoch, head.sequence())),
        ("bytes, and bits an item", format!("{} and {an_item:.1}", grouped(bytes))),
        ("bits of a tag", head.tag_bits.to_string()),
        ("state", head.state.to_string()),
        ("publisher", fingerprint.to_owned()),
    ];
    lines.map(|(name, value)| format!("{name:<26} {value}\n")).concat()
}
