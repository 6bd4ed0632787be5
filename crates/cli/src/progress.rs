//! Progress on standard error.

use std::{
    io::{self, IsTerminal},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::ValueEnum;
use indicatif::{DecimalBytes, ProgressBar, ProgressStyle};
use vesica::{
    Observer,
    report::{Progress, Unit, counted, described, waited_for},
};

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Show {
    /// A live line on a terminal, nothing elsewhere.
    Auto,
    /// A line for each phase, and now and then in a long one.
    Plain,
    /// Nothing.
    Off,
}

impl Show {
    /// The observer that shows it; to a user who wants quiet, it shows warnings alone.
    pub fn observer(self, quiet: bool) -> Arc<dyn Observer> {
        match self {
            _ if quiet => Arc::new(Warnings),
            Self::Auto if io::stderr().is_terminal() => Arc::new(Live::new()),
            Self::Plain => Arc::new(Plain::default()),
            _ => Arc::new(Notes),
        }
    }
}

fn warn(text: &str) {
    crate::say(&format!("vesica: warning: {text}"));
}

/// Shows warnings alone.
struct Warnings;

impl Observer for Warnings {
    fn warning(&self, text: &str) {
        warn(text);
    }
}

/// Shows warnings and notes alone.
struct Notes;

impl Observer for Notes {
    fn warning(&self, text: &str) {
        warn(text);
    }

    fn note(&self, text: &str) {
        crate::say(text);
    }
}

/// A phase that goes on.
struct Current {
    name: &'static str,
    since: Instant,
}

impl Current {
    fn new(name: &'static str) -> Self {
        Self { name, since: Instant::now() }
    }

    /// How much is done, how fast, and how long the rest will take.
    fn with(&self, progress: &Progress, elapsed: Duration) -> String {
        let mut text = format!("{}: {}", described(self.name), amount(progress));
        if elapsed >= Duration::from_secs(1) {
            let rate = (progress.done as f64 / elapsed.as_secs_f64()) as u64;
            text += &match progress.unit {
                Unit::Rows => format!(", {} a second", counted(rate, "row")),
                Unit::Bytes => format!(", {} a second", DecimalBytes(rate)),
                Unit::Partitions => format!(", {} a second", counted(rate, "partition")),
            };
            if let Some(left) = progress.time_left(elapsed).filter(|left| !left.is_zero()) {
                text += &format!(", about {} left", roughly(left));
            }
        }
        text
    }

    /// What it waits for, and for how long it has.
    fn waiting(&self, phase: &'static str, since: Duration) -> String {
        format!("{}: {} ({})", described(self.name), waited_for(phase), roughly(since))
    }
}

/// How many of how many, or what part.
fn amount(progress: &Progress) -> String {
    let percent = progress.fraction.map(|part| format!(" ({:.0} %)", 100.0 * part));
    let percent = percent.unwrap_or_default();
    match (progress.unit, progress.total) {
        (Unit::Rows, _) => format!("{}{percent}", counted(progress.done, "row")),
        (Unit::Partitions, _) => format!("{}{percent}", counted(progress.done, "partition")),
        (Unit::Bytes, Some(total)) => {
            format!("{} of about {}{percent}", DecimalBytes(progress.done), DecimalBytes(total))
        }
        (Unit::Bytes, None) => format!("{}{percent}", DecimalBytes(progress.done)),
    }
}

/// A rounded time.
fn roughly(time: Duration) -> String {
    match time.as_secs_f64().round() as u64 {
        seconds @ 0..60 => format!("{} s", seconds.max(1)),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// One line that changes, with a bar if the total is known.
struct Live {
    bar: ProgressBar,
    current: Mutex<Current>,
}

/// Steps of the bar.
const STEPS: u64 = 1000;

impl Live {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_style(style("{spinner} [{elapsed}] {msg}"));
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar, current: Mutex::new(Current::new("connect")) }
    }

    fn show(&self, text: String, fraction: Option<f64>) {
        match fraction {
            Some(fraction) => {
                self.bar.set_style(style("{spinner} [{elapsed}] {bar:20} {msg}"));
                self.bar.set_length(STEPS);
                self.bar.set_position((fraction * STEPS as f64) as u64);
            }
            None => self.bar.set_style(style("{spinner} [{elapsed}] {msg}")),
        }
        self.bar.set_message(text);
    }
}

/// The style of this template, which is one of the two above.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

impl Observer for Live {
    fn phase(&self, name: &'static str) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Current::new(name);
        self.show(described(name), None);
    }

    fn progress(&self, progress: Progress) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        self.show(current.with(&progress, current.since.elapsed()), progress.fraction);
    }

    fn waiting(&self, phase: &'static str, since: Duration) {
        if since >= Duration::from_secs(1) {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            self.bar.set_message(current.waiting(phase, since));
        }
    }

    fn warning(&self, text: &str) {
        self.bar.suspend(|| warn(text));
    }

    fn note(&self, text: &str) {
        self.bar.suspend(|| crate::say(text));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A line for each phase, and in a long phase another whenever the time has doubled, or ten seconds have passed, since
/// the last one.
#[derive(Default)]
struct Plain {
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    current: Option<Current>,
    /// When the next line in this phase is due, after its beginning.
    due: Duration,
    /// The last of the rows that were read.
    rows: Option<Progress>,
}

/// When the first line in a phase is due, and the longest time between two lines.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);

impl Plain {
    /// Prints a line about the current phase if one is due.
    fn line(&self, text: impl FnOnce(&Current) -> String) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(current) = &shown.current else { return };
        let elapsed = current.since.elapsed();
        if elapsed >= shown.due {
            crate::say(&text(current));
            shown.due = elapsed + elapsed.min(LONGEST);
        }
    }
}

impl Observer for Plain {
    fn phase(&self, name: &'static str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = shown.rows.take() {
            crate::say(&format!("read {}", counted(read.done, "row")));
        }
        shown.current = Some(Current::new(name));
        shown.due = FIRST;
        crate::say(&described(name));
    }

    fn progress(&self, progress: Progress) {
        {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            if shown.current.as_ref().is_some_and(|current| current.name == "read") {
                shown.rows = Some(progress);
            }
        }
        self.line(|current| current.with(&progress, current.since.elapsed()));
    }

    fn waiting(&self, phase: &'static str, since: Duration) {
        if since >= FIRST {
            self.line(|current| current.waiting(phase, since));
        }
    }

    fn warning(&self, text: &str) {
        warn(text);
    }

    fn note(&self, text: &str) {
        crate::say(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: u64, phase: &'static str, progress: Progress) -> String {
        Current::new(phase).with(&progress, Duration::from_secs(seconds))
    }

    #[test]
    fn a_phase_is_shown_with_its_rate_and_what_is_left() {
        let moved = Progress::of(30_000_000, 120_000_000, Unit::Bytes);
        assert_eq!(
            after(10, "kkrt16", moved),
            "intersecting (kkrt16): 30.00 MB of about 120.00 MB (25 %), 3.00 MB a second, about 30 s left"
        );
        let read = Progress { done: 9000, unit: Unit::Rows, total: None, fraction: Some(0.9) };
        assert_eq!(
            after(9, "read", read),
            "reading the table: 9,000 rows (90 %), 1,000 rows a second, about 1 s left"
        );
        let piped = Progress { fraction: None, ..read };
        let expected = "reading the table: 9,000 rows, 1,000 rows a second";
        assert_eq!(after(9, "read", piped), expected);
        assert_eq!(after(0, "read", piped), "reading the table: 9,000 rows");
    }

    #[test]
    fn a_wait_is_shown_with_what_is_waited_for() {
        let text = Current::new("read").waiting("read", Duration::from_secs(75));
        let expected =
            "reading the table: waiting for the other side to read its table (1 min 15 s)";
        assert_eq!(text, expected);
    }
}
