//! The rate limiter for the turns of a client, and for the keys of one client and of all.

use std::time::{Duration, Instant};

use crate::limits::Rate;

/// A token bucket: one token is added in each interval, up to a maximum. Its state is the time at which the bucket will
/// be full again, so an idle client looks like a new one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    interval: Duration,
    pub(crate) at_once: u32,
}

impl Pace {
    pub(crate) fn a_second(amount: f64, at_once: u32) -> Self {
        Self { interval: Duration::from_secs_f64(1.0 / amount), at_once }
    }

    pub(crate) fn of(rate: Rate) -> Self {
        let at_once = u32::try_from(rate.at_once).unwrap_or(u32::MAX);
        Self::a_second(rate.a_minute.max(1) as f64 / 60.0, at_once)
    }

    /// Returns the time until this amount may be taken.
    pub(crate) fn wait(self, until: Instant, amount: u32, now: Instant) -> Duration {
        let taken = until.saturating_duration_since(now) + self.interval.saturating_mul(amount);
        taken.saturating_sub(self.interval.saturating_mul(self.at_once))
    }

    /// Takes this amount.
    pub(crate) fn take(self, until: &mut Instant, amount: u32, now: Instant) {
        *until = (*until).max(now) + self.interval.saturating_mul(amount);
    }
}
