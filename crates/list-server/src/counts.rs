//! Counters of the service: only totals over all clients.

use std::{sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::{limits::Rejection, refused::Refused};

/// The reasons for which questions and requests are refused.
const REASONS: [&str; 7] =
    ["malformed", "too-many", "token", "epoch", "limit", "limit-of-all", "busy"];

/// Counters of the service, which survive a reload of the list.
#[derive(Debug)]
pub struct Counts {
    /// Answered questions.
    pub questions: Counter,
    /// Keys in answered questions.
    pub keys: Counter,
    /// Total time from the last byte of each question to its answer.
    pub seconds: Counter<f64, AtomicU64>,
    /// Refused questions and requests, by reason.
    refused: Family<[(&'static str, &'static str); 1], Counter>,
    /// Connections closed at once, because there were too many or they came too fast.
    pub turned_away: Counter,
    /// Bytes of list files sent.
    pub file_bytes: Counter,
    /// Open connections.
    pub connected: Gauge,
    /// Questions waiting for their answers.
    pub waiting: Gauge,
}

impl Default for Counts {
    fn default() -> Self {
        let counts = Self {
            questions: Counter::default(),
            keys: Counter::default(),
            seconds: Counter::default(),
            refused: Family::default(),
            turned_away: Counter::default(),
            file_bytes: Counter::default(),
            connected: Gauge::default(),
            waiting: Gauge::default(),
        };
        // Shows each reason even before its first refusal.
        REASONS.iter().for_each(|reason| drop(counts.refused(reason)));
        counts
    }
}

impl Counts {
    /// Adds the counters to a registry.
    pub fn register(&self, registry: &mut Registry) {
        let Self { questions, keys, seconds, refused, turned_away, file_bytes, connected, waiting } =
            self;
        let help = "Questions answered";
        registry.register("list_questions", help, questions.clone());
        registry.register("list_keys", "Keys in answered questions", keys.clone());
        let help = "Total time from the last byte of each answered question to its answer";
        registry.register("list_question_seconds", help, seconds.clone());
        let help = "Questions and other requests refused, by reason";
        registry.register("list_refused", help, refused.clone());
        let help = "Connections closed at once because there were too many or they came too fast";
        registry.register("list_turned_away", help, turned_away.clone());
        let help = "Bytes of list files sent";
        registry.register("list_file_bytes", help, file_bytes.clone());
        registry.register("list_connected", "Open connections", connected.clone());
        let help = "Questions waiting for their answers";
        registry.register("list_waiting", help, waiting.clone());
    }

    /// Returns the counter of refusals for this reason.
    pub fn refused(&self, reason: &'static str) -> Counter {
        self.refused.get_or_create_owned(&[("reason", reason)])
    }

    pub(crate) fn answered(&self, keys: usize, time: Duration) {
        self.questions.inc();
        self.keys.inc_by(keys as u64);
        self.seconds.inc_by(time.as_secs_f64());
    }

    pub(crate) fn refuse(&self, why: Refused) {
        let reason = match why {
            Refused::Malformed | Refused::Forwarded => "malformed",
            Refused::TooMany => "too-many",
            Refused::NoToken => "token",
            Refused::Epoch(_) => "epoch",
            Refused::Limit(Rejection::Client(_) | Rejection::Never) => "limit",
            Refused::Limit(Rejection::All(_)) => "limit-of-all",
            Refused::Busy => "busy",
        };
        self.refused(reason).inc();
    }
}

/// Keeps a gauge raised by one until it is dropped.
pub(crate) struct Present(Gauge);

impl Present {
    pub(crate) fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.dec();
    }
}
