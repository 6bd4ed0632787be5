//! Two connected ends of each kind of transport.

use std::{io::Read as _, thread, time::Duration};

use tempfile::TempDir;
use vesica_net::{
    CancelToken, Channel, Identity, Transport,
    files::{Files, Side},
    memory,
    shaper::{Link, Shaped},
    tcp, tls,
};

/// Long enough for a busy machine, short enough that a deadlock is a failed test.
pub const STALL: Duration = Duration::from_secs(20);

pub type Raw = Box<dyn Transport>;

/// Two ends, and the directory that they need.
pub struct Ends {
    pub a: Raw,
    pub b: Raw,
    pub directory: Option<TempDir>,
}

pub fn over_memory() -> Ends {
    let (a, b) = memory::pair();
    Ends { a: Box::new(a), b: Box::new(b), directory: None }
}

pub fn over_tcp() -> Ends {
    let cancel = CancelToken::default();
    let listener = tcp::Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().to_string();
    let a = tcp::connect(&address, STALL, &cancel).unwrap();
    let b = listener.accept(STALL, &cancel).unwrap();
    Ends { a: Box::new(a), b: Box::new(b), directory: None }
}

pub fn over_files() -> Ends {
    let directory = tempfile::tempdir().unwrap();
    let [mut a, mut b] =
        [Side::A, Side::B].map(|side| Files::open(directory.path(), side).unwrap());
    // Each looks for the other, as concurrent parties do; only then have they met.
    let look = |end: &mut Files| assert!(end.read(&mut [0]).is_err(), "nothing was written yet");
    look(&mut a);
    look(&mut b);
    look(&mut a);
    Ends { a: Box::new(a), b: Box::new(b), directory: Some(directory) }
}

pub fn over_shaped_memory() -> Ends {
    let link = Link { bits_per_second: 1_000_000_000, round_trip: Duration::from_millis(10) };
    let (a, b) = memory::pair_of(1 << 20);
    let (a, b) = (Shaped::new(a, link), Shaped::new(b, link));
    Ends { a: Box::new(a), b: Box::new(b), directory: None }
}

pub fn over_tls() -> Ends {
    encrypted(over_tcp())
}

pub fn over_tls_files() -> Ends {
    encrypted(over_files())
}

fn encrypted(Ends { a, b, directory }: Ends) -> Ends {
    let (one, other) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let cancel = CancelToken::default();
    thread::scope(|scope| {
        let b = scope.spawn(|| tls::server(b, &other, &one.fingerprint(), STALL, &cancel).unwrap());
        let a = tls::client(a, &one, &other.fingerprint(), STALL, &cancel).unwrap();
        Ends { a: Box::new(a), b: Box::new(b.join().unwrap()), directory }
    })
}

/// Runs the two parties, each in a thread of its own with its own channel, and returns their results. A party's
/// channel is dropped when it returns.
pub fn run<A: Send, B: Send>(
    ends: Ends,
    party_a: impl FnOnce(Channel) -> A + Send,
    party_b: impl FnOnce(Channel) -> B + Send,
) -> (A, B) {
    let (a, b) = (channel(ends.a), channel(ends.b));
    thread::scope(|scope| {
        let a = scope.spawn(|| party_a(a));
        let b = party_b(b);
        (a.join().unwrap(), b)
    })
}

pub fn channel(end: Raw) -> Channel {
    Channel::new(end).with_stall_timeout(STALL)
}

/// Bytes that look random, the same for the same seed.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// Writes all raw bytes and flushes them.
pub fn put(end: &mut Raw, mut bytes: &[u8]) {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    while !bytes.is_empty() {
        match end.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) => assert!(matches!(error.kind(), WouldBlock | TimedOut), "{error}"),
        }
    }
    while let Err(error) = end.flush() {
        assert!(matches!(error.kind(), WouldBlock | TimedOut), "{error}");
    }
}

/// A message's header as it is on the wire.
pub fn header(label: &str, len: u64) -> Vec<u8> {
    let mut bytes = vec![label.len() as u8];
    bytes.extend_from_slice(label.as_bytes());
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes
}
