//! Reads, writes and reports of a channel over a transport that plays a script.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

use vesica_net::{AbortReason, Channel, Clock, Deviation, Error};

use super::header;

/// Payload bytes of a segment.
const SEGMENT: usize = 16_383;
const STALL: Duration = Duration::from_secs(60);

/// The transport's next operations, from the front; at the end it blocks, a second each time.
#[derive(Default)]
struct Script {
    reads: VecDeque<io::Result<Vec<u8>>>,
    writes: VecDeque<Takes>,
    /// The bytes written so far.
    written: Vec<u8>,
    /// The lengths of `written` at each read.
    written_before_read: Vec<usize>,
    attempts_to_write: usize,
    flushes: usize,
    flushes_that_block: usize,
}

/// The bytes that a write accepts.
#[derive(Clone, Copy)]
enum Takes {
    Everything,
    Nothing,
    Closed,
}

#[derive(Clone)]
struct Played {
    script: Arc<Mutex<Script>>,
    clock: Clock,
    /// The behaviour of writes that are not in the script.
    then: Takes,
}

impl Played {
    fn blocked<T>(&self) -> io::Result<T> {
        self.clock.advance(Duration::from_secs(1));
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Read for Played {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut script = self.script.lock().unwrap();
        let written = script.written.len();
        script.written_before_read.push(written);
        match script.reads.pop_front() {
            None => {
                drop(script);
                self.blocked()
            }
            Some(Err(error)) => Err(error),
            Some(Ok(mut bytes)) => {
                let len = bytes.len().min(buf.len());
                buf[..len].copy_from_slice(&bytes[..len]);
                bytes.drain(..len);
                if !bytes.is_empty() {
                    script.reads.push_front(Ok(bytes));
                }
                Ok(len)
            }
        }
    }
}

impl Write for Played {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut script = self.script.lock().unwrap();
        script.attempts_to_write += 1;
        match script.writes.pop_front().unwrap_or(self.then) {
            Takes::Everything => {
                script.written.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            Takes::Closed => Ok(0),
            Takes::Nothing => {
                drop(script);
                self.blocked()
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut script = self.script.lock().unwrap();
        script.flushes += 1;
        match script.flushes <= script.flushes_that_block {
            true => Err(io::ErrorKind::WouldBlock.into()),
            false => Ok(()),
        }
    }
}

/// A channel to a peer that says these pieces one by one, and the script.
fn channel(
    says: impl IntoIterator<Item = Vec<u8>>,
    then: Takes,
) -> (Channel, Arc<Mutex<Script>>, Clock) {
    let reads = says.into_iter().map(Ok).collect();
    let script = Arc::new(Mutex::new(Script { reads, ..Script::default() }));
    let clock = Clock::default();
    let played = Played { script: script.clone(), clock: clock.clone(), then };
    let channel = Channel::new(played).with_clock(clock.clone()).with_stall_timeout(STALL);
    (channel, script, clock)
}

/// A message as it travels.
fn message(label: &str, payload: &[u8]) -> Vec<u8> {
    let segments = payload.chunks(SEGMENT).flat_map(|segment| [&[0], segment].concat());
    header(label, payload.len()).into_iter().chain(segments).collect()
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 % 251) as u8).collect()
}

fn abort(reason: u8) -> Vec<u8> {
    vec![255, reason]
}

#[test]
fn a_message_is_a_header_and_segments_each_with_a_byte_before_it() {
    let payload = pattern(2 * SEGMENT + 1);
    let (mut sending, script, _) = channel([], Takes::Everything);
    sending.send("a", &payload).unwrap();
    sending.send_slice("of numbers", &[1u32, 0x0203]).unwrap();
    sending.flush().unwrap();
    let numbers = message("of numbers", &[1, 0, 0, 0, 3, 2, 0, 0]);
    assert_eq!(script.lock().unwrap().written, [message("a", &payload), numbers].concat());

    let says = script.lock().unwrap().written.clone();
    let (mut receiving, ..) = channel([says], Takes::Everything);
    assert_eq!(receiving.recv_len("a", payload.len()).unwrap(), payload);
    let mut numbers = [0u32; 2];
    receiving.recv_slice("of numbers", &mut numbers).unwrap();
    assert_eq!(numbers, [1, 0x0203]);
}

#[test]
fn large_messages_are_passed_on_before_a_flush() {
    let (mut sending, script, _) = channel([], Takes::Everything);
    sending.send("small", &[1]).unwrap();
    assert_eq!(script.lock().unwrap().written.len(), 0);
    sending.send("large", &pattern(1 << 18)).unwrap();
    let written = script.lock().unwrap().written.len();
    assert!(written > 1 << 17, "{written}");
}

#[test]
fn the_stall_timeout_is_the_one_that_was_set() {
    let (channel, ..) = channel([], Takes::Everything);
    assert_eq!(channel.stall_timeout(), STALL);
}

#[test]
fn a_peer_hears_that_this_side_is_busy_once_a_second() {
    let (mut busy, script, clock) = channel([], Takes::Everything);
    let said = || script.lock().unwrap().written.len() / header("busy", 0).len();
    busy.keep_alive().unwrap();
    assert_eq!(said(), 0);
    for seconds in 1..4 {
        clock.advance(Duration::from_millis(1001));
        (0..3).for_each(|_| busy.keep_alive().unwrap());
        assert_eq!(said(), seconds);
    }
    assert_eq!(script.lock().unwrap().written, header("busy", 0).repeat(3));
    // Each was flushed, and there is nothing left to flush.
    busy.flush().unwrap();
    assert_eq!(script.lock().unwrap().flushes, 3);
}

#[test]
fn a_flush_that_blocks_is_repeated() {
    let (mut busy, script, clock) = channel([], Takes::Everything);
    script.lock().unwrap().flushes_that_block = 1;
    clock.advance(Duration::from_secs(2));
    busy.keep_alive().unwrap();
    assert_eq!(script.lock().unwrap().flushes, 1);
    busy.flush().unwrap();
    busy.flush().unwrap();
    assert_eq!(script.lock().unwrap().flushes, 2);
}

#[test]
fn a_peer_that_takes_and_says_nothing_has_stalled() {
    let (mut sending, _, clock) = channel([], Takes::Nothing);
    let start = clock.now();
    sending.send("any", &[1]).unwrap();
    let error = sending.flush().unwrap_err();
    assert!(matches!(error, Error::Stalled { .. }), "{error}");
    assert!((STALL..STALL + Duration::from_secs(5)).contains(&clock.since(start)));
}

#[test]
fn bytes_from_a_peer_that_accepts_nothing_are_kept() {
    // It is heard in pieces, and more than is read ahead.
    let payload = pattern(200_000);
    let says = message("answer", &payload);
    let pieces: Vec<Vec<u8>> = says.chunks(30_000).map(<[u8]>::to_vec).collect();
    let (mut both, script, _) = channel(pieces, Takes::Everything);
    script.lock().unwrap().writes = [Takes::Nothing; 20].into();
    both.send("question", &[1]).unwrap();
    both.flush().unwrap();
    assert_eq!(script.lock().unwrap().written, message("question", &[1]));
    let read_before = script.lock().unwrap().written_before_read.clone();
    assert!(read_before.len() > 1 && read_before.iter().all(|written| *written == 0));
    assert_eq!(both.recv_len("answer", payload.len()).unwrap(), payload);
}

#[test]
fn a_reason_is_found_behind_what_was_sent_before_it() {
    // Nothing of the message has been read, or one of its segments.
    let payload = pattern(SEGMENT + 1000);
    let says = [message("label", &payload), message("more", &[1, 2]), abort(2)].concat();
    let (mut sending, ..) = channel([says.clone()], Takes::Closed);
    sending.send("label", &[1]).unwrap();
    let error = sending.flush().unwrap_err();
    assert!(matches!(error, Error::Aborted { reason: AbortReason::Terms, .. }), "{error}");

    let (mut both, script, _) = channel([says], Takes::Nothing);
    let out = pattern(100 * SEGMENT);
    script.lock().unwrap().writes = [Takes::Everything, Takes::Closed].into();
    let error = both.exchange("label", &out, &mut vec![0; payload.len()]).unwrap_err();
    assert!(matches!(error, Error::Aborted { reason: AbortReason::Terms, .. }), "{error}");
}

#[test]
fn a_peer_that_closed_is_not_told_why_this_side_stops() {
    let (mut sending, script, _) = channel([vec![]], Takes::Closed);
    sending.send("any", &[1]).unwrap();
    let error = sending.flush().unwrap_err();
    assert!(matches!(error, Error::Closed { .. }), "{error}");
    let attempts = script.lock().unwrap().attempts_to_write;
    sending.abort(AbortReason::Input);
    assert_eq!(script.lock().unwrap().attempts_to_write, attempts);
}

#[test]
fn a_reason_is_given_and_not_waited_for_long() {
    let (mut stopping, script, clock) = channel([], Takes::Everything);
    let start = clock.now();
    stopping.abort(AbortReason::Input);
    assert_eq!(script.lock().unwrap().written, abort(1));
    assert!(clock.since(start) < Duration::from_secs(5), "{:?}", clock.since(start));
}

#[test]
fn a_failure_of_the_transport_is_an_error_at_once() {
    let (mut receiving, script, clock) = channel([], Takes::Everything);
    let failure = io::Error::other("the cable is out");
    script.lock().unwrap().reads.push_back(Err(failure));
    let start = clock.now();
    let error = receiving.recv_len("any", 1).unwrap_err();
    assert!(error.to_string().contains("the cable is out"), "{error}");
    assert!(clock.since(start) < Duration::from_secs(1));
}

#[test]
fn labels_with_characters_of_terminals_are_refused() {
    for label in ["a\u{1b}[31m", "line\nfeed", "\u{e9}"] {
        let (mut receiving, ..) = channel([header(label, 0)], Takes::Everything);
        let error = receiving.recv_len("any", 1).unwrap_err();
        let expected = Deviation::NotAMessage { expected: "any" };
        assert!(
            matches!(&error, Error::Peer { deviation, .. } if *deviation == expected),
            "{error}"
        );
    }
}

#[test]
fn a_late_flush_counts_as_progress() {
    let (mut both, script, clock) = channel([], Takes::Everything);
    script.lock().unwrap().flushes_that_block = 30;
    let start = clock.now();
    let error = both.exchange("both", &[1], &mut [0; 10]).unwrap_err();
    assert!(matches!(error, Error::Stalled { .. }), "{error}");
    // Each flush that blocks comes before a second without anything to read.
    let after = clock.since(start);
    assert!(after >= STALL + Duration::from_secs(28), "{after:?}");
}

/// The most bytes by which a party gets ahead in an exchange, where writes do this in turn.
fn most_ahead(writes: &[Takes]) -> usize {
    let payload = pattern(300 * SEGMENT);
    let says = message("both", &payload);
    let pieces: Vec<Vec<u8>> = says.chunks(SEGMENT + 1).map(<[u8]>::to_vec).collect();
    let (mut both, script, _) = channel(pieces, Takes::Everything);
    script.lock().unwrap().writes = writes.repeat(1000).into();
    let mut received = vec![0; payload.len()];
    both.exchange("both", &payload, &mut received).unwrap();
    assert!(received == payload);
    let script = script.lock().unwrap();
    assert!(script.written == says);
    let ahead = |(reads, written): (usize, &usize)| written.saturating_sub(reads * (SEGMENT + 1));
    script.written_before_read.iter().enumerate().map(ahead).max().unwrap()
}

#[test]
fn a_party_gets_further_ahead_as_long_as_nothing_blocks() {
    let smooth = most_ahead(&[Takes::Everything]);
    assert!(smooth > 100 * SEGMENT, "{smooth}");
    let blocked = most_ahead(&[Takes::Everything, Takes::Nothing]);
    assert!(blocked < 10 * SEGMENT, "{blocked}");
}
