//! Two parties in one process: a bounded pipe in each direction.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use super::POLL_INTERVAL;

/// The number of bytes that one direction holds before its writer must wait. Deliberately small, no more than
/// an operating system gives a socket: a protocol that would deadlock over a network deadlocks here, and the
/// channel's stall timeout makes that a failed test.
const CAPACITY: usize = 1 << 18;

#[derive(Default)]
struct Queue {
    bytes: VecDeque<u8>,
    closed: bool,
}

struct Pipe {
    capacity: usize,
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Pipe {
    fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity, queue: Mutex::default(), changed: Condvar::new() })
    }

    /// The queue; a thread that died while holding the lock counts as one that closed.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits up to a poll interval while `blocked` holds.
    fn wait_while(
        &self,
        blocked: impl FnMut(&mut Queue) -> bool,
    ) -> io::Result<MutexGuard<'_, Queue>> {
        let (queue, timeout) = self
            .changed
            .wait_timeout_while(self.lock(), POLL_INTERVAL, blocked)
            .unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(queue) }
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

/// One end of a pair of pipes.
pub struct Memory {
    out: Arc<Pipe>,
    into: Arc<Pipe>,
}

/// Two connected ends with a capacity of 256 KiB in each direction.
pub fn pair() -> (Memory, Memory) {
    pair_of(CAPACITY)
}

/// Two connected ends with a capacity of `capacity` bytes in each direction, at least one.
pub fn pair_of(capacity: usize) -> (Memory, Memory) {
    let (a, b) = (Pipe::new(capacity.max(1)), Pipe::new(capacity.max(1)));
    (Memory { out: a.clone(), into: b.clone() }, Memory { out: b, into: a })
}

impl Read for Memory {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut queue = self.into.wait_while(|q| q.bytes.is_empty() && !q.closed)?;
        let read = queue.bytes.read(buf)?;
        self.into.changed.notify_all();
        Ok(read)
    }
}

impl Write for Memory {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut queue = self.out.wait_while(|q| q.bytes.len() >= self.out.capacity && !q.closed)?;
        if queue.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = buf.len().min(self.out.capacity - queue.bytes.len());
        queue.bytes.extend(&buf[..written]);
        self.out.changed.notify_all();
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.out.close();
        self.into.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::is_blocked;

    #[test]
    fn a_full_pipe_blocks_its_writer_and_an_empty_one_its_reader() {
        let (mut a, mut b) = pair_of(3);
        assert!(is_blocked(&b.read(&mut [0]).unwrap_err()));
        assert_eq!(a.write(&[1, 2, 3, 4]).unwrap(), 3);
        assert!(is_blocked(&a.write(&[4]).unwrap_err()));
        let mut first = [0; 2];
        b.read_exact(&mut first).unwrap();
        assert_eq!(first, [1, 2]);
        assert_eq!(a.write(&[4, 5, 6]).unwrap(), 2);
    }

    #[test]
    fn bytes_written_before_the_end_are_still_read() {
        let (mut a, mut b) = pair();
        a.write_all(&[1]).unwrap();
        drop(a);
        assert_eq!((b.read(&mut [0; 9]).unwrap(), b.read(&mut [0; 9]).unwrap()), (1, 0));
        assert_eq!(b.write(&[1]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
