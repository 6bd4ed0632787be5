//! Two connected ends in one process that know when both parties wait, and then set their clock forward: no
//! test waits for a timeout to expire, and none runs into one because its machine is loaded.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::Duration,
};

use vesica_net::{Clock, transport::POLL_INTERVAL};

/// How many bytes one direction holds before its writer must wait: no more than an operating system gives a
/// socket, so that a protocol that would deadlock over a network deadlocks here.
const CAPACITY: usize = 1 << 18;

/// How far the clock is set forward each time that both parties wait.
const STEP: Duration = Duration::from_secs(10);

#[derive(Default)]
struct State {
    /// The bytes in flight to each end.
    to: [VecDeque<u8>; 2],
    closed: bool,
    /// Whether each end waits, and the other has done nothing since.
    waiting: [bool; 2],
}

#[derive(Default)]
struct Pipe {
    state: Mutex<State>,
    changed: Condvar,
    clock: Clock,
}

/// One end.
pub struct End {
    pipe: Arc<Pipe>,
    me: usize,
}

/// Two connected ends that hold 256 KiB each way, and their clock.
pub fn pair() -> (End, End, Clock) {
    let pipe = Arc::<Pipe>::default();
    let clock = pipe.clock.clone();
    (End { pipe: pipe.clone(), me: 0 }, End { pipe, me: 1 }, clock)
}

impl End {
    fn other(&self) -> usize {
        1 - self.me
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.pipe.state.lock().unwrap()
    }

    /// Waits up to a poll interval for bytes, or for space. If the other party waits too, nothing can arrive,
    /// so the clock advances by a step at once.
    fn wait_for(&self, ready: impl Fn(&State) -> bool) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        if !ready(&state) {
            if state.waiting[self.other()] {
                self.pipe.clock.advance(STEP);
                self.wake_other(&mut state);
                return Err(io::ErrorKind::WouldBlock.into());
            }
            state.waiting[self.me] = true;
            let blocked = |state: &mut State| state.waiting[self.me];
            state = self.pipe.changed.wait_timeout_while(state, POLL_INTERVAL, blocked).unwrap().0;
            state.waiting[self.me] = false;
        }
        if ready(&state) { Ok(state) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    /// To be called after anything that may let the other end continue.
    fn wake_other(&self, state: &mut State) {
        state.waiting[self.other()] = false;
        self.pipe.changed.notify_all();
    }
}

impl Read for End {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut state = self.wait_for(|state| !state.to[self.me].is_empty() || state.closed)?;
        let read = state.to[self.me].read(buf)?;
        self.wake_other(&mut state);
        Ok(read)
    }
}

impl Write for End {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let other = self.other();
        let mut state = self.wait_for(|state| state.to[other].len() < CAPACITY || state.closed)?;
        if state.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = buf.len().min(CAPACITY - state.to[other].len());
        state.to[other].extend(&buf[..written]);
        self.wake_other(&mut state);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.lock();
        state.closed = true;
        self.wake_other(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Instant};

    use super::*;

    fn blocks(result: io::Result<usize>) -> bool {
        result.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    #[test]
    fn bytes_pass_up_to_the_capacity_and_the_end_is_seen() {
        let (mut a, mut b, _) = pair();
        assert_eq!(a.write(&vec![7; 2 * CAPACITY]).unwrap(), CAPACITY);
        assert!(blocks(a.write(&[7])));
        let mut bytes = vec![0; CAPACITY];
        b.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, vec![7; CAPACITY]);
        assert_eq!(a.write(&[1]).unwrap(), 1);
        drop(a);
        assert_eq!((b.read(&mut bytes).unwrap(), b.read(&mut bytes).unwrap()), (1, 0));
        assert_eq!(b.write(&[1]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn time_stands_still_while_a_party_may_yet_act() {
        let (mut a, b, clock) = pair();
        let start = clock.now();
        assert!(blocks(a.read(&mut [0])));
        assert!(clock.since(start) < STEP);
        drop(b);
    }

    #[test]
    fn an_hour_of_waiting_passes_when_both_wait() {
        const HOUR: Duration = Duration::from_secs(3600);
        let (mut a, mut b, clock) = pair();
        let (start, began) = (clock.now(), Instant::now());
        let wait = |end: &mut End| {
            while clock.since(start) < HOUR {
                assert!(blocks(end.read(&mut [0])));
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| wait(&mut a));
            scope.spawn(|| wait(&mut b));
        });
        assert!(began.elapsed() < HOUR / 10, "it was sat out");
    }
}
