//! The cost of a run: bytes each way, flights and seconds, by named phase.

use std::time::{Duration, Instant};

/// The phase of a run that has not named one yet; making the connection belongs to it.
pub(crate) const CONNECT: &str = "connect";

/// The phase of making another connection for a run.
pub(crate) const PARALLEL: &str = "parallel";

/// The cost of one phase.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Phase {
    /// The phase's name.
    pub name: &'static str,
    /// Time spent in it.
    pub time: Duration,
    /// Bytes sent, including framing but not TLS records.
    pub sent: u64,
    /// Bytes received, including framing but not TLS records.
    pub received: u64,
}

/// The direction of a flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flight {
    Out,
    In,
    /// Both at once: an exchange.
    Both,
}

/// Counts bytes, flights and seconds. A phase that is entered twice is one phase.
#[derive(Debug, Clone)]
pub struct Meter {
    phases: Vec<Phase>,
    current: usize,
    since: Instant,
    flights: u64,
    last: Option<Flight>,
}

impl Default for Meter {
    fn default() -> Self {
        let phases = vec![Phase { name: CONNECT, ..Phase::default() }];
        Self { phases, current: 0, since: Instant::now(), flights: 0, last: None }
    }
}

impl Meter {
    /// Bytes of a phase that were counted elsewhere.
    pub fn of_phase(name: &'static str, sent: u64, received: u64) -> Self {
        let phases = vec![Phase { name, sent, received, ..Phase::default() }];
        Self { phases, ..Self::default() }
    }

    /// Leaves the current phase and enters the named one.
    pub(crate) fn enter(&mut self, name: &'static str) {
        let now = Instant::now();
        self.phases[self.current].time += now - self.since;
        self.since = now;
        self.current = self.phases.iter().position(|p| p.name == name).unwrap_or_else(|| {
            self.phases.push(Phase { name, ..Phase::default() });
            self.phases.len() - 1
        });
    }

    /// Leaves this much of the time until now out of the current phase.
    pub(crate) fn leave_out(&mut self, time: Duration) {
        self.since = (self.since + time).min(Instant::now());
    }

    pub(crate) fn count_sent(&mut self, bytes: usize) {
        self.phases[self.current].sent += bytes as u64;
    }

    /// Adds the bytes of another meter, phase by phase, and no time: it passed on both at once.
    pub fn add(&mut self, other: &Self) {
        for phase in &other.phases {
            let same = self.phases.iter().position(|p| p.name == phase.name);
            let at = same.unwrap_or_else(|| {
                self.phases.push(Phase { name: phase.name, ..Phase::default() });
                self.phases.len() - 1
            });
            self.phases[at].sent += phase.sent;
            self.phases[at].received += phase.received;
        }
    }

    pub(crate) fn count_received(&mut self, bytes: usize) {
        self.phases[self.current].received += bytes as u64;
    }

    /// Counts a message. Consecutive messages in the same direction are one flight; an exchange is a flight of
    /// its own.
    pub(crate) fn count_flight(&mut self, flight: Flight) {
        if self.last != Some(flight) || flight == Flight::Both {
            self.last = Some(flight);
            self.flights += 1;
        }
    }

    /// The name of the current phase.
    pub fn phase(&self) -> &'static str {
        self.phases[self.current].name
    }

    /// Every phase so far in the order it was first entered, including the current one up to now.
    pub fn phases(&self) -> Vec<Phase> {
        let mut phases = self.phases.clone();
        phases[self.current].time += self.since.elapsed();
        phases
    }

    /// Bytes sent so far.
    pub fn sent(&self) -> u64 {
        self.phases.iter().map(|p| p.sent).sum()
    }

    /// Bytes received so far.
    pub fn received(&self) -> u64 {
        self.phases.iter().map(|p| p.received).sum()
    }

    /// Flights so far: the number of changes of the direction of traffic, where an exchange counts as one.
    /// Papers call this the number of rounds. It is the same at both ends.
    pub fn rounds(&self) -> u64 {
        self.flights
    }
}

/// The peak resident memory of this process, in bytes.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_entered_twice_is_one_phase() {
        let mut meter = Meter::default();
        for (phase, bytes) in [("setup", 3), ("online", 5), ("setup", 7)] {
            meter.enter(phase);
            meter.count_sent(bytes);
        }
        let sent: Vec<_> = meter.phases().iter().map(|p| (p.name, p.sent)).collect();
        assert_eq!(sent, [("connect", 0), ("setup", 10), ("online", 5)]);
        assert_eq!((meter.phase(), meter.sent(), meter.received()), ("setup", 15, 0));
    }

    #[test]
    fn messages_of_one_direction_are_one_flight_and_each_exchange_is_its_own() {
        use Flight::{Both, In, Out};
        let mut meter = Meter::default();
        for (flight, flights) in
            [(Out, 1), (Out, 1), (In, 2), (In, 2), (Both, 3), (Both, 4), (In, 5), (Out, 6)]
        {
            meter.count_flight(flight);
            assert_eq!(meter.rounds(), flights);
        }
    }

    #[test]
    fn time_that_is_left_out_does_not_count() {
        let mut meter = Meter::default();
        std::thread::sleep(Duration::from_millis(20));
        meter.leave_out(Duration::from_secs(100));
        assert!(meter.phases()[0].time < Duration::from_millis(15));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_known() {
        assert!(peak_memory().unwrap() > 1 << 20);
    }
}
