//! Health and metrics, for this machine: `/health` and `/metrics`, in the text form of OpenMetrics 1.0.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    routing::get,
    serve::Listener,
};
use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use tokio::runtime::{Builder, Runtime};
use vesica::{Class, Report};

use super::Service;
use crate::exit::{self, Failure};

/// The media type of the metrics.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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

/// Returns a registry of metrics with the prefix that all have.
pub fn registry() -> Registry {
    Registry::with_prefix("vesica")
}

/// Shows what a service of runs counts, until the program ends.
pub fn publish_runs(place: &str, service: Arc<Service>) -> Result<(), Failure> {
    let registry = service.metrics.registry();
    publish(place, registry, move || {
        let Service { metrics, turns, connected, .. } = &*service;
        metrics.running.set(turns.running() as i64);
        metrics.waiting.set(turns.waiting() as i64);
        metrics.connected.set(connected.load(Ordering::Relaxed) as i64);
    })
}

/// Shows metrics until the program ends. Before each time, `look` sets those that nobody sets meanwhile.
pub fn publish(
    place: &str,
    registry: Registry,
    look: impl Fn() + Clone + Send + Sync + 'static,
) -> Result<(), Failure> {
    let registry = Arc::new(registry);
    let metrics = async move || {
        look();
        let mut text = String::new();
        encode(&mut text, &registry).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        Ok::<_, StatusCode>(([(CONTENT_TYPE, TYPE)], text))
    };
    let routes = Router::new()
        .route("/health", get("ok\n"))
        .route("/metrics", get(metrics))
        .fallback((StatusCode::NOT_FOUND, "there are /health and /metrics\n"));
    let failed = |error: io::Error| {
        Failure::new(exit::NETWORK, format!("metrics cannot be shown at {place}: {error}"))
    };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    if !place.contains('/') {
        let listener = runtime.block_on(tokio::net::TcpListener::bind(place)).map_err(failed)?;
        return serve(runtime, listener, routes).map_err(failed);
    }
    #[cfg(unix)]
    {
        // A service may have left its socket behind; a file of another kind stays.
        let is_socket = std::fs::metadata(place)
            .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()));
        if is_socket {
            let _ = std::fs::remove_file(place);
        }
        let bound = runtime.block_on(async { tokio::net::UnixListener::bind(place) });
        serve(runtime, bound.map_err(failed)?, routes).map_err(failed)
    }
    #[cfg(not(unix))]
    Err(Failure::usage("sockets with a path are for Unix; name an address"))
}

fn serve<L>(runtime: Runtime, listener: L, routes: Router) -> io::Result<()>
where
    L: Listener<Addr: std::fmt::Debug>,
{
    let serve = move || runtime.block_on(async { axum::serve(listener, routes).await });
    thread::Builder::new().name("vesica-metrics".to_owned()).spawn(serve)?;
    Ok(())
}
