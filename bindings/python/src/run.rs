//! Runs on a separate thread, while Python's thread forwards its messages and checks for signals.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use pyo3::{prelude::*, types::PyDict};
use vesica::{
    Class, Error, Observer, Parties, Report, Role, joint,
    report::{Progress, Unit, described, waited_for},
};
use vesica_net::{
    CancelToken, Channel,
    connect::{Event, Meeting},
};

use crate::{
    errors,
    identity::Identity,
    local::{self, LocalEnd},
    request::{self, Other, Run},
    table::{self, Table},
};

/// Stops a run from another thread.
#[pyclass(frozen, module = "vesica._native")]
#[derive(Default)]
pub struct Cancel(CancelToken);

impl Cancel {
    /// Returns the token that stops it.
    pub fn token(&self) -> CancelToken {
        self.0.clone()
    }
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn cancel(&self) {
        self.0.cancel();
    }
}

/// The result of a successful run.
#[pyclass(frozen, module = "vesica._native", get_all)]
pub struct Ended {
    /// The report, as JSON.
    report: String,
    /// The matched rows, if this side has them in memory.
    rows: Option<Py<Table>>,
    /// Problems that occurred after this side's result was complete.
    shortfalls: Vec<String>,
}

/// A message from a run.
enum Said {
    Phase(&'static str),
    Progress(Progress),
    Waiting(String),
    Warning(String),
    /// The state of the connection to the other side.
    Meeting(String),
}

/// Runs a job. Meanwhile it reports events to `observer`: a kind, a text and, for progress, the amount done, the total
/// and the unit.
///
/// # Errors
/// The package's exceptions, and exceptions of `observer` or a signal's handler. In that case the run has ended in
/// order.
#[pyfunction]
pub fn run(
    table: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    identity: Option<Py<Identity>>,
    local: Option<Py<LocalEnd>>,
    observer: &Bound<'_, PyAny>,
    cancel: &Cancel,
) -> PyResult<Ended> {
    let py = table.py();
    let source = table::source(table)?;
    let identity = identity.map(|identity| identity.get().0.clone());
    let ready = request::run(source, request::specified(options)?, identity, local);
    let ready = ready.map_err(|error| errors::of_spec(py, &error))?;
    let rows = ready.rows.clone();
    let report_file = ready.job.report.clone();
    let token = cancel.token();
    let ended = aside(observer, cancel, move |said| {
        let mut report = Report::begin();
        let attempt = || attempt(ready, &said, &token, &mut report);
        let ended = panic::catch_unwind(AssertUnwindSafe(attempt))
            .unwrap_or(Err(Error::bug("a worker thread panicked, see the message above")));
        if let Err(error) = &ended {
            report.fail(error.class(), error.to_string());
            // The error that ended the run is the one to report.
            if let Some(path) = &report_file {
                let _ = report.stage(path).and_then(|staged| staged.commit());
            }
        }
        (ended, report.to_json().unwrap_or_default())
    });
    let (ended, report) = ended?;
    match ended {
        Ok(shortfalls) => Ok(Ended {
            report,
            rows: rows.take().map(|rows| Py::new(py, Table(rows))).transpose()?,
            shortfalls,
        }),
        Err(error) => Err(errors::exception(py, error.class(), &error.to_string(), Some(report))),
    }
}

/// Works on another thread, and forwards the work's messages to its observer.
///
/// # Errors
/// Exceptions of `observer` or a signal's handler, once the work has ended, and `BugError` if the work panics.
pub fn observed<T: Send + 'static>(
    observer: &Bound<'_, PyAny>,
    cancel: &Cancel,
    work: impl FnOnce(Arc<dyn Observer>) -> T + Send + 'static,
) -> PyResult<T> {
    aside(observer, cancel, |said| work(Arc::new(Speaker(said))))
}

fn aside<T: Send + 'static>(
    observer: &Bound<'_, PyAny>,
    cancel: &Cancel,
    work: impl FnOnce(Sender<Said>) -> T + Send + 'static,
) -> PyResult<T> {
    let py = observer.py();
    let (said, hear) = mpsc::channel();
    let running = thread::spawn(move || work(said));
    let interrupted = listen(observer, hear, cancel);
    let ended = py.detach(|| running.join());
    interrupted?;
    ended.map_err(|_| errors::exception(py, Class::Bug, "internal error", None))
}

/// Forwards the run's messages until it has ended. An exception stops the run.
fn listen(observer: &Bound<'_, PyAny>, mut hear: Receiver<Said>, cancel: &Cancel) -> PyResult<()> {
    let py = observer.py();
    let mut raised = Ok(());
    loop {
        let (back, next) = py.detach(move || {
            let next = next(&hear);
            (hear, next)
        });
        hear = back;
        let done = match next {
            Err(RecvTimeoutError::Disconnected) => return raised,
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(_) if raised.is_err() => Ok(()),
            Ok(said) => said.iter().try_for_each(|said| tell(observer, said)),
        };
        if let Err(error) = done.and_then(|()| py.check_signals()) {
            cancel.0.cancel();
            raised = raised.and(Err(error));
        }
    }
}

/// Returns the run's messages since the last call, without outdated progress.
fn next(hear: &Receiver<Said>) -> Result<Vec<Said>, RecvTimeoutError> {
    const POLL: Duration = Duration::from_millis(50);
    let mut all = vec![hear.recv_timeout(POLL)?];
    for said in hear.try_iter() {
        if let (Some(Said::Progress(before)), Said::Progress(now)) = (all.last_mut(), &said) {
            *before = *now;
        } else {
            all.push(said);
        }
    }
    Ok(all)
}

fn tell(observer: &Bound<'_, PyAny>, said: &Said) -> PyResult<()> {
    type Numbers = (Option<u64>, Option<u64>, Option<&'static str>);
    let nothing: Numbers = (None, None, None);
    let (kind, text, (done, total, unit)) = match said {
        Said::Phase(phase) => ("phase", described(phase), nothing),
        Said::Waiting(text) => ("waiting", text.clone(), nothing),
        Said::Warning(text) => ("warning", text.clone(), nothing),
        Said::Meeting(text) => ("meeting", text.clone(), nothing),
        Said::Progress(progress) => {
            let unit = match progress.unit {
                Unit::Rows => "rows",
                Unit::Bytes => "bytes",
                Unit::Partitions => "partitions",
            };
            let predicted = || {
                let fraction = progress.fraction.filter(|fraction| *fraction > 0.0)?;
                Some((progress.done as f64 / fraction) as u64)
            };
            let total = progress.total.or_else(predicted);
            ("progress", String::new(), (Some(progress.done), total, Some(unit)))
        }
    };
    observer.call1((kind, text, done, total, unit)).map(drop)
}

/// Runs a job. Returns the problems that occurred after the result was complete.
fn attempt(
    run: Run,
    said: &Sender<Said>,
    cancel: &CancelToken,
    report: &mut Report,
) -> vesica::Result<Vec<String>> {
    let Run { job, spec, other, .. } = run;
    let (connection, partnership) = (&spec.connection, job.partnership.clone());
    let (mine, its) = match &other {
        Other::Local(end) => {
            let role = end.get().role;
            (local::name(role).to_owned(), Some(local::name(role.other()).to_owned()))
        }
        Other::Remote { me, peer, .. } => (me.fingerprint().to_string(), Some(peer.to_string())),
        Other::Circle { me, .. } => (me.fingerprint().to_string(), None),
    };
    report.fingerprints.me = Some(mine.clone());
    report.fingerprints.peer.clone_from(&its);
    let ready = job.prepare_unless(cancel)?;
    let rng = &mut vesica::system_rng()?;
    let observer = Arc::new(Speaker(said.clone()));
    let tell = |event: &Event<'_>| met(event, said);
    let meeting = |me, peer| Meeting {
        me,
        peer,
        wait: connection.wait,
        stall: connection.stall_timeout,
        proxy: connection.proxy.as_ref(),
        cancel,
        observer: &tell,
    };
    let limited = |channel: Channel| {
        channel
            .with_stall_timeout(connection.stall_timeout)
            .with_deadline(connection.deadline)
            .with_cancel_token(cancel.clone())
    };
    let (role, channel): (Role, Channel) = match &other {
        Other::Local(end) => (end.get().role, end.get().meet(connection.wait, cancel)?),
        Other::Remote { me, peer, way } => way.meet(&meeting(me, peer), partnership.as_ref())?,
        Other::Circle { me, seat } => {
            let print = me.fingerprint();
            let agreed = partnership.as_ref();
            let (venue, members) = (spec.venue(agreed), spec.members(agreed));
            let mut all = venue.meet(seat, &members, &meeting(me, &print), agreed)?;
            all.channels = all.channels.into_iter().map(limited).collect();
            let ended = joint::run(ready, seat, &mut all.channels, observer, rng, report);
            all.part();
            return Ok(ended?.iter().map(ToString::to_string).collect());
        }
    };
    let parties = Parties { role, me: mine, peer: its.unwrap_or_default() };
    let mut channel = limited(channel);
    let shortfalls = vesica::run(ready, &parties, &mut channel, observer, rng, report)?;
    Ok(shortfalls.iter().map(ToString::to_string).collect())
}

/// Reports the state of the connection to the other side.
fn met(event: &Event<'_>, said: &Sender<Said>) {
    let text = match event {
        Event::Listening { address } => format!("listening on {address}"),
        Event::Waiting { place, left, .. } => {
            format!("waiting up to {:.0} s for the other side at {place}", left.as_secs_f64())
        }
        Event::TurnedAway { why } => format!("turned a caller away and still waiting: {why}"),
        _ => return,
    };
    // Nobody receives this after the call has ended.
    let _ = said.send(Said::Meeting(text));
}

/// An observer that forwards a run's events.
struct Speaker(Sender<Said>);

impl Observer for Speaker {
    fn phase(&self, name: &'static str) {
        let _ = self.0.send(Said::Phase(name));
    }

    fn progress(&self, progress: Progress) {
        let _ = self.0.send(Said::Progress(progress));
    }

    fn waiting(&self, phase: &'static str, since: Duration) {
        let text = format!("{} for {:.0} s", waited_for(phase), since.as_secs_f64());
        let _ = self.0.send(Said::Waiting(text));
    }

    fn warning(&self, text: &str) {
        let _ = self.0.send(Said::Warning(text.to_owned()));
    }
}
