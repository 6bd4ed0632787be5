//! Converts the options of a call to a `vesica::spec`, and to a run.
//!
//! This module only converts Python's types. Names, defaults and bounds come from the specification.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyMapping, PySet, PyString},
};
use serde_json::{Number, Value};
use vesica::{
    CheckedKeys, Job, Source, Way,
    files::{Destination, Dialect, KeyColumn, MatchedTable, Protected, figures, figures_file},
    joint::Seat,
    spec::{self, Around, Fault, Given, Options},
};
use vesica_net::Fingerprint;

use crate::{errors, local::LocalEnd};

/// Options for which a string is one name. In flags and in TOML, commas separate names.
const NAMES: [&str; 5] = ["key", "labels", "null-values", "select", "send"];

/// Converts the arguments of a call to a specification.
///
/// # Errors
/// `UsageError` for a [`Fault`].
pub fn specified<T: Options>(options: &Bound<'_, PyDict>) -> PyResult<T> {
    let mut given = Given::default();
    for (name, value) in options {
        let name = name.extract::<String>()?.replace('_', "-");
        match path(&value) {
            Some(path) => given.flags.push((name, vec![path])),
            None => drop(given.table.insert(name.clone(), json(&name, &value))),
        }
    }
    T::of(given).map_err(|fault| errors::usage(options.py(), fault.to_string()))
}

/// Returns a path, which need not be text.
fn path(value: &Bound<'_, PyAny>) -> Option<OsString> {
    let is_text = value.extract::<String>().is_ok();
    let may_be_path = value.is_instance_of::<PyString>() || value.hasattr("__fspath__").ok()?;
    let path = (may_be_path && !is_text).then(|| value.extract::<PathBuf>().ok()).flatten()?;
    Some(path.into_os_string())
}

fn json(name: &str, value: &Bound<'_, PyAny>) -> Value {
    match plain(value) {
        Value::String(text) if NAMES.contains(&name) => vec![text].into(),
        value => value,
    }
}

/// Returns a value as JSON. For a type that JSON does not have, returns an object, which no option accepts.
fn plain(value: &Bound<'_, PyAny>) -> Value {
    let nothing = || Value::Object(Default::default());
    if value.is_none() {
        return Value::Null;
    }
    if let Ok(text) = value.extract::<String>() {
        return text.into();
    }
    if let Ok(truth) = value.extract::<bool>() {
        return truth.into();
    }
    if let Ok(number) = value.extract::<u64>() {
        return number.into();
    }
    if let Ok(number) = value.extract::<f64>() {
        return Number::from_f64(number).map_or_else(nothing, Value::Number);
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entries = table.iter().map(|(name, value)| Some((name.extract().ok()?, plain(&value))));
        return entries.collect::<Option<_>>().map_or_else(nothing, Value::Object);
    }
    let is_unordered = value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PySet>()
        || value.cast::<PyMapping>().is_ok();
    let items = (!is_unordered).then(|| value.try_iter().ok()).flatten();
    let items = items.and_then(|items| items.map(|item| Some(plain(&item.ok()?))).collect());
    items.map_or_else(nothing, Value::Array)
}

/// Returns the value of an option in the notation of jobs, for tests.
///
/// # Errors
/// `UsageError` for a [`Fault`].
#[pyfunction]
pub fn written(options: &Bound<'_, PyDict>) -> PyResult<String> {
    let job: spec::Job = specified(options)?;
    Ok(serde_json::to_string(&job).unwrap_or_default())
}

/// Returns the JSON Schema of a job.
#[pyfunction]
pub fn job_schema() -> String {
    spec::Job::schema().to_string()
}

/// A run that is ready to start.
pub struct Run {
    pub job: Job,
    pub spec: spec::Job,
    /// The matched rows after the run, if they are returned in memory.
    pub rows: MatchedTable,
    pub other: Other,
}

/// The other side.
pub enum Other {
    /// An end in this process.
    Local(Py<LocalEnd>),
    /// A party elsewhere.
    Remote { me: Arc<vesica_net::Identity>, peer: Fingerprint, way: Way },
    /// Several parties elsewhere.
    Circle { me: Arc<vesica_net::Identity>, seat: Seat },
}

/// Returns the keys of a table, as a run would make them.
pub fn keys(job: &spec::Job) -> spec::Result<CheckedKeys> {
    let null_values = job.terms.null_values.clone().unwrap_or_default();
    if !job.terms.r#match.is_empty() {
        return Ok(CheckedKeys::of_rules(job.table.rules(&job.terms.r#match)?, null_values));
    }
    let (names, identifiers) = spec::identifiers(&job.table.key);
    let profiles = spec::profiles(names.len(), &job.terms.normalize)?;
    let column = |(name, normalize)| KeyColumn { name, normalize };
    let columns = names.into_iter().zip(profiles).map(column).collect();
    Ok(CheckedKeys { columns, identifiers, null_values, ..CheckedKeys::default() })
}

/// Returns the dialect of a table. The table's name determines the delimiter if the call does not.
pub fn dialect(job: &spec::Job, source: &Source) -> Dialect {
    let mut table = job.table.clone();
    table.input = input(source);
    table.dialect()
}

pub fn input(source: &Source) -> Option<PathBuf> {
    if let Source::File(path) = source { Some(path.clone()) } else { None }
}

/// Prepares the run of a call.
///
/// # Errors
/// Any [`spec::Error`].
pub fn run(
    source: Source,
    mut spec: spec::Job,
    identity: Option<Arc<vesica_net::Identity>>,
    local: Option<Py<LocalEnd>>,
) -> spec::Result<Run> {
    spec.table.input = input(&source);
    let nobody = Fault::Missing { options: &["identity"], purpose: "who this side is" };
    let me = || identity.clone().ok_or(spec::Error::from(nobody.clone()));
    let partnership = spec.partnership(me)?;
    let seat = match spec.parties.parties.is_empty() && partnership.is_none() {
        true => None,
        false => spec.seat(me()?.fingerprint(), partnership.as_ref())?,
    };
    let other = match (local, &seat) {
        (Some(end), _) => Other::Local(end),
        (None, Some(seat)) => Other::Circle { me: me()?, seat: seat.clone() },
        (None, None) => {
            let me = me()?;
            let peer = spec.peer(me.fingerprint(), partnership.as_ref())?;
            let way = spec.way(me.fingerprint(), partnership.as_ref())?;
            Other::Remote { me, peer, way }
        }
    };
    let rows = MatchedTable::default();
    let calibration = figures_file().map(|path| Protected::new("the calibration", path));
    let job = spec.to_run(Around {
        source: Some(source),
        // A run in one process is never resumed.
        identity: identity.filter(|_| matches!(other, Other::Remote { .. })),
        partnership,
        seat,
        figures: figures()?,
        protected: calibration.into_iter().collect(),
        // The caller's frames are not the run's.
        shares_memory: spec.resources.memory.is_some(),
        rows: Some(Destination::Memory(rows.clone())),
        number: None,
    })?;
    Ok(Run { job, spec, rows, other })
}
