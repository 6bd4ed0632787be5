//! Both parties of a protocol in one process, over any kind of link.

use std::{
    io::{self, Read, Write},
    panic::resume_unwind,
    sync::Arc,
    thread,
    time::Duration,
};

use rand::{SeedableRng, rngs::StdRng};
use tempfile::TempDir;
use vesica_net::{
    CancelToken, Channel, Clock, Error, Identity, Transport,
    transport::{
        files::{Files, Side},
        tcp, tls,
    },
};

use crate::pipe;

/// One end of a link, and the clock by which a party gives up on the other.
pub struct Wire {
    /// The byte stream.
    pub transport: Box<dyn Transport>,
    /// Its clock, which the other end shares.
    pub clock: Clock,
}

impl Wire {
    /// One end of a real link, which uses the system's clock.
    fn new(transport: impl Transport + 'static) -> Self {
        Self { transport: Box::new(transport), clock: Clock::default() }
    }
}

/// The timeout of parties in honest runs: a deadlock must fail the test, but a loaded machine must not.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The seed of the left party's randomness; the right party's is one more.
const SEED: u64 = 0x5eed;

/// A kind of link between two parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Bounded pipes within the process; when both parties wait, time advances at once.
    Memory,
    /// TCP on this machine's loopback; the left party listens.
    Tcp,
    /// Mutually authenticated TLS over that.
    Tls,
    /// Files in a directory that both parties see.
    Files,
}

impl Link {
    /// Every kind of link.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Tcp, Self::Tls, Self::Files];

    /// Connects two parties.
    pub fn connect(self) -> (Wire, Wire) {
        match self {
            Self::Memory => {
                let (left, right, clock) = pipe::pair();
                let wire = |end| Wire { transport: Box::new(end), clock: clock.clone() };
                (wire(left), wire(right))
            }
            Self::Tcp => {
                let (left, right) = connect_tcp();
                (Wire::new(left), Wire::new(right))
            }
            Self::Tls => connect_tls(),
            Self::Files => connect_files(),
        }
    }
}

fn connect_tcp() -> (tcp::Tcp, tcp::Tcp) {
    let cancel = CancelToken::default();
    let listener = tcp::Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().to_string();
    let right = tcp::connect(&address, PATIENCE, &cancel).unwrap();
    (listener.accept(PATIENCE, &cancel).unwrap(), right)
}

fn connect_tls() -> (Wire, Wire) {
    let (left, right) = connect_tcp();
    let [me, you] = [Identity::generate().unwrap(), Identity::generate().unwrap()];
    let prints = [me.fingerprint(), you.fingerprint()];
    let cancel = CancelToken::default();
    thread::scope(|scope| {
        let left = scope.spawn(|| tls::server(left, &me, &prints[1], PATIENCE, &cancel).unwrap());
        let right = tls::client(right, &you, &prints[0], PATIENCE, &cancel).unwrap();
        (Wire::new(left.join().unwrap()), Wire::new(right))
    })
}

fn connect_files() -> (Wire, Wire) {
    let directory = Arc::new(TempDir::new().unwrap());
    let open = |side| {
        let files = Files::open(directory.path(), side).unwrap();
        Wire::new(InDirectory { files, _directory: directory.clone() })
    };
    (open(Side::A), open(Side::B))
}

/// One end of a connection by files, which keeps their directory as long as it is needed.
struct InDirectory {
    // Dropped before the directory.
    files: Files,
    _directory: Arc<TempDir>,
}

impl Read for InDirectory {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.files.read(buf)
    }
}

impl Write for InDirectory {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.files.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.files.flush()
    }
}

/// Runs two honest parties over a link with seeded randomness and returns the results of both.
///
/// # Panics
/// If a party panics or fails, or the other one waits for it until the timeout.
pub fn run<A: Send, B: Send, E>(
    link: Link,
    left: impl FnOnce(&mut Channel, &mut StdRng) -> Result<A, E> + Send,
    right: impl FnOnce(&mut Channel, &mut StdRng) -> Result<B, E> + Send,
) -> (A, B)
where
    E: From<Error> + std::fmt::Display + Send,
{
    match between(link.connect(), PATIENCE, left, right) {
        (Ok(left), Ok(right)) => (left, right),
        (left, right) => {
            let of = |error: Option<E>| error.map_or("fine".into(), |error| error.to_string());
            panic!("over {link:?}: left: {}; right: {}", of(left.err()), of(right.err()))
        }
    }
}

/// Works like [`run`], with the first party at the left end or at the right one.
///
/// # Panics
/// Same as [`run`].
pub fn run_at_either_end<A: Send, B: Send, E>(
    link: Link,
    first_is_left: bool,
    first: impl FnOnce(&mut Channel, &mut StdRng) -> Result<A, E> + Send,
    second: impl FnOnce(&mut Channel, &mut StdRng) -> Result<B, E> + Send,
) -> (A, B)
where
    E: From<Error> + std::fmt::Display + Send,
{
    if first_is_left {
        return run(link, first, second);
    }
    let (second, first) = run(link, second, first);
    (first, second)
}

/// Runs two parties over two ends of a link, and returns both outcomes. A party that succeeds ends the run in order. A
/// party that fails closes its end at once.
///
/// # Panics
/// If a party panics, or runs for longer than its timeouts explain.
pub fn between<A: Send, B: Send, E: From<Error> + Send>(
    (left_wire, right_wire): (Wire, Wire),
    stall: Duration,
    left: impl FnOnce(&mut Channel, &mut StdRng) -> Result<A, E> + Send,
    right: impl FnOnce(&mut Channel, &mut StdRng) -> Result<B, E> + Send,
) -> (Result<A, E>, Result<B, E>) {
    thread::scope(|scope| {
        let left = scope.spawn(move || party(left_wire, stall, SEED, left));
        let right = scope.spawn(move || party(right_wire, stall, SEED + 1, right));
        let (left, right) = (left.join(), right.join());
        (left.unwrap_or_else(|p| resume_unwind(p)), right.unwrap_or_else(|p| resume_unwind(p)))
    })
}

/// Runs one party to its end.
pub fn party<T, E: From<Error>>(
    wire: Wire,
    stall: Duration,
    seed: u64,
    run: impl FnOnce(&mut Channel, &mut StdRng) -> Result<T, E>,
) -> Result<T, E> {
    let Wire { transport, clock } = wire;
    let started = clock.now();
    let mut channel = Channel::new(transport).with_clock(clock.clone()).with_stall_timeout(stall);
    let mut rng = StdRng::seed_from_u64(seed);
    let result = run(&mut channel, &mut rng).and_then(|value| {
        channel.finish()?;
        Ok(value)
    });
    let took = clock.since(started);
    assert!(took < stall * 3 + PATIENCE, "a party went on for {took:?}");
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_carries_both_ways() {
        for link in Link::ALL {
            let talk = |channel: &mut Channel, _: &mut StdRng| {
                let mut theirs = vec![0; 300_000];
                channel.exchange("hello", &vec![7; 300_000], &mut theirs)?;
                Ok::<_, Error>(theirs)
            };
            let (left, right) = run(link, talk, talk);
            assert!(left == right && left == vec![7; 300_000]);
        }
    }

    #[test]
    fn two_parties_that_wait_for_each_other_are_an_error_on_both_sides() {
        let wait = |channel: &mut Channel, _: &mut StdRng| channel.recv_into("word", &mut [0]);
        let stall = Duration::from_millis(300);
        let outcomes = between(Link::Memory.connect(), stall, wait, wait);
        assert!(matches!(outcomes.0, Err(Error::Stalled { .. } | Error::Closed { .. })));
        assert!(matches!(outcomes.1, Err(Error::Stalled { .. } | Error::Closed { .. })));
    }

    #[test]
    #[should_panic(expected = "right: stopped on request")]
    fn a_failed_party_is_named() {
        run(
            Link::Memory,
            |_, _| Ok(()),
            |_, _| Err::<(), _>(Error::Cancelled { phase: "anything" }),
        );
    }
}
