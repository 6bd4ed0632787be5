//! Progress on standard error.

use std::{
    io::{self, IsTerminal},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use vesica::{Observer, words::counted};

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// A live line on a terminal, nothing elsewhere.
    Auto,
    /// A line for each phase.
    Plain,
    /// Nothing.
    Off,
}

impl Progress {
    /// The observer that shows it.
    pub fn observer(self) -> Arc<dyn Observer> {
        match self {
            Self::Auto if io::stderr().is_terminal() => Arc::new(Live::new()),
            Self::Plain => Arc::new(Plain::default()),
            _ => Arc::new(Warnings),
        }
    }
}

fn warn(text: &str) {
    crate::say(&format!("vesica: warning: {text}"));
}

/// What a phase does, in words.
fn described(phase: &str) -> String {
    match phase {
        "terms" => "comparing terms".to_owned(),
        "read" => "reading".to_owned(),
        "seed" => "both sides ready, hashing".to_owned(),
        "finish" => "writing".to_owned(),
        protocol => format!("running {protocol}"),
    }
}

/// Shows warnings alone.
struct Warnings;

impl Observer for Warnings {
    fn warning(&self, text: &str) {
        warn(text);
    }
}

/// One line that changes.
struct Live {
    bar: ProgressBar,
}

impl Live {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed}] {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar }
    }
}

impl Observer for Live {
    fn phase(&self, name: &'static str) {
        self.bar.set_message(described(name));
    }

    fn rows(&self, read: u64) {
        self.bar.set_message(format!("reading: {}", counted(read, "row")));
    }

    fn warning(&self, text: &str) {
        self.bar.suspend(|| warn(text));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A line for each phase, and for each million rows.
#[derive(Default)]
struct Plain {
    shown: AtomicU64,
}

/// How many rows are read between two lines.
const ROWS_A_LINE: u64 = 1_000_000;

impl Observer for Plain {
    fn phase(&self, name: &'static str) {
        if name == "seed" {
            let rows = self.shown.load(Ordering::Relaxed);
            crate::say(&format!("read {}", counted(rows, "row")));
        }
        crate::say(&described(name));
    }

    fn rows(&self, read: u64) {
        let before = self.shown.swap(read, Ordering::Relaxed);
        if before / ROWS_A_LINE != read / ROWS_A_LINE {
            crate::say(&format!("reading: {}", counted(read, "row")));
        }
    }

    fn warning(&self, text: &str) {
        warn(text);
    }
}
