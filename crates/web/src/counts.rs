//! What a service counts of itself: numbers alone, of all clients together.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::{limits::Refusal, refused::Refused};

/// Why questions and requests are refused.
const REASONS: [&str; 7] =
    ["malformed", "too-many", "token", "epoch", "limit", "limit-of-all", "busy"];

/// Counters of a service, which goes on counting.
#[derive(Debug, Default)]
pub struct Counts {
    questions: AtomicU64,
    keys: AtomicU64,
    microseconds: AtomicU64,
    refused: [AtomicU64; REASONS.len()],
    turned_away: AtomicU64,
    file_bytes: AtomicU64,
    connected: AtomicU64,
    waiting: AtomicU64,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// Questions that were answered.
    pub questions: u64,
    /// Keys in them.
    pub keys: u64,
    /// From a question's last byte to its answer, summed up.
    pub time: Duration,
    /// Questions and requests that were refused, by reason.
    pub refused: Vec<(&'static str, u64)>,
    /// Connections that were closed at once, because there were too many or they came too fast.
    pub turned_away: u64,
    /// Bytes of the list's files that were sent.
    pub file_bytes: u64,
    /// Connections at the moment.
    pub connected: u64,
    /// Questions that wait for their answer at the moment.
    pub waiting: u64,
}

impl Counts {
    /// The numbers as they are.
    pub fn read(&self) -> Counted {
        let refused = REASONS.into_iter().zip(&self.refused);
        Counted {
            questions: self.questions.load(Relaxed),
            keys: self.keys.load(Relaxed),
            time: Duration::from_micros(self.microseconds.load(Relaxed)),
            refused: refused.map(|(reason, count)| (reason, count.load(Relaxed))).collect(),
            turned_away: self.turned_away.load(Relaxed),
            file_bytes: self.file_bytes.load(Relaxed),
            connected: self.connected.load(Relaxed),
            waiting: self.waiting.load(Relaxed),
        }
    }

    pub(crate) fn answered(&self, keys: usize, time: Duration) {
        self.questions.fetch_add(1, Relaxed);
        self.keys.fetch_add(keys as u64, Relaxed);
        self.microseconds.fetch_add(time.as_micros() as u64, Relaxed);
    }

    pub(crate) fn refused(&self, why: Refused) {
        let reason = match why {
            Refused::Malformed | Refused::Forwarded => 0,
            Refused::TooMany => 1,
            Refused::NoToken => 2,
            Refused::Epoch(_) => 3,
            Refused::Limit(Refusal::Client(_) | Refusal::Never) => 4,
            Refused::Limit(Refusal::All(_)) => 5,
            Refused::Busy => 6,
        };
        self.refused[reason].fetch_add(1, Relaxed);
    }

    pub(crate) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Relaxed);
    }

    pub(crate) fn sent(&self, bytes: u64) {
        self.file_bytes.fetch_add(bytes, Relaxed);
    }

    /// A connection, until what is returned is dropped.
    pub(crate) fn connected(&self) -> Present<'_> {
        Present::new(&self.connected)
    }

    /// A question that waits, until what is returned is dropped.
    pub(crate) fn waiting(&self) -> Present<'_> {
        Present::new(&self.waiting)
    }
}

/// Something that is counted while it is there.
pub(crate) struct Present<'a>(&'a AtomicU64);

impl<'a> Present<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
