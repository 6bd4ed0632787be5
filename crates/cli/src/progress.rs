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
    spec,
};

/// The display of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Show {
    /// A live line on a terminal, nothing elsewhere.
    Auto,
    /// A line for each phase, and now and then in a long one.
    Plain,
    /// Nothing.
    Off,
}

impl From<spec::Progress> for Show {
    fn from(progress: spec::Progress) -> Self {
        match progress {
            spec::Progress::Auto => Self::Auto,
            spec::Progress::Plain => Self::Plain,
            spec::Progress::Off => Self::Off,
        }
    }
}

impl Show {
    /// Returns the observer that shows it. If `quiet`, it shows only warnings. If `prints`, the result goes to standard
    /// output.
    pub fn observer(self, quiet: bool, prints: bool) -> Arc<dyn Observer> {
        match self {
            _ if quiet => Arc::new(Warnings),
            Self::Auto if io::stderr().is_terminal() => Arc::new(Live::new(prints)),
            Self::Plain => Arc::new(Plain::default()),
            _ => Arc::new(Notes),
        }
    }
}

fn warn(text: &str) {
    crate::say(&format!("vesica: warning: {text}"));
}

/// An observer that shows only warnings.
struct Warnings;

impl Observer for Warnings {
    fn warning(&self, text: &str) {
        warn(text);
    }
}

/// An observer that shows only warnings and notes.
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

    /// Words how much is done, how fast, and how long the rest will take: in full, or as far as it fits into these
    /// columns.
    fn with(&self, progress: &Progress, elapsed: Duration, columns: usize) -> String {
        let (mut rate, mut left) = (String::new(), String::new());
        if elapsed >= Duration::from_secs(1) {
            let a_second = (progress.done as f64 / elapsed.as_secs_f64()) as u64;
            rate = match progress.unit {
                Unit::Rows => format!(", {} a second", counted(a_second, "row")),
                Unit::Bytes => format!(", {} a second", DecimalBytes(a_second)),
                Unit::Partitions => format!(", {} a second", counted(a_second, "partition")),
            };
            let time = progress.time_left(elapsed).filter(|left| !left.is_zero());
            left = time.map_or(String::new(), |time| format!(", about {} left", roughly(time)));
        }
        let (name, amount) = (described(self.name), amount(progress));
        let short = percent(progress).unwrap_or_else(|| amount.clone());
        let forms = [
            format!("{name}: {amount}{rate}{left}"),
            format!("{name}: {amount}{left}"),
            format!("{name}: {short}{left}"),
            format!("{name}: {short}"),
            short,
        ];
        fitting(forms, columns)
    }

    /// Words the wait and its time: in full, or as far as they fit into these columns.
    fn waiting(&self, phase: &'static str, since: Duration, columns: usize) -> String {
        let (name, what, time) = (described(self.name), waited_for(phase), roughly(since));
        let forms = [
            format!("{name}: {what} ({time})"),
            format!("{what} ({time})"),
            format!("waiting ({time})"),
        ];
        fitting(forms, columns)
    }
}

/// Returns the first of these texts that fits into these columns, or else the last.
fn fitting<const N: usize>(forms: [String; N], columns: usize) -> String {
    let fits = |form: &String| console::measure_text_width(form) <= columns;
    let last = forms.last().cloned().unwrap_or_default();
    forms.into_iter().find(fits).unwrap_or(last)
}

/// Words the part that is done, if it is known.
fn percent(progress: &Progress) -> Option<String> {
    progress.fraction.map(|part| format!("{:.0} %", 100.0 * part))
}

/// Words the number of items, the total and the part.
fn amount(progress: &Progress) -> String {
    let percent = percent(progress).map_or(String::new(), |percent| format!(" ({percent})"));
    match (progress.unit, progress.total) {
        (Unit::Rows, _) => format!("{}{percent}", counted(progress.done, "row")),
        (Unit::Partitions, _) => format!("{}{percent}", counted(progress.done, "partition")),
        (Unit::Bytes, Some(total)) => {
            format!("{} of about {}{percent}", DecimalBytes(progress.done), DecimalBytes(total))
        }
        (Unit::Bytes, None) => format!("{}{percent}", DecimalBytes(progress.done)),
    }
}

/// Words a time, rounded.
fn roughly(time: Duration) -> String {
    match time.as_secs_f64().round() as u64 {
        seconds @ 0..60 => format!("{} s", seconds.max(1)),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// One line that changes, with a bar if the total is known. It never has more columns than the terminal.
struct Live {
    bar: ProgressBar,
    current: Mutex<Current>,
    /// Whether the result goes to standard output, which is mostly the same terminal.
    prints: bool,
}

/// Steps of the bar.
const STEPS: u64 = 1000;

/// The columns of the bar, with the space after it.
const BAR: usize = 21;

/// The columns of the spinner and the clock, with the spaces after them.
const CLOCK: usize = 13;

/// The columns of a terminal that does not say how many it has.
const COLUMNS: u16 = 80;

/// Returns the columns of the terminal. The last is left free: some terminals go on to the next line when it is taken.
fn columns() -> usize {
    let size = console::Term::stderr().size_checked();
    usize::from(size.map_or(COLUMNS, |(_, columns)| columns)).saturating_sub(1)
}

/// Says whether there is room for a bar beside words.
fn has_bar(columns: usize, fraction: Option<f64>) -> bool {
    fraction.is_some() && columns >= CLOCK + BAR + 40
}

/// Returns the columns that are left for words.
fn room(columns: usize, has_bar: bool) -> usize {
    columns.saturating_sub(CLOCK + if has_bar { BAR } else { 0 })
}

impl Live {
    fn new(prints: bool) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_style(style(WORDS));
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar, current: Mutex::new(Current::new("connect")), prints }
    }

    fn show(&self, text: String, fraction: Option<f64>) {
        match fraction {
            Some(fraction) => {
                self.bar.set_style(style(BAR_AND_WORDS));
                self.bar.set_length(STEPS);
                self.bar.set_position((fraction * STEPS as f64) as u64);
            }
            None => self.bar.set_style(style(WORDS)),
        }
        self.bar.set_message(text);
    }
}

/// The two forms of the line. Words that are too many after all are cut off.
const WORDS: &str = "{spinner} [{elapsed_precise}] {wide_msg}";
const BAR_AND_WORDS: &str = "{spinner} [{elapsed_precise}] {bar:20} {wide_msg}";

/// Returns the style of this template, which is one of the two above.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

impl Observer for Live {
    fn phase(&self, name: &'static str) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Current::new(name);
        if name == "finish" && self.prints {
            // The result begins a line of its own.
            return self.bar.finish_and_clear();
        }
        self.show(described(name), None);
    }

    fn progress(&self, progress: Progress) {
        if self.bar.is_finished() {
            return;
        }
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let (columns, elapsed) = (columns(), current.since.elapsed());
        let has_bar = has_bar(columns, progress.fraction);
        let text = current.with(&progress, elapsed, room(columns, has_bar));
        self.show(text, progress.fraction.filter(|_| has_bar));
    }

    fn waiting(&self, phase: &'static str, since: Duration) {
        if since >= Duration::from_secs(1) && !self.bar.is_finished() {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            let text = current.waiting(phase, since, room(columns(), false));
            self.show(text, None);
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
        self.line(|current| current.with(&progress, current.since.elapsed(), usize::MAX));
    }

    fn waiting(&self, phase: &'static str, since: Duration) {
        if since >= FIRST {
            self.line(|current| current.waiting(phase, since, usize::MAX));
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
        Current::new(phase).with(&progress, Duration::from_secs(seconds), usize::MAX)
    }

    #[test]
    fn a_line_fits_the_terminal() {
        let moved = Progress::of(30_000_000, 120_000_000, Unit::Bytes);
        let piped = Progress { fraction: None, total: None, ..moved };
        for columns in [20, 40, 60, 79, 100, 119, 160] {
            for (progress, phase) in [(&moved, "kkrt16"), (&piped, "kkrt16"), (&moved, "evaluate")]
            {
                let has_bar = has_bar(columns, progress.fraction);
                let room = room(columns, has_bar);
                let text = Current::new(phase).with(progress, Duration::from_secs(10), room);
                assert!(text.chars().count() <= room.max(10), "{columns}: {text}");
                let text = Current::new("read").waiting("read", Duration::from_secs(75), room);
                assert!(text.chars().count() <= room.max(20), "{columns}: {text}");
            }
        }
        let at = |columns| {
            let room = room(columns, has_bar(columns, moved.fraction));
            Current::new("kkrt16").with(&moved, Duration::from_secs(10), room)
        };
        assert_eq!(at(79), "intersecting (kkrt16): 25 %, about 30 s left");
        let middle = "intersecting (kkrt16): 30.00 MB of about 120.00 MB (25 %), about 30 s left";
        assert_eq!(at(119), middle);
    }

    #[test]
    fn the_line_is_gone_before_a_result_is_printed() {
        for prints in [true, false] {
            let live = Live::new(prints);
            live.phase("read");
            assert!(!live.bar.is_finished());
            live.phase("finish");
            live.progress(Progress::of(1, 2, Unit::Rows));
            assert_eq!(live.bar.is_finished(), prints);
        }
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
        let text = Current::new("read").waiting("read", Duration::from_secs(75), usize::MAX);
        let expected =
            "reading the table: waiting for the other side to read its table (1 min 15 s)";
        assert_eq!(text, expected);
    }
}
