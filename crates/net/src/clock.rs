//! The clock that measures a channel's timeouts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// The system's monotonic clock. A test may set it forward instead of waiting for a timeout. Clones are
/// the same clock.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// Nanoseconds by which it is ahead of the system's.
    ahead: Arc<AtomicU64>,
}

impl Clock {
    /// The current time.
    pub fn now(&self) -> Instant {
        Instant::now() + Duration::from_nanos(self.ahead.load(Ordering::Relaxed))
    }

    /// The time since an instant of this clock.
    pub fn since(&self, moment: Instant) -> Duration {
        self.now().saturating_duration_since(moment)
    }

    /// Sets the clock forward.
    pub fn advance(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).expect("less than five centuries");
        self.ahead.fetch_add(nanos, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_set_forward_together() {
        let clock = Clock::default();
        let (other, start) = (clock.clone(), clock.now());
        assert!(other.since(start) < Duration::from_secs(3000));
        other.advance(Duration::from_secs(3000));
        assert!(clock.since(start) >= Duration::from_secs(3000));
        // Another clock has the system's time.
        assert_eq!(Clock::default().since(clock.now()), Duration::ZERO);
    }
}
