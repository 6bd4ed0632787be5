//! Two parties in one process, and the resources that the process used.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use rand::{SeedableRng, rngs::StdRng};
use rayon::{ThreadPool, ThreadPoolBuilder};
use vesica_net::Channel;

use crate::{Line, Result};

/// A run counts as hung if the other party is silent for this long.
pub(crate) const STALL: Duration = Duration::from_secs(600);

/// The results of both parties, and the cost of the run.
pub(crate) struct Ran<S, R> {
    pub sender: S,
    pub receiver: R,
    pub used: Used,
}

/// The resources that both parties used.
pub(crate) struct Used {
    pub to_sender: Channel,
    pub to_receiver: Channel,
    /// From the start to the end of both.
    pub seconds: f64,
    /// From the start to the end of each.
    pub sender_seconds: f64,
    pub receiver_seconds: f64,
    pub cpu_seconds: Option<f64>,
}

/// Runs both parties at once, each with its own `threads` threads.
pub(crate) fn run<S: Send, R: Send>(
    line: &Line,
    threads: usize,
    send: impl FnOnce(&mut Channel, &mut StdRng) -> S + Send,
    receive: impl FnOnce(&mut Channel, &mut StdRng) -> R + Send,
) -> Result<Ran<S, R>> {
    let (sender_pool, receiver_pool) = (pool(threads)?, pool(threads)?);
    let [mut to_receiver, mut to_sender] = line.channels(STALL)?;
    let barrier = Barrier::new(2);
    let cpu_before = usage::cpu_seconds();
    let (sender, (receiver, started, took)) = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            sender_pool.install(|| {
                let mut rng = StdRng::from_rng(&mut rand::rng());
                barrier.wait();
                let started = Instant::now();
                (send(&mut to_receiver, &mut rng), started.elapsed())
            })
        });
        let received = receiver_pool.install(|| {
            let mut rng = StdRng::from_rng(&mut rand::rng());
            barrier.wait();
            let started = Instant::now();
            (receive(&mut to_sender, &mut rng), started, started.elapsed())
        });
        (sender.join(), received)
    });
    let seconds = started.elapsed().as_secs_f64();
    let cpu_seconds = usage::cpu_seconds().zip(cpu_before).map(|(after, before)| after - before);
    let (sender, sender_took) = sender.map_err(|_| "the sender panicked")?;
    let used = Used {
        to_sender,
        to_receiver,
        seconds,
        sender_seconds: sender_took.as_secs_f64(),
        receiver_seconds: took.as_secs_f64(),
        cpu_seconds,
    };
    Ok(Ran { sender, receiver, used })
}

/// Starts the threads of one party.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

/// The process's use of resources, from the operating system.
#[cfg(target_os = "linux")]
pub(crate) mod usage {
    use rustix::time::{ClockId, clock_gettime};

    pub fn cpu_seconds() -> Option<f64> {
        Some(seconds(ClockId::ProcessCPUTime))
    }

    pub fn cpu_seconds_of_thread() -> Option<f64> {
        Some(seconds(ClockId::ThreadCPUTime))
    }

    fn seconds(clock: ClockId) -> f64 {
        let used = clock_gettime(clock);
        used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
    }

    /// Resets the peak of memory to the present use. If that is not permitted, the peak is that over all runs so far.
    pub fn reset_peak_memory() {
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }
}

/// Not implemented for other systems.
#[cfg(not(target_os = "linux"))]
pub(crate) mod usage {
    pub fn cpu_seconds() -> Option<f64> {
        None
    }

    pub fn cpu_seconds_of_thread() -> Option<f64> {
        None
    }

    pub fn reset_peak_memory() {}
}
