//! Two parties in one process, whose randomness is secret and whose messages are public.

use std::{
    fmt::Debug,
    io::{self, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use vesica_net::{
    Channel,
    transport::memory::{self, Memory},
};

use crate::marks::{self, SecretRng, public};

/// A timeout for valgrind, which runs one thread at a time, about fifty times slower than the processor.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A link on which everything sent becomes public. It counts the bits that were secret until then.
struct Revealing {
    link: Memory,
    revealed: Arc<AtomicU64>,
}

impl Read for Revealing {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.link.read(buf)
    }
}

impl Write for Revealing {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.revealed.fetch_add(marks::secret_bits(buf), Ordering::Relaxed);
        public(buf);
        self.link.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.link.flush()
    }
}

/// Runs two honest parties, and returns the results of both.
///
/// # Panics
/// If a party drew secrets but sent nothing that depended on them. In that case the secrets were not followed to their
/// use, and the absence of reports would mean nothing.
pub fn run<A: Send, B: Send, E: Debug + Send>(
    left: impl FnOnce(&mut Channel, &mut SecretRng) -> Result<A, E> + Send,
    right: impl FnOnce(&mut Channel, &mut SecretRng) -> Result<B, E> + Send,
) -> (A, B) {
    let (left_end, right_end) = memory::pair();
    thread::scope(|scope| {
        let left = scope.spawn(|| party("first", left_end, 1, left));
        let right = scope.spawn(|| party("second", right_end, 2, right));
        let joined = "a party that panicked has said why";
        (left.join().expect(joined), right.join().expect(joined))
    })
}

fn party<T, E: Debug>(
    name: &str,
    link: Memory,
    seed: u64,
    run: impl FnOnce(&mut Channel, &mut SecretRng) -> Result<T, E>,
) -> T {
    let revealed = Arc::new(AtomicU64::new(0));
    let link = Revealing { link, revealed: revealed.clone() };
    let mut channel = Channel::new(link).with_stall_timeout(PATIENCE);
    let mut rng = SecretRng::new(seed);
    let done = run(&mut channel, &mut rng).expect("an honest run");
    channel.finish().expect("the end of an honest run");
    let (drawn, revealed) = (rng.drawn(), revealed.load(Ordering::Relaxed));
    println!(
        "{name} party: {drawn} secret bits drawn, {revealed} bits secret until they were sent"
    );
    assert!(
        drawn == 0 || revealed > 0,
        "the messages of the {name} party must depend on its secrets, but none of their bits was secret"
    );
    done
}
