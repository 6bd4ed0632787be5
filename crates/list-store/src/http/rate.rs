//! The minimum rate of a download. A slower server is abandoned.

use std::{
    io,
    time::{Duration, Instant},
};

/// Time over which bytes are counted.
const WINDOW: Duration = Duration::from_secs(20);

/// Minimum number of bytes in that time.
const LEAST: u64 = 1 << 14;

/// Counts bytes as they arrive.
pub(crate) struct LeastRate {
    since: Instant,
    bytes: u64,
}

impl LeastRate {
    pub(crate) fn new(now: Instant) -> Self {
        Self { since: now, bytes: 0 }
    }

    /// Counts newly received bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if a window has ended with too few.
    pub(crate) fn take(&mut self, bytes: usize, now: Instant) -> io::Result<()> {
        self.bytes += bytes as u64;
        if now.saturating_duration_since(self.since) < WINDOW {
            return Ok(());
        }
        let came = std::mem::replace(self, Self::new(now)).bytes;
        match came >= LEAST {
            true => Ok(()),
            false => {
                let message = format!("only {came} bytes arrived in {} seconds", WINDOW.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_second_is_an_error_and_a_slow_download_is_not() {
        let begin = Instant::now();
        let ends_after = |bytes: usize| {
            let mut rate = LeastRate::new(begin);
            (1..=600u32)
                .find(|second| rate.take(bytes, begin + Duration::from_secs(1) * *second).is_err())
        };
        assert_eq!(ends_after(1), Some(20));
        assert_eq!(ends_after(800), Some(20));
        assert_eq!(ends_after(900), None);
        // Bytes that arrived early count only for their own window.
        let mut rate = LeastRate::new(begin);
        assert!(rate.take(1 << 30, begin).is_ok());
        assert!(rate.take(1, begin + WINDOW).is_ok());
        assert!(rate.take(1, begin + 2 * WINDOW).is_err());
    }
}
