//! Two connected ends in one process, for tutorials and tests.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use pyo3::prelude::*;
use vesica::{Result, Role};
use vesica_net::{
    CancelToken, Channel, Error,
    transport::memory::{self, Memory},
};

use crate::errors;

/// One of two ends in this process. Each run consists of one call with each end.
#[pyclass(frozen, module = "vesica._native")]
pub struct LocalEnd {
    pub role: Role,
    place: Arc<Place>,
}

/// The meeting place of the two ends.
#[derive(Default)]
struct Place {
    state: Mutex<LocalState>,
    changed: Condvar,
}

#[derive(Default)]
struct LocalState {
    /// The first end's half of the connection, left for the second.
    left: Option<Memory>,
    /// The calls of both ends.
    calls: [LocalCall; 2],
}

/// The current or last call of an end.
#[derive(Default)]
struct LocalCall {
    is_running: bool,
    /// Whether it met the other end, or gave up because the other end failed.
    has_met: bool,
    /// Time at which the call ended without having met the other end.
    failed: Option<Instant>,
}

/// Time after a failure during which a new call of the other end fails, too. The calls of a pair begin together, so a
/// later one is a new attempt.
const TOGETHER: Duration = Duration::from_secs(3);

/// Creates two connected ends.
#[pyfunction]
pub fn local_pair() -> (LocalEnd, LocalEnd) {
    let place = Arc::<Place>::default();
    (LocalEnd { role: Role::A, place: place.clone() }, LocalEnd { role: Role::B, place })
}

#[pymethods]
impl LocalEnd {
    #[getter]
    fn name(&self) -> &'static str {
        name(self.role)
    }

    /// Begins a call with this end.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        let call = &mut self.place.lock().calls[index(self.role)];
        if call.is_running {
            return Err(errors::usage(
                py,
                format!("{} is in use by a call that has not ended", self.name()),
            ));
        }
        *call = LocalCall { is_running: true, ..LocalCall::default() };
        Ok(())
    }

    /// Ends the call. If it has not met the other end, the other end stops waiting.
    fn end(&self) {
        let state = &mut *self.place.lock();
        let call = &mut state.calls[index(self.role)];
        call.is_running = false;
        call.failed = (!call.has_met).then(Instant::now);
        self.place.changed.notify_all();
    }
}

/// Returns the name of an end in reports.
pub fn name(role: Role) -> &'static str {
    match role {
        Role::A => "local end A",
        Role::B => "local end B",
    }
}

fn index(role: Role) -> usize {
    match role {
        Role::A => 0,
        Role::B => 1,
    }
}

impl LocalEnd {
    /// Meets the other end.
    ///
    /// # Errors
    /// [`Error::Origin`] if the other end's call has failed, and errors of the network if this call is cancelled or the
    /// other end does not arrive in time.
    pub fn meet(&self, wait: Duration, cancel: &CancelToken) -> Result<Channel> {
        let met = match self.role {
            Role::A => {
                let (mine, theirs) = memory::pair();
                self.place.lock().left = Some(theirs);
                self.place.changed.notify_all();
                let taken = self.until(wait, cancel, |left| left.is_none().then_some(()));
                if taken.is_err() {
                    self.place.lock().left = None;
                }
                taken.map(|()| mine)
            }
            Role::B => self.until(wait, cancel, Option::take),
        };
        self.place.changed.notify_all();
        Ok(Channel::new(met?))
    }

    /// Waits until `look` returns a value.
    fn until<T>(
        &self,
        wait: Duration,
        cancel: &CancelToken,
        mut look: impl FnMut(&mut Option<Memory>) -> Option<T>,
    ) -> Result<T> {
        const POLL: Duration = Duration::from_millis(20);
        let began = Instant::now();
        let (mine, its) = (index(self.role), index(self.role.other()));
        let mut state = self.place.lock();
        loop {
            if let Some(found) = look(&mut state.left) {
                state.calls[mine].has_met = true;
                return Ok(found);
            }
            if state.calls[its].failed.take().is_some_and(|when| when.elapsed() < TOGETHER) {
                state.calls[mine].has_met = true;
                return Err(vesica::Error::Origin {
                    place: name(self.role.other()).to_owned(),
                    fault: "its call ended before it met this one; its own error says why"
                        .to_owned(),
                });
            }
            if cancel.is_cancelled() {
                return Err(Error::Cancelled { phase: "connect" }.into());
            }
            if began.elapsed() >= wait {
                return Err(Error::Stalled { phase: "connect", after: wait }.into());
            }
            let waited = self.place.changed.wait_timeout(state, POLL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Place {
    fn lock(&self) -> MutexGuard<'_, LocalState> {
        // Each assignment leaves the state consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
