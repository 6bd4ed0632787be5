//! SoftSpokenOT through its public interface: every k, both adversaries, every variant.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its parties as well")]

use std::{thread, time::Duration};

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Result, transport::memory};
use vesica_ot::{
    CotReceiver, CotSender,
    extension::softspoken::{SmallField, malicious, semi_honest},
};
use vesica_primitives::{Bits, Block};

const SIZES: [usize; 7] = [0, 1, 127, 128, 129, 1000, (1 << 16) + 1];

/// Whether `bytes` is the size of `messages` messages with this payload: each also has a label and lengths, and
/// long ones are cut into segments.
fn fits(bytes: u64, payload: usize, messages: usize) -> bool {
    let most = payload + payload / 1000 + 64 * messages;
    (payload..=most).contains(&(bytes as usize))
}

type Setup<Party> = fn(SmallField, &mut Channel, &mut dyn CryptoRng) -> Result<Party>;

fn run<A: Send, B: Send>(
    sender: impl FnOnce(&mut Channel, &mut StdRng) -> A + Send,
    receiver: impl FnOnce(&mut Channel, &mut StdRng) -> B + Send,
) -> (A, B) {
    let (left, right) = memory::pair();
    let channel = |end| Channel::new(end).with_stall_timeout(Duration::from_secs(20));
    let (mut left, mut right) = (channel(left), channel(right));
    thread::scope(|scope| {
        let sent = scope.spawn(move || {
            let sent = sender(&mut left, &mut StdRng::seed_from_u64(1));
            left.flush().unwrap();
            sent
        });
        let received = receiver(&mut right, &mut StdRng::seed_from_u64(2));
        right.flush().unwrap();
        (sent.join().unwrap(), received)
    })
}

fn choices(n: usize) -> Bits {
    Bits::random(n, &mut StdRng::seed_from_u64(n as u64))
}

/// Several calls of each variant on one setup; returns the bytes that the receiver sent in each call of
/// correlated OT.
fn every_variant<S: CotSender, R: CotReceiver>(
    k: usize,
    sender: Setup<S>,
    receiver: Setup<R>,
) -> Vec<u64> {
    let field = SmallField::new(k);
    let messages =
        |n: usize, len: usize| -> Vec<u8> { (0..2 * n * len).map(|i| (i * 7) as u8).collect() };
    let ((delta, sent), (received, bytes)) = run(
        |channel, rng| {
            let mut ot = sender(field, channel, rng).unwrap();
            let sent = SIZES.map(|n| {
                let correlated = ot.send_correlated(n, channel).unwrap();
                let random = ot.send_random(n, channel).unwrap();
                ot.send_chosen(&messages(n, 20), 20, channel).unwrap();
                (correlated, random)
            });
            (ot.delta().expose()[0], sent)
        },
        |channel, rng| {
            let mut ot = receiver(field, channel, rng).unwrap();
            let mut bytes = Vec::new();
            let received = SIZES.map(|n| {
                let before = channel.meter().sent();
                let correlated = ot.receive_correlated(&choices(n), channel).unwrap();
                bytes.push(channel.meter().sent() - before);
                let random = ot.receive_random(&choices(n), channel).unwrap();
                let chosen = ot.receive_chosen(&choices(n), 20, channel).unwrap();
                (correlated, random, chosen)
            });
            (received, bytes)
        },
    );
    for (n, (sent, received)) in SIZES.into_iter().zip(sent.into_iter().zip(received)) {
        let ((q, pairs), (t, chosen, texts)) = (sent, received);
        assert_eq!([q.len(), pairs.len(), t.len(), chosen.len()], [n; 4], "k = {k}");
        assert_eq!(texts.len(), 20 * n);
        let all = messages(n, 20);
        for (j, c) in choices(n).iter().enumerate() {
            assert_eq!(t[j], q[j] ^ (delta & Block::mask(c)), "k = {k}, OT {j} of {n}");
            assert_eq!(chosen[j], pairs[j][usize::from(c)], "k = {k}, OT {j} of {n}");
            assert_ne!(pairs[j][0] ^ pairs[j][1], delta, "k = {k}: still correlated");
            let text = &all[(2 * j + usize::from(c)) * 20..][..20];
            assert_eq!(texts[20 * j..][..20], *text, "k = {k}, OT {j} of {n}");
        }
    }
    bytes
}

#[test]
fn semi_honest_for_every_k() {
    for k in 1..=SmallField::MAX_BITS {
        let bytes = every_variant(k, semi_honest::Sender::setup, semi_honest::Receiver::setup);
        for (n, bytes) in SIZES.into_iter().zip(bytes) {
            let payload = 128usize.div_ceil(k) * n.next_multiple_of(128) / 8;
            assert!(fits(bytes, payload, n.div_ceil(4096)), "k = {k}, n = {n}: {bytes}");
        }
    }
}

#[test]
fn malicious_for_every_k() {
    for k in 1..=SmallField::MAX_BITS {
        let bytes = every_variant(k, malicious::Sender::setup, malicious::Receiver::setup);
        for (n, bytes) in SIZES.into_iter().zip(bytes) {
            let rows = n.next_multiple_of(128) + 128;
            let corrections = 128usize.div_ceil(k) * rows / 8;
            let (payload, messages) = match n {
                0 => (0, 0),
                _ => (corrections + 129 * 16, rows.div_ceil(4096) + 1),
            };
            assert!(fits(bytes, payload, messages), "k = {k}, n = {n}: {bytes}");
        }
    }
}
