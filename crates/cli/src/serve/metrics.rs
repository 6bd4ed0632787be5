//! Health and metrics, for this machine: `/health` and `/metrics`, in the text form of OpenMetrics 1.0.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    thread,
};

use tiny_http::{Header, Response, Server};
use vesica::{Class, Report};

use super::Service;
use crate::exit::Failure;

/// What is counted.
#[derive(Default)]
pub struct Metrics(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    /// Runs by job and outcome.
    runs: BTreeMap<(String, String), u64>,
    turned_away: u64,
    seconds: f64,
    bytes_sent: u64,
    bytes_received: u64,
}

impl Metrics {
    /// A caller was turned away.
    pub fn turned_away(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).turned_away += 1;
    }

    /// A run ended, with a failure or without one.
    pub fn ended(&self, job: &str, failure: Option<Class>, report: &Report) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = match failure {
            None => "succeeded".to_owned(),
            Some(class) => format!("{class:?}").to_lowercase(),
        };
        *counts.runs.entry((job.to_owned(), outcome)).or_default() += 1;
        counts.seconds += report.seconds;
        counts.bytes_sent += report.bytes_sent;
        counts.bytes_received += report.bytes_received;
    }
}

/// Everything as text.
fn text(service: &Service) -> String {
    let counts = service.metrics.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, String)]| {
        let _ = writeln!(text, "# TYPE vesica_{name} {kind}\n# HELP vesica_{name} {help}");
        let suffix = if kind == "counter" { "_total" } else { "" };
        for (labels, value) in samples {
            let _ = writeln!(text, "vesica_{name}{suffix}{labels} {value}");
        }
    };
    let one = |value: String| vec![(String::new(), value)];
    let runs: Vec<_> = counts
        .runs
        .iter()
        .map(|((job, outcome), runs)| {
            (format!("{{job=\"{job}\",outcome=\"{outcome}\"}}"), runs.to_string())
        })
        .collect();
    family("runs", "counter", "Runs that ended, by job and outcome.", &runs);
    family("running", "gauge", "Runs at the moment.", &one(service.turns.running().to_string()));
    family(
        "waiting",
        "gauge",
        "Partners waiting for their turn.",
        &one(service.turns.waiting().to_string()),
    );
    let connected = service.connected.load(Ordering::Relaxed).to_string();
    family("connected", "gauge", "Partners who are connected.", &one(connected));
    family(
        "turned_away",
        "counter",
        "Callers who were turned away.",
        &one(counts.turned_away.to_string()),
    );
    family(
        "run_seconds",
        "counter",
        "Time of runs that ended.",
        &one(format!("{:.3}", counts.seconds)),
    );
    family("sent_bytes", "counter", "Bytes sent in runs.", &one(counts.bytes_sent.to_string()));
    family(
        "received_bytes",
        "counter",
        "Bytes received in runs.",
        &one(counts.bytes_received.to_string()),
    );
    text + "# EOF\n"
}

/// Answers until the program ends.
pub fn publish(place: &str, service: Arc<Service>) -> Result<(), Failure> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Failure::usage(format!("metrics cannot be shown at {place}: {error}"))
    };
    let server = match place.contains('/') {
        #[cfg(unix)]
        true => {
            // One that a service left behind; a file of another kind is left alone.
            let is_socket = std::fs::metadata(place)
                .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()));
            if is_socket {
                let _ = std::fs::remove_file(place);
            }
            Server::http_unix(std::path::Path::new(place)).map_err(failed)?
        }
        #[cfg(not(unix))]
        true => return Err(Failure::usage("sockets with a path are for Unix; name an address")),
        false => Server::http(place).map_err(failed)?,
    };
    let answer = move || {
        for request in server.incoming_requests() {
            const TYPE: &str =
                "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8";
            let response = match request.url() {
                "/health" => Response::from_string("ok\n"),
                "/metrics" => {
                    let response = Response::from_string(text(&service));
                    match TYPE.parse::<Header>() {
                        Ok(kind) => response.with_header(kind),
                        Err(()) => response,
                    }
                }
                _ => {
                    Response::from_string("there are /health and /metrics\n").with_status_code(404)
                }
            };
            // Who asked may have gone.
            let _ = request.respond(response);
        }
    };
    thread::Builder::new()
        .name("vesica-metrics".to_owned())
        .spawn(answer)
        .map_err(|error| failed(error.into()))?;
    Ok(())
}
