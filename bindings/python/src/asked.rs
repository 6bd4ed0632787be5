//! What is asked of one table, or of none.

use std::{sync::mpsc, thread, time::Duration};

use pyo3::prelude::*;
use vesica::{
    Error, Misuse,
    files::{PlannerInputs, figures},
    planning::Prospect,
};

use crate::{
    errors,
    request::{Asked, Keys},
    table,
};

/// What a run would make of a table, as JSON.
///
/// # Errors
/// The package's exceptions, and what a signal's handler raises.
#[pyfunction]
pub fn check(table: &Bound<'_, PyAny>, keys: Keys) -> PyResult<String> {
    let py = table.py();
    let source = table::source(table)?;
    let found = meanwhile(py, move || {
        let (columns, null_values) = (keys.key_columns()?, keys.null_values()?);
        let (source, dialect) = (keys.source(source)?, keys.dialect()?);
        vesica::check(source, dialect, &columns, &keys.identifiers(), &null_values)
    })?;
    let found = found.map_err(|error| errors::of(py, &error))?;
    Ok(serde_json::to_string(&found).unwrap_or_default())
}

/// What a run is predicted to take, as JSON, and what a published list takes. The sizes are those of this side and the
/// other, and how many times one asks; the limits are the bandwidth in bits per second, the round trip in seconds, and the
/// memory in bytes.
///
/// # Errors
/// The package's exceptions.
#[pyfunction]
pub fn plan(
    py: Python<'_>,
    sizes: (usize, usize, u64),
    asked: Asked,
    limits: (Option<u64>, f64, Option<u64>),
) -> PyResult<String> {
    let ((mine, theirs, runs), (bandwidth, round_trip, memory)) = (sizes, limits);
    let planned = || {
        if !(0.0..=1e3).contains(&round_trip) {
            return Err(Error::usage(
                Misuse::Argument,
                "a round trip takes from 0 to 1000 seconds",
            ));
        }
        if runs == 0 {
            return Err(Error::usage(Misuse::Argument, "runs is a number from 1 on"));
        }
        vesica::plan(&Prospect {
            offer: asked.offer(Vec::new())?,
            mine,
            theirs,
            runs,
            round_trip: Duration::from_secs_f64(round_trip),
            prices: Default::default(),
            planner: PlannerInputs {
                figures: figures()?,
                bits_per_second: bandwidth,
                memory,
                ..PlannerInputs::default()
            },
        })
    };
    let plan = py.detach(planned).map_err(|error| errors::of(py, &error))?;
    Ok(serde_json::to_string(&plan).unwrap_or_default())
}

/// Works on a thread of its own, which is left to itself when a signal's handler raises.
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
                let error = Error::bug("the place is in the line before");
                return Err(errors::of(py, &error));
            }
        }
    }
}
