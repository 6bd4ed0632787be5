//! Limits on the time for which a peer may keep a party waiting.
//!
//! The stall timeout ends a wait in which nothing happens. A peer that sends very little could still hold a run for
//! days: a byte now and then, or endless keep-alive messages. Each message therefore has a deadline of its own. From
//! its first byte on it must arrive at [`LEAST_RATE`] or faster, and the peer must accept data at that rate; keep-alive
//! messages extend the deadline by up to [`KEEP_ALIVE_LIMIT`].
//!
//! A party that serves many peers gives each a turn. While others wait, a peer that makes this party wait without
//! sending bytes loses its turn much earlier: see [`Channel::with_turn`].

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{Clock, Error, Result};

/// A time limit, and the clock that measures it.
#[derive(Debug, Clone)]
pub struct Patience {
    /// The longest wait.
    pub limit: Duration,
    /// The clock that measures it.
    pub clock: Clock,
}

/// A limit measured by the system's clock.
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

/// The time that a stopping party spends on delivering its reason and receiving the other's.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);

/// The maximum time of keep-alive messages before a peer sends or accepts another message: an hour and a half.
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

    /// Extends the wait after a keep-alive message of the peer.
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

/// The turn of a peer at a party for which others may wait.
#[derive(Clone)]
struct PeerTurn {
    /// The longest wait for the peer while others wait for this party.
    hold: Duration,
    /// Whether others wait.
    is_wanted: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The time for which this party has waited for the peer in all.
    waited: Duration,
}

impl PeerTurn {
    /// Ends a turn in which this party has waited for longer than `hold` and the time that these bytes take at the
    /// least rate.
    fn check(&self, bytes: u64, phase: &'static str) -> Result<()> {
        let moving = Duration::from_secs(bytes / LEAST_RATE);
        match self.waited > self.hold.saturating_add(moving) && (self.is_wanted)() {
            true => Err(Error::TurnLost { phase, after: self.waited }),
            false => Ok(()),
        }
    }
}

/// The times after which a channel no longer waits for anything.
#[derive(Clone, Default)]
pub(crate) struct Deadlines {
    /// The end of the whole run, and the time it was given.
    run: Option<(Instant, Duration)>,
    /// The end of last words, once the run is otherwise over.
    last_words: Option<Instant>,
    /// The peer's turn, if others may be waiting.
    turn: Option<PeerTurn>,
}

impl Deadlines {
    /// Sets the deadline of the run, counted from `now`.
    pub(crate) fn run_after(&mut self, after: Duration, now: Instant) {
        self.run = now.checked_add(after).map(|end| (end, after));
    }

    /// Gives the peer a turn.
    pub(crate) fn give_turn(
        &mut self,
        hold: Duration,
        is_wanted: impl Fn() -> bool + Send + Sync + 'static,
    ) {
        let is_wanted = Arc::new(is_wanted);
        self.turn = Some(PeerTurn { hold, is_wanted, waited: Duration::ZERO });
    }

    /// Ends the run: all remaining attempts share one deadline.
    pub(crate) fn begin_last_words(&mut self, now: Instant) {
        (self.run, self.turn) = (None, None);
        self.last_words.get_or_insert(now + LAST_WORDS);
    }

    /// Adds time that this party has spent on moving bytes or waiting for them.
    pub(crate) fn spend(&mut self, time: Duration) {
        self.turn.iter_mut().for_each(|turn| turn.waited += time);
    }

    /// An error if one of the deadlines has passed, in a run that has moved this number of bytes.
    pub(crate) fn check(&self, now: Instant, bytes: u64, phase: &'static str) -> Result<()> {
        if self.last_words.is_some_and(|end| now >= end) {
            return Err(Error::Stalled { phase, after: LAST_WORDS });
        }
        if let Some((_, after)) = self.run.filter(|(end, _)| now >= *end) {
            return Err(Error::Deadline { phase, after });
        }
        self.turn.as_ref().map_or(Ok(()), |turn| turn.check(bytes, phase))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Read, Write},
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;
    use crate::Channel;

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

    #[test]
    fn a_turn_lasts_as_long_as_bytes_show_for_it_or_nobody_else_wants_one() {
        let wanted = Arc::new(AtomicBool::new(false));
        let wants = wanted.clone();
        let is_wanted = Arc::new(move || wants.load(Ordering::Relaxed));
        let turn = PeerTurn { hold: Duration::from_secs(60), is_wanted, waited: Duration::ZERO };
        let mut ends = Deadlines { turn: Some(turn), ..Deadlines::default() };
        let now = Instant::now();
        ends.spend(Duration::from_secs(61));
        assert!(ends.check(now, 0, "p").is_ok(), "nobody else wants it");
        wanted.store(true, Ordering::Relaxed);
        assert!(matches!(ends.check(now, 0, "p"), Err(Error::TurnLost { .. })));
        assert!(ends.check(now, 10_000, "p").is_ok());
        ends.spend(Duration::from_secs(1));
        assert!(ends.check(now, 19_999, "p").is_err() && ends.check(now, 20_000, "p").is_ok());
        // The last words are still sent.
        ends.begin_last_words(now);
        assert!(ends.check(now, 0, "p").is_ok());
    }

    /// A peer that says once a second that it is at work, `left` times, and then answers.
    struct AtWork {
        clock: Clock,
        said: Vec<u8>,
        left: u32,
    }

    impl Read for AtWork {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.said.is_empty() {
                let label: &[u8] = if self.left > 0 { b"busy" } else { b"answer" };
                self.said = [&[label.len() as u8], label, &[0; 8]].concat();
                self.left = self.left.saturating_sub(1);
                self.clock.advance(Duration::from_secs(1));
            }
            let len = buf.len().min(self.said.len());
            buf[..len].copy_from_slice(&self.said[..len]);
            self.said.drain(..len);
            Ok(len)
        }
    }

    impl Write for AtWork {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            Ok(buf.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_peer_that_is_at_work_for_long_keeps_nobody_from_a_turn() {
        let hold = Duration::from_secs(60);
        let answer = |left, is_wanted| {
            let clock = Clock::default();
            let peer = AtWork { clock: clock.clone(), said: Vec::new(), left };
            let channel = Channel::new(peer).with_clock(clock.clone());
            let mut channel = channel.with_turn(hold, move || is_wanted);
            let began = clock.now();
            (channel.recv_len("answer", 0).map(drop), clock.since(began))
        };
        assert!(answer(50, true).0.is_ok());
        assert!(answer(5000, false).0.is_ok(), "nobody else wants the turn");
        let (lost, after) = answer(5000, true);
        assert!(matches!(lost, Err(Error::TurnLost { .. })), "{lost:?}");
        assert!(after > hold && after < hold + Duration::from_secs(3), "{after:?}");
    }
}
