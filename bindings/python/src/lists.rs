//! Published lists: publishing one, and looking up a table's keys.

use std::{path::PathBuf, time::Duration};

use pyo3::{prelude::*, types::PyDict};
use rand::{
    SeedableRng,
    rngs::{StdRng, SysRng},
};
use vesica::{
    Error, Misuse, Result, Source,
    files::{Destination, Formulas, MatchedTable, Nulls},
    lists::{
        Asked, Found, ListOrigin, LookUp, Origin, Published, Subscription, lists_cache, look_up,
    },
    spec,
};
use vesica_net::{CancelToken, Fingerprint};

use crate::{
    errors,
    identity::Identity,
    request::{dialect, input, key_columns, specified},
    run::{Cancel, observed},
    table::{self, Table},
};

/// The publisher of a list, and the options of a lookup.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LookupRequest {
    list: String,
    ask: Option<String>,
    publisher: String,
    token: Option<String>,
    cache: Option<PathBuf>,
    all: bool,
    budget: u64,
    batch: usize,
    output: Option<PathBuf>,
}

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

fn usage<T>(message: &str) -> spec::Result<T> {
    Err(Error::usage(Misuse::Argument, message).into())
}

fn random() -> Result<StdRng> {
    StdRng::try_from_rng(&mut SysRng)
        .map_err(|_| Error::bug("the operating system gives no randomness"))
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
        vesica::lists::publish(&job, &me, &observer, &token, &mut random()?)
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
    asking: LookupRequest,
    observer: &Bound<'_, PyAny>,
    cancel: &Cancel,
) -> PyResult<LookedUp> {
    let py = table.py();
    let source = table::source(table)?;
    let rows = MatchedTable::default();
    let ready = asking.ready(specified(options)?, source, rows.clone(), cancel.token());
    let (job, mut origin, subscription) = ready.map_err(|error| errors::of_spec(py, &error))?;
    let found = observed(observer, cancel, move |observer| {
        look_up(&job, &mut origin, &subscription, &observer, &mut random()?)
    })?;
    let Found { keys, matches, rows: written, unreadable, beyond_promise, .. } =
        found.map_err(|error| errors::of(py, &error))?;
    let rows = rows.take().map(|rows| Py::new(py, Table(rows))).transpose()?;
    Ok(LookedUp { rows, keys, matches, written, unreadable, beyond_promise })
}

impl LookupRequest {
    fn ready(
        self,
        spec: spec::Job,
        source: Source,
        rows: MatchedTable,
        cancel: CancelToken,
    ) -> spec::Result<(LookUp, Stoppable, Subscription)> {
        if !(1..=vesica::lists::MAX_QUESTION).contains(&self.batch) {
            return usage("batch must be a number of keys from 1 to 4096");
        }
        if spec.table.key.len() > 1 {
            return usage("a list has one identifier; name one key");
        }
        let publisher = self.publisher.parse();
        let publisher: Fingerprint = publisher.map_err(|error| {
            Error::usage(Misuse::Argument, format!("the publisher's fingerprint: {error}"))
        })?;
        let place = ListOrigin::new(&self.list, self.ask.as_deref(), publisher, self.token)?;
        let Some(cache) = self.cache.or_else(lists_cache) else {
            return usage("name a directory for lists with cache");
        };
        let job = LookUp {
            dialect: dialect(&spec, &source),
            input: spec.table.source(Some(source))?,
            columns: key_columns(&spec)?,
            null_values: spec.terms.null_values.unwrap_or_default(),
            nulls: Nulls::Skip,
            output: match self.output {
                Some(path) => Destination::Path(path),
                None => Destination::Memory(rows),
            },
            all: self.all,
            formulas: Formulas::default(),
            batch: self.batch,
        };
        let subscription = Subscription { publisher, cache, budget: Some(self.budget) };
        Ok((job, Stoppable { place, cancel }, subscription))
    }
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
