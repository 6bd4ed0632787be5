//! What a run cost: bytes each way, flights and seconds, by named phase.

use std::time::{Duration, Instant};

/// What one phase cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Phase {
    /// The phase's name.
    pub name: &'static str,
    /// Time spent in it.
    pub time: Duration,
    /// Bytes sent, framing included, TLS records not.
    pub sent: u64,
    /// Bytes received, framing included, TLS records not.
    pub received: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Out,
    In,
}

/// Counts bytes, flights and seconds. A phase that is entered twice is one phase.
#[derive(Debug)]
pub struct Meter {
    phases: Vec<Phase>,
    current: usize,
    since: Instant,
    flights: u64,
    last: Option<Direction>,
}

impl Default for Meter {
    fn default() -> Self {
        let phases = vec![Phase { name: "connect", ..Phase::default() }];
        Self { phases, current: 0, since: Instant::now(), flights: 0, last: None }
    }
}

impl Meter {
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

    pub(crate) fn count_sent(&mut self, bytes: usize) {
        self.phases[self.current].sent += bytes as u64;
        self.turn(Direction::Out);
    }

    pub(crate) fn count_received(&mut self, bytes: usize) {
        self.phases[self.current].received += bytes as u64;
        self.turn(Direction::In);
    }

    fn turn(&mut self, direction: Direction) {
        if self.last != Some(direction) {
            self.last = Some(direction);
            self.flights += 1;
        }
    }

    /// The name of the current phase.
    pub fn phase(&self) -> &'static str {
        self.phases[self.current].name
    }

    /// Every phase so far in the order it was first entered, the current one up to now.
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

    /// Flights so far: how often the direction of traffic changed, as this party saw it. Papers call
    /// this the number of rounds.
    pub fn rounds(&self) -> u64 {
        self.flights
    }
}
