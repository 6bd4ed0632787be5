//! Answering callers during a run: a second process of the other side learns that the run has begun, instead of finding
//! the connection closed, and connections that the run asks for are admitted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    connection::{Connection, Connections},
    reception::{Admitted, PAUSE, Reception},
};
use crate::{CancelToken, Error, Result, meter::PARALLEL, transport::POLL_INTERVAL};

/// The interval between two polls of the listener during a run while nobody calls.
const PAUSE_IN_A_RUN: Duration = Duration::from_millis(100);

/// Answers callers during a run, until it is dropped.
pub(super) struct Porter {
    stop: Arc<AtomicBool>,
    /// The number of connections that are still expected.
    expected: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
    /// The connections that were admitted.
    admitted: Receiver<Connection>,
}

impl Porter {
    /// Starts the porter; `None` if no thread can be started, and then callers find the port closed.
    pub(super) fn start(mut reception: Reception) -> Option<Self> {
        let (stop, expected) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, more) = (stop.clone(), expected.clone());
        let (admit, admitted) = mpsc::channel();
        let answer = move || {
            while !stopped.load(Ordering::Relaxed) {
                reception.parallel = more.load(Ordering::Relaxed);
                if let Some(Admitted { connection, .. }) = reception.turn(true, &mut drop) {
                    more.fetch_sub(1, Ordering::Relaxed);
                    // In a run that has ended, nobody waits for it.
                    let _ = admit.send(connection);
                }
                let idle = reception.is_empty() && reception.parallel == 0;
                thread::park_timeout(if idle { PAUSE_IN_A_RUN } else { PAUSE });
            }
        };
        let thread = thread::Builder::new().name("vesica-porter".to_owned()).spawn(answer).ok()?;
        Some(Self { stop, expected, thread: Some(thread), admitted })
    }

    /// Admits the other side once more.
    fn expect_parallel(&self) {
        self.expected.fetch_add(1, Ordering::Relaxed);
        self.thread.iter().for_each(|thread| thread.thread().unpark());
    }
}

impl Connections for Porter {
    fn next(
        &mut self,
        patience: Duration,
        cancel: &CancelToken,
        is_there: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Connection> {
        self.expect_parallel();
        let started = Instant::now();
        loop {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled { phase: PARALLEL });
            }
            match self.admitted.recv_timeout(POLL_INTERVAL) {
                Ok(connection) => return Ok(connection),
                Err(RecvTimeoutError::Timeout) if started.elapsed() < patience => is_there()?,
                Err(_) => return Err(Error::Stalled { phase: PARALLEL, after: patience }),
            }
        }
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A porter that panicked leaves nothing to repair.
            drop(thread.join());
        }
    }
}
