//! The calls of a cluster's driver and tasks.
//!
//! Keys are passed as bytes, 32 for each, because record batches store their columns like this.

use std::{sync::Arc, thread, time::Duration};

use pyo3::{prelude::*, types::PyBytes};
use vesica::{
    Error, Source,
    cluster::{Ended, Failed, Gateway, Here, Keys, Sketched, Tasks},
};
use vesica_net::CancelToken;

use crate::{errors, table};

/// One side's gateway, as seen from its cluster.
#[pyclass(frozen, module = "vesica._native")]
pub struct ClusterGateway {
    gateway: Gateway,
    cancel: CancelToken,
}

fn raised(py: Python<'_>, failed: Failed) -> PyErr {
    errors::exception(py, failed.class, &failed.message, failed.report)
}

/// Splits bytes into keys.
fn keys_of<'a>(py: Python<'_>, bytes: &'a [u8]) -> PyResult<&'a [[u8; 32]]> {
    match bytes.as_chunks() {
        (keys, []) => Ok(keys),
        _ => Err(errors::usage(py, "keys have 32 bytes each")),
    }
}

impl ClusterGateway {
    /// Works on another thread, and stops if a signal's handler raises.
    fn meanwhile<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Gateway) -> Result<T, Failed> + Send + 'static,
    ) -> PyResult<T> {
        const POLL: Duration = Duration::from_millis(20);
        let gateway = self.gateway.clone();
        let running = thread::spawn(move || work(&gateway));
        let mut interrupted = Ok(());
        while !running.is_finished() {
            py.detach(|| thread::sleep(POLL));
            if interrupted.is_ok() {
                interrupted = py.check_signals();
                if interrupted.is_err() {
                    self.cancel.cancel();
                }
            }
        }
        let ended = running.join();
        interrupted?;
        match ended {
            Ok(ended) => ended.map_err(|failed| raised(py, failed)),
            Err(_) => {
                Err(errors::of(py, &Error::bug("a worker thread panicked, see the message above")))
            }
        }
    }
}

/// The result of a run: its report, its record, and problems that occurred after the result was complete.
type HowItEnded = (String, Option<String>, Vec<String>);

#[pymethods]
impl ClusterGateway {
    #[new]
    fn new(py: Python<'_>, address: String, token: &str, wait: f64) -> PyResult<Self> {
        let token = token.parse().map_err(|what: &str| errors::usage(py, what))?;
        if !(0.1..=2_592_000.0).contains(&wait) {
            return Err(errors::usage(py, "wait must be a number of seconds from 0.1 to 2592000"));
        }
        let (cancel, wait) = (CancelToken::default(), Duration::from_secs_f64(wait));
        let gateway = Gateway::new(address, Arc::new(token), wait, cancel.clone());
        Ok(Self { gateway, cancel })
    }

    /// Cancels the current request.
    fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Returns how tasks make keys, the number of columns of a key, and whether this side learns the result.
    fn keys(&self, py: Python<'_>) -> PyResult<(String, usize, bool)> {
        let keys = self.meanwhile(py, Gateway::keys)?;
        Ok((keys.text(), keys.columns(), keys.learns()))
    }

    /// Reports the numbers of rows, of rows without a key and of distinct keys, and the sketches of the parts. Returns
    /// the work for tasks, the name of the run, the number of partitions, and the number of completed partitions.
    fn work(
        &self,
        py: Python<'_>,
        counts: [u64; 3],
        sketches: Vec<String>,
    ) -> PyResult<(String, String, u32, u32)> {
        let sketch = Sketched::together(sketches).map_err(|error| errors::of(py, &error))?;
        let tasks = self.meanwhile(py, move |gateway| gateway.work(counts, sketch))?;
        Ok((tasks.text(), tasks.name(), tasks.partitions(), tasks.done()))
    }

    /// Returns the next partition for a slot, or None if there are no more.
    fn next(&self, py: Python<'_>, slot: u32) -> PyResult<Option<u32>> {
        self.meanwhile(py, move |gateway| gateway.next(slot))
    }

    /// Reports that a partition's result has been stored.
    fn kept(&self, py: Python<'_>, slot: u32, partition: u32) -> PyResult<()> {
        self.meanwhile(py, move |gateway| gateway.kept(slot, partition))
    }

    /// Sends a heartbeat, and reports whether all results have been stored. Returns whether the gateway was restarted,
    /// and the result of the run if it has ended.
    fn here(&self, py: Python<'_>, is_staged: bool) -> PyResult<(bool, Option<HowItEnded>)> {
        Ok(match self.meanwhile(py, move |gateway| gateway.here(is_staged))? {
            Here::Waits => (false, None),
            Here::Again => (true, None),
            Here::Ended(Ended { report, record, shortfalls }) => {
                (false, Some((report, record, shortfalls)))
            }
        })
    }

    /// Reports to a restarted gateway which slots are busy with which partitions.
    fn again(&self, py: Python<'_>, busy: Vec<(u32, u32)>) -> PyResult<()> {
        self.meanwhile(py, move |gateway| gateway.again(&busy))
    }

    /// Reports that the cluster cannot continue.
    fn stop(&self, py: Python<'_>, reason: String) -> PyResult<()> {
        self.meanwhile(py, move |gateway| gateway.stop(&reason))
    }

    /// Compares a partition. Returns the positions of the shared keys, as 32-bit numbers.
    fn compare<'py>(
        &self,
        py: Python<'py>,
        work: &str,
        partition: u32,
        keys: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let tasks = Tasks::of_text(work).map_err(|error| errors::of(py, &error))?;
        let keys = keys_of(py, keys)?.to_vec();
        let found = self.meanwhile(py, move |gateway| gateway.compare(&tasks, partition, &keys))?;
        Ok(numbers(py, &found))
    }
}

fn numbers<'py>(py: Python<'py>, all: &[u32]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = all.iter().flat_map(|number| number.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Returns the digest of each row's key, and a byte of 1 for each row with a key and 0 for each row without.
///
/// # Errors
/// The package's exceptions.
#[pyfunction]
pub fn cluster_digests<'py>(
    table: &Bound<'py, PyAny>,
    keys: &str,
    columns: Vec<String>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let py = table.py();
    let Source::Arrow { table, .. } = table::source(table)? else {
        return Err(errors::usage(py, "the table must be in memory"));
    };
    let made = py.detach(|| Keys::of_text(keys)?.digests(table, &columns));
    let made = made.map_err(|error| errors::of(py, &error))?;
    let has: Vec<u8> = made.iter().map(|digest| u8::from(digest.is_some())).collect();
    let digests: Vec<u8> = made.iter().flat_map(|digest| digest.unwrap_or([0; 32])).collect();
    Ok((PyBytes::new(py, &digests), PyBytes::new(py, &has)))
}

/// Returns the sketch of these distinct keys, as text.
///
/// # Errors
/// The package's exceptions.
#[pyfunction]
pub fn cluster_sketch(py: Python<'_>, keys: &str, digests: &[u8]) -> PyResult<String> {
    let digests = keys_of(py, digests)?;
    let made = py.detach(|| Keys::of_text(keys)?.sketch(digests));
    made.map(|sketch| sketch.text()).map_err(|error| errors::of(py, &error))
}

/// Returns the partition of each of these keys, as 32-bit numbers.
///
/// # Errors
/// The package's exceptions.
#[pyfunction]
pub fn cluster_partitions<'py>(
    py: Python<'py>,
    work: &str,
    digests: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let digests = keys_of(py, digests)?;
    let made = py.detach(|| Tasks::of_text(work)?.partitions_of(digests));
    made.map(|all| numbers(py, &all)).map_err(|error| errors::of(py, &error))
}
