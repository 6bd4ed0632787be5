//! Two parties in one process: a bounded pipe each way.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use super::TICK;

/// How many bytes one direction holds before its writer has to wait. Small on purpose, no more than
/// what an operating system gives a socket: a protocol that would deadlock over a network deadlocks
/// here, and the channel's stall timeout makes that a failed test.
const CAPACITY: usize = 1 << 18;

#[derive(Default)]
struct Queue {
    bytes: VecDeque<u8>,
    closed: bool,
}

#[derive(Default)]
struct Pipe {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Pipe {
    /// The queue; a thread that died while it held the lock is treated as one that closed.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits up to a tick while `blocked` holds.
    fn wait_while(
        &self,
        blocked: impl FnMut(&mut Queue) -> bool,
    ) -> io::Result<MutexGuard<'_, Queue>> {
        let (queue, timeout) = self
            .changed
            .wait_timeout_while(self.lock(), TICK, blocked)
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

/// Two connected ends.
pub fn pair() -> (Memory, Memory) {
    let (a, b) = (Arc::<Pipe>::default(), Arc::<Pipe>::default());
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
        let mut queue = self.out.wait_while(|q| q.bytes.len() >= CAPACITY && !q.closed)?;
        if queue.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = buf.len().min(CAPACITY - queue.bytes.len());
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
