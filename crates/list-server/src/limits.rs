//! How many items may be asked for: by one client, and in all.

use std::time::Duration;

/// So many items a minute, and so many at once after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Items a minute in the long run.
    pub a_minute: u64,
    /// Items at once.
    pub at_once: u64,
}

impl Rate {
    /// The days in which so many items can be asked for.
    pub fn days(self, items: u64) -> f64 {
        items.saturating_sub(self.at_once) as f64 / self.a_minute.max(1) as f64 / (60.0 * 24.0)
    }
}

/// What may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// By one client.
    pub client: Rate,
    /// By all together.
    pub all: Rate,
}

/// Why a question is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This client has asked too much; it may try again after this long.
    Client(Duration),
    /// All together have.
    All(Duration),
    /// More than may ever be asked at once.
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enumeration_takes_as_long_as_it_says() {
        let rate = Rate { a_minute: 600, at_once: 4096 };
        assert!((rate.days(1_000_000_000) - 1157.4).abs() < 0.1);
        assert_eq!(rate.days(4096), 0.0);
    }
}
