//! `lookup`: which keys of a table are in a published list.

use std::path::PathBuf;

use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica::{
    Normalize, Source,
    files::{Delimiter, Dialect, Format, KeyColumn, Nulls},
    lists::{FromDirectory, LookUp, Origin, look_up},
    report::{counted, grouped},
};
use vesica_net::Fingerprint;
use vesica_web::Remote;

use crate::{
    columns::{self, Names},
    exit::Failure,
    memory,
    progress::Show,
    query, run, terms,
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
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_value = "none", value_parser = terms::normalize)]
    normalize: Vec<Normalize>,
    /// The file for the rows that are in the list, with its labels in further columns; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write all rows; those that are not in the list have no labels
    #[arg(long)]
    all: bool,
    /// The directory in which lists are kept from one time to the next [default: vesica/lists below $XDG_CACHE_HOME or
    /// ~/.cache]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Refuse a list of more bytes than this, as in 2G
    #[arg(long, value_name = "SIZE", value_parser = memory::amount, default_value = "4G")]
    budget: u64,
    /// Keys in a question
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=4096))]
    batch: u32,
    /// A file with the token that the publisher gave this client
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// The table's format [default: told from its content, or else its name]
    #[arg(long, value_name = "FORMAT", value_parser = run::format)]
    format: Option<Format>,
    /// What separates the fields: comma, semicolon, tab, bar or auto
    #[arg(long, default_value = "comma", value_parser = run::delimiter)]
    delimiter: Delimiter,
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
    let profiles = terms::profiles(names.len(), &args.normalize)?;
    let column = |(name, normalize)| KeyColumn { name, normalize };
    let input = match &args.input {
        Some(path) => args.rows.source(path)?,
        None => Source::Memory { name: "--value".into(), bytes: table(&args.value).into() },
    };
    let job = LookUp {
        input,
        dialect: Dialect { format: args.format, delimiter: args.delimiter, ..Dialect::default() },
        columns: names.into_iter().zip(profiles).map(column).collect(),
        nulls: Nulls::Skip,
        output: args.output.clone().into(),
        all: args.all,
        batch: args.batch as usize,
    };
    let cache = args.cache.clone().or_else(default_cache);
    let cache = cache.ok_or_else(|| Failure::usage("say with --cache where lists are kept"))?;
    let token = args.token.as_ref().map(|path| {
        let failed = |error| Failure::input(format!("{}: {error}", path.display()));
        std::fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(failed)
    });
    let token = token.transpose()?;
    let mut origin = Place::new(&args, token)?;
    let rng = &mut StdRng::try_from_rng(&mut SysRng)
        .map_err(|_| Failure::bug("the operating system gives no randomness"))?;
    let trust = (args.publisher, cache, Some(args.budget));
    let observer = if args.quiet { Show::Off } else { args.progress }.observer();
    let found = look_up(&job, &mut origin, trust, &observer, rng)?;
    if found.beyond_promise {
        observer.warning(
            "more keys were looked up than the list promises right answers for: some may be said to be in it that are not",
        );
    }
    if !args.quiet {
        let rows = counted(found.rows, "row");
        let keys = counted(found.keys, "key");
        crate::say(&format!(
            "{} of {keys} are in the list; {rows} written",
            grouped(found.matches)
        ));
    }
    Ok(())
}

/// A table of keys.
fn table(values: &[String]) -> String {
    let quoted = values.iter().map(|value| format!("\"{}\"\n", value.replace('"', "\"\"")));
    std::iter::once("key\n".to_owned()).chain(quoted).collect()
}

fn default_cache() -> Option<PathBuf> {
    let below =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || Some(below("HOME")?.join(".cache"));
    let cache = below("XDG_CACHE_HOME").or_else(|| below("LOCALAPPDATA")).or_else(home)?;
    Some(cache.join("vesica").join("lists"))
}

/// Where the files are, and who answers.
enum Place {
    Remote(Box<Remote>),
    Directory(FromDirectory, Option<Box<Remote>>),
}

impl Place {
    fn new(args: &Args, token: Option<String>) -> Result<Self, Failure> {
        let ask = args.ask.as_deref();
        let remote = |files: &str, ask| -> Result<_, Failure> {
            Ok(Box::new(Remote::new(files, ask, args.publisher, token.clone())?))
        };
        Ok(if args.list.contains("://") {
            Self::Remote(remote(&args.list, ask)?)
        } else {
            let ask = ask.map(|address| remote(address, None)).transpose()?;
            Self::Directory(FromDirectory(args.list.clone().into()), ask)
        })
    }
}

impl Origin for Place {
    fn text(&mut self, name: &str, longest: usize) -> vesica::Result<String> {
        match self {
            Self::Remote(remote) => remote.text(name, longest),
            Self::Directory(directory, _) => directory.text(name, longest),
        }
    }

    fn bytes(
        &mut self,
        name: &str,
        from: u64,
        take: &mut dyn FnMut(&[u8]) -> vesica::Result<()>,
    ) -> vesica::Result<()> {
        match self {
            Self::Remote(remote) => remote.bytes(name, from, take),
            Self::Directory(directory, _) => directory.bytes(name, from, take),
        }
    }

    fn ask(&mut self, epoch: u64, question: &[u8], answer_bytes: usize) -> vesica::Result<Vec<u8>> {
        match self {
            Self::Remote(remote) | Self::Directory(_, Some(remote)) => {
                remote.ask(epoch, question, answer_bytes)
            }
            Self::Directory(directory, None) => directory.ask(epoch, question, answer_bytes),
        }
    }
}
