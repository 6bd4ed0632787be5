//! The effects of an emulated link on packets.

use std::time::{Duration, Instant};

use vesica_net::transport::shaper::Link;

/// Minimum default queue of a link, in bytes: enough for bursts on a short and fast link.
const LEAST_QUEUE: usize = 1 << 18;

/// A link for packets, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacketLink {
    /// Its rate and its round trip.
    pub link: Link,
    /// Maximum number of bytes waiting to enter it. Packets that arrive at a full queue are lost.
    pub queue: usize,
    /// The fraction of packets lost in transit, at random.
    pub loss: f64,
}

impl PacketLink {
    /// Creates a link that loses no packets in transit and has the queue that is recommended for routers: the data in
    /// transit during a round trip, or the minimum queue if that is larger.
    pub fn new(link: Link) -> Self {
        let bytes = link.bits_per_second as f64 / 8.0 * link.round_trip.as_secs_f64();
        Self { link, queue: (bytes as usize).max(LEAST_QUEUE), loss: 0.0 }
    }

    /// Returns one of two equal links in a row that together have this round trip and lose this fraction of packets.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // Only real sockets need it.
    pub fn half(self) -> Self {
        let link = Link { round_trip: self.link.round_trip / 2, ..self.link };
        Self { link, loss: 1.0 - (1.0 - self.loss).sqrt(), ..self }
    }
}

/// One direction of it.
#[derive(Debug, Clone)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))] // Only real sockets need it.
pub struct Direction {
    wire: PacketLink,
    /// When all accepted packets will have entered the link.
    free: Instant,
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
impl Direction {
    /// Creates an idle direction.
    pub fn new(wire: PacketLink, now: Instant) -> Self {
        Self { wire, free: now }
    }

    /// Takes a packet of `bytes` bytes. Returns the time at which its last byte arrives at the other end, or `None` if
    /// it is lost because the queue is full or by `chance`, which is from 0 to 1.
    pub fn take(&mut self, bytes: usize, now: Instant, chance: f64) -> Option<Instant> {
        let PacketLink { link, queue, loss } = self.wire;
        let waiting = self.free.saturating_duration_since(now);
        let takes = link.occupied_by(bytes);
        // A packet longer than the queue still passes an idle link.
        if waiting > Duration::ZERO && waiting + takes > link.occupied_by(queue) {
            return None;
        }
        self.free = now + waiting + takes;
        (chance >= loss).then(|| self.free + link.round_trip / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte per microsecond, with a round trip of 10 ms.
    const LINK: Link = Link { bits_per_second: 8_000_000, round_trip: Duration::from_millis(10) };

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn packets_enter_one_after_the_other_and_travel_at_once() {
        let start = Instant::now();
        let mut line = Direction::new(PacketLink::new(LINK), start);
        assert_eq!(line.take(1500, start, 1.0), Some(start + micros(6500)));
        assert_eq!(line.take(500, start, 1.0), Some(start + micros(7000)));
        // One packet that arrives while the last one enters, and one on an idle link.
        assert_eq!(line.take(100, start + micros(1900), 1.0), Some(start + micros(7100)));
        assert_eq!(line.take(100, start + micros(5000), 1.0), Some(start + micros(10_100)));
    }

    #[test]
    fn a_full_queue_takes_nothing_until_it_has_room() {
        let start = Instant::now();
        let mut line = Direction::new(PacketLink { queue: 3000, ..PacketLink::new(LINK) }, start);
        let taken = (0..9).filter(|_| line.take(1000, start, 1.0).is_some()).count();
        assert_eq!(taken, 3);
        assert_eq!(line.take(1000, start + micros(999), 1.0), None);
        assert_eq!(line.take(1000, start + micros(1000), 1.0), Some(start + micros(9000)));

        let mut short = Direction::new(PacketLink { queue: 10, ..PacketLink::new(LINK) }, start);
        assert!(short.take(1000, start, 1.0).is_some());
        assert!(short.take(1, start, 1.0).is_none());
        assert!(short.take(1000, start + micros(1000), 1.0).is_some());
    }

    #[test]
    fn lost_packets_have_occupied_the_link() {
        let start = Instant::now();
        let mut line = Direction::new(PacketLink { loss: 0.1, ..PacketLink::new(LINK) }, start);
        assert_eq!(line.take(1000, start, 0.09), None);
        assert_eq!(line.take(1000, start, 0.1), Some(start + micros(7000)));
    }

    #[test]
    fn two_halves_in_a_row_are_the_whole() {
        let start = Instant::now();
        let whole = PacketLink { loss: 0.19, ..PacketLink::new(LINK) };
        let half = whole.half();
        assert!((half.loss - 0.1).abs() < 1e-9);
        let [mut first, mut second] = [(); 2].map(|()| Direction::new(half, start));
        let between = first.take(100, start, 1.0).unwrap();
        // The packet enters each of the two.
        let arrives = Direction::new(whole, start).take(100, start, 1.0).unwrap() + micros(100);
        assert_eq!(second.take(100, between, 1.0), Some(arrives));
    }

    #[test]
    fn the_queue_holds_a_round_trip_but_never_too_little() {
        assert_eq!(PacketLink::new(LINK).queue, LEAST_QUEUE);
        let long = Link { round_trip: Duration::from_secs(1), ..LINK };
        assert_eq!(PacketLink::new(long).queue, 1_000_000);
    }
}
