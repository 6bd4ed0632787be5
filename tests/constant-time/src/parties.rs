//! Two parties in one process, whose randomness is secret and whose messages are public.

use std::{
    fmt::Debug,
    io::{self, Read, Write},
    thread,
    time::Duration,
};

use vesica_net::{
    Channel,
    transport::memory::{self, Memory},
};

use crate::marks::{SecretRng, public};

/// Valgrind runs one thread at a time, some fifty times slower than the processor.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A link on which everything that is sent becomes public.
struct Revealing(Memory);

impl Read for Revealing {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for Revealing {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        public(buf);
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Runs two honest parties and returns the results of both.
pub fn run<A: Send, B: Send, E: Debug + Send>(
    left: impl FnOnce(&mut Channel, &mut SecretRng) -> Result<A, E> + Send,
    right: impl FnOnce(&mut Channel, &mut SecretRng) -> Result<B, E> + Send,
) -> (A, B) {
    let (left_end, right_end) = memory::pair();
    thread::scope(|scope| {
        let left = scope.spawn(|| party(left_end, 1, left));
        let right = scope.spawn(|| party(right_end, 2, right));
        let joined = "a party that panicked has said why";
        (left.join().expect(joined), right.join().expect(joined))
    })
}

fn party<T, E: Debug>(
    end: Memory,
    seed: u64,
    run: impl FnOnce(&mut Channel, &mut SecretRng) -> Result<T, E>,
) -> T {
    let mut channel = Channel::new(Revealing(end)).with_stall_timeout(PATIENCE);
    let done = run(&mut channel, &mut SecretRng::new(seed)).expect("an honest run");
    channel.finish().expect("the end of an honest run");
    done
}
