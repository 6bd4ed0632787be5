//! How long a party tolerates a peer that keeps it waiting.
//!
//! The stall timeout ends a wait in which nothing happens. A peer that sends very little could still hold a run for
//! days: a byte now and then, or keep-alive messages without end. Each message therefore has a deadline of its own.
//! From its first byte on it must arrive at [`LEAST_RATE`] or faster, and the peer must accept what is sent at that rate;
//! keep-alive messages extend the deadline by up to [`KEEP_ALIVE_LIMIT`].

use std::time::{Duration, Instant};

use crate::{Clock, Error, Result};

/// How long to wait for something, and by which clock.
#[derive(Debug, Clone)]
pub struct Patience {
    /// The longest wait.
    pub limit: Duration,
    /// What measures it.
    pub clock: Clock,
}

/// By the system's clock.
impl From<Duration> for Patience {
    fn from(limit: Duration) -> Self {
        Self { limit, clock: Clock::default() }
    }
}

/// The minimum rate of a message, in bytes per second, after one stall timeout: slower than any link in use.
const LEAST_RATE: u64 = 10_000;

/// The maximal number of consecutive keep-alive messages that are tolerated: as many as an honest peer sends in
/// [`KEEP_ALIVE_LIMIT`].
pub(crate) const KEEP_ALIVE_MESSAGES: u32 = 5400;

/// How long a party that stops tries to deliver its reason, and to receive the other's.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long a peer may send keep-alive messages before it sends or accepts another message: an hour and a half.
pub(crate) const KEEP_ALIVE_LIMIT: Duration = Duration::from_secs(5400);

/// The wait for one message to arrive, or to be accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    since: Instant,
    bytes: u64,
    excused: bool,
}

impl Wait {
    /// For a message of `bytes` bytes.
    pub(crate) fn new(since: Instant, bytes: u64) -> Self {
        Self { since, bytes, excused: false }
    }

    /// Adds `bytes` bytes to the message.
    pub(crate) fn extend(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The peer sent a keep-alive message.
    pub(crate) fn excuse(&mut self) {
        self.excused = true;
    }

    /// The time that the message may take.
    fn allowed(self, stall: Duration) -> Duration {
        let excused = if self.excused { KEEP_ALIVE_LIMIT } else { Duration::ZERO };
        let moving = Duration::from_secs(self.bytes.div_ceil(LEAST_RATE));
        stall.saturating_add(excused).saturating_add(moving)
    }

    /// Refuses a message that takes longer.
    pub(crate) fn check(self, now: Instant, stall: Duration, phase: &'static str) -> Result<()> {
        let after = self.allowed(stall);
        match now.saturating_duration_since(self.since) > after {
            true => Err(Error::TooSlow { phase, after }),
            false => Ok(()),
        }
    }
}

/// The moments after which a channel no longer waits for anything.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ends {
    /// The end of the whole run, and the time it was given.
    run: Option<(Instant, Duration)>,
    /// The end of last words, once the run is otherwise over.
    last_words: Option<Instant>,
}

impl Ends {
    /// Sets the deadline of the run, counted from `now`.
    pub(crate) fn run_after(&mut self, after: Duration, now: Instant) {
        self.run = now.checked_add(after).map(|end| (end, after));
    }

    /// The run is over, and all remaining attempts share one deadline.
    pub(crate) fn begin_last_words(&mut self, now: Instant) {
        self.run = None;
        self.last_words.get_or_insert(now + LAST_WORDS);
    }

    /// An error if one of the deadlines has passed.
    pub(crate) fn check(&self, now: Instant, phase: &'static str) -> Result<()> {
        if self.last_words.is_some_and(|end| now >= end) {
            return Err(Error::Stalled { phase, after: LAST_WORDS });
        }
        match self.run.filter(|(end, _)| now >= *end) {
            Some((_, after)) => Err(Error::Deadline { phase, after }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_as_long_as_its_size_takes_at_the_least_rate() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let stall = Duration::from_secs(60);
        let mut wait = Wait::new(start, 0);
        let allowed = |wait: Wait, seconds| wait.check(after(seconds), stall, "p").is_ok();
        assert!(allowed(wait, 60) && !allowed(wait, 61));
        wait.extend(1_000_000);
        assert!(allowed(wait, 160) && !allowed(wait, 161));
        wait.excuse();
        assert!(allowed(wait, 5560) && !allowed(wait, 5561));
        wait.extend(u64::MAX);
        assert!(allowed(wait, 1 << 30));
    }
}
