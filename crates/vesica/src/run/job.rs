//! The whole job: a table in, an agreed run with the other side, a table out.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use rand::CryptoRng;
use vesica_net::Channel;

use crate::{
    agree::{choice::PlannerInputs, offer::Offer},
    error::{Error, InputFault, Result},
    keys::{
        key::{Duplicates, KeyColumn, Nulls},
        keyset::{KeySet, Reading},
    },
    parties::Parties,
    run::{
        diagnosis::Diagnosis,
        observe::{Observer, Progress, Unit},
        report::Report,
        session::{Computed, Session},
    },
    table::{
        csv::Table,
        input::Input,
        output::{Access, Output, Staged},
        source::{Delimiter, Source},
        target::{self, Protected},
    },
    task::{interface::Content, query::ResultForm},
};

/// What one side brings to a run.
#[derive(Debug, Clone)]
pub struct Job {
    /// The table.
    pub input: Source,
    /// What separates its fields.
    pub delimiter: Delimiter,
    /// The names of the key columns, in the order of [`Offer::keys`].
    pub columns: Vec<String>,
    /// The name of the column of values for a sum, if this side brings them.
    pub values: Option<String>,
    /// What becomes of rows without a key, and of empty values.
    pub nulls: Nulls,
    /// What becomes of rows that bear the same key.
    pub duplicates: Duplicates,
    /// Whether a table without a row is all right.
    pub allow_empty: bool,
    /// What is offered to the other side.
    pub offer: Offer,
    /// Where this side's matched rows go, or the answer, if it learns them.
    pub output: Option<PathBuf>,
    /// Where the report goes.
    pub report: Option<PathBuf>,
    /// Files that no result may replace, such as this side's identity. The input and the results themselves
    /// need not be listed.
    pub protected: Vec<Protected>,
    /// Threads to compute with; 0 takes as many as there are processors.
    pub threads: usize,
    /// What the planner knows of this side's machine and link, to choose a protocol by.
    pub planner: PlannerInputs,
}

/// A job that is ready to run: its input is open and has the columns that the job names.
pub struct Ready {
    job: Job,
    input: Input,
}

/// What went wrong when this side's results were in place already. They are complete, and stay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Shortfall {
    /// The other side did not say that its results are in place; they may be or not.
    #[error(
        "the result of this side is complete and in place, but the other side did not confirm that its \
         own is: {0}"
    )]
    Unconfirmed(vesica_net::Error),
    /// The report was not written.
    #[error("the result is complete and in place, but there is no report: {0}")]
    Report(Error),
}

/// The steps of the end that both sides take together.
const STAGED: &str = "vesica/staged";
const WRITTEN: &str = "vesica/written";

impl Job {
    /// Refuses what cannot succeed, before the other side is troubled.
    ///
    /// # Errors
    /// [`Error::Usage`], and [`Error::Output`] where a result could not be written.
    pub fn check(&self) -> Result<()> {
        self.check_files()?;
        self.offer.check()?;
        if self.columns.len() != self.offer.keys.len() {
            return Err(Error::Usage("every key column needs one normalisation".to_owned()));
        }
        if self.values.is_some() != self.offer.brings_values {
            return Err(Error::Usage("values are brought where a column is named".to_owned()));
        }
        let mut rest = &self.columns[..];
        for columns in &self.offer.identifiers {
            // The offer has as many columns as its identifiers together.
            let (identifier, others) = rest.split_at(usize::from(*columns));
            not_twice(identifier)?;
            rest = others;
        }
        not_twice(rest)?;
        let query = self.offer.query;
        if query.result_form() == ResultForm::File && self.output.is_none() {
            let query = query.describe();
            return Err(Error::Usage(format!("{query} need a file that they go to")));
        }
        Ok(())
    }

    /// Refuses results that cannot be written, or would replace what they must not. Where this succeeds, a report
    /// may be written to its file.
    ///
    /// # Errors
    /// As [`Job::check`].
    pub fn check_files(&self) -> Result<()> {
        let results = [("the output", &self.output), ("the report", &self.report)];
        let results: Vec<_> = results
            .into_iter()
            .filter_map(|(what, path)| Some(Protected::new(what, path.as_ref()?)))
            .collect();
        target::check(&results, &self.protected, Some(&self.input))?;
        if let Some(path) = &self.output {
            Output::prepare(path, self.offer.query.kind.access)?;
        }
        if let Some(path) = &self.report {
            Output::prepare(path, Access::Usual)?;
        }
        Ok(())
    }

    /// Makes sure of all that can be known before the other side is troubled: that the job can succeed, and that
    /// its input is there and has the columns it should have. Waits until the header can be read.
    ///
    /// # Errors
    /// As [`Job::check`], and [`Error::Input`].
    pub fn prepare(self) -> Result<Ready> {
        self.check()?;
        let input = self.input.clone().open(self.delimiter)?;
        if input.is_empty() && !self.allow_empty {
            return Err(input.fault(InputFault::Empty { header: !input.header().is_empty() }));
        }
        let columns = self.columns.iter().chain(&self.values).map(String::as_str);
        input.require(&columns.collect::<Vec<_>>())?;
        Ok(Ready { job: self, input })
    }

    /// What is read of the table.
    fn reading(&self, profile: bool) -> Reading {
        Reading {
            keys: self.key_columns(),
            identifiers: self.offer.identifiers.clone(),
            null_values: self.offer.null_values.clone(),
            values: self.values.clone().map(|column| (column, self.offer.scale)),
            nulls: self.nulls,
            duplicates: self.duplicates,
            profile,
            survey: false,
        }
    }

    fn key_columns(&self) -> Vec<KeyColumn> {
        let named = self.columns.iter().cloned().zip(&self.offer.keys);
        named.map(|(name, normalize)| KeyColumn { name, normalize: normalize.clone() }).collect()
    }
}

/// Refuses an identifier that has a column twice.
fn not_twice(columns: &[String]) -> Result<()> {
    let twice = columns.iter().enumerate().find(|(i, name)| columns[..*i].contains(name));
    twice.map_or(Ok(()), |(_, name)| {
        Err(Error::Usage(format!("key column `{name}` is named twice")))
    })
}

/// Runs the job with the party at the other end of the channel, and says in `report` what came of it. Whatever goes
/// wrong, the other side is told, no result is written, and the report says why; it is for the caller to write. What
/// goes wrong when results are in place is returned.
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
    let ended = attempt(job, parties, channel, observer, rng, report);
    if let Err(error) = &ended {
        if let Some(reason) = error.abort_reason() {
            channel.abort(reason);
        }
        report.set_costs(channel.meter());
        report.fail(error.class(), error.to_string());
    }
    ended
}

fn attempt(
    Ready { job, input }: Ready,
    parties: &Parties,
    channel: &mut Channel,
    observer: Arc<dyn Observer>,
    rng: &mut (dyn CryptoRng + Send),
    report: &mut Report,
) -> Result<Vec<Shortfall>> {
    let planner = job.planner.clone();
    let mut session =
        Session::open(&job.offer, parties, &planner, job.threads, channel, observer.clone())?;
    report.set_terms(session.terms());
    let (table, mut set, diagnosis) = read(&mut session, input, &job, observer.clone(), report)?;
    // A side that copies no rows has no further use for its table.
    let table = (session.learns() && job.offer.query.kind.keeps_rows).then_some(table);
    let Computed { method, peer_items, found } = session.compute(&mut set, rng)?;
    report.set_protocol(method.key(), method.adversary());
    report.peer_items = Some(peer_items);
    report.outcome = found.outcome;
    report.learned = Some(found.learned);

    session.phase("finish");
    drop(set);
    let staged = match found.content {
        Some(content) => stage(&mut session, &job, table, content, observer)?,
        None => None,
    };
    finish(session, job.report, report, diagnosis, staged)
}

/// Comes to the end together with the other side. No result appears on either side before both sides'
/// results are on their disks; then whatever goes to a stream is written, since it may fail and cannot be
/// taken back; then files get their names; and a side that says so has nothing left that can fail but its
/// report.
fn finish(
    mut session: Session<'_>,
    report_to: Option<PathBuf>,
    report: &mut Report,
    diagnosis: Diagnosis,
    result: Option<Staged>,
) -> Result<Vec<Shortfall>> {
    report.hints = session.diagnose(diagnosis, report)?;
    session.together(STAGED)?;
    let file = session.meanwhile(move || result.map_or(Ok(None), Staged::write_stream))?;
    session.together(WRITTEN)?;
    file.map_or(Ok(()), Staged::commit)?;
    let (meter, unconfirmed) = session.close();
    report.set_costs(&meter);
    report.succeed();
    let unconfirmed = unconfirmed.map(Shortfall::Unconfirmed);
    report.unconfirmed = unconfirmed.as_ref().map(ToString::to_string);
    let written = report_to.map_or(Ok(()), |path| report.stage(&path)?.commit());
    let unreported = written.err().map(Shortfall::Report);
    Ok(unconfirmed.into_iter().chain(unreported).collect())
}

/// Reads the table while the other side reads its own, and warns of what its owner should know.
fn read(
    session: &mut Session<'_>,
    input: Input,
    job: &Job,
    observer: Arc<dyn Observer>,
    report: &mut Report,
) -> Result<(Table, KeySet, Diagnosis)> {
    session.phase("read");
    let scan = session.meanwhile(move || input.read())?;
    report.input = scan.text().digest().cloned();
    // A profile that nobody will see is made all the same where this side asked for it: so it knows why none is there.
    let (reading, allow_empty) = (job.reading(job.offer.diagnose), job.allow_empty);
    let (table, set, diagnosis) = session.meanwhile(move || {
        let header = !scan.header().is_empty();
        let bytes = scan.text().bytes().len() as f64;
        let show = |done, at: usize| {
            let fraction = Some((at as f64 / bytes.max(1.0)).min(1.0));
            observer.progress(Progress { done, unit: Unit::Rows, total: None, fraction });
        };
        let (table, mut set, findings) = KeySet::read(scan, &reading, show)?;
        if table.is_empty() && !allow_empty {
            return Err(table.text().fault(InputFault::Empty { header }));
        }
        findings.warnings.iter().for_each(|warning| observer.warning(warning));
        let diagnosis = Diagnosis::new(&findings, reading.keys.len(), set.take_profile());
        Ok((table, set, diagnosis))
    })?;
    report.rows = Some(set.counts());
    Ok((table, set, diagnosis))
}

/// Writes the result where it cannot be seen yet.
fn stage(
    session: &mut Session<'_>,
    job: &Job,
    table: Option<Table>,
    content: Content,
    observer: Arc<dyn Observer>,
) -> Result<Option<Staged>> {
    let Some(path) = job.output.clone() else { return Ok(None) };
    let access = job.offer.query.kind.access;
    session.meanwhile(move || {
        let output = Output::prepare(&path, access)?;
        let staged = match (content, table) {
            (Content::Rows(rows), Some(table)) => {
                output.stage(|out| copy_rows(&rows, &table, &*observer, out))
            }
            (Content::Rows(_), None) => Err(Error::Bug("the table was not kept")),
            (Content::Text(write), _) => output.stage(write),
        };
        staged.map(Some)
    })
}

/// Copies the header and these rows as they were read.
fn copy_rows(
    rows: &[u32],
    table: &Table,
    observer: &dyn Observer,
    out: &mut dyn Write,
) -> io::Result<()> {
    const SHOW_EVERY: usize = 1 << 14;
    out.write_all(&with_line_end(table.header(), table))?;
    for (done, row) in rows.iter().enumerate() {
        if done % SHOW_EVERY == 0 {
            observer.progress(Progress::of(done as u64, rows.len() as u64, Unit::Rows));
        }
        out.write_all(&with_line_end(table.row(*row as usize), table))?;
    }
    Ok(())
}

/// A row's bytes; with a line end where the text's last row has none.
fn with_line_end<'a>(bytes: &'a [u8], table: &Table) -> std::borrow::Cow<'a, [u8]> {
    if bytes.is_empty() || bytes.ends_with(b"\n") || bytes.ends_with(b"\r") {
        bytes.into()
    } else {
        [bytes, table.line_end()].concat().into()
    }
}
