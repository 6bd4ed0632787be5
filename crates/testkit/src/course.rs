//! The effects of a bad link on the bytes of one direction: it splits them, holds them back, delays them, and breaks.
//!
//! All effects happen at positions: they depend on a seed and on the number of bytes passed, but not on clocks or
//! threads. A party that sends the same bytes again therefore meets the same link again, regardless of the load on its
//! machine.

use std::{
    collections::VecDeque,
    io,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A way for a link to break in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The stream ends, as if a process died or a middlebox closed it. Later writes fail.
    End,
    /// The stream ends as with [`Break::End`], but later writes succeed and their bytes are lost.
    Hush,
    /// The connection is reset: an end that has reached this position can neither send nor receive.
    Reset,
    /// Nothing arrives any more, not even the end of the stream.
    Stall,
}

impl Break {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::End, Self::Hush, Self::Reset, Self::Stall];
}

/// The course of the bytes of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// Seed of the choices below.
    pub seed: u64,
    /// Maximum number of bytes moved at once.
    pub piece: usize,
    /// Whether some calls return without having moved anything, as if they had been interrupted or had waited.
    pub hiccups: bool,
    /// Whether bytes are held back until they are flushed, except a few that arrive earlier.
    pub holds: bool,
    /// Maximum delay of a piece. One in 16 pieces is delayed.
    pub delay: Duration,
    /// The position at which the link breaks, in bytes from the beginning, and the kind of break.
    pub breaks: Option<(u64, Break)>,
}

impl Course {
    /// Every byte arrives at once.
    pub const STRAIGHT: Self = Self {
        seed: 0,
        piece: usize::MAX,
        hiccups: false,
        holds: false,
        delay: Duration::ZERO,
        breaks: None,
    };

    /// Creates a course on which every byte arrives eventually, at most `delay` late.
    pub fn bumpy(seed: u64, delay: Duration) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        // Pieces of every order of magnitude up to 64 KiB, and rarely single bytes, because these take long.
        let piece = if rng.random_ratio(1, 32) { 1 } else { 1 << rng.random_range(4..=16) };
        let delay = if rng.random_ratio(1, 4) { delay } else { Duration::ZERO };
        let (hiccups, holds) = (rng.random(), rng.random());
        Self { seed, piece, hiccups, holds, delay, breaks: None }
    }

    /// Returns this course with a break at position `at`.
    pub fn breaking(self, at: u64, how: Break) -> Self {
        Self { breaks: Some((at, how)), ..self }
    }

    /// Returns a number that depends on the seed, a purpose and a position.
    fn choice(&self, purpose: u64, position: u64) -> u64 {
        // The finaliser of SplitMix64: every bit depends on every bit.
        let mut x =
            self.seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ position.rotate_left(32);
        for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
            x = (x ^ (x >> 30)).wrapping_mul(factor);
            x ^= x >> 27;
        }
        x ^ (x >> 31)
    }

    /// Returns the number of the `wanted` bytes that move at once at this position.
    fn piece(&self, purpose: u64, position: u64, wanted: usize) -> usize {
        match self.piece {
            usize::MAX => wanted,
            most => wanted.min(1 + (self.choice(purpose, position) % most as u64) as usize),
        }
    }

    /// Returns the delay of a piece that begins here.
    fn delay(&self, position: u64) -> Option<Duration> {
        let choice = self.choice(DELAY, position);
        (!self.delay.is_zero() && choice.is_multiple_of(16))
            .then(|| self.delay.mul_f64((choice >> 32) as f64 / f64::from(u32::MAX)))
    }
}

const WRITE: u64 = 1;
const READ: u64 = 2;
const FLUSH: u64 = 3;
const HOLD: u64 = 4;
const DELAY: u64 = 5;

/// The result of an attempt to move bytes.
pub(crate) enum Readiness<Moved> {
    /// The attempt is complete.
    Now(io::Result<Moved>),
    /// The end must wait.
    Nothing,
}

/// The bytes of one direction in transit.
pub(crate) struct Lane {
    course: Course,
    capacity: usize,
    bytes: VecDeque<u8>,
    written: u64,
    read: u64,
    /// Bytes before this position may be read. Later ones wait for a flush.
    shown: u64,
    /// Bytes from these positions on do not arrive before these times. Both are in order.
    late: VecDeque<(u64, Instant)>,
    /// Position of the last hiccup of each kind.
    hiccups: [Option<u64>; 3],
    /// Whether the writer has closed it.
    pub(crate) closed: bool,
}

impl Lane {
    pub(crate) fn new(course: Course, capacity: usize) -> Self {
        Self {
            course,
            capacity,
            bytes: VecDeque::new(),
            written: 0,
            read: 0,
            shown: 0,
            late: VecDeque::new(),
            hiccups: [None; 3],
            closed: false,
        }
    }

    /// Returns the numbers of bytes written and read.
    pub(crate) fn positions(&self) -> [u64; 2] {
        [self.written, self.read]
    }

    /// Returns the time at which the next late bytes arrive.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.late.front().map(|(_, due)| *due)
    }

    /// Returns whether the link has broken in this way for an end at this position.
    fn has_broken(&self, how: Break, position: u64) -> bool {
        self.course.breaks.is_some_and(|(at, found)| found == how && position >= at)
    }

    /// Returns whether the writer has met a reset.
    pub(crate) fn is_reset_for_writer(&self) -> bool {
        self.has_broken(Break::Reset, self.written)
    }

    /// Returns whether the reader has met a reset.
    pub(crate) fn is_reset_for_reader(&self) -> bool {
        self.has_broken(Break::Reset, self.read)
    }

    /// Returns whether nothing arrives any more.
    pub(crate) fn has_stalled(&self) -> bool {
        self.has_broken(Break::Stall, self.written)
    }

    /// Decides whether a call of this kind at this position returns without having done anything. It does so once.
    fn hiccup(&mut self, purpose: u64, position: u64) -> Option<io::Error> {
        let choice = self.course.choice(purpose + 16, position);
        let last = &mut self.hiccups[purpose as usize - 1];
        if !self.course.hiccups || !choice.is_multiple_of(8) || *last == Some(position) {
            return None;
        }
        *last = Some(position);
        let kinds =
            [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut];
        Some(kinds[(choice >> 8) as usize % kinds.len()].into())
    }

    pub(crate) fn write(&mut self, bytes: &[u8], now: Instant) -> Readiness<usize> {
        if let Some(hiccup) = self.hiccup(WRITE, self.written) {
            return Readiness::Now(Err(hiccup));
        }
        let mut room = self.capacity - self.bytes.len();
        if let Some((at, how)) = self.course.breaks {
            match how {
                Break::End if self.written >= at => {
                    return Readiness::Now(Err(io::ErrorKind::BrokenPipe.into()));
                }
                Break::Hush if self.written >= at => return Readiness::Now(Ok(bytes.len())),
                Break::Stall => {}
                _ => room = room.min(usize::try_from(at - self.written).unwrap_or(usize::MAX)),
            }
        }
        if room == 0 {
            return Readiness::Nothing;
        }
        let len = self.course.piece(WRITE, self.written, bytes.len().min(room));
        if let Some(delay) = self.course.delay(self.written) {
            // Keep the order, but do not add up delays.
            let due = self.late.back().map_or(now, |(_, due)| *due).max(now + delay);
            self.late.push_back((self.written, due));
        }
        self.bytes.extend(&bytes[..len]);
        self.written += len as u64;
        if !self.course.holds || self.bytes.len() == self.capacity {
            self.shown = self.written;
        } else if self.course.choice(HOLD, self.written).is_multiple_of(4) {
            // A part of the bytes held back, and a part of these.
            let held = self.written - self.shown;
            self.shown += self.course.choice(HOLD + 1, self.written) % (held + 1);
        }
        Readiness::Now(Ok(len))
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(hiccup) = self.hiccup(FLUSH, self.written) {
            return Err(hiccup);
        }
        self.shown = self.written;
        Ok(())
    }

    pub(crate) fn read(&mut self, to: &mut [u8], now: Instant) -> Readiness<usize> {
        while self.late.front().is_some_and(|(_, due)| *due <= now) {
            self.late.pop_front();
        }
        let breaks = self.course.breaks.map_or(u64::MAX, |(at, _)| at);
        let late = self.late.front().map_or(u64::MAX, |(from, _)| *from);
        let limit = self.shown.min(breaks).min(late);
        if self.read < limit {
            if let Some(hiccup) = self.hiccup(READ, self.read) {
                return Readiness::Now(Err(hiccup));
            }
            let there = usize::try_from(limit - self.read).unwrap_or(usize::MAX);
            let len = self.course.piece(READ, self.read, to.len().min(there));
            for (to, byte) in to.iter_mut().zip(self.bytes.drain(..len)) {
                *to = byte;
            }
            self.read += len as u64;
            return Readiness::Now(Ok(len));
        }
        match self.course.breaks.filter(|(at, _)| self.read >= *at) {
            Some((_, Break::End | Break::Hush)) => return Readiness::Now(Ok(0)),
            Some((_, Break::Reset)) => {
                return Readiness::Now(Err(io::ErrorKind::ConnectionReset.into()));
            }
            Some((_, Break::Stall)) => return Readiness::Nothing,
            None => {}
        }
        // Unflushed bytes are lost when their writer is dropped.
        if self.closed && self.read == self.shown {
            Readiness::Now(Ok(0))
        } else {
            Readiness::Nothing
        }
    }
}
