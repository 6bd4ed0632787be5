//! Runs of protocols for charts: one for each job, under a label.

use std::time::Duration;

use vesica_planner::unit;
use vesica_psi::Sizes;

use crate::{Line, Record, record::results::Measured, run::protocol};

use super::{chart::Series, hosts, sizes};

/// The median run of a job.
pub struct Run {
    pub label: String,
    pub line: String,
    pub sizes: Sizes,
    pub seconds: f64,
    pub offline: f64,
    pub online: f64,
    /// The receiver's phases.
    pub phases: Vec<(String, f64)>,
    sent: [u64; 2],
}

/// The runs of all jobs.
pub struct Runs {
    runs: Vec<Run>,
    /// In the order of their first runs; the index is the style.
    pub labels: Vec<String>,
}

/// Sizes that are shown in the same chart.
#[derive(Clone, Copy, PartialEq)]
pub enum Alike {
    /// Sets of equal size.
    Balanced,
    /// The receiver's set has this size, and the sender's another.
    Receiver(usize),
}

impl Runs {
    pub fn new(measured: &[Measured]) -> Self {
        let hosts = hosts(measured);
        let mut jobs: Vec<(usize, Vec<&protocol::Record>)> = Vec::new();
        for file in measured {
            let host = hosts.iter().position(|known| known.is_like(&file.host));
            let host = host.unwrap_or(0);
            for record in &file.records {
                let Record::Protocol(record) = record else { continue };
                let same = |(of, runs): &&mut (usize, Vec<&protocol::Record>)| {
                    *of == host && key(runs[0]) == key(record)
                };
                match jobs.iter_mut().find(same) {
                    Some((_, runs)) => runs.push(record),
                    None => jobs.push((host, vec![record])),
                }
            }
        }
        let threads = jobs.iter().map(|(_, runs)| runs[0].threads).collect::<Vec<_>>();
        let one_threads = threads.iter().all(|count| *count == threads[0]);
        let label = |host: usize, record: &protocol::Record| {
            let mut label = record.protocol.clone();
            if !one_threads {
                label += &format!(", {} threads", record.threads);
            }
            if hosts.len() > 1 {
                label += &format!(", machine {}", host + 1);
            }
            label
        };
        let middle = |(host, mut runs): (usize, Vec<&protocol::Record>)| {
            runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
            Run::new(label(host, runs[0]), runs[(runs.len() - 1) / 2])
        };
        let runs: Vec<Run> = jobs.into_iter().map(middle).collect();
        let mut labels: Vec<String> = Vec::new();
        for run in &runs {
            if !labels.contains(&run.label) {
                labels.push(run.label.clone());
            }
        }
        Self { runs, labels }
    }

    pub fn of(&self, wanted: impl Fn(&&Run) -> bool) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| wanted(run))
    }

    /// A line for each label, of the selected runs.
    pub fn series(
        &self,
        wanted: impl Fn(&&Run) -> bool,
        point: impl Fn(&Run) -> (f64, f64, String),
    ) -> Vec<Series> {
        let line = |(style, label): (usize, &String)| {
            let mine = self.of(|run| run.label == *label && wanted(run));
            let mut points: Vec<_> =
                mine.map(&point).filter(|(x, y, _)| *x > 0.0 && *y > 0.0).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            // If a size was run over several links and the link does not matter, the first represents all.
            points.dedup_by(|a, b| a.0 == b.0);
            Series { style, points }
        };
        let lines = self.labels.iter().enumerate().map(line);
        lines.filter(|series| !series.points.is_empty()).collect()
    }

    /// The links, in the order of their first runs.
    pub fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !lines.contains(&run.line.as_str()) {
                lines.push(&run.line);
            }
        }
        lines
    }

    pub fn alike(&self) -> Vec<Alike> {
        let mut alike = Vec::new();
        for run in &self.runs {
            let kind = match run.sizes.sender == run.sizes.receiver {
                true => Alike::Balanced,
                false => Alike::Receiver(run.sizes.receiver),
            };
            if !alike.contains(&kind) {
                alike.push(kind);
            }
        }
        alike
    }

    /// Returns the round trips of links, each once.
    pub fn round_trips(&self) -> Vec<Duration> {
        let mut all: Vec<Duration> = self.runs.iter().filter_map(Run::round_trip).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The largest sizes of the selected runs.
    pub fn largest(&self, wanted: impl Fn(&&Run) -> bool) -> Option<Sizes> {
        self.of(wanted).map(|run| run.sizes).max_by_key(|sizes| sizes.sender + sizes.receiver)
    }

    /// The runs with the sizes and the link that have the most labels, the largest and first of these; with a
    /// description.
    pub fn most_compared(&self) -> Option<(String, Vec<&Run>)> {
        let together = |run: &Run| {
            let same = |other: &&Run| other.sizes == run.sizes && other.line == run.line;
            self.of(same).collect::<Vec<_>>()
        };
        let total = |run: &Run| run.sizes.sender + run.sizes.receiver;
        // `max_by_key` takes the last of equals, but the first is needed.
        let runs = self.runs.iter().rev();
        let at = runs.max_by_key(|run| (together(run).len(), total(run)))?;
        Some((format!("{}, {}", sizes(at.sizes), line_title(&at.line)), together(at)))
    }
}

fn key(record: &protocol::Record) -> (&str, usize, usize, &str, usize) {
    let protocol::Record { protocol, sender_items, receiver_items, link, threads, .. } = record;
    (protocol, *sender_items, *receiver_items, link, *threads)
}

impl Run {
    fn new(label: String, record: &protocol::Record) -> Self {
        // The time before the start, for preparing threads, counts as a phase, too.
        let counts =
            |phase: &&protocol::PhaseRecord| phase.party == "receiver" && phase.name != "connect";
        let mine = record.phases.iter().filter(counts);
        Self {
            label,
            line: record.link.clone(),
            sizes: Sizes { sender: record.sender_items, receiver: record.receiver_items },
            seconds: record.seconds,
            offline: record.offline_seconds,
            online: record.online_seconds,
            phases: mine.map(|phase| (phase.name.to_string(), phase.seconds)).collect(),
            sent: [record.bytes_to_receiver, record.bytes_to_sender],
        }
    }

    /// Bytes that the sender and the receiver sent.
    pub fn sent(&self) -> [f64; 2] {
        self.sent.map(|bytes| bytes as f64)
    }

    /// Bytes sent by both.
    pub fn bytes(&self) -> f64 {
        self.sent().iter().sum()
    }

    /// The rate of its link, in bits per second.
    pub fn rate(&self) -> Option<f64> {
        let line: Line = self.line.parse().ok()?;
        Some(line.link()?.bits_per_second as f64)
    }

    /// The round trip of its link.
    pub fn round_trip(&self) -> Option<Duration> {
        let line: Line = self.line.parse().ok()?;
        Some(line.link()?.round_trip)
    }
}

/// A description of a link.
pub fn line_title(line: &str) -> String {
    if line.contains(',') {
        let (rate, round_trip) = line.split_once(',').unwrap_or((line, ""));
        return format!("{rate} Mbit/s, {round_trip} ms");
    }
    match line.parse::<Line>().ok().and_then(|line| line.link()) {
        None => line.to_owned(),
        Some(link) => {
            let rate = unit::Unit::Rate.text(link.bits_per_second as f64);
            let millis = unit::number(link.round_trip.as_secs_f64() * 1e3);
            format!("{line}: {rate}, {millis} ms")
        }
    }
}

impl Alike {
    pub fn has(self, sizes: Sizes) -> bool {
        match self {
            Self::Balanced => sizes.sender == sizes.receiver,
            Self::Receiver(items) => sizes.receiver == items && sizes.sender != items,
        }
    }

    /// A suffix for captions.
    pub fn title(self) -> String {
        match self {
            Self::Balanced => String::new(),
            Self::Receiver(items) => format!(", the receiver has {}", unit::power(items)),
        }
    }
}
