//! Questions that need no run: the keys of a table, the quality of rules, and predicted costs.

use std::{sync::mpsc, thread, time::Duration};

use pyo3::{prelude::*, types::PyDict};
use vesica::{
    Error,
    files::{PlannerInputs, figures},
    planning::Prospect,
    queries::Side,
    spec,
};

use crate::{errors, request, table};

/// Describes, as JSON, how a run would treat a table.
///
/// # Errors
/// The package's exceptions, and what a signal's handler raises.
#[pyfunction]
pub fn check(table: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<String> {
    let py = table.py();
    let source = table::source(table)?;
    let job: spec::Job = request::specified(options)?;
    let found = meanwhile(py, move || {
        let keys = request::keys(&job)?;
        let dialect = request::dialect(&job, &source);
        let source = job.table.source(Some(source))?;
        Ok(vesica::check(source, dialect, &keys)?)
    })?;
    let found = found.map_err(|error: spec::Error| errors::of_spec(py, &error))?;
    Ok(serde_json::to_string(&found).unwrap_or_default())
}

/// Evaluates rules, as JSON, on two tables whose people are known, or on one that has people several times.
///
/// # Errors
/// As [`check`].
#[pyfunction]
pub fn match_quality(
    first: &Bound<'_, PyAny>,
    second: Option<&Bound<'_, PyAny>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<String> {
    let py = first.py();
    let (first, second) = (table::source(first)?, second.map(table::source).transpose()?);
    let judged: spec::Judged = request::specified(options)?;
    let found = meanwhile(py, move || vesica::match_quality(&judged, first, second))?;
    let found = found.map_err(|error| errors::of_spec(py, &error))?;
    Ok(serde_json::to_string(&found).unwrap_or_default())
}

/// Predicts, as JSON, the cost of a run with these options and the cost of a published list. The numbers
/// count the keys on this side, the keys on the other side and the lookups. The round trip is in milliseconds.
///
/// # Errors
/// The package's exceptions.
#[pyfunction]
pub fn plan(
    options: &Bound<'_, PyDict>,
    mine: usize,
    theirs: usize,
    runs: u64,
    round_trip: f64,
) -> PyResult<String> {
    let py = options.py();
    let job: spec::Job = request::specified(options)?;
    let planned = || -> spec::Result<_> {
        Ok(vesica::plan(&Prospect {
            offer: job.terms.offer(&spec::Table::default(), 1, Some(Side::A))?,
            peer_table: None,
            mine,
            theirs,
            runs,
            round_trip: Duration::from_secs_f64(round_trip / 1e3),
            prices: Default::default(),
            planner: PlannerInputs {
                figures: figures()?,
                bits_per_second: job.connection.bandwidth,
                memory: job.resources.memory,
                ..PlannerInputs::default()
            },
        })?)
    };
    let plan = py.detach(planned).map_err(|error| errors::of_spec(py, &error))?;
    Ok(serde_json::to_string(&plan).unwrap_or_default())
}

/// Works on another thread, which is abandoned if a signal's handler raises.
fn meanwhile<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    const POLL: Duration = Duration::from_millis(50);
    let (done, wait) = mpsc::sync_channel(1);
    thread::spawn(move || {
        // Nobody receives this after a signal.
        let _ = done.send(work());
    });
    let mut wait = wait;
    loop {
        let (waited, ended) = py.detach(move || {
            let ended = wait.recv_timeout(POLL);
            (wait, ended)
        });
        wait = waited;
        match ended {
            Ok(found) => return Ok(found),
            Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let error = Error::bug("a worker thread panicked, see the message above");
                return Err(errors::of(py, &error));
            }
        }
    }
}
