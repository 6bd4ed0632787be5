//! Two connected ends in one process that notice when both parties wait, and then advance their clock. No test has to
//! wait for a timeout, and no test runs into one because its machine is loaded.

use std::{
    io::{self, Read, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use vesica_net::{Clock, transport::POLL_INTERVAL};

use crate::course::{Course, Lane, Readiness};

/// Capacity of one direction in bytes, after which its writer must wait. It is no more than an operating system gives a
/// socket, so a protocol that would deadlock over a network deadlocks here.
const CAPACITY: usize = 1 << 18;

/// The advance of the clock each time both parties wait, unless something is due earlier.
const STEP: Duration = Duration::from_secs(10);

struct PipeState {
    /// The bytes in transit to each end.
    to: [Lane; 2],
    /// Whether each end is dropped, or waits and the other end has done nothing since.
    waiting: [bool; 2],
    gone: [bool; 2],
    /// Whether the last call of each end failed although it need not wait, so that it will call again.
    returns: [bool; 2],
}

struct Pipe {
    state: Mutex<PipeState>,
    changed: Condvar,
    clock: Clock,
}

/// One end.
pub struct End {
    pipe: Arc<Pipe>,
    me: usize,
}

/// The numbers of bytes that have passed through a link so far.
pub struct Passed(Arc<Pipe>);

/// Creates two connected ends that hold 256 KiB in each direction, and their clock.
pub fn pair() -> (End, End, Clock) {
    let (left, right, clock, _) = pair_over([Course::STRAIGHT; 2], Clock::default());
    (left, right, clock)
}

/// Creates a pair like [`pair`], with this clock. The first course applies to the bytes that the first end sends.
pub fn pair_over([there, back]: [Course; 2], clock: Clock) -> (End, End, Clock, Passed) {
    let to = [back, there].map(|course| Lane::new(course, CAPACITY));
    let state =
        Mutex::new(PipeState { to, waiting: [false; 2], gone: [false; 2], returns: [false; 2] });
    let pipe = Arc::new(Pipe { state, changed: Condvar::new(), clock: clock.clone() });
    let [left, right] = [0, 1].map(|me| End { pipe: pipe.clone(), me });
    (left, right, clock, Passed(pipe))
}

impl Passed {
    /// Returns the numbers of bytes that each end has sent and that the other end has received of them.
    pub fn bytes(&self) -> [[u64; 2]; 2] {
        let state = self.0.state.lock().unwrap();
        [state.to[1].positions(), state.to[0].positions()]
    }
}

impl PipeState {
    /// Returns whether a reset has reached this end.
    fn is_reset(&self, me: usize) -> bool {
        self.to[me].is_reset_for_reader() || self.to[1 - me].is_reset_for_writer()
    }

    /// Returns the time by which to advance the clock when nothing happens.
    fn step(&self, now: Instant) -> Duration {
        let due =
            self.to.iter().filter_map(Lane::due).map(|due| due.saturating_duration_since(now));
        due.filter(|left| !left.is_zero()).chain([STEP]).min().unwrap_or(STEP)
    }
}

impl End {
    fn other(&self) -> usize {
        1 - self.me
    }

    fn lock(&self) -> MutexGuard<'_, PipeState> {
        self.pipe.state.lock().unwrap()
    }

    /// Tries, and waits up to a poll interval for success. If the other party waits too, only late bytes can arrive, so
    /// the clock advances by a step at once.
    fn wait_for(
        &self,
        mut attempt: impl FnMut(&mut PipeState, Instant) -> Readiness<usize>,
    ) -> io::Result<usize> {
        let mut state = self.lock();
        for waits in [true, false] {
            if state.is_reset(self.me) {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if let Readiness::Now(done) = attempt(&mut state, self.pipe.clock.now()) {
                state.returns[self.me] = done.is_err();
                self.wake_other(&mut state);
                return done;
            }
            // The caller's previous step can continue at once.
            if !waits || std::mem::take(&mut state.returns[self.me]) {
                break;
            }
            if state.waiting[self.other()] || state.gone[self.other()] {
                self.pipe.clock.advance(state.step(self.pipe.clock.now()));
                self.wake_other(&mut state);
                break;
            }
            state.waiting[self.me] = true;
            let blocked = |state: &mut PipeState| state.waiting[self.me];
            state = self.pipe.changed.wait_timeout_while(state, POLL_INTERVAL, blocked).unwrap().0;
            state.waiting[self.me] = false;
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Wakes the other end. Must be called after anything that may let it continue.
    fn wake_other(&self, state: &mut PipeState) {
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
            true => Readiness::Now(Err(io::ErrorKind::BrokenPipe.into())),
            false => state.to[other].write(buf, now),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut state = self.lock();
        let flushed = state.to[self.other()].flush();
        state.returns[self.me] = flushed.is_err();
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
    use crate::course::Break;

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

    fn has_ended(error: &io::Error) -> bool {
        matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
    }

    /// Sends `len` bytes in each direction over these courses. Returns the received bytes and the time.
    fn exchanged(courses: [Course; 2], len: usize) -> ([Vec<u8>; 2], Duration) {
        let (left, right, clock, _) = pair_over(courses, Clock::default());
        let start = clock.now();
        let talk = |mut end: End, of: u8| {
            let (mut sent, mut heard, mut flushed) = (0, Vec::new(), false);
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8 ^ of).collect();
            while clock.since(start) < Duration::from_secs(3600) && (!flushed || heard.len() < len)
            {
                if sent < len {
                    sent += match end.write(&bytes[sent..]) {
                        Ok(written) => written,
                        // The remaining bytes will never be received.
                        Err(error) if has_ended(&error) => len - sent,
                        Err(_) => 0,
                    };
                } else {
                    flushed |= end.flush().is_ok();
                    let mut some = [0; 1000];
                    match end.read(&mut some) {
                        Ok(0) => break,
                        Ok(read) => heard.extend(&some[..read]),
                        Err(error) if has_ended(&error) => break,
                        Err(_) => {}
                    }
                }
            }
            heard
        };
        let heard = thread::scope(|scope| {
            let left = scope.spawn(|| talk(left, 1));
            [talk(right, 2), left.join().unwrap()]
        });
        (heard, clock.since(start))
    }

    #[test]
    fn on_any_course_every_byte_arrives_in_order_and_in_time() {
        const DELAY: Duration = Duration::from_secs(9);
        let mut delayed = 0;
        for seed in 0..40 {
            let course = Course::bumpy(seed, DELAY);
            let len = if course.piece == 1 { 300 } else { 20_000 };
            let (heard, took) = exchanged([course, Course::bumpy(seed + 100, DELAY)], len);
            for (heard, of) in heard.into_iter().zip([1, 2]) {
                assert!(heard.len() == len && (0..len).all(|i| heard[i] == (i * 7) as u8 ^ of));
            }
            assert!(took < 2 * DELAY, "{course:?}: {took:?}");
            delayed += usize::from(took > DELAY / 9);
        }
        assert!(delayed > 0, "no byte was late");
    }

    #[test]
    fn a_link_breaks_at_the_byte_it_is_said_to() {
        for how in Break::ALL {
            for at in [0, 1, 999, 1000] {
                let broken = Course::bumpy(at, Duration::ZERO).breaking(at, how);
                let ([right, _], took) = exchanged([broken, Course::STRAIGHT], 1000);
                assert_eq!(right.len() as u64, at.min(1000), "{how:?}");
                // A reader that sees the end of the link does not wait.
                let waits = how == Break::Stall && at < 1000;
                assert!(
                    waits == (took > Duration::from_secs(3000)) || how == Break::Hush,
                    "{how:?} {at}"
                );
            }
        }
    }

    #[test]
    fn unflushed_bytes_are_lost_with_their_writer() {
        let holding = Course { holds: true, ..Course::STRAIGHT };
        let (mut a, mut b, _, passed) = pair_over([holding, Course::STRAIGHT], Clock::default());
        a.write_all(b"told").unwrap();
        a.flush().unwrap();
        a.write_all(b"kept").unwrap();
        drop(a);
        let mut heard = Vec::new();
        b.read_to_end(&mut heard).unwrap();
        assert!(heard.starts_with(b"told") && heard.len() < 8);
        assert_eq!(passed.bytes()[0], [8, heard.len() as u64]);
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
        assert!(began.elapsed() < HOUR / 10, "the timeout elapsed");
    }
}
