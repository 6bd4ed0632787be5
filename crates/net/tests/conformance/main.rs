//! The channel behaves alike over every transport. Each test uses two threads, with a stall timeout in each
//! channel, so that a deadlock is a failed test rather than a hang.

#![allow(clippy::unwrap_used)]

mod ends;

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use ends::{Ends, Raw, channel, header, noise, put, run};
use vesica_net::{AbortReason, Channel, Deviation, Error};

/// A stall timeout for tests that wait for it.
const SHORT: Duration = Duration::from_millis(400);

/// More than any transport here holds for a peer that does not read.
const PLENTY: usize = 1000;

fn deviation(result: Result<impl Sized, Error>) -> Deviation {
    match result.err().expect("the peer broke the protocol") {
        Error::Peer { deviation, phase: "online" } => deviation,
        error => panic!("{error}"),
    }
}

fn online(end: Raw) -> Channel {
    let mut channel = channel(end);
    channel.phase("online");
    channel
}

fn messages_of_every_size(ends: Ends) {
    let sizes = [0, 1, 16_383, 16_384, 65_535, 65_536, 65_537, 5_000_000, 0];
    run(
        ends,
        |mut a| {
            for size in sizes {
                a.send("there", &noise(size as u64, size)).unwrap();
            }
            for size in sizes {
                let mut back = vec![0; size];
                a.recv_into("back", &mut back).unwrap();
                assert!(back == noise(size as u64, size), "{size}");
            }
            a.finish().unwrap();
        },
        |mut b| {
            let there = sizes.map(|size| b.recv_len("there", size).unwrap());
            for (message, size) in there.iter().zip(sizes) {
                assert!(*message == noise(size as u64, size), "{size}");
                b.send("back", message).unwrap();
            }
            b.finish().unwrap();
        },
    );
}

fn an_exchange_of_any_two_sizes(ends: Ends) {
    const SIZES: [(usize, usize); 6] = [
        (20_000_000, 20_000_000),
        (0, 0),
        (1, 5_000_000),
        (3_000_000, 0),
        (16_383, 16_384),
        (300_000, 299_999),
    ];
    let party = |mut channel: Channel, is_a: bool| {
        for (i, (of_a, of_b)) in SIZES.into_iter().enumerate() {
            let (of_a, of_b) = (noise(i as u64, of_a), noise(100 + i as u64, of_b));
            let (out, expected) = if is_a { (of_a, of_b) } else { (of_b, of_a) };
            let mut into = vec![0; expected.len()];
            channel.exchange("both", &out, &mut into).unwrap();
            assert!(into == expected, "{i}");
        }
        channel.finish().unwrap();
        channel.meter().rounds()
    };
    let rounds = run(ends, |a| party(a, true), |b| party(b, false));
    assert_eq!(rounds, (6, 6));
}

fn a_confused_peer_is_told_from_a_good_one(ends: Ends) {
    let Ends { mut a, b, directory: _directory } = ends;
    let mut b = online(b);
    put(&mut a, &header("psi/two", 3));
    let (expected, received) = ("psi/one", "psi/two".to_owned());
    assert_eq!(
        deviation(b.recv_len("psi/one", 3)),
        Deviation::UnexpectedLabel { expected, received }
    );
    put(&mut a, &header("fixed", 4));
    let (label, expected, received) = ("fixed", 5, 4);
    let wrong = Deviation::WrongLength { label, expected, received };
    assert_eq!(deviation(b.recv_into("fixed", &mut [0; 5])), wrong);
    for received in [11, 1 << 40, 1 << 63, u64::MAX] {
        put(&mut a, &header("free", received));
        let (label, max) = ("free", 10);
        let wrong = Deviation::TooLong { label, max, received };
        assert_eq!(deviation(b.recv_len("free", 10)), wrong);
        put(&mut a, &header("both", received));
        let wrong = Deviation::WrongLength { label: "both", expected: 1, received };
        assert_eq!(deviation(b.exchange("both", &[1], &mut [0])), wrong);
    }
    let mut segment = header("free", 2);
    segment.extend_from_slice(&[9, 1, 1]);
    put(&mut a, &segment);
    assert!(matches!(deviation(b.recv_len("free", 2)), Deviation::Malformed { label: "free", .. }));
}

fn random_bytes_are_no_message(ends: Ends) {
    let Ends { mut a, b, directory: _directory } = ends;
    let mut b = online(b);
    let mut bytes = noise(1, 4096);
    bytes[0] = 41;
    put(&mut a, &bytes);
    let expected = Deviation::NotAMessage { expected: "hello" };
    assert_eq!(deviation(b.recv_len("hello", 100)), expected);
    // From here on each attempt ends with an error, and no bytes are taken for a message.
    for _ in 0..40 {
        b.recv_len("hello", 100).unwrap_err();
    }
}

fn a_peer_that_stops_reading_is_given_up(ends: Ends) {
    let Ends { a, b: _b, directory: _directory } = ends;
    let mut a = channel(a).with_stall_timeout(SHORT);
    a.phase("upload");
    let message = vec![0; 1 << 16];
    let send = |a: &mut Channel| a.send("chunk", &message).and_then(|()| a.flush());
    let started = Instant::now();
    let error = (0..PLENTY).find_map(|_| send(&mut a).err()).expect("nobody reads");
    assert!(started.elapsed() >= SHORT);
    assert!(matches!(error, Error::Stalled { phase: "upload", after: SHORT }), "{error}");
}

fn a_peer_that_stops_writing_is_given_up(ends: Ends) {
    let Ends { mut a, b, directory: _directory } = ends;
    let mut b = channel(b).with_stall_timeout(SHORT);
    b.phase("download");
    let mut half = header("message", 100);
    half.extend_from_slice(&[0; 50]);
    put(&mut a, &half);
    let started = Instant::now();
    let error = b.recv_len("message", 100).unwrap_err();
    assert!(started.elapsed() >= SHORT);
    assert!(matches!(error, Error::Stalled { phase: "download", after: SHORT }), "{error}");
}

fn a_peer_that_drops_in_the_middle_of_a_message_has_closed(ends: Ends) {
    let Ends { mut a, b, directory: _directory } = ends;
    let mut half = header("message", 100_000);
    half.push(0);
    half.extend_from_slice(&[0; 1000]);
    put(&mut a, &half);
    drop(a);
    let mut b = online(b);
    let error = b.recv_len("message", 100_000).unwrap_err();
    assert!(matches!(error, Error::Closed { phase: "online" }), "{error}");
}

fn another_thread_can_cancel_a_party_that_waits(ends: Ends) {
    let Ends { a, b, directory: _directory } = ends;
    let (mut a, mut b) = (online(a), online(b));
    let (stop_a, stop_b) = (a.cancel_token(), b.cancel_token());
    thread::scope(|scope| {
        let receiving = scope.spawn(|| a.recv_len("never", 10));
        thread::sleep(Duration::from_millis(50));
        stop_a.cancel();
        let stopped = receiving.join().unwrap();
        assert!(matches!(stopped, Err(Error::Cancelled { phase: "online" })));
        let sending = scope.spawn(|| {
            let send = |b: &mut Channel| b.send("chunk", &[0; 1 << 16]).and_then(|()| b.flush());
            (0..PLENTY).find_map(|_| send(&mut b).err()).expect("nobody reads")
        });
        thread::sleep(Duration::from_millis(300));
        stop_b.cancel();
        assert!(matches!(sending.join().unwrap(), Error::Cancelled { phase: "online" }));
    });
}

fn an_abort_is_heard_by_a_party_that_waits(ends: Ends) {
    let (reason, ()) = run(
        ends,
        |mut a| {
            a.send("question", b"?").unwrap();
            match a.recv_len("answer", 10) {
                Err(Error::Aborted { reason, .. }) => reason,
                result => panic!("{result:?}"),
            }
        },
        |mut b| {
            b.recv_len("question", 1).unwrap();
            b.abort(AbortReason::Input);
        },
    );
    assert_eq!(reason, AbortReason::Input);
}

fn an_abort_is_heard_by_a_party_that_is_sending(ends: Ends) {
    let (error, ()) = run(
        ends,
        |mut a| {
            // An answer that is already in flight does not hide the abort behind it.
            a.recv_len("go", 0).unwrap();
            let message = vec![7; 1 << 20];
            let mut send = || a.send("chunk", &message).and_then(|()| a.flush());
            let failed = (0..PLENTY / 10).find_map(|_| send().err());
            // If everything found room, the next receive reports it.
            failed.unwrap_or_else(|| a.recv_len("answer", 1 << 20).unwrap_err())
        },
        |mut b| {
            b.send("go", &[]).unwrap();
            b.recv_len("chunk", 1 << 20).unwrap();
            b.abort(AbortReason::Misbehaviour);
        },
    );
    let reason = AbortReason::Misbehaviour;
    assert!(matches!(error, Error::Aborted { reason: r, .. } if r == reason), "{error}");
}

fn an_abort_is_heard_in_the_middle_of_the_aborting_partys_own_message(ends: Ends) {
    let (is_full, full) = mpsc::channel();
    let (error, ()) = run(
        ends,
        move |mut a| {
            full.recv().unwrap();
            (0..PLENTY).find_map(|_| a.recv_len("chunk", 1 << 20).err()).expect("an end")
        },
        move |b| {
            let mut b = b.with_stall_timeout(SHORT / 2);
            let message = vec![7; 1 << 20];
            let send = |b: &mut Channel| b.send("chunk", &message).and_then(|()| b.flush());
            let blocked = (0..PLENTY / 10).find_map(|_| send(&mut b).err()).expect("nobody reads");
            assert!(matches!(blocked, Error::Stalled { .. }), "{blocked}");
            is_full.send(()).unwrap();
            b.abort(AbortReason::Cancelled);
        },
    );
    let reason = AbortReason::Cancelled;
    assert!(matches!(error, Error::Aborted { reason: r, .. } if r == reason), "{error}");
}

fn waits_for_a_busy_peer(ends: Ends) {
    let (answer, ()) = run(
        ends,
        |a| {
            let mut a = a.with_stall_timeout(Duration::from_secs(3));
            a.send("question", b"?").unwrap();
            a.recv_len("answer", 10).unwrap()
        },
        |mut b| {
            b.recv_len("question", 1).unwrap();
            let started = Instant::now();
            while started.elapsed() < Duration::from_secs(5) {
                thread::sleep(Duration::from_millis(50));
                b.keep_alive().unwrap();
            }
            b.send("answer", b"!").unwrap();
            b.flush().unwrap();
        },
    );
    assert_eq!(answer, b"!");
}

/// A party sends more than the transport holds to one that works for longer than the stall timeout before it
/// reads.
fn waits_for_a_busy_peer_while_sending(ends: Ends) {
    const STALL: Duration = Duration::from_millis(2500);
    let message = noise(7, 20_000_000);
    run(
        ends,
        |a| {
            let mut a = a.with_stall_timeout(STALL);
            a.send("message", &message).unwrap();
            a.finish().unwrap();
        },
        |mut b| {
            let started = Instant::now();
            while started.elapsed() < 2 * STALL {
                thread::sleep(Duration::from_millis(50));
                b.keep_alive().unwrap();
            }
            assert!(b.recv_len("message", message.len()).unwrap() == message);
            b.finish().unwrap();
        },
    );
}

fn a_peer_that_is_busy_for_ever_is_refused(ends: Ends) {
    const LIMIT: usize = 5400;
    let Ends { mut a, b, directory: _directory } = ends;
    let mut b = online(b);
    let mut busy = header("busy", 0).repeat(LIMIT);
    busy.extend_from_slice(&header("answer", 0));
    put(&mut a, &busy);
    assert_eq!(b.recv_len("answer", 0).unwrap(), []);
    put(&mut a, &header("busy", 0).repeat(LIMIT + 1));
    assert_eq!(deviation(b.recv_len("answer", 0)), Deviation::EndlessKeepAlive { limit: 5400 });
}

fn both_ends_measure_the_same(ends: Ends) {
    let (a, b) = run(
        ends,
        |mut a| {
            a.phase("setup");
            a.send("one", &[0; 100_000]).unwrap();
            a.send("two", &[]).unwrap();
            a.exchange("three", &[1; 70_000], &mut [0; 30]).unwrap();
            a.phase("online");
            a.recv_len("four", 50).unwrap();
            a.finish().unwrap();
            a.meter().clone()
        },
        |mut b| {
            b.phase("setup");
            b.recv_len("one", 100_000).unwrap();
            b.recv_len("two", 0).unwrap();
            b.exchange("three", &[2; 30], &mut [0; 70_000]).unwrap();
            b.phase("online");
            b.send("four", &[0; 50]).unwrap();
            b.finish().unwrap();
            b.meter().clone()
        },
    );
    // Headers of 1 + label + 8 bytes, and a byte for each segment of 16,383 bytes.
    assert_eq!(a.sent(), (12 + 100_007) + 12 + (14 + 70_005) + 12);
    assert_eq!(b.sent(), (14 + 31) + (13 + 51) + 12);
    assert_eq!((a.sent(), a.received()), (b.received(), b.sent()));
    assert_eq!((a.rounds(), b.rounds()), (3, 3));
    for (of_a, of_b) in a.phases().iter().zip(b.phases()) {
        assert_eq!((of_a.name, of_a.sent, of_a.received), (of_b.name, of_b.received, of_b.sent));
    }
}

fn an_orderly_end_loses_nothing_and_leaves_nothing(mut ends: Ends) {
    let directory = ends.directory.take();
    let ((), message) = run(
        ends,
        |mut a| {
            a.send("last", &noise(3, 3_000_000)).unwrap();
            a.finish().unwrap();
        },
        |mut b| {
            let message = b.recv_len("last", 3_000_000).unwrap();
            b.finish().unwrap();
            message
        },
    );
    assert!(message == noise(3, 3_000_000));
    if let Some(directory) = directory {
        let left: Vec<_> = directory.path().read_dir().unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

macro_rules! conformance {
    ($($test:ident),+ $(,)?) => {
        conformance!(@over memory over_memory: $($test),+);
        conformance!(@over tcp over_tcp: $($test),+);
        conformance!(@over tls over_tls: $($test),+);
        conformance!(@over files over_files: $($test),+);
        conformance!(@over tls_files over_tls_files: $($test),+);
        conformance!(@over shaped_memory over_shaped_memory: $($test),+);
    };
    (@over $kind:ident $ends:ident: $($test:ident),+) => {
        mod $kind {
            $(#[test]
            fn $test() {
                super::$test(super::ends::$ends());
            })+
        }
    };
}

conformance!(
    messages_of_every_size,
    an_exchange_of_any_two_sizes,
    a_confused_peer_is_told_from_a_good_one,
    random_bytes_are_no_message,
    a_peer_that_stops_reading_is_given_up,
    a_peer_that_stops_writing_is_given_up,
    a_peer_that_drops_in_the_middle_of_a_message_has_closed,
    another_thread_can_cancel_a_party_that_waits,
    an_abort_is_heard_by_a_party_that_waits,
    an_abort_is_heard_by_a_party_that_is_sending,
    an_abort_is_heard_in_the_middle_of_the_aborting_partys_own_message,
    a_peer_that_is_busy_for_ever_is_refused,
    both_ends_measure_the_same,
    an_orderly_end_loses_nothing_and_leaves_nothing,
);

/// Tries every transport at once, because such a test mostly waits.
fn over_all(test: fn(Ends)) {
    let transports = [
        ends::over_memory,
        ends::over_tcp,
        ends::over_tls,
        ends::over_files,
        ends::over_tls_files,
        ends::over_shaped_memory,
    ];
    thread::scope(|scope| {
        for ends in transports {
            scope.spawn(move || test(ends()));
        }
    });
}

#[test]
fn a_busy_peer_is_waited_for() {
    over_all(waits_for_a_busy_peer);
}

#[test]
fn a_busy_peer_is_waited_for_while_sending() {
    over_all(waits_for_a_busy_peer_while_sending);
}
