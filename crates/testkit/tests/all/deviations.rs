//! Every way to break the framing, by a peer that writes raw bytes, and the resulting deviation.

use std::time::Duration;

use rand::rngs::StdRng;
use vesica_net::{Channel, Deviation, Error, Result};
use vesica_testkit::{
    frame::Message,
    two_party::{Link, party},
};

/// The deviation that a receiving party reports for raw bytes.
fn deviation(bytes: &[u8], receive: fn(&mut Channel) -> Result<()>) -> Deviation {
    let (mut left, right) = Link::Memory.connect();
    left.transport.write_all(bytes).expect("the pipe holds that much");
    let stall = Duration::from_millis(300);
    let receive = |channel: &mut Channel, _: &mut StdRng| {
        channel.phase("here");
        receive(channel)
    };
    match party(right, stall, 1, receive) {
        Err(Error::Peer { phase: "here", deviation }) => deviation,
        other => panic!("{other:?}"),
    }
}

fn recv_eight(channel: &mut Channel) -> Result<()> {
    channel.recv_into("step", &mut [0; 8])
}

fn message(label: &str, len: usize) -> Message {
    Message { label: label.into(), payload: vec![0; len] }
}

#[test]
fn no_message_at_all() {
    let not_a_message = Deviation::NotAMessage { expected: "step" };
    for bytes in [
        &[0, b's'][..],
        &[41, b's'],
        &[254; 60],
        &[4, b's', b't', 0xff, b'p'],
        &[4, b's', b't', b'\n', b'p'],
        &[4, 0x1b, b'[', b'2', b'J'],
        b"GET / HTTP/1.1\r\n",
    ] {
        let mut bytes = bytes.to_vec();
        bytes.resize(100, 7);
        assert_eq!(deviation(&bytes, recv_eight), not_a_message, "{bytes:?}");
    }
}

#[test]
fn another_step() {
    let unexpected =
        |received: &str| Deviation::UnexpectedLabel { expected: "step", received: received.into() };
    for label in ["ste", "step2", "Step", "other", "end"] {
        let bytes = message(label, 8).to_bytes();
        assert_eq!(deviation(&bytes, recv_eight), unexpected(label));
    }
    // A `busy` message with a payload is not valid.
    assert_eq!(deviation(&message("busy", 1).to_bytes(), recv_eight), unexpected("busy"));
}

#[test]
fn another_length() {
    for received in [0, 7, 9, 1 << 32, 1 << 63, u64::MAX] {
        let bytes = message("step", 8).announcing(received);
        let expected = Deviation::WrongLength { label: "step", expected: 8, received };
        assert_eq!(deviation(&bytes, recv_eight), expected);
        let bytes = message("step", 8).announcing(received);
        let expected = Deviation::WrongLength { label: "step", expected: 8, received };
        let exchange = |channel: &mut Channel| channel.exchange("step", &[1; 8], &mut [0; 8]);
        assert_eq!(deviation(&bytes, exchange), expected);
    }
}

#[test]
fn longer_than_agreed() {
    for received in [101, 1 << 40, 1 << 63, u64::MAX] {
        let bytes = message("step", 100).announcing(received);
        let expected = Deviation::TooLong { label: "step", max: 100, received };
        let receive = |channel: &mut Channel| channel.recv_len("step", 100).map(drop);
        assert_eq!(deviation(&bytes, receive), expected);
    }
}

#[test]
fn a_segment_that_is_none() {
    let mut bytes = message("step", 8).to_bytes();
    let segment = bytes.len() - 9;
    bytes[segment] = 1;
    let found = deviation(&bytes, recv_eight);
    assert!(matches!(found, Deviation::Malformed { label: "step", .. }), "{found}");
}

#[test]
fn busy_for_ever() {
    let busy = message("busy", 0).to_bytes().repeat(6000);
    let found = deviation(&busy, recv_eight);
    assert!(matches!(found, Deviation::EndlessKeepAlive { limit: 5400 }), "{found}");
}
