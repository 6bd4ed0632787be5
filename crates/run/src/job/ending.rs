//! The end of a run: its result is staged, written and shown together with the other side.

use std::{path::PathBuf, sync::Arc};

use vesica_core::{
    error::{Error, Result},
    observe::{Observer, Progress, Unit},
};
use vesica_table::{
    formulas::Findings,
    output::{Output, Staged},
    rows::Table,
    stage,
};
use vesica_task::interface::Content;

use super::Job;
use crate::{diagnosis::Diagnosis, report::Report, session::Session, shortfall::Shortfall};

/// The last steps, which both sides take together.
const STAGED: &str = "vesica/staged";
const WRITTEN: &str = "vesica/written";

/// Ends the run together with the other side. No result appears on either side before both sides' results are on their
/// disks. Then streams are written, since that may fail and cannot be undone. Then files get their names; after a side
/// has confirmed that, only its report can still fail. A side that has nothing to write says so at once, so that the
/// other need not wait for it.
pub fn finish(
    mut session: Session<'_>,
    report_to: Option<PathBuf>,
    report: &mut Report,
    diagnosis: Diagnosis,
    result: Option<Staged>,
    attempts: Option<u64>,
) -> Result<Vec<Shortfall>> {
    let (hints, shown) = session.diagnose(diagnosis, &report.outcome)?;
    report.hints = hints;
    let standing = session.standing().clone();
    match session.joint_terms() {
        Some(terms) => report.disclose_jointly(terms, standing.match_rules())?,
        None => report.disclose(shown, standing.match_rules())?,
    }
    let has_nothing = result.is_none() && !standing.is_recorded();
    session.say(STAGED)?;
    if has_nothing {
        session.say(WRITTEN)?;
    }
    session.hear(STAGED)?;
    let signed = match session.joint_terms() {
        Some(_) => session.sign_jointly(report)?,
        None => {
            let (terms, channel) = session.parts();
            standing.sign(attempts, report, terms, channel)?
        }
    };
    let (record, line) = signed.unzip();
    report.ledger = line;
    let file = session.meanwhile(move || result.map_or(Ok(None), Staged::write_stream))?;
    if !has_nothing {
        session.say(WRITTEN)?;
    }
    session.hear(WRITTEN)?;
    let shown = file.map(Staged::show).transpose()?;
    // From here on the result is in place.
    let unkept = shown.and_then(|shown| shown.keep().err());
    let (meter, unconfirmed) = session.close();
    // If the other side did not confirm, it may need this side again.
    if unconfirmed.is_none() {
        standing.complete();
    }
    report.set_costs(&meter);
    report.succeed();
    let unconfirmed = unconfirmed.map(Shortfall::Unconfirmed);
    report.unconfirmed = unconfirmed.as_ref().map(ToString::to_string);
    let recorded = record.map_or(Ok(()), |record| standing.keep(&record));
    let unrecorded = recorded.err().map(Shortfall::Record);
    let reported = report_to.map(|path| report.stage(&path).and_then(Staged::show));
    let (unreported, also_unkept) = match reported {
        Some(Ok(shown)) => (None, shown.keep().err()),
        Some(Err(error)) => (Some(Shortfall::Report(error)), None),
        None => (None, None),
    };
    let unkept = unkept.or(also_unkept).map(Shortfall::Unkept);
    Ok(unconfirmed.into_iter().chain(unkept).chain(unrecorded).chain(unreported).collect())
}

/// Writes the result to a file that does not have its name yet.
pub(super) fn stage(
    session: &mut Session<'_>,
    job: &Job,
    table: Option<Table>,
    content: Content,
    observer: Arc<dyn Observer>,
    report: &mut Report,
) -> Result<Option<Staged>> {
    let Some(to) = job.output.clone() else { return Ok(None) };
    let (access, select) = (job.offer.query.kind.access, job.select.clone());
    let formulas = job.formulas;
    let (staged, found) = session.meanwhile(move || {
        let output = Output::to(&to, access)?;
        match (content, table) {
            (Content::Rows(mut rows), Some(table)) => {
                let found = stage::watch_formulas(&to, &table, &mut rows, formulas);
                let all = rows.rows.len() as u64;
                let done = |done| observer.progress(Progress::of(done, all, Unit::Rows));
                let staged = stage::rows(&to, output, &table, &rows, select.as_deref(), done)?;
                Ok((staged, found.map(Findings::into_columns).unwrap_or_default()))
            }
            (Content::Rows(_), None) => Err(Error::bug("the table was not kept")),
            (Content::Table(table), _) => stage::results(&to, output, table, formulas),
            (Content::Text(write), _) => Ok((output.stage(|out| write(out))?, Vec::new())),
        }
    })?;
    report.formulas = found;
    Ok(Some(staged))
}
