//! Limits on the number of items that one client, and all clients together, may ask for.

use std::time::Duration;

/// A limit on a rate: items per minute, and a burst after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Long-term number of items per minute.
    pub a_minute: u64,
    /// Number of items in a burst.
    pub at_once: u64,
}

impl Rate {
    /// Returns the number of days it takes to ask for this many items.
    pub fn days(self, items: u64) -> f64 {
        items.saturating_sub(self.at_once) as f64 / self.a_minute.max(1) as f64 / (60.0 * 24.0)
    }
}

/// The limits of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// Limit for one client.
    pub client: Rate,
    /// Limit for all clients together.
    pub all: Rate,
}

/// The reason why a question is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// This client has asked for too many items. It may try again after this time.
    Client(Duration),
    /// All clients together have asked for too many items. They may try again after this time.
    All(Duration),
    /// The question has more items than the limit ever allows.
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
