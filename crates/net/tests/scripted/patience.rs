//! Peers that do just enough not to be dropped for silence, over a transport on which time passes at once.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use vesica_net::{Channel, Clock, Error};

use super::header;

/// Less than the stall timeout.
const PAUSE: Duration = Duration::from_secs(59);
const STALL: Duration = Duration::from_secs(60);

/// A peer that sends and receives in small pieces, with a pause before each.
struct Slow {
    clock: Clock,
    /// The bytes that it sends, repeatedly, in pieces.
    says: Vec<u8>,
    piece: usize,
    next: usize,
}

impl Read for Slow {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.clock.advance(PAUSE);
        let len = self.piece.min(buf.len()).min(self.says.len() - self.next);
        buf[..len].copy_from_slice(&self.says[self.next..][..len]);
        self.next = (self.next + len) % self.says.len();
        Ok(len)
    }
}

impl Write for Slow {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.clock.advance(PAUSE);
        Ok(1)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn channel(says: Vec<u8>, piece: usize) -> (Channel, Clock) {
    let clock = Clock::default();
    let slow = Slow { clock: clock.clone(), says, piece, next: 0 };
    (Channel::new(slow).with_clock(clock.clone()).with_stall_timeout(STALL), clock)
}

/// Checks that this error occurred, and no later than after this time.
#[track_caller]
fn too_slow(error: Error, clock: &Clock, start: std::time::Instant, most: Duration) {
    assert!(matches!(error, Error::TooSlow { .. }), "{error}");
    assert!(clock.since(start) <= most, "{:?}", clock.since(start));
}

#[test]
fn a_message_that_comes_a_byte_at_a_time() {
    // A header that is never complete, and a payload that is never complete.
    for says in [header("a-label-of-forty-characters-and-no-more", 0), header("slow", 1000)] {
        let says = [says, vec![0; 1001]].concat();
        let (mut channel, clock) = channel(says, 1);
        let start = clock.now();
        let error = channel.recv_len("slow", 1000).unwrap_err();
        too_slow(error, &clock, start, 3 * STALL);
    }
}

#[test]
fn a_payload_of_which_nothing_but_the_header_is_quick() {
    let (header, payload) = (header("slow", 200_000), vec![0; 200_000]);
    let says = [header.clone(), payload].concat();
    let (mut channel, clock) = channel(says, header.len());
    let start = clock.now();
    let error = channel.recv_len("slow", 200_000).unwrap_err();
    // A stall timeout, and the time that the bytes are given.
    too_slow(error, &clock, start, 3 * STALL + Duration::from_secs(20));
}

#[test]
fn keep_alives_once_a_minute() {
    let says = header("busy", 0);
    let (mut channel, clock) = channel(says.clone(), says.len());
    let start = clock.now();
    let error = channel.recv_len("answer", 10).unwrap_err();
    too_slow(error, &clock, start, Duration::from_secs(5400) + 3 * STALL);
    // An honest peer that is busy for an hour is waited for.
    assert!(clock.since(start) > Duration::from_secs(3600));
}

#[test]
fn a_peer_that_takes_a_byte_at_a_time() {
    let (mut channel, clock) = channel(vec![0], 1);
    let start = clock.now();
    let error = channel.send("large", &[0; 1 << 17]).unwrap_err();
    too_slow(error, &clock, start, 5 * STALL);
}

#[test]
fn a_run_has_a_deadline() {
    let says = [header("small", 0), header("busy", 0)].concat();
    let (channel, clock) = channel(says.clone(), says.len());
    let hour = Duration::from_secs(3600);
    let mut channel = channel.with_deadline(hour);
    let start = clock.now();
    let error = loop {
        if let Err(error) = channel.recv_len("small", 0) {
            break error;
        }
    };
    assert!(matches!(error, Error::Deadline { after, .. } if after == hour), "{error}");
    assert!(clock.since(start) <= hour + 2 * STALL);
    assert!(error.to_string().contains("not over after 3600 s"), "{error}");
}
