//! The counters of a service of runs.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use vesica::{Class, Report};

use super::Service;
use crate::{
    exit::Failure,
    metrics::{publish, registry},
};

/// Counters of a service of runs.
#[derive(Default)]
pub struct Metrics {
    /// Runs by job and outcome.
    runs: Family<[(&'static str, String); 2], Counter>,
    pub turned_away: Counter,
    seconds: Counter<f64, AtomicU64>,
    bytes_sent: Counter,
    bytes_received: Counter,
    running: Gauge,
    waiting: Gauge,
    connected: Gauge,
}

impl Metrics {
    /// Counts a run that ended, with a failure or without one.
    pub fn ended(&self, job: &str, failure: Option<Class>, report: &Report) {
        let outcome = match failure {
            None => "succeeded".to_owned(),
            Some(class) => format!("{class:?}").to_lowercase(),
        };
        self.runs.get_or_create(&[("job", job.to_owned()), ("outcome", outcome)]).inc();
        self.seconds.inc_by(report.seconds);
        self.bytes_sent.inc_by(report.bytes_sent);
        self.bytes_received.inc_by(report.bytes_received);
    }

    fn registry(&self) -> Registry {
        let mut all = registry();
        all.register("runs", "Runs that ended, by job and outcome", self.runs.clone());
        all.register("running", "Runs at the moment", self.running.clone());
        all.register("waiting", "Partners waiting for their turn", self.waiting.clone());
        all.register("connected", "Partners who are connected", self.connected.clone());
        all.register("turned_away", "Callers who were turned away", self.turned_away.clone());
        all.register("run_seconds", "Time of runs that ended", self.seconds.clone());
        all.register("sent_bytes", "Bytes sent in runs", self.bytes_sent.clone());
        all.register("received_bytes", "Bytes received in runs", self.bytes_received.clone());
        all
    }
}

/// Shows the counters of a service of runs, until the program ends.
pub fn publish_runs(place: &str, service: Arc<Service>) -> Result<(), Failure> {
    let registry = service.metrics.registry();
    publish(place, registry, move || {
        let Service { metrics, turns, connected, .. } = &*service;
        metrics.running.set(turns.running() as i64);
        metrics.waiting.set(turns.waiting() as i64);
        metrics.connected.set(connected.load(Ordering::Relaxed) as i64);
    })
}
