//! Counters of a service: only numbers, of all clients together.

use std::{sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::{limits::Refusal, refused::Refused};

/// Why questions and requests are refused.
const REASONS: [&str; 7] =
    ["malformed", "too-many", "token", "epoch", "limit", "limit-of-all", "busy"];

/// Counters of a service, which goes on counting.
#[derive(Debug)]
pub struct Counts {
    /// Questions that were answered.
    pub questions: Counter,
    /// Keys in them.
    pub keys: Counter,
    /// From a question's last byte to its answer, summed up.
    pub seconds: Counter<f64, AtomicU64>,
    /// Questions and requests that were refused, by reason.
    refused: Family<[(&'static str, &'static str); 1], Counter>,
    /// Connections that were closed at once, because there were too many or they came too fast.
    pub turned_away: Counter,
    /// Bytes of the list's files that were sent.
    pub file_bytes: Counter,
    /// Connections at the moment.
    pub connected: Gauge,
    /// Questions that wait for their answer at the moment.
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
        // A reason is shown before it is the first time.
        REASONS.iter().for_each(|reason| drop(counts.refused(reason)));
        counts
    }
}

impl Counts {
    /// Adds the counters to those that are shown.
    pub fn register(&self, registry: &mut Registry) {
        let Self { questions, keys, seconds, refused, turned_away, file_bytes, connected, waiting } =
            self;
        let help = "Questions that were answered";
        registry.register("list_questions", help, questions.clone());
        registry.register("list_keys", "Keys in questions that were answered", keys.clone());
        let help = "Time from a question's last byte to its answer, of all that were answered";
        registry.register("list_question_seconds", help, seconds.clone());
        let help = "Questions and other requests that were refused, by reason";
        registry.register("list_refused", help, refused.clone());
        let help = "Connections that were closed at once: too many, or too fast";
        registry.register("list_turned_away", help, turned_away.clone());
        let help = "Bytes of the list's files that were sent";
        registry.register("list_file_bytes", help, file_bytes.clone());
        registry.register("list_connected", "Connections at the moment", connected.clone());
        let help = "Questions that wait for their answer at the moment";
        registry.register("list_waiting", help, waiting.clone());
    }

    /// Returns the counter of what is refused for this reason.
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
            Refused::Limit(Refusal::Client(_) | Refusal::Never) => "limit",
            Refused::Limit(Refusal::All(_)) => "limit-of-all",
            Refused::Busy => "busy",
        };
        self.refused(reason).inc();
    }
}

/// Something that is counted while it is there.
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
