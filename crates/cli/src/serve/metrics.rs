//! Health and metrics, for this machine: `/health` and `/metrics`, in the text form of OpenMetrics 1.0.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Mutex, PoisonError, atomic::Ordering},
    thread,
};

use tiny_http::{Header, Response, Server};
use vesica::{Class, Report};
use vesica_web::Counted;

use super::Service;
use crate::exit::{self, Failure};

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

/// Families of samples, as text.
#[derive(Default)]
struct Families(String);

impl Families {
    /// A family with a sample for each of these labels.
    fn family(&mut self, name: &str, kind: &str, help: &str, samples: &[(String, String)]) {
        let _ = writeln!(self.0, "# TYPE vesica_{name} {kind}\n# HELP vesica_{name} {help}");
        let suffix = if kind == "counter" { "_total" } else { "" };
        for (labels, value) in samples {
            let _ = writeln!(self.0, "vesica_{name}{suffix}{labels} {value}");
        }
    }

    /// A family of one sample.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl ToString) {
        self.family(name, kind, help, &[(String::new(), value.to_string())]);
    }

    fn finish(self) -> String {
        self.0 + "# EOF\n"
    }
}

/// What a service of a list counted.
pub fn of_list(counted: &Counted) -> String {
    let mut all = Families::default();
    all.one("list_questions", "counter", "Questions that were answered.", counted.questions);
    all.one("list_keys", "counter", "Keys in questions that were answered.", counted.keys);
    let seconds = format!("{:.3}", counted.time.as_secs_f64());
    let help = "Time from a question's last byte to its answer, of all that were answered.";
    all.one("list_question_seconds", "counter", help, seconds);
    let refused: Vec<_> = counted
        .refused
        .iter()
        .map(|(reason, count)| (format!("{{reason=\"{reason}\"}}"), count.to_string()))
        .collect();
    let help = "Questions and other requests that were refused, by reason.";
    all.family("list_refused", "counter", help, &refused);
    let help = "Connections that were closed at once: too many, or too fast.";
    all.one("list_turned_away", "counter", help, counted.turned_away);
    let help = "Bytes of the list's files that were sent.";
    all.one("list_file_bytes", "counter", help, counted.file_bytes);
    all.one("list_connected", "gauge", "Connections at the moment.", counted.connected);
    let help = "Questions that wait for their answer at the moment.";
    all.one("list_waiting", "gauge", help, counted.waiting);
    all.finish()
}

/// What a service of runs counted.
pub fn of_runs(service: &Service) -> String {
    let counts = service.metrics.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = Families::default();
    let runs: Vec<_> = counts
        .runs
        .iter()
        .map(|((job, outcome), runs)| {
            (format!("{{job=\"{job}\",outcome=\"{outcome}\"}}"), runs.to_string())
        })
        .collect();
    all.family("runs", "counter", "Runs that ended, by job and outcome.", &runs);
    all.one("running", "gauge", "Runs at the moment.", service.turns.running());
    all.one("waiting", "gauge", "Partners waiting for their turn.", service.turns.waiting());
    let connected = service.connected.load(Ordering::Relaxed);
    all.one("connected", "gauge", "Partners who are connected.", connected);
    all.one("turned_away", "counter", "Callers who were turned away.", counts.turned_away);
    let seconds = format!("{:.3}", counts.seconds);
    all.one("run_seconds", "counter", "Time of runs that ended.", seconds);
    all.one("sent_bytes", "counter", "Bytes sent in runs.", counts.bytes_sent);
    all.one("received_bytes", "counter", "Bytes received in runs.", counts.bytes_received);
    all.finish()
}

/// Shows what `text` gives, until the program ends.
pub fn publish(place: &str, text: impl Fn() -> String + Send + 'static) -> Result<(), Failure> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Failure::new(exit::NETWORK, format!("metrics cannot be shown at {place}: {error}"))
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
                    let response = Response::from_string(text());
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
