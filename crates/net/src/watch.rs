//! Progress reports of a channel to an observer, such as a progress bar.

use std::time::{Duration, Instant};

use crate::Meter;

/// The minimal interval between two calls of a watcher.
const INTERVAL: Duration = Duration::from_millis(200);

/// The activity of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    /// The phase it is in.
    pub phase: &'static str,
    /// Bytes sent so far, framing included.
    pub sent: u64,
    /// Bytes received so far, framing included.
    pub received: u64,
    /// The time since it began to wait for the other side's next message; `None` while it is not waiting. Keep-alive
    /// messages of the other side do not end the wait.
    pub waiting: Option<Duration>,
}

/// The watcher, and the time since which the channel waits.
#[derive(Default)]
pub(crate) struct Watch {
    watcher: Option<Box<dyn FnMut(Activity) + Send>>,
    last: Option<Instant>,
    waiting_since: Option<Instant>,
}

impl Watch {
    /// Calls this watcher from now on.
    pub(crate) fn call(&mut self, watcher: impl FnMut(Activity) + Send + 'static) {
        self.watcher = Some(Box::new(watcher));
        self.last = None;
    }

    pub(crate) fn begin_waiting(&mut self) {
        self.waiting_since = Some(Instant::now());
    }

    pub(crate) fn end_waiting(&mut self) {
        self.waiting_since = None;
    }

    /// Reports the current activity if it is time to.
    pub(crate) fn show(&mut self, meter: &Meter) {
        let Some(watcher) = &mut self.watcher else { return };
        let now = Instant::now();
        if self.last.is_some_and(|last| now - last < INTERVAL) {
            return;
        }
        self.last = Some(now);
        watcher(Activity {
            phase: meter.phase(),
            sent: meter.sent(),
            received: meter.received(),
            waiting: self.waiting_since.map(|since| now - since),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        thread,
    };

    use super::*;
    use crate::Channel;
    use crate::memory;

    #[test]
    fn a_watcher_sees_bytes_and_waits_that_busy_messages_do_not_end() {
        let (left, right) = memory::pair();
        let seen: Arc<Mutex<Vec<Activity>>> = Arc::default();
        let log = seen.clone();
        let waited = thread::scope(|scope| {
            scope.spawn(move || {
                let mut late = Channel::new(right);
                let started = Instant::now();
                while started.elapsed() < 3 * Duration::from_secs(1) / 2 {
                    thread::sleep(Duration::from_millis(20));
                    late.keep_alive().unwrap();
                }
                late.send("late", &[7; 100]).unwrap();
                late.flush().unwrap();
                late.recv_into("answer", &mut [0; 1000]).unwrap();
            });
            let mut channel = Channel::new(left);
            channel.set_watcher(move |activity| log.lock().unwrap().push(activity));
            channel.phase("here");
            let started = Instant::now();
            channel.recv_into("late", &mut [0; 100]).unwrap();
            let waited = started.elapsed();
            thread::sleep(INTERVAL);
            channel.send("answer", &[0; 1000]).unwrap();
            channel.flush().unwrap();
            waited
        });
        let seen = seen.lock().unwrap();
        let longest = seen.iter().filter_map(|activity| activity.waiting).max().unwrap();
        // The message that ended the wait was polled for every poll interval, and reported every other.
        assert!(longest + 3 * INTERVAL > waited && longest <= waited, "{longest:?} of {waited:?}");
        let last = seen.last().unwrap();
        assert!(last.sent > 1000 && last.received > 100 && last.waiting.is_none(), "{last:?}");
        assert!(seen.iter().all(|activity| activity.phase == "here"));
        assert!(seen.len() as u32 <= waited.as_millis() as u32 / 200 + 3, "{}", seen.len());
    }
}
