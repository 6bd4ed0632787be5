//! CPU time, for measuring two parties that compute at once.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of all threads of this process, including finished ones.
pub fn time() -> Duration {
    of(ClockId::ProcessCPUTime)
}

/// CPU time of this thread.
pub fn thread_time() -> Duration {
    of(ClockId::ThreadCPUTime)
}

fn of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
