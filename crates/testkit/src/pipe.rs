//! Two connected ends in one process that know when both parties wait, and then set their clock forward: no
//! test waits for a timeout to expire, and none runs into one because its machine is loaded.

use std::{
    io::{self, Read, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use vesica_net::{Clock, transport::POLL_INTERVAL};

use crate::course::{Course, Found, Lane};

/// How many bytes one direction holds before its writer must wait: no more than an operating system gives a
/// socket, so that a protocol that would deadlock over a network deadlocks here.
const CAPACITY: usize = 1 << 18;

/// How far the clock is set forward each time that both parties wait, unless something is due earlier.
const STEP: Duration = Duration::from_secs(10);

struct State {
    /// The bytes on their way to each end.
    to: [Lane; 2],
    /// Whether each end waits, and the other has done nothing since; or is gone.
    waiting: [bool; 2],
    gone: [bool; 2],
}

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

/// What has passed through a link so far.
pub struct Passed(Arc<Pipe>);

/// Two connected ends that hold 256 KiB each way, and their clock.
pub fn pair() -> (End, End, Clock) {
    let (left, right, clock, _) = pair_over([Course::STRAIGHT; 2], Clock::default());
    (left, right, clock)
}

/// As [`pair`], by this clock. The first of the courses is that of the bytes which the first end sends.
pub fn pair_over([there, back]: [Course; 2], clock: Clock) -> (End, End, Clock, Passed) {
    let to = [back, there].map(|course| Lane::new(course, CAPACITY));
    let state = Mutex::new(State { to, waiting: [false; 2], gone: [false; 2] });
    let pipe = Arc::new(Pipe { state, changed: Condvar::new(), clock: clock.clone() });
    let [left, right] = [0, 1].map(|me| End { pipe: pipe.clone(), me });
    (left, right, clock, Passed(pipe))
}

impl Passed {
    /// Bytes that each end has sent, and those of them that the other has received.
    pub fn bytes(&self) -> [[u64; 2]; 2] {
        let state = self.0.state.lock().unwrap();
        [state.to[1].positions(), state.to[0].positions()]
    }
}

impl State {
    /// Whether a reset has reached this end.
    fn is_reset(&self, me: usize) -> bool {
        self.to[me].is_reset_for_reader() || self.to[1 - me].is_reset_for_writer()
    }

    /// How far to set the clock forward when nothing happens before.
    fn step(&self, now: Instant) -> Duration {
        let due = self.to.iter().filter_map(Lane::due).map(|due| due.saturating_duration_since(now));
        due.filter(|left| !left.is_zero()).chain([STEP]).min().unwrap_or(STEP)
    }
}

impl End {
    fn other(&self) -> usize {
        1 - self.me
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.pipe.state.lock().unwrap()
    }

    /// Tries, and waits up to a poll interval for it to succeed. If the other party waits too, nothing can arrive but what is
    /// late, so the clock advances by a step at once.
    fn wait_for(
        &self,
        mut attempt: impl FnMut(&mut State, Instant) -> Found<usize>,
    ) -> io::Result<usize> {
        let mut state = self.lock();
        for waits in [true, false] {
            if state.is_reset(self.me) {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if let Found::Now(done) = attempt(&mut state, self.pipe.clock.now()) {
                self.wake_other(&mut state);
                return done;
            }
            if !waits {
                break;
            }
            if state.waiting[self.other()] || state.gone[self.other()] {
                self.pipe.clock.advance(state.step(self.pipe.clock.now()));
                self.wake_other(&mut state);
                break;
            }
            state.waiting[self.me] = true;
            let blocked = |state: &mut State| state.waiting[self.me];
            state = self.pipe.changed.wait_timeout_while(state, POLL_INTERVAL, blocked).unwrap().0;
            state.waiting[self.me] = false;
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// To be called after anything that may let the other end continue.
    fn wake_other(&self, state: &mut State) {
        state.waiting[self.other()] = false;
        self.pipe.changed.notify_all();
    }
}

impl Read for End {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.wait_for(|state, now| state.to[self.me].read(buf, now))
    }
}

impl Write for End {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let (me, other) = (self.me, self.other());
        self.wait_for(|state, now| match state.gone[other] && !state.to[me].has_stalled() {
            true => Found::Now(Err(io::ErrorKind::BrokenPipe.into())),
            false => state.to[other].write(buf, now),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut state = self.lock();
        let flushed = state.to[self.other()].flush();
        self.wake_other(&mut state);
        flushed
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.lock();
        state.gone[self.me] = true;
        state.to[self.other()].closed = true;
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
