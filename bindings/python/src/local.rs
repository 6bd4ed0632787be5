//! Two ends in one process, for teaching and for tests.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use pyo3::prelude::*;
use vesica::Role;
use vesica_net::{
    CancelToken, Channel, Error,
    transport::memory::{self, Memory},
};

/// One of two ends in this process. Each run takes one call with either.
#[pyclass(frozen, module = "vesica._native")]
pub struct LocalEnd {
    pub role: Role,
    place: Arc<Place>,
}

/// Where the first end leaves what the second takes.
#[derive(Default)]
struct Place {
    left: Mutex<Option<Memory>>,
    changed: Condvar,
}

/// Two ends that are connected with each other.
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
}

/// What an end is called in reports.
pub fn name(role: Role) -> &'static str {
    match role {
        Role::A => "local end A",
        Role::B => "local end B",
    }
}

impl LocalEnd {
    /// Meets the other end.
    ///
    /// # Errors
    /// [`Error::Cancelled`], and [`Error::Stalled`] where the other end does not come in time.
    pub fn meet(&self, wait: Duration, cancel: &CancelToken) -> Result<Channel, Error> {
        match self.role {
            Role::A => {
                let (mine, theirs) = memory::pair();
                *self.place.lock() = Some(theirs);
                self.place.changed.notify_all();
                let taken = self.place.until(wait, cancel, |left| left.is_none().then_some(()));
                if taken.is_err() {
                    self.place.lock().take();
                }
                taken.map(|()| Channel::new(mine))
            }
            Role::B => {
                let found = self.place.until(wait, cancel, Option::take)?;
                self.place.changed.notify_all();
                Ok(Channel::new(found))
            }
        }
    }
}

impl Place {
    fn lock(&self) -> MutexGuard<'_, Option<Memory>> {
        // Each change is one assignment.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` finds something.
    fn until<T>(
        &self,
        wait: Duration,
        cancel: &CancelToken,
        mut look: impl FnMut(&mut Option<Memory>) -> Option<T>,
    ) -> Result<T, Error> {
        const POLL: Duration = Duration::from_millis(20);
        let began = Instant::now();
        let mut left = self.lock();
        loop {
            if let Some(found) = look(&mut left) {
                return Ok(found);
            }
            if cancel.is_cancelled() {
                return Err(Error::Cancelled { phase: "connect" });
            }
            if began.elapsed() >= wait {
                return Err(Error::Stalled { phase: "connect", after: wait });
            }
            let waited = self.changed.wait_timeout(left, POLL);
            left = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
