//! Both directions at once.
//!
//! Each party sends up to a window more than it has received, so two parties that follow the same rule keep both
//! directions of the link busy. The window starts smaller than any transport's buffer, so that neither party waits for
//! the other to read, and grows until a write blocks, so that on a long link the whole round trip is filled. A write
//! that blocks is postponed, never waited for, so two parties cannot block each other.

use crate::{Channel, Result, channel::SEGMENT, meter::Flight};

impl Channel {
    /// Sends `out` and receives exactly `into.len()` bytes at the same time. Both parties call it, with the
    /// lengths interchanged.
    ///
    /// # Errors
    /// Same as [`Channel::recv_into`].
    pub fn exchange(&mut self, label: &'static str, out: &[u8], into: &mut [u8]) -> Result<()> {
        self.meter.count_flight(Flight::Both);
        self.put_header(label, out.len());
        let mut outgoing = out.chunks(SEGMENT);
        let mut window = Window::default();
        self.send_ahead(&mut outgoing, &mut window)?;
        self.await_length(label, into.len())?;
        // The other side is not faster than this one.
        self.arrival.iter_mut().for_each(|wait| wait.extend(out.len() as u64));
        for segment in into.chunks_mut(SEGMENT) {
            if window.is_half_free() {
                self.send_ahead(&mut outgoing, &mut window)?;
            }
            self.read_segment(label, segment)?;
            window.received += 1;
        }
        // From here on the other side only reads.
        for segment in outgoing {
            self.put_segment(segment);
            if self.is_full() {
                self.drain()?;
            }
        }
        self.flush()
    }

    /// Sends until the window is full or a write blocks.
    fn send_ahead<'a>(
        &mut self,
        outgoing: &mut impl Iterator<Item = &'a [u8]>,
        window: &mut Window,
    ) -> Result<()> {
        while !window.is_full() {
            if self.is_full() {
                self.try_drain()?;
            }
            if self.is_full() {
                break;
            }
            let Some(segment) = outgoing.next() else { break };
            self.put_segment(segment);
            window.sent += 1;
        }
        self.try_flush()?;
        window.adapt(self.is_flushed());
        Ok(())
    }
}

/// The number of segments that a party may send in advance of those that it has received.
struct Window {
    size: usize,
    sent: usize,
    received: usize,
    /// The number of smooth rounds after which the window grows by an eighth; `None` as long as no write has
    /// blocked, during which the window doubles in each round.
    caution: Option<usize>,
    /// Smooth rounds since it last grew or shrank.
    smooth: usize,
    /// The round is over when this many segments have been received.
    answered_at: usize,
    /// Whether the last write blocked.
    blocked: bool,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            size: Self::MIN,
            sent: 0,
            received: 0,
            caution: None,
            smooth: 0,
            answered_at: Self::MIN,
            blocked: false,
        }
    }
}

impl Window {
    /// 64 KiB: both parties' windows together fit into the buffers of a fresh TCP connection.
    const MIN: usize = 4;

    /// 2 MiB: the two windows together fit into the buffers that an operating system eventually gives a TCP
    /// connection, and fill a link of 300 Mbit/s with a round trip of 100 ms.
    const MAX: usize = 128;

    /// The caution after the first blocked write. Each further one doubles it, since each costs a poll
    /// interval.
    const CAUTION: usize = 16;

    fn is_full(&self) -> bool {
        self.sent >= self.received + self.size
    }

    /// Whether sending again is worthwhile. Two parties that both wait would have nothing in flight, so each
    /// would be more than half its window ahead of the other, which is impossible.
    fn is_half_free(&self) -> bool {
        self.sent <= self.received + self.size / 2
    }

    /// Shrinks after a blocked write, which counts once however long it stays blocked; grows after others, but
    /// at most once in the time in which everything in flight has been answered.
    fn adapt(&mut self, smooth: bool) {
        let newly_blocked = !smooth && !self.blocked;
        self.blocked = !smooth;
        if newly_blocked {
            self.answered_at = self.sent;
            self.caution = Some(self.caution.map_or(Self::CAUTION, |c| c.saturating_mul(2)));
            self.resize(self.size / 2);
        } else if smooth && self.received >= self.answered_at {
            self.answered_at = self.sent;
            self.smooth += 1;
            match self.caution {
                None => self.resize(self.size * 2),
                Some(caution) if self.smooth >= caution => {
                    self.resize(self.size + self.size.div_ceil(8));
                }
                Some(_) => {}
            }
        }
    }

    fn resize(&mut self, size: usize) {
        self.size = size.clamp(Self::MIN, Self::MAX);
        self.smooth = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round in which everything is answered and the window is filled again.
    fn round(window: &mut Window, smooth: bool) {
        window.received = window.sent.max(Window::MIN);
        window.sent = window.received + window.size;
        window.adapt(smooth);
    }

    #[test]
    fn the_window_doubles_until_a_write_blocks_and_then_grows_slowly() {
        let mut window = Window::default();
        for size in [8, 16, 32, 64, 128, 128] {
            round(&mut window, true);
            assert_eq!(window.size, size);
        }
        for (rounds, size, then) in [(Window::CAUTION, 64, 72), (2 * Window::CAUTION, 36, 41)] {
            round(&mut window, false);
            // Still blocked, or nothing answered: nothing changes.
            window.adapt(false);
            window.adapt(true);
            for _ in 0..rounds {
                assert_eq!(window.size, size);
                round(&mut window, true);
            }
            assert_eq!(window.size, then);
        }
        for _ in 0..100 {
            round(&mut window, false);
            round(&mut window, true);
        }
        assert_eq!(window.size, Window::MIN);
    }

    #[test]
    fn a_party_is_never_more_than_the_window_ahead() {
        let mut window = Window { sent: 3, ..Window::default() };
        assert!(!window.is_full() && !window.is_half_free());
        window.sent = 4;
        assert!(window.is_full());
        window.received = 2;
        assert!(!window.is_full() && window.is_half_free());
        window = Window { sent: 13, received: 10, ..window };
        assert!(!window.is_full() && !window.is_half_free());
    }
}
