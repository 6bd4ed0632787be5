//! `run`: this party's side of an intersection.

use std::{
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use clap::ValueEnum;
use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica::{
    Class, Job, Learns, Normalize, Offer, Parties, Query, Ready, Report, Role, Security,
    files::{
        DEFAULT_BYTES, Delimiter, Duplicates, Format, JournalSecret, KeyColumn, NullValues, Nulls,
        PlannerInputs, Protected, Resume, SentColumns,
    },
    report::ResultForm,
};
use vesica_net::{
    CancelToken, Fingerprint, Identity,
    connect::{self, Connection, Meeting},
    files,
};

use crate::{
    cancel,
    columns::{self, Names},
    exit::{self, Failure},
    figures, keygen,
    meet::Teller,
    memory, numbers,
    progress::Show,
    query,
};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    endpoint: Endpoint,
    /// With --exchange-dir: this side's role; the other side has the other one [default: derived from the two
    /// fingerprints]
    #[arg(long, value_enum, requires = "exchange_dir")]
    side: Option<Side>,
    /// This party's identity, created by `vesica keygen`
    #[arg(long, value_name = "FILE")]
    identity: PathBuf,
    /// The other party's fingerprint, as it told you
    #[arg(long, value_name = "FINGERPRINT")]
    peer: Fingerprint,
    /// This party's table: CSV with a header row, NDJSON, Parquet, or Arrow IPC; `-` is standard input, and
    /// adbc:DRIVER or adbc:DRIVER#TABLE a database
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    rows: query::Args,
    /// The table's format: csv, ndjson, parquet, arrow or arrow-stream [default: told from its content, or else its name]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    format: Option<Format>,
    /// The columns that make up the key, by name and with commas between them; the other side may call them
    /// otherwise. A name that holds a comma stands in quotes: '"last, first",birthday'. Given more than once, each is an
    /// identifier of its own, and a row matches if any of its identifiers does, each compared with the other side's at
    /// the same place: --key email --key last,phone
    #[arg(long, value_name = "COLS", value_parser = columns::key, required = true)]
    key: Vec<Names>,
    /// How keys are made comparable: one profile for all columns, or one a column with commas between them; both sides
    /// must agree. none: bytes as they are; trim: Unicode NFC, no white space around; lower: and lower case; text: and
    /// single spaces, full case folding; email, email:plain (without the rules of gmail.com); phone:CC, by the
    /// country CC where a number does not begin with +; date:%d.%m.%Y, or date for ISO dates; number; name;
    /// postcode:CC; sha256:PROFILE where the other side has digests and says hashed:PROFILE. See docs/keys.md
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_value = "none", value_parser = normalize)]
    normalize: Vec<Normalize>,
    /// Values that count as empty in key columns that are normalised, whatever their case, with commas between them; the
    /// same on both sides. '' for none [default: NULL, NA, N/A, none, unknown, - and others like them]
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    null_values: Option<Names>,
    #[arg(long, default_value = "rows", value_name = "WHAT", value_parser = query, help = query_help())]
    answer: QueryArg,
    /// Join: send these columns of matching rows to the other side, which says --receive and learns. Of several rows
    /// with one key the first is sent, unless --duplicates says otherwise. docs/joins.md says what each side learns
    #[arg(long, value_name = "COLS", value_parser = columns::key, conflicts_with_all = ["receive", "answer"])]
    send: Option<Names>,
    /// With --send: bytes that a row's values are padded to, two more for each value than it is long. The other side
    /// receives so many for each key
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BYTES, requires = "send")]
    send_bytes: u32,
    /// Join: add the columns that the other side sends to this side's matched rows
    #[arg(long, conflicts_with = "answer")]
    receive: bool,
    /// With --receive: write the matched rows alone (inner), or all rows of this side, of which those that match nothing
    /// have no values in the columns that are added (left)
    #[arg(long, value_enum, default_value = "inner", requires = "receive")]
    join: Join,
    /// Write the matched rows of both sides in one order, with the number of the match in a first column `match_id`, so
    /// that the two outputs fit together. Both sides must ask for it and learn; see docs/joins.md
    #[arg(long, conflicts_with_all = ["send", "receive"])]
    align: bool,
    /// Decimal places of the values for sums, products and shares, the same on both sides: with 2, a value may be
    /// 12.50. A sum has as many, a sum of products twice as many
    #[arg(long, default_value_t = 0, value_name = "PLACES", value_parser = clap::value_parser!(u8).range(0..=18))]
    scale: u8,
    /// For numbers: if fewer keys than this are shared, tell nothing else; the larger minimum of the two sides applies
    #[arg(long, default_value = "0", value_name = "N", hide_default_value = true, value_parser = numbers::number)]
    minimum: u64,
    /// The file for this side's matched rows, its number or its shares; `-` is standard output, and adbc:DRIVER#TABLE a
    /// new table of a database. Rows have the format of the input; CSV and NDJSON are packed where the name ends in .gz or .zst [default for a number: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The columns of the matched rows to write, in this order, with commas between them [default: all]
    #[arg(long, value_name = "COLS", value_parser = columns::key)]
    select: Option<Names>,
    /// Who learns the result
    #[arg(long, value_enum)]
    learns: Who,
    /// A protocol of `vesica protocols`, or auto: the recommended one that the other side names, or the one that
    /// `vesica plan` would choose for the sizes and the round trip. One that is not recommended must be named on both
    /// sides
    #[arg(long, default_value = "auto", value_name = "NAME")]
    protocol: String,
    /// The bandwidth of the link in Mbit/s, for choosing a protocol; the connecting side's value applies
    /// [default: 1000 where the round trip is below 2 ms, else 100]
    #[arg(long, value_name = "MBIT", value_parser = numbers::rate)]
    bandwidth: Option<u64>,
    /// The least security accepted; the stricter of the two sides applies
    #[arg(long, default_value = "semi-honest", value_parser = security, value_name = "LEVEL")]
    security: Security,
    /// Rows without a key: skip them, or treat them as an error
    #[arg(long, value_enum, default_value = "skip")]
    nulls: NullRows,
    /// Rows that repeat a key: let the key take part once and output every row that bears it if it matches (first), or
    /// treat them as an error (error). With --send, of such rows the first is sent; all:N sends all, and treats more than
    /// N rows of a key as an error. The other side receives N times --send-bytes for each key
    #[arg(long, default_value = "first", value_name = "HOW", value_parser = duplicates)]
    duplicates: (Duplicates, u32),
    /// What separates the fields: comma, semicolon, tab, bar or auto
    #[arg(long, default_value = "comma", value_parser = delimiter)]
    delimiter: Delimiter,
    /// Accept a table without rows, which is otherwise an error
    #[arg(long)]
    allow_empty: bool,
    /// If the other side passes this too, compare what the keys look like, in coarse shares (white space, case, length),
    /// to learn why nothing matches; docs/diagnose.md says exactly what this reveals
    #[arg(long)]
    diagnose: bool,
    /// The most distinct keys the other side may bring
    #[arg(long, default_value = "100,000,000", value_name = "N", value_parser = numbers::number)]
    max_peer_rows: u64,
    /// Allow protocols that are not for real data; both sides must
    #[arg(long)]
    allow_research: bool,
    /// The most memory that the run may use on this side, as in 2G or 512M: sets that would use more are compared in
    /// partitions, or refused before the run begins where that is not possible [default: three quarters of what the
    /// machine, its control group or ulimit allow]
    #[arg(long, value_name = "SIZE", value_parser = memory::amount)]
    memory: Option<u64>,
    /// Compare the sets in at least so many partitions, rounded up to a power of two; more are
    /// taken by itself where memory requires it [default: 1]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    partitions: u32,
    /// Put what does not fit into memory into this directory while the run lasts, encrypted and under no name: what
    /// comes through a pipe and is more than 64 MiB, and keys that take more than an eighth of the memory [default:
    /// the directory of the output, or else that of temporary files]
    #[arg(long, value_name = "DIR")]
    spill: Option<PathBuf>,
    /// Note in this file how far the run is, encrypted for this identity, so that the same command goes on there if either
    /// side is interrupted; both sides must name one. The file is removed when both have their results
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Threads to compute with [default: one per processor]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Write a report in JSON, also of a run that fails: the terms, sizes, bytes, seconds, who learned what, and
    /// why it failed; no identifiers. docs/report.schema.json describes it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print that report on standard output, instead of the summary and of a number
    #[arg(long)]
    json: bool,
    /// Wait this long for the other side to appear
    #[arg(long, default_value = "300", value_name = "SECONDS", value_parser = seconds)]
    wait: Duration,
    /// Give up on the other side after this long without a sign of life
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = seconds)]
    stall_timeout: Duration,
    /// Stop the run if it lasts longer than this after the connection was made; the default is a day
    #[arg(long, default_value = "86400", value_name = "SECONDS", value_parser = seconds)]
    deadline: Duration,
    /// Show progress: auto (on a terminal), plain (a line for each phase, more in long ones) or off
    #[arg(long, value_enum, default_value = "auto", hide_possible_values = true)]
    progress: Show,
    /// Print only errors and warnings
    #[arg(long, short)]
    quiet: bool,
}

/// How the two sides reach each other.
#[derive(clap::Args)]
#[group(required = true, multiple = false, id = "endpoint")]
struct Endpoint {
    /// Listen for the other side at this address, as in 0.0.0.0:7788; port 0 takes a free port and prints it
    #[arg(long, value_name = "ADDR", group = "endpoint")]
    listen: Option<String>,
    /// Connect to the other side, as in partner.example.org:7788
    #[arg(long, value_name = "ADDR", group = "endpoint")]
    connect: Option<String>,
    /// Exchange files in this directory instead, which must exist and which both sides can read and write
    #[arg(long, value_name = "DIR", group = "endpoint")]
    exchange_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Side {
    A,
    B,
}

/// Who learns the result.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Who {
    /// This side alone
    Me,
    /// The other side alone
    Peer,
    /// Both sides
    Both,
    /// Neither: with shares
    Nobody,
}

impl From<Who> for Learns {
    fn from(who: Who) -> Self {
        match who {
            Who::Me => Self::Me,
            Who::Peer => Self::Peer,
            Who::Both => Self::Both,
            Who::Nobody => Self::Nobody,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NullRows {
    Skip,
    Error,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Join {
    Inner,
    Left,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let mut report = Report::begin();
    let mut report_file = None;
    let attempt = || args.attempt(&mut report, &mut report_file);
    let ended = panic::catch_unwind(AssertUnwindSafe(attempt));
    match &ended {
        // With the result in place the report is that of a run that succeeded.
        Ok(Err(failure)) if failure.code != exit::UNCONFIRMED => {
            report.fail(failure.class(), failure.message.clone());
        }
        Ok(_) => {}
        Err(_) => report.fail(Class::Bug, "internal error".to_owned()),
    }
    args.show(&report, report_file);
    ended.unwrap_or_else(|panicked| panic::resume_unwind(panicked))
}

/// Opens the input and reads its header. If the input is a pipe, that takes as long as its writer does, and can be
/// cancelled.
fn prepare(job: Job, cancel: &CancelToken) -> Result<Ready, Failure> {
    const POLL: Duration = Duration::from_millis(20);
    let (done, waiting) = mpsc::sync_channel(1);
    thread::spawn(move || {
        // Nobody receives this if the program was stopped first.
        let _ = done.send(job.prepare());
    });
    loop {
        match waiting.recv_timeout(POLL) {
            Ok(ready) => return Ok(ready?),
            Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                return Err(Failure::cancelled());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::bug("the input could not be opened"));
            }
        }
    }
}

impl Args {
    /// Carries out the run. `report_file` is set once a report may be written there.
    fn attempt<'a>(
        &'a self,
        report: &mut Report,
        report_file: &mut Option<&'a Path>,
    ) -> Result<(), Failure> {
        let cancel = cancel::on_signal()?;
        let mut job = self.job()?;
        job.check_files()?;
        *report_file = self.report.as_deref();
        job.check()?;
        let me = keygen::load(&self.identity)?;
        job.resume = self.resume.clone().map(|journal| {
            let secret = JournalSecret::new(*me.derive("vesica 1 secret of journals"));
            Resume { journal, secret }
        });
        job.check_files()?;
        let (my_print, peer) = (me.fingerprint().to_string(), self.peer.to_string());
        report.fingerprints.me = Some(my_print.clone());
        report.fingerprints.peer = Some(peer.clone());
        let job = prepare(job, &cancel)?;
        let rng = &mut StdRng::try_from_rng(&mut SysRng)
            .map_err(|_| Failure::bug("the operating system gives no randomness"))?;
        let (role, connection) = self.reach(&me, &cancel)?;
        let parties = Parties { role, me: my_print, peer };
        let mut channel = connection
            .into_channel()?
            .with_stall_timeout(self.stall_timeout)
            .with_deadline(self.deadline)
            .with_cancel_token(cancel);
        let progress = if self.quiet { Show::Off } else { self.progress };
        let shortfalls =
            vesica::run(job, &parties, &mut channel, progress.observer(), rng, report)?;
        match &shortfalls[..] {
            [] => Ok(()),
            shortfalls => Err(Failure::unconfirmed(shortfalls)),
        }
    }

    /// Prints the outcome, in words or as JSON. If the run failed, writes the report's file too; a run that succeeds has
    /// written it already.
    fn show(&self, report: &Report, report_file: Option<&Path>) {
        let warn = |error: String| {
            crate::say(&format!("vesica: warning: the report cannot be shown: {error}"));
        };
        if let (Some(_), Some(path)) = (&report.failure, report_file)
            && let Err(error) = report.stage(path).and_then(|staged| staged.commit())
        {
            warn(error.to_string());
        }
        if self.json {
            let text = report.to_json().map_err(Failure::from);
            if let Err(failure) = text.and_then(|text| crate::print(&text)) {
                warn(failure.message);
            }
        } else if report.failure.is_none() && !self.quiet {
            report.summary(self.output.as_deref()).iter().for_each(|line| crate::say(line));
        }
    }

    fn job(&self) -> Result<Job, Failure> {
        let (names, identifiers) = columns::identifiers(&self.key);
        let keys = key_columns(&names, &self.normalize)?;
        let stdout = Some(Path::new("-"));
        if self.json && [self.output.as_deref(), self.report.as_deref()].contains(&stdout) {
            let message = "--json takes standard output for itself: name another file than -";
            return Err(Failure::usage(message));
        }
        let mut output = self.output.clone();
        if output.is_none() && self.learns != Who::Peer {
            match self.query().result_form() {
                ResultForm::Rows => {
                    let message = "this side learns the matches: say where with --output";
                    return Err(Failure::usage(message));
                }
                ResultForm::File => {
                    let message = format!(
                        "this side gets {}: say where with --output",
                        self.query().describe()
                    );
                    return Err(Failure::usage(message));
                }
                // The number is in the report.
                ResultForm::Line if self.json => {}
                ResultForm::Line => output = Some(PathBuf::from("-")),
            }
        }
        if self.select.is_some() && self.query().result_form() != ResultForm::Rows {
            return Err(Failure::usage("--select is for rows, and this run is for something else"));
        }
        if self.learns == Who::Peer && output.take().is_some() && !self.quiet {
            crate::say("vesica: note: this side does not learn the result; --output is not used");
        }
        let mut offer =
            Offer::new(keys.iter().map(|key| key.normalize.clone()).collect(), self.learns.into());
        offer.protocol = Some(self.protocol.clone()).filter(|name| name != "auto");
        offer.security = self.security;
        offer.identifiers = identifiers;
        offer.max_peer_rows = self.max_peer_rows;
        offer.allow_research = self.allow_research;
        offer.query = self.query();
        let (duplicates, rows) = self.duplicates;
        let sent = |Names(columns): &Names| SentColumns {
            columns: columns.clone(),
            bytes: self.send_bytes,
            rows,
        };
        offer.sends = self.send.as_ref().map(sent);
        offer.align = self.align;
        offer.brings_values = self.answer.column.is_some();
        offer.minimum = self.minimum;
        offer.scale = self.scale;
        offer.diagnose = self.diagnose;
        if let Some(Names(values)) = &self.null_values {
            offer.null_values = NullValues::new(values)?;
        }
        Ok(Job {
            input: self.rows.source(&self.input)?,
            format: self.format,
            delimiter: self.delimiter,
            spill: self.spill.clone(),
            resume: None,
            columns: keys.into_iter().map(|key| key.name).collect(),
            values: self.answer.column.clone(),
            nulls: match self.nulls {
                NullRows::Skip => Nulls::Skip,
                NullRows::Error => Nulls::Error,
            },
            duplicates,
            allow_empty: self.allow_empty,
            offer,
            output,
            select: self.select.as_ref().map(|names| names.0.clone()),
            unmatched: self.join == Join::Left,
            report: self.report.clone(),
            protected: self.protected(),
            threads: self.threads,
            planner: PlannerInputs {
                figures: figures::load()?,
                bits_per_second: self.bandwidth,
                memory: self.memory,
                partitions: self.partitions,
            },
        })
    }

    /// What is to be found out.
    fn query(&self) -> Query {
        let joins = self.send.is_some() || self.receive;
        if joins { Query::JOIN } else { self.answer.query }
    }

    /// The files of this side that a result must not replace.
    fn protected(&self) -> Vec<Protected> {
        let figures = figures::stored().map(|path| Protected::new("the calibration", path));
        [Protected::new("the identity", &self.identity)].into_iter().chain(figures).collect()
    }

    /// An authenticated connection to the other side.
    fn reach(&self, me: &Identity, cancel: &CancelToken) -> Result<(Role, Connection), Failure> {
        let chosen_port =
            self.endpoint.listen.as_ref().is_some_and(|address| address.ends_with(":0"));
        let teller = Teller::new(self.quiet, chosen_port);
        let meeting = Meeting {
            me,
            peer: &self.peer,
            wait: self.wait,
            stall: self.stall_timeout,
            cancel,
            observer: &|event| teller.tell(event),
        };
        if let Some(address) = &self.endpoint.connect {
            return Ok((Role::A, connect::dial(address, &meeting)?));
        }
        if let Some(address) = &self.endpoint.listen {
            return Ok((Role::B, connect::listen(address, &meeting)?));
        }
        let Some(directory) = &self.endpoint.exchange_dir else {
            return Err(Failure::usage("say how to reach the other side"));
        };
        let side = self.side.map(|side| match side {
            Side::A => files::Side::A,
            Side::B => files::Side::B,
        });
        let (side, connection) = connect::exchange(directory, side, &meeting)?;
        let role = match side {
            files::Side::A => Role::A,
            files::Side::B => Role::B,
        };
        Ok((role, connection))
    }
}

/// The key columns with their normalisation, of which there is one for all or one each.
pub fn key_columns(names: &[String], normalize: &[Normalize]) -> Result<Vec<KeyColumn>, Failure> {
    if normalize.len() != 1 && normalize.len() != names.len() {
        return Err(Failure::usage(format!(
            "--normalize names {} normalisations for {} key columns; name one for all, or one each",
            normalize.len(),
            names.len()
        )));
    }
    let cycled = normalize.iter().cycle();
    Ok(names
        .iter()
        .zip(cycled)
        .map(|(name, normalize)| KeyColumn { name: name.clone(), normalize: normalize.clone() })
        .collect())
}

pub fn normalize(name: &str) -> Result<Normalize, String> {
    name.parse()
}

/// What to find out, and this side's part in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryArg {
    /// The query, the same on both sides.
    pub query: Query,
    /// This side's column of values.
    pub column: Option<String>,
}

/// Reads `rows`, `sum:COL`, `threshold:K` and so on.
pub fn query(text: &str) -> Result<QueryArg, String> {
    let (query, column) = Query::parse(text, numbers::whole)?;
    Ok(QueryArg { query, column })
}

/// What becomes of rows that repeat a key, and how many of them are sent.
fn duplicates(text: &str) -> Result<(Duplicates, u32), String> {
    let most = |text: &str| text.parse().ok().filter(|rows| *rows > 0);
    match (text, text.strip_prefix("all:").map(most)) {
        ("first", _) => Ok((Duplicates::First, 1)),
        ("error", _) => Ok((Duplicates::Error, 1)),
        (_, Some(Some(rows))) => Ok((Duplicates::All, rows)),
        (_, Some(None)) => Err("all:N takes a whole number of rows, at least 1".to_owned()),
        ("all", _) => Err("say how many rows of one key are sent at most, as in all:3".to_owned()),
        _ => Err("possible values: first, error, all:N".to_owned()),
    }
}

fn query_help() -> String {
    format!("What to find out, the same on both sides. {}", Query::help())
}

pub fn delimiter(name: &str) -> Result<Delimiter, String> {
    choice(name, Delimiter::ALL, Delimiter::name)
}

pub fn format(name: &str) -> Result<Format, String> {
    choice(name, Format::ALL, Format::name)
}

pub fn security(name: &str) -> Result<Security, String> {
    choice(name, [Security::SemiHonest, Security::Malicious], Security::name)
}

/// The one of `all` that has this name.
fn choice<T: Copy, const N: usize>(
    wanted: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    all.into_iter()
        .find(|one| name(*one) == wanted)
        .ok_or_else(|| format!("possible values: {}", all.map(name).join(", ")))
}

/// A time for which a person might wait.
fn seconds(text: &str) -> Result<Duration, String> {
    const LONGEST: f64 = 30.0 * 86400.0;
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=LONGEST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("a number of seconds from 0.1 to 2592000".to_owned()),
    }
}
