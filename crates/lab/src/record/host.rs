//! The machine on which figures were measured.

use std::{
    fs, thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// A machine, as the first line of a file of results describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The processor's name.
    pub processor: String,
    /// Processors available to the program.
    pub processors: usize,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// The operating system.
    pub system: String,
    /// The version of this program.
    pub version: String,
    /// The day the measurements began, in UTC.
    pub date: String,
}

const UNKNOWN: &str = "unknown";

impl Host {
    /// Describes this machine, today.
    pub fn here() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let field = |path: &str, name: &str| {
            let text = fs::read_to_string(path).ok()?;
            let value = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(value.trim_start_matches([' ', '\t', ':', '=']).trim_matches('"').to_owned())
        };
        let kibibytes = field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.strip_suffix("kB")?.trim().parse::<u64>().ok());
        let unknown = || UNKNOWN.to_owned();
        Self {
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            processors: thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: kibibytes.map(|count| count * 1024),
            system: field("/etc/os-release", "PRETTY_NAME")
                .unwrap_or_else(|| std::env::consts::OS.to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: date(now.as_secs() / 86_400),
        }
    }

    /// Returns whether figures of the two may be combined: everything except the date is the same.
    pub fn is_like(&self, other: &Self) -> bool {
        Self { date: other.date.clone(), ..self.clone() } == *other
    }
}

/// Returns the date that is `days` days after 1970-01-01.
fn date(days: u64) -> String {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut left) = (1970, days);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let known =
            [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_453, "2025-12-31")];
        for (days, name) in known {
            assert_eq!(date(days), name);
        }
    }

    #[test]
    fn only_the_date_may_differ() {
        let here = Host::here();
        let later = Host { date: "2999-01-01".to_owned(), ..here.clone() };
        assert!(here.is_like(&later) && here.processors > 0);
        assert!(!here.is_like(&Host { processors: here.processors + 1, ..later }));
    }
}
