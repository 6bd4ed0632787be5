//! `run`: this party's side of an intersection.

mod table;

use std::{
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use clap::ValueEnum;
use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica::{
    Class, Job, Learns, Offer, Parties, Query, Report, Role, Way,
    files::{
        Destination, Duplicates, Format, Formulas, JournalSecret, Nulls, PlannerInputs, Protected,
        Resume,
    },
    partnership::{Agreement, Partnership, Policy, Signed, Summary},
    report::{QueryResult, ResultForm},
};
use vesica_net::{CancelToken, Channel, Fingerprint, Identity, Proxy, connect::Meeting};

use crate::{
    agreed, cancel,
    columns::{self, Names},
    delimiter::DelimiterArg,
    exit::{self, Failure},
    heading, keygen,
    meet::Teller,
    memory, numbers,
    policy::PolicyArgs,
    progress::Show,
    project::{LEDGER, Project},
    query,
    stamp::Stamp,
    terms::{self, QueryArg, TermsArgs},
};

pub use self::table::JobTable;

/// The two forms of the command.
pub const USAGE: &str = "\
vesica run <JOB> [OPTIONS]
       vesica run --identity <FILE> --input <FILE> --key <COLS> [OPTIONS]";

#[derive(clap::Args)]
#[command(mut_args = heading::placed)]
pub struct Args {
    /// The job of vesica.toml to run; flags given here come before what is written there
    #[arg(value_name = "JOB")]
    job: Option<String>,
    /// The project file that has the job [default: vesica.toml]
    #[arg(long, value_name = "FILE", requires = "job")]
    project: Option<PathBuf>,
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
    peer: Option<Fingerprint>,
    /// The agreement with the other party, made by `vesica invite` and `vesica accept`: it says who the other party
    /// is, and settles the terms, so that no flag does
    #[arg(long, value_name = "FILE", conflicts_with_all = ["peer", "TermsArgs"])]
    agreement: Option<PathBuf>,
    /// With --agreement: the hash of the agreement, which `vesica agreement` shows; a file with another one is refused
    #[arg(long, value_name = "HASH", requires = "agreement")]
    agreement_hash: Option<String>,
    /// This side's name for the other party, on pages and in lists
    #[arg(long, value_name = "NAME")]
    partner: Option<String>,
    /// With --agreement: the ledger of all runs [default: vesica.ledger beside the agreement]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// With --agreement: the file for the record that both sides sign
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
    /// This party's table: CSV with a header row, NDJSON, Parquet, or Arrow IPC; `-` is standard input, and
    /// adbc:DRIVER or adbc:DRIVER#TABLE a database
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    rows: query::Args,
    /// The table's format: csv, ndjson, parquet, arrow or arrow-stream [default: told from its content, or else its
    /// name]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    format: Option<Format>,
    /// The columns that make up the key, by name and with commas between them; the other side may call them
    /// otherwise. A name that holds a comma stands in quotes: '"last, first",birthday'. Given more than once, each is
    /// an identifier of its own, and a row matches if any of its identifiers does, each compared with the other
    /// side's at the same place: --key email --key last,phone
    #[arg(long, value_name = "COLS", value_parser = columns::key, required = true)]
    key: Vec<Names>,
    #[command(flatten)]
    terms: TermsArgs,
    #[arg(long, default_value = "rows", value_name = "WHAT", value_parser = terms::query, help = terms::query_help())]
    answer: QueryArg,
    /// With --receive: write the matched rows alone (inner), or all rows of this side, of which those that match
    /// nothing have no values in the columns that are added (left)
    #[arg(long, value_enum, default_value = "inner", requires = "receive")]
    join: Join,
    /// In a join, on the side that receives: keep received texts that a spreadsheet would take for formulas as they are in
    /// CSV, or escape them with an apostrophe before each
    #[arg(long, value_enum, default_value = "keep")]
    formulas: FormulaTexts,
    /// The file for this side's matched rows, its number or its shares; `-` is standard output, and adbc:DRIVER#TABLE a
    /// new table of a database. Rows have the format of the input; CSV and NDJSON are packed where the name ends in
    /// .gz or .zst [default for a number: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The columns of the matched rows to write, in this order, with commas between them [default: all]
    #[arg(long, value_name = "COLS", value_parser = columns::key)]
    select: Option<Names>,
    /// The bandwidth of the link in Mbit/s, for choosing a protocol; the connecting side's value applies
    /// [default: 1000 where the round trip is below 2 ms, else 100]
    #[arg(long, value_name = "MBIT", value_parser = numbers::rate)]
    bandwidth: Option<u64>,
    /// Rows without a key: skip them, or treat them as an error
    #[arg(long, value_enum, default_value = "skip")]
    nulls: NullRows,
    /// Rows that repeat a key: let the key take part once and output every row that bears it if it matches (first), or
    /// treat them as an error (error). With --send, of such rows the first is sent; all:N sends all, and treats more
    /// than N rows of a key as an error. The other side receives N times --send-bytes for each key
    #[arg(long, default_value = "first", value_name = "HOW", value_parser = terms::duplicates)]
    duplicates: (Duplicates, u32),
    #[command(flatten)]
    delimiter: DelimiterArg,
    /// Accept a table without rows, which is otherwise an error
    #[arg(long)]
    allow_empty: bool,
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
    /// Note in this file how far the run is, encrypted for this identity, so that the same command goes on there if
    /// either side is interrupted; both sides must name one. The file is removed when both have their results
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
    /// Dial out through this proxy: http://HOST:PORT (CONNECT) or socks5://HOST:PORT, with NAME:PASSWORD@ before the
    /// host if it asks for them
    #[arg(long, value_name = "URL", env = "VESICA_PROXY", hide_env_values = true)]
    proxy: Option<Proxy>,
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
    /// Files of the project that no result may replace.
    #[arg(skip)]
    of_project: Vec<Protected>,
}

/// How the two sides reach each other.
#[derive(Clone, clap::Args)]
#[group(multiple = false, id = "endpoint")]
struct Endpoint {
    /// Listen for the other side at this address, as in 0.0.0.0:7788; port 0 takes a free port and prints it
    #[arg(long, value_name = "ADDR", group = "endpoint")]
    listen: Option<String>,
    /// Connect to the other side, as in partner.example.org:7788
    #[arg(long, value_name = "ADDR", group = "endpoint")]
    connect: Option<String>,
    /// Meet the other side at the relay of this address instead, to which both sides connect; docs/partners.md
    /// describes it
    #[arg(long, value_name = "ADDR", group = "endpoint")]
    relay: Option<String>,
    /// Exchange files in this directory instead, which must exist and which both sides can read and write; or objects
    /// of a store, as in s3://BUCKET/PREFIX
    #[arg(long, visible_alias = "exchange", value_name = "DIR", group = "endpoint")]
    exchange_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Side {
    A,
    B,
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

/// The treatment of received texts that begin like formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormulaTexts {
    Keep,
    Escape,
}

impl From<FormulaTexts> for Formulas {
    fn from(texts: FormulaTexts) -> Self {
        match texts {
            FormulaTexts::Keep => Self::Keep,
            FormulaTexts::Escape => Self::Escape,
        }
    }
}

pub fn run(mut args: Args) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    if let Some(job) = &args.job {
        args.of_project = Project::open(args.project.as_deref())?.protected(job);
    }
    let mut meet = |met: &Met<'_>| args.meet(met, &cancel);
    let (report, ended) = args.carried_out(&cancel, &mut meet);
    args.show(&report);
    ended.unwrap_or_else(|panicked| panic::resume_unwind(panicked))?;
    match report.outcome.answer {
        Some(QueryResult::TooFew) => Err(Failure::too_few()),
        _ => Ok(()),
    }
}

/// Says what such a run would disclose, without contacting anybody.
pub fn preview(args: &Args) -> Result<(), Failure> {
    let stamp = Stamp::now()?;
    let summary = match args.partnership(&stamp)? {
        Some(partnership) => partnership.summary()?,
        None => {
            let (_, rows) = args.duplicates;
            Summary::of_offer(&args.terms.offer(&args.key, &args.answer, rows)?)?
        }
    };
    if args.json {
        return crate::print(&(agreed::summary_as_json(&summary)? + "\n"));
    }
    crate::print_lines(&agreed::summary_as_text(&summary))
}

/// What is known of both sides before they meet.
pub struct Met<'a> {
    me: &'a Identity,
    peer: Fingerprint,
    way: Option<Way>,
    partnership: Option<&'a Partnership>,
}

/// How to come by a channel to the other side.
pub type Meet<'a> = &'a mut dyn FnMut(&Met<'_>) -> Result<(Role, Channel), Failure>;

impl Args {
    /// The agreement, if the run is under one that is there.
    pub fn agreement(&self) -> Result<Option<Signed<Agreement>>, Failure> {
        let file = self.agreement.as_deref().filter(|file| file.exists());
        file.map(|file| agreed::agreement_of(file, self.agreement_hash.as_deref())).transpose()
    }

    /// Makes it a job of a project, with files that no result may replace, and binds it to the agreement of this hash.
    pub fn of_project(&mut self, protected: Vec<Protected>, agreement_hash: String) {
        self.of_project = protected;
        self.agreement_hash = Some(agreement_hash);
    }

    /// Uses no more memory, and as many threads, where the flags do not say otherwise.
    pub fn within(&mut self, memory: u64, threads: usize) {
        self.memory = Some(self.memory.unwrap_or(memory).min(memory));
        self.threads = if self.threads == 0 { threads } else { self.threads };
        self.quiet = true;
    }

    /// Carries out the run and makes its report, which is written to its file, if it has one. A panic is the defect
    /// of one run.
    pub fn carried_out(
        &self,
        cancel: &CancelToken,
        meet: Meet<'_>,
    ) -> (Report, thread::Result<Result<(), Failure>>) {
        let mut report = Report::begin();
        let mut report_file = None;
        let attempt = || self.attempt(cancel, meet, &mut report, &mut report_file);
        let ended = panic::catch_unwind(AssertUnwindSafe(attempt));
        match &ended {
            // With the result in place the report is that of a run that succeeded.
            Ok(Err(failure)) if failure.code != exit::UNCONFIRMED => {
                report.fail(failure.class(), failure.message.clone());
            }
            Ok(_) => {}
            Err(_) => report.fail(Class::Bug, "internal error".to_owned()),
        }
        // A run that succeeds has written it already.
        if let (Some(_), Some(path)) = (&report.failure, report_file)
            && let Err(error) = report.stage(&path).and_then(|staged| staged.commit())
        {
            crate::say(&format!("vesica: warning: the report cannot be written: {error}"));
        }
        (report, ended)
    }

    /// Carries out the run. `report_file` is set once a report may be written there.
    fn attempt(
        &self,
        cancel: &CancelToken,
        meet: Meet<'_>,
        report: &mut Report,
        report_file: &mut Option<PathBuf>,
    ) -> Result<(), Failure> {
        let stamp = Stamp::now()?;
        let mut job = self.job(&stamp)?;
        job.check_files()?;
        report_file.clone_from(&job.report);
        if job.partnership.is_none() {
            job.check()?;
        }
        let me = keygen::load(&self.identity)?;
        job.resume = self.resume.clone().map(|journal| {
            let secret = JournalSecret::of(&me);
            Resume { journal, secret }
        });
        job.check_files()?;
        let partnership = job.partnership.clone();
        let partnership = partnership.as_ref();
        let peer = partnership.map(|partnership| partnership.peer().fingerprint()).or(self.peer);
        let peer = peer.ok_or_else(|| Failure::usage("say who the other side is with --peer"))?;
        if peer == me.fingerprint() {
            let message = "the other side's fingerprint is this side's own: nobody compares a table with itself";
            return Err(Failure::usage(message));
        }
        let met = Met { me: &me, peer, way: self.way(&me, partnership), partnership };
        let (my_print, its_print) = (me.fingerprint().to_string(), peer.to_string());
        report.fingerprints.me = Some(my_print.clone());
        report.fingerprints.peer = Some(its_print.clone());
        let resume = job.resume.clone();
        let prints = job.output.as_ref().and_then(Destination::path) == Some(Path::new("-"));
        let job = job.prepare_unless(cancel)?;
        let rng = &mut StdRng::try_from_rng(&mut SysRng)
            .map_err(|_| Failure::bug("the operating system gives no randomness"))?;
        let (role, channel) = meet(&met)?;
        let parties = Parties { role, me: my_print, peer: its_print };
        let mut channel = channel
            .with_stall_timeout(self.stall_timeout)
            .with_deadline(self.deadline)
            .with_cancel_token(cancel.clone());
        let observer = self.progress.observer(self.quiet, prints);
        let ended = vesica::run(job, &parties, &mut channel, observer, rng, report);
        let shortfalls = ended.map_err(|error| {
            let is_interrupted = matches!(error, vesica::Error::Net(_));
            let resume = resume.filter(|_| is_interrupted && !self.quiet);
            let hint = resume.and_then(|resume| resume.interrupted());
            Failure { hint: hint.map(|hint| hint.to_string()), ..error.into() }
        })?;
        match &shortfalls[..] {
            [] => Ok(()),
            shortfalls => Err(Failure::unconfirmed(shortfalls)),
        }
    }

    /// A channel to the other side, by the way that the flags or the agreement name.
    fn meet(&self, met: &Met<'_>, cancel: &CancelToken) -> Result<(Role, Channel), Failure> {
        let way = met.way.as_ref().ok_or_else(|| {
            let message = "say how to reach the other side: --listen, --connect, --relay or \
                     --exchange-dir";
            Failure::usage(message)
        })?;
        let chosen_port = matches!(way, Way::Listen(address) if address.ends_with(":0"));
        let teller = Teller::new(self.quiet, chosen_port, self.wait);
        let meeting = Meeting {
            me: met.me,
            peer: &met.peer,
            wait: self.wait,
            stall: self.stall_timeout,
            proxy: self.proxy.as_ref(),
            cancel,
            observer: &|event| teller.tell(event),
        };
        Ok(way.meet(&meeting, met.partnership)?)
    }

    /// Prints the outcome, in words or as JSON.
    fn show(&self, report: &Report) {
        if self.json {
            let text = report.to_json().map_err(Failure::from);
            if let Err(failure) = text.and_then(|text| crate::print(&text)) {
                let message = failure.message;
                crate::say(&format!("vesica: warning: the report cannot be shown: {message}"));
            }
        } else if report.failure.is_none() && !self.quiet {
            // Where a number goes if nobody said where, nobody needs to hear.
            let output = self.output.as_ref().and(report.output.as_deref()).map(Path::new);
            report.summary(output).iter().for_each(|line| crate::say(line));
        }
    }

    fn job(&self, stamp: &Stamp) -> Result<Job, Failure> {
        let (names, _) = columns::identifiers(&self.key);
        let stdout = Some(Path::new("-"));
        if self.json && [self.output.as_deref(), self.report.as_deref()].contains(&stdout) {
            let message = "--json takes standard output for itself: name another file than -";
            return Err(Failure::usage(message));
        }
        let (duplicates, rows) = self.duplicates;
        let partnership = self.partnership(stamp)?;
        let offer = match &partnership {
            Some(partnership) => self.agreed(partnership)?,
            None => {
                let is_alone = self.ledger.is_none() && self.record.is_none();
                if !is_alone || self.policy.policy() != Policy::default() {
                    let message = "a policy, a ledger and a record are for runs under an agreement: name one with \
                                   --agreement";
                    return Err(Failure::usage(message));
                }
                self.terms.offer(&self.key, &self.answer, rows)?
            }
        };
        let mut output = self.output.as_deref().map(|path| stamp.path(path));
        if output.is_none() && offer.learns != Learns::Peer {
            match offer.query.result_form() {
                ResultForm::Rows => {
                    let message = "this side learns the matches: say where with --output";
                    return Err(Failure::usage(message));
                }
                ResultForm::File => {
                    let message = format!(
                        "this side gets {}: say where with --output",
                        offer.query.describe()
                    );
                    return Err(Failure::usage(message));
                }
                // The number is in the report.
                ResultForm::Line if self.json => {}
                ResultForm::Line => output = Some(PathBuf::from("-")),
            }
        }
        if self.select.is_some() && offer.query.result_form() != ResultForm::Rows {
            return Err(Failure::usage("--select is for rows, and this run is for something else"));
        }
        if offer.learns == Learns::Peer && output.take().is_some() && !self.quiet {
            crate::say("vesica: note: this side does not learn the result; --output is not used");
        }
        Ok(Job {
            input: self.rows.source(&self.input)?,
            format: self.format,
            delimiter: self.delimiter.of(&self.input),
            spill: self.spill.clone(),
            resume: None,
            columns: names,
            values: self.answer.column.clone(),
            nulls: match self.nulls {
                NullRows::Skip => Nulls::Skip,
                NullRows::Error => Nulls::Error,
            },
            duplicates,
            allow_empty: self.allow_empty,
            offer,
            output: output.map(Destination::Path),
            select: self.select.as_ref().map(|names| names.0.clone()),
            unmatched: self.join == Join::Left,
            formulas: self.formulas.into(),
            report: self.report.as_deref().map(|path| stamp.path(path)),
            protected: self.protected(),
            threads: self.threads,
            planner: PlannerInputs {
                figures: vesica::files::figures()?,
                bits_per_second: self.bandwidth,
                memory: self.memory,
                partitions: self.partitions,
            },
            partnership,
        })
    }

    /// The ledger, where the flags name one.
    pub fn ledger(&self) -> Option<PathBuf> {
        self.ledger.clone()
    }

    /// The file of the agreement, and this side's name for the other party.
    pub fn under(&self) -> (Option<&Path>, Option<&str>) {
        (self.agreement.as_deref(), self.partner.as_deref())
    }

    /// The agreement under which the run takes place, if there is one.
    pub fn partnership(&self, stamp: &Stamp) -> Result<Option<Partnership>, Failure> {
        let Some(file) = &self.agreement else { return Ok(None) };
        let agreement = agreed::agreement_of(file, self.agreement_hash.as_deref())?;
        let beside = || file.with_file_name(LEDGER);
        let ledger = self.ledger.clone().unwrap_or_else(beside);
        let me = Arc::new(keygen::load(&self.identity)?);
        let mut partnership = Partnership::new(me, agreement, ledger, self.policy.policy())?;
        partnership.file = Some(file.clone());
        partnership.record = self.record.as_deref().map(|path| stamp.path(path));
        Ok(Some(partnership))
    }

    /// What this side offers under an agreement.
    fn agreed(&self, partnership: &Partnership) -> Result<Offer, Failure> {
        let offer = partnership.offer()?;
        let (names, identifiers) = columns::identifiers(&self.key);
        if names.len() != offer.keys.len() || identifiers != offer.identifiers {
            return Err(Failure::usage(format!(
                "the agreement compares keys of {} columns, and --key names {}",
                offer.keys.len(),
                names.len()
            )));
        }
        let QueryArg { query, column } = &self.answer;
        let is_named = *query != Query::ROWS || column.is_some();
        if is_named && *query != offer.query || offer.brings_values != column.is_some() {
            let brings = if offer.brings_values { "a column of values" } else { "no values" };
            return Err(Failure::usage(format!(
                "under the agreement the answer is {}, and this side brings {brings}",
                offer.query.describe()
            )));
        }
        Ok(offer)
    }

    /// How to reach the other side, by the flags or else by the agreement.
    fn way(&self, me: &Identity, partnership: Option<&Partnership>) -> Option<Way> {
        let Endpoint { listen, connect, relay, exchange_dir } = self.endpoint.clone();
        let role = self.side.map(|side| match side {
            Side::A => Role::A,
            Side::B => Role::B,
        });
        let exchange = exchange_dir.map(|folder| Way::Exchange { folder, role });
        let agreement = partnership.map(|partnership| partnership.agreement().document());
        connect
            .map(Way::Connect)
            .or(listen.map(Way::Listen))
            .or(relay.map(Way::Relay))
            .or(exchange)
            .or_else(|| Way::agreed(agreement?, me.fingerprint()))
    }

    /// The files of this side that a result must not replace.
    fn protected(&self) -> Vec<Protected> {
        let figures =
            vesica::files::figures_file().map(|path| Protected::new("the calibration", path));
        let identity = Protected::new("the identity", &self.identity);
        [identity].into_iter().chain(figures).chain(self.of_project.iter().cloned()).collect()
    }
}

pub fn format(name: &str) -> Result<Format, String> {
    terms::choice(name, Format::ALL, Format::name)
}

/// A time for which a person might wait.
pub fn seconds(text: &str) -> Result<Duration, String> {
    const LONGEST: f64 = 30.0 * 86400.0;
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=LONGEST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("a number of seconds from 0.1 to 2592000".to_owned()),
    }
}
