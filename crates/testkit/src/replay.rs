//! Replays received bytes to a party without its peer. The time measured is then the party's own, and it can use every
//! processor of the machine.
//!
//! A party with the same randomness as before sends the same messages, and the replayed bytes answer them.

use std::{
    io::{self, Read, Write},
    sync::{Arc, Mutex},
};

use vesica_net::Transport;

/// The bytes received over a [`Taping`] transport.
#[derive(Debug, Clone, Default)]
pub struct Tape(Arc<Mutex<Vec<u8>>>);

/// A transport that records everything it receives.
pub struct Taping<T>(T, Tape);

/// A transport that provides the recorded bytes at once, and discards everything written.
#[derive(Debug)]
pub struct Replay {
    bytes: Vec<u8>,
    at: usize,
}

impl Tape {
    /// Wraps a transport to record the bytes it receives.
    pub fn of<T: Transport>(transport: T) -> (Taping<T>, Self) {
        let tape = Self::default();
        (Taping(transport, tape.clone()), tape)
    }

    /// Replays the recording from the beginning.
    pub fn replay(&self) -> Replay {
        Replay { bytes: self.0.lock().unwrap().clone(), at: 0 }
    }
}

impl<T: Read> Read for Taping<T> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(to)?;
        self.1.0.lock().unwrap().extend_from_slice(&to[..read]);
        Ok(read)
    }
}

impl<T: Write> Write for Taping<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Read for Replay {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = (&self.bytes[self.at..]).read(to)?;
        self.at += read;
        Ok(read)
    }
}

impl Write for Replay {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use vesica_net::{Channel, transport::memory};

    use super::*;

    /// A party that receives the same bytes does the same without its peer.
    #[test]
    fn a_party_hears_again_what_it_heard() {
        let party = |channel: &mut Channel| {
            let mut told = [0; 100_000];
            channel.exchange("one", &[7; 100_000], &mut told)?;
            channel.finish()?;
            Ok::<_, vesica_net::Error>(told)
        };
        let (a, b) = memory::pair();
        let (a, tape) = Tape::of(a);
        let first = thread::scope(|scope| {
            scope.spawn(|| {
                let mut channel = Channel::new(b);
                channel.exchange("one", &[9; 100_000], &mut [0; 100_000]).unwrap();
                channel.finish().unwrap();
            });
            party(&mut Channel::new(a)).unwrap()
        });
        assert!(first == [9; 100_000]);
        for _ in 0..2 {
            assert!(party(&mut Channel::new(tape.replay())).unwrap() == first);
        }
    }
}
