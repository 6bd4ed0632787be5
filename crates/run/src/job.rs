//! The whole job: a table in, an agreed run with the other side, a table out.

mod ending;
mod fitness;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use rand::CryptoRng;
use vesica_agree::{
    choice::PlannerInputs,
    joint::{self, JointTerms},
    offer::Offer,
    rule_terms::RuleTerms,
    terms::Terms,
};
use vesica_core::{
    error::{Error, InputFault, Misuse, Result},
    observe::{Observer, Progress, Unit},
    parties::{Parties, Role, Security},
};
use vesica_keyset::{
    key::{Duplicates, KeyColumn, Nulls},
    query_columns::{QueryColumns, Slot},
    reading::Reading,
    table_keys::TableKeys,
};
use vesica_net::{CancelToken, Channel};
use vesica_partner::partnership::Partnership;
use vesica_select::{Declaration, Declared, Keys};
use vesica_table::{
    database,
    destination::Destination,
    format::Format,
    formulas::Formulas,
    input::{Columns, Input},
    output::{Access, Output},
    results::ResultTable,
    rows::Table,
    source::{Delimiter, Dialect, Source},
    stage,
    target::{self, Protected},
};
use vesica_task::{interface::WantedRows, query::ResultForm};

pub use self::ending::finish;

use self::ending::stage;
use crate::{
    diagnosis::Diagnosis,
    journal::{Journal, Resume, Run},
    meet::noted,
    report::Report,
    seat::Seat,
    session::{Computed, Others, Session, Setting},
    shortfall::Shortfall,
    standing::Standing,
};

/// One side's part of a run: its table, offer and output.
#[derive(Debug, Clone)]
pub struct Job {
    /// The table.
    pub input: Source,
    /// Its format; `None` to recognise it by its content, or else by its name.
    pub format: Option<Format>,
    /// The separator of its fields, in delimited text.
    pub delimiter: Delimiter,
    /// The directory for input from a pipe that does not fit into memory; `None` for the output's directory, or the
    /// temporary one.
    pub spill: Option<PathBuf>,
    /// The journal from which an interrupted run resumes; `None` to start over instead.
    pub resume: Option<Resume>,
    /// The names of the key columns, in the order of [`Offer::keys`].
    pub columns: Vec<String>,
    /// Whether random keys that match nothing fill up the set, so that its size says only how many rows the table has.
    pub pad_keys: bool,
    /// The last rule by which matched rows are written, counted from 1; `None` for all.
    pub min_rule: Option<u8>,
    /// The name of this side's column of values, if it has one.
    pub values: Option<String>,
    /// The treatment of rows without a key, and of empty values.
    pub nulls: Nulls,
    /// The treatment of rows that have the same key.
    pub duplicates: Duplicates,
    /// Whether a table without rows is accepted.
    pub allow_empty: bool,
    /// The offer to the other side.
    pub offer: Offer,
    /// The destination of this side's result, if it gets one.
    pub output: Option<Destination>,
    /// The columns of matched rows to write, in this order; `None` for all columns in their own order.
    pub select: Option<Vec<String>>,
    /// In a join, on the receiving side: whether unmatched rows are written too, with the received columns empty.
    pub unmatched: bool,
    /// In a join, on the receiving side: the treatment of received texts that begin like formulas, in delimited text.
    pub formulas: Formulas,
    /// The file for the report.
    pub report: Option<PathBuf>,
    /// Files that no result may replace, such as this side's identity. The input and the results themselves
    /// need not be listed.
    pub protected: Vec<Protected>,
    /// The number of threads that compute; 0 takes one per processor.
    pub threads: usize,
    /// The planner's knowledge of this machine and the link.
    pub planner: PlannerInputs,
    /// The agreement under which the run takes place, if there is one; [`Offer::agreement`] names it too.
    pub partnership: Option<Partnership>,
    /// The parties of a run among several, and this party's number.
    pub seat: Option<Seat>,
}

/// A job that is ready to run: its input is open and has the columns that the job names.
pub struct Ready {
    job: Job,
    input: Input,
}

impl Ready {
    /// Returns the destination of this side's result, if it gets one.
    pub(crate) fn output(&self) -> Option<&Destination> {
        self.job.output.as_ref()
    }

    /// Returns the agreement under which the run takes place, if there is one.
    pub(crate) fn partnership(&self) -> Option<Partnership> {
        self.job.partnership.clone()
    }

    /// Returns the journal, if the run keeps one.
    pub(crate) fn resume(&self) -> Option<&Resume> {
        self.job.resume.as_ref()
    }

    /// Returns the file for the record of the run, if one is wanted.
    pub(crate) fn record(&self) -> Option<&Path> {
        self.job.partnership.as_ref()?.record.as_deref()
    }
}

impl Job {
    /// Creates a job on this table with these key columns, in the order of [`Offer::keys`]. Everything else has its
    /// default: fields separated by commas, rows without a key skipped, no values, no files written.
    pub fn new<T: Into<String>>(
        input: Source,
        columns: impl IntoIterator<Item = T>,
        offer: Offer,
    ) -> Self {
        Self {
            input,
            format: None,
            delimiter: Delimiter::Comma,
            spill: None,
            resume: None,
            columns: columns.into_iter().map(Into::into).collect(),
            pad_keys: false,
            min_rule: None,
            values: None,
            nulls: Nulls::default(),
            duplicates: Duplicates::default(),
            allow_empty: false,
            offer,
            output: None,
            select: None,
            unmatched: false,
            formulas: Formulas::default(),
            report: None,
            protected: Vec::new(),
            threads: 0,
            planner: PlannerInputs::default(),
            partnership: None,
            seat: None,
        }
    }

    /// Refuses a job that cannot succeed, before the other side is contacted.
    ///
    /// # Errors
    /// [`Error::Usage`], and [`Error::Output`] if a result could not be written.
    pub fn check(&self) -> Result<()> {
        self.check_files()?;
        match &self.seat {
            Some(seat) => {
                joint::check(&self.offer, &seat.cast, seat.me)?;
                if self.resume.is_some() && self.offer.security == Security::Malicious {
                    // Nothing ties a party to the same set in two attempts.
                    let message = "among several parties a run against malicious ones cannot be resumed: leave out --resume";
                    return Err(Error::usage(Misuse::Resume, message));
                }
            }
            None => self.offer.check()?,
        }
        if self.columns.len() != self.offer.keys.len() {
            return Err(Error::usage(
                Misuse::Key,
                "the offer needs one normalisation for each key column",
            ));
        }
        if self.values.is_some() != self.offer.brings_values {
            return Err(Error::usage(
                Misuse::Query,
                "set `Job::values` if and only if `Offer::brings_values` is set",
            ));
        }
        if let Some(name) = &self.offer.protocol
            && self.offer.query.method(name).is_some_and(|method| !method.splits())
        {
            let refused = |what| {
                Err(Error::usage(Misuse::Resume, format!("runs of `{name}` cannot be {what}")))
            };
            if self.resume.is_some() {
                return refused("resumed");
            }
            if self.planner.partitions > 1 {
                return refused("divided into partitions");
            }
        }
        let is_whole = self.offer.rules.is_some() && self.offer.query.kind.hides_rules();
        if is_whole && (self.planner.partitions > 1 || self.resume.is_some()) {
            let message = "numbers, shares and linked rows by rules compare whole sets, because a row has keys in several partitions: leave out \
                           --partitions and --resume";
            return Err(Error::usage(Misuse::Resume, message));
        }
        if self.resume.is_some() && matches!(self.input, Source::Arrow { .. }) {
            let message = "a run with a journal reads its table from a file, not from memory";
            return Err(Error::usage(Misuse::Resume, message));
        }
        let mut rest = &self.columns[..];
        for columns in &self.offer.identifiers {
            // The offer has as many columns as its identifiers together.
            let (identifier, others) = rest.split_at(usize::from(*columns));
            not_twice("key", identifier)?;
            rest = others;
        }
        if self.offer.rules.is_none() {
            not_twice("key", rest)?;
        }
        self.check_min_rule()?;
        let under = self.partnership.as_ref().map(|partnership| partnership.agreement().hash());
        if self.offer.agreement != under {
            let message = "the offer and the job must name the same agreement, or both none";
            return Err(Error::usage(Misuse::Agreement, message));
        }
        not_twice("selected", self.select.as_deref().unwrap_or_default())?;
        self.check_join()?;
        let query = &self.offer.query;
        if query.result_form() == ResultForm::File && self.output.is_none() {
            let query = query.describe();
            return Err(Error::usage(Misuse::Output, format!("{query} need an output file")));
        }
        Ok(())
    }

    /// Refuses results that cannot be written, or that would replace a protected file. If this succeeds, the report may
    /// be written to its file.
    ///
    /// # Errors
    /// As [`Job::check`].
    pub fn check_files(&self) -> Result<()> {
        let journal = self.resume.as_ref().map(|resume| resume.journal.clone());
        let record = self.partnership.as_ref().and_then(|partnership| partnership.record.clone());
        let results = [
            ("the output", self.output.as_ref().and_then(Destination::path)),
            ("the report", self.report.as_deref()),
            ("the journal", journal.as_deref()),
            ("the record", record.as_deref()),
        ];
        let results: Vec<_> = results
            .into_iter()
            .filter_map(|(what, path)| Some(Protected::new(what, path?)))
            .collect();
        let is_address = |path: &Path| database::address(path).is_some();
        let query = &self.offer.query;
        let holds_table = query.kind.keeps_rows || query.result_form() == ResultForm::Table;
        let is_table = self.output.as_ref().is_some_and(|to| to.path().is_none_or(is_address));
        if self.report.as_deref().is_some_and(is_address) || is_table && !holds_table {
            let message = "a table of a database or in memory can only hold matched rows or the answer to a query: name a file for this result";
            return Err(Error::usage(Misuse::Output, message));
        }
        let mut protected = self.protected.clone();
        protected.extend(self.partnership.iter().flat_map(Partnership::files));
        target::check(&results, &protected, Some(&self.input))?;
        if let Some(to) = &self.output {
            Output::to(to, self.offer.query.kind.access)?;
        }
        if let Some(path) = &self.report {
            Output::prepare(path, Access::Usual)?;
        }
        Ok(())
    }

    /// Checks everything that can be known before the other side is contacted: that the job can succeed, and that its
    /// input exists and has the columns that the job names. Waits until the header can be read.
    ///
    /// # Errors
    /// As [`Job::check`], and [`Error::Input`].
    pub fn prepare(self) -> Result<Ready> {
        let partnership = self.partnership.clone();
        noted(self.open(), partnership.as_ref())
    }

    /// Does the same as [`Job::prepare`], but gives up when the token is cancelled, even while it waits for the writer
    /// of a pipe.
    ///
    /// # Errors
    /// As [`Job::prepare`], and [`vesica_net::Error::Cancelled`].
    pub fn prepare_unless(self, cancel: &CancelToken) -> Result<Ready> {
        const POLL: Duration = Duration::from_millis(20);
        let (done, waiting) = mpsc::sync_channel(1);
        thread::spawn(move || {
            // Nobody receives this if the run was cancelled first.
            let _ = done.send(self.prepare());
        });
        loop {
            match waiting.recv_timeout(POLL) {
                Ok(ready) => return ready,
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    return Err(vesica_net::Error::Cancelled { phase: "read" }.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::bug("the input could not be opened"));
                }
            }
        }
    }

    fn open(self) -> Result<Ready> {
        self.check()?;
        if let Some(partnership) = &self.partnership {
            let journal = self.resume.as_ref().map(Journal::line).transpose()?;
            partnership.check(journal.flatten())?;
        }
        let most_bytes = self.planner.memory;
        let spill = Some(self.directory());
        let dialect = Dialect { format: self.format, delimiter: self.delimiter, most_bytes, spill };
        let input = self.input.clone().open(dialect)?;
        if input.is_empty() && !self.allow_empty {
            return Err(input.fault(InputFault::Empty { header: !input.header().is_missing() }));
        }
        let declared = self.offer.table.iter().filter_map(|table| table.declared.as_ref());
        let declared = declared.flat_map(Declared::columns).map(Declaration::name);
        let columns = self.columns.iter().chain(&self.values).map(String::as_str).chain(declared);
        input.require(&columns.collect::<Vec<_>>())?;
        if let Some(sent) = &self.offer.sends {
            let columns = self.columns.iter().chain(&sent.columns).map(String::as_str);
            input.require_to_send(&columns.collect::<Vec<_>>())?;
        }
        if let Some(select) = &self.select {
            // With the key columns, which show that the first line is a header.
            let columns = self.columns.iter().chain(select).map(String::as_str);
            input.require_to_select(&columns.collect::<Vec<_>>())?;
        } else if self.output.is_some() && self.offer.query.kind.keeps_rows {
            input.require_to_write()?;
        }
        let path = self.output.as_ref().and_then(Destination::path);
        if let Some(path) = path.filter(|_| self.offer.query.kind.keeps_rows) {
            stage::check_name(path, input.format())?;
        }
        let format = match (self.offer.query.result_form(), path) {
            (ResultForm::Table, Some(path)) => ResultTable::format(path),
            _ => input.format(),
        };
        if self.formulas == Formulas::Escape && format != Format::CSV {
            let message = "formulas are escaped in CSV only, and the output has another format";
            return Err(Error::usage(Misuse::Output, message));
        }
        Ok(Ready { job: self, input })
    }

    /// Returns the settings for reading the table.
    fn reading(&self, terms: &Terms, role: Role, standing: &Standing) -> Result<Reading> {
        let rules = self.offer.rules.as_ref();
        let ambiguous = rules.map(RuleTerms::ambiguous).unwrap_or_default();
        let rules = rules.map(|rules| rules.on(&self.columns, &self.offer.keys)).transpose()?;
        // A helper among several parties has no table of the query.
        let selection = terms.selection().filter(|_| self.offer.table.is_some());
        let query = selection.and_then(|selection| selection.columns(role));
        // By rules, equal rows of a side whose numbers are not taken count as one.
        let is_taken = |columns: &&QueryColumns| {
            rules.is_none() || columns.slots().iter().any(|slot| *slot != Slot::Row)
        };
        let query_keys = query.as_ref().filter(is_taken).map(QueryColumns::keys);
        let is_unique = query_keys == Some(Keys::Unique);
        Ok(Reading {
            keys: self.key_columns(),
            identifiers: self.offer.identifiers.clone(),
            rules: rules.map(Arc::new),
            ambiguous,
            tokens: standing.token_secret(),
            pad: self.pad_keys,
            null_values: self.offer.null_values.clone(),
            values: self.values.clone().map(|column| (column, self.offer.scale)),
            query: query.map(Arc::new),
            sends: self.offer.sends.clone(),
            nulls: self.nulls,
            duplicates: if is_unique { Duplicates::Error } else { self.duplicates },
            memory: self.planner.memory,
            spill: Some(self.directory()),
            // A profile is made whenever this side asks for one, so that a hint can explain why none was compared.
            profile: self.offer.diagnose,
            survey: false,
            sketch: self.partnership.as_ref().map(Partnership::sketch_secret),
        })
    }

    /// The directory for what does not fit into memory.
    fn directory(&self) -> PathBuf {
        let beside_output = || target::directory(self.output.as_ref()?.path()?);
        self.spill.clone().or_else(beside_output).unwrap_or_else(std::env::temp_dir)
    }

    fn key_columns(&self) -> Vec<KeyColumn> {
        let named = self.columns.iter().cloned().zip(&self.offer.keys);
        named.map(|(name, normalize)| KeyColumn { name, normalize: normalize.clone() }).collect()
    }
}

/// Refuses columns of this kind if one is named twice.
fn not_twice(kind: &str, columns: &[String]) -> Result<()> {
    let twice = columns.iter().enumerate().find(|(i, name)| columns[..*i].contains(name));
    twice.map_or(Ok(()), |(_, name)| {
        Err(Error::usage(Misuse::Key, format!("{kind} column `{name}` is named twice")))
    })
}

/// Runs the job with the party at the other end of the channel, and fills in `report`. If the run fails, the other side
/// is informed, no result is written, and the report says why; the caller writes the report. Returns faults that occur
/// after the results are in place.
///
/// # Errors
/// See [`Error`].
pub fn run(
    job: Ready,
    parties: &Parties,
    channel: &mut Channel,
    observer: Arc<dyn Observer>,
    rng: &mut (dyn CryptoRng + Send),
    report: &mut Report,
) -> Result<Vec<Shortfall>> {
    report.set_parties(parties);
    let place = |path: &Path| path.display().to_string();
    report.output = job.job.output.as_ref().and_then(Destination::path).map(place);
    report.record = job.record().map(place);
    let standing = Standing::new(job.partnership(), job.job.resume.as_ref());
    let ended = standing.and_then(|standing| {
        let others = Others::Peer(&mut *channel);
        let ended = attempt(job, parties, others, observer.clone(), rng, report, &standing);
        if let Err(error) = &ended
            && let Err(unnoted) = standing.failed(error)
        {
            observer.warning(&unnoted.to_string());
        }
        ended
    });
    if let Err(error) = &ended {
        if let Some(reason) = error.abort_reason() {
            channel.abort(reason);
        }
        report.set_costs(channel.meter());
        report.fail(error.class(), error.to_string());
    }
    ended
}

/// Attempts the run of a job.
///
/// # Errors
/// See [`Error`].
pub(crate) fn attempt(
    Ready { job, input }: Ready,
    parties: &Parties,
    others: Others<'_>,
    observer: Arc<dyn Observer>,
    rng: &mut (dyn CryptoRng + Send),
    report: &mut Report,
    standing: &Standing,
) -> Result<Vec<Shortfall>> {
    let planner = job.planner.clone();
    let setting = Setting {
        offer: &job.offer,
        standing: standing.clone(),
        parties,
        inputs: &planner,
        threads: job.threads,
        observer: observer.clone(),
    };
    let mut session = Session::begin(setting, others)?;
    report.set_terms(session.terms());
    report.agreement = session.agreement();
    let (table, mut keys, diagnosis) = read(&mut session, input, &job, observer.clone(), report)?;
    // A side that copies no rows has no further use for its table.
    let table = (session.learns() && job.offer.query.kind.keeps_rows).then_some(table);
    let spill = job.directory();
    let run_keys = keys.len();
    let run = Run {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        terms: session.joint_terms().map_or_else(|| session.terms().hash(), JointTerms::hash),
        input: report.input.as_ref().map(|input| input.digest.clone()),
        rows: keys.counts().read,
        keys: run_keys,
    };
    standing.describe(run, keys.take_sketch());
    let wanted = WantedRows { unmatched: job.unmatched, last_rule: job.min_rule };
    let computed = session.compute(keys, wanted, &spill, rng)?;
    let Computed { protocol, adversary, peer_items, partitions, attempts, found, sizes } = computed;
    report.attempts = standing.sessions();
    report.partitions = Some(partitions);
    report.set_protocol(protocol, adversary);
    report.peer_items = Some(peer_items);
    report.set_sizes(sizes.as_deref());
    report.false_matches = standing.false_matches(run_keys, peer_items);
    report.outcome = found.outcome;

    session.phase("finish");
    let staged = match found.content {
        Some(content) => stage(&mut session, &job, table, content, observer, report)?,
        None => None,
    };
    finish(session, job.report, report, diagnosis, staged, attempts)
}

/// Reads the table while the other side reads its own, and warns of anything its owner should know.
fn read(
    session: &mut Session<'_>,
    input: Input,
    job: &Job,
    observer: Arc<dyn Observer>,
    report: &mut Report,
) -> Result<(Table, TableKeys, Diagnosis)> {
    session.phase("read");
    let reading = job.reading(session.terms(), session.role(), session.standing())?;
    let keys = job.columns.clone();
    let query = reading.query.as_ref().map(|columns| columns.names()).unwrap_or_default();
    let values = job.values.iter().map(String::as_str).chain(query);
    let values: Vec<_> = values.map(str::to_owned).collect();
    let sent = job.offer.sends.as_ref().map(|sent| sent.columns.clone()).unwrap_or_default();
    let select = job.select.clone().unwrap_or_default();
    let (types, scan) = session.meanwhile(move || {
        let [keys, values, sent, select] = [&keys, &values, &sent, &select]
            .map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
        let types = input.header().sent_types(&sent).map_err(|fault| input.fault(fault))?;
        let columns = Columns { keys: &keys, values: &values, sent: &sent, select: &select };
        Ok((types, input.read_columns(columns)?))
    })?;
    session.set_sent_types(types);
    let (allow_empty, standing) = (job.allow_empty, session.standing().clone());
    let (table, keys, rules, diagnosis) = session.meanwhile(move || {
        let header = !scan.header().is_missing();
        let show = |done, fraction| {
            let fraction = Some(fraction);
            observer.progress(Progress { done, unit: Unit::Rows, total: None, fraction });
        };
        let (table, mut keys, findings) = TableKeys::read(scan, &reading, show)?;
        standing.expect(&findings.rules);
        if !allow_empty {
            findings.require_keys(&table, header)?;
        }
        findings.warnings.iter().for_each(|warning| observer.warning(warning));
        let diagnosis = Diagnosis::new(&findings, reading.keys.len(), keys.take_profile());
        Ok((table, keys, findings.rules, diagnosis))
    })?;
    report.set_rules(&rules);
    report.input = table.digest().cloned();
    report.rows = Some(keys.counts());
    report.items = Some(keys.len());
    Ok((table, keys, diagnosis))
}
