//! Published lists: publishing one, and looking up a table's keys.

use std::time::Duration;

use pyo3::{prelude::*, types::PyDict};
use vesica::{
    Result, Source,
    files::{Destination, MatchedTable},
    lists::{Asked, Found, ListOrigin, LookUp, Origin, Published, Subscription, look_up},
    spec,
};
use vesica_net::{CancelToken, Fingerprint};

use crate::{
    errors,
    identity::Identity,
    request::{input, specified},
    run::{Cancel, observed},
    table::{self, Table},
};

/// The result of a lookup.
#[pyclass(frozen, module = "vesica._native", get_all)]
pub struct LookedUp {
    /// The rows, if they are in memory.
    rows: Option<Py<Table>>,
    /// Distinct keys of the table.
    keys: u64,
    /// Keys that are in the list.
    matches: u64,
    /// Rows written.
    written: u64,
    /// Keys in the list whose labels cannot be read and count as missing.
    unreadable: u64,
    /// Whether the lookup had more keys than the number for which the list bounds wrong answers.
    beyond_promise: bool,
}

/// Makes or updates a list from a table, and returns the result as JSON.
///
/// # Errors
/// The package's exceptions, and what `observer` or a signal's handler raises.
#[pyfunction]
pub fn publish(
    table: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    identity: &Identity,
    observer: &Bound<'_, PyAny>,
    cancel: &Cancel,
) -> PyResult<String> {
    let py = table.py();
    let source = table::source(table)?;
    let mut list: spec::List = specified(options)?;
    list.input = input(&source);
    let job = list.to_publication(Some(source)).map_err(|error| errors::of_spec(py, &error))?;
    let (me, token) = (identity.0.clone(), cancel.token());
    let published = observed(observer, cancel, move |observer| {
        vesica::lists::publish(&job, &me, &observer, &token, &mut vesica::system_rng()?)
    })?;
    let published = published.map_err(|error| errors::of(py, &error))?;
    Ok(told(&published, &identity.0.fingerprint()).to_string())
}

fn told(published: &Published, publisher: &Fingerprint) -> serde_json::Value {
    let Published { head, changes, is_whole } = published;
    serde_json::json!({
        "publisher": publisher.to_string(),
        "items": head.items,
        "added": changes.added,
        "removed": changes.removed,
        "evaluated": changes.evaluated,
        "is_whole": is_whole,
        "epoch": head.epoch,
        "version": head.sequence(),
        "bytes": head.file_bytes(),
        "tag_bits": head.tag_bits,
        "queries": head.queries,
        "lambda": head.lambda,
        "capacity": head.capacity,
        "issued": head.issued,
        "expires": head.expires,
        "state": head.state.to_string(),
    })
}

/// Looks up the keys of a table in a list.
///
/// # Errors
/// The package's exceptions, and what `observer` or a signal's handler raises.
#[pyfunction]
pub fn lookup(
    table: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    token: Option<String>,
    observer: &Bound<'_, PyAny>,
    cancel: &Cancel,
) -> PyResult<LookedUp> {
    let py = table.py();
    let source = table::source(table)?;
    let rows = MatchedTable::default();
    let mut spec: spec::Lookup = specified(options)?;
    spec.table.0.input = input(&source);
    let output = match options.contains("output")? {
        true => spec.result.output.clone().into(),
        false => Destination::Memory(rows.clone()),
    };
    let ready = ready(&spec, source, output, token, cancel.token());
    let (job, mut origin, subscription) = ready.map_err(|error| errors::of_spec(py, &error))?;
    let found = observed(observer, cancel, move |observer| {
        look_up(&job, &mut origin, &subscription, &observer, &mut vesica::system_rng()?)
    })?;
    let Found { keys, matches, rows: written, unreadable, beyond_promise, .. } =
        found.map_err(|error| errors::of(py, &error))?;
    let rows = rows.take().map(|rows| Py::new(py, Table(rows))).transpose()?;
    Ok(LookedUp { rows, keys, matches, written, unreadable, beyond_promise })
}

fn ready(
    spec: &spec::Lookup,
    source: Source,
    output: Destination,
    token: Option<String>,
    cancel: CancelToken,
) -> spec::Result<(LookUp, Stoppable, Subscription)> {
    let job = spec.to_look_up(Some(source), output)?;
    let ask = spec.list.ask.as_deref();
    let place = ListOrigin::new(spec.place()?, ask, spec.publisher()?, token)?;
    Ok((job, Stoppable { place, cancel }, spec.subscription()?))
}

/// A list's origin that fails once the lookup is cancelled.
struct Stoppable {
    place: ListOrigin,
    cancel: CancelToken,
}

fn go_on(cancel: &CancelToken, phase: &'static str) -> Result<()> {
    match cancel.is_cancelled() {
        true => Err(vesica_net::Error::Cancelled { phase }.into()),
        false => Ok(()),
    }
}

impl Origin for Stoppable {
    fn text(&mut self, name: &str, longest: usize) -> Result<String> {
        go_on(&self.cancel, "fetch")?;
        self.place.text(name, longest)
    }

    fn bytes(
        &mut self,
        name: &str,
        from: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let Self { place, cancel } = self;
        place.bytes(name, from, &mut |bytes| {
            go_on(cancel, "fetch")?;
            take(bytes)
        })
    }

    fn ask(&mut self, epoch: u64, question: &[u8], answer_bytes: usize) -> Result<Asked> {
        go_on(&self.cancel, "ask")?;
        self.place.ask(epoch, question, answer_bytes)
    }

    fn pause(&mut self, time: Duration) -> Result<()> {
        go_on(&self.cancel, "ask")?;
        self.place.pause(time)
    }
}
