//! Turns of computing threads, if there are more threads than processors: a thread that waits for its peer lets another
//! one compute.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The interval at which a waiting thread checks whether to keep waiting.
const PAUSE: Duration = Duration::from_millis(20);

/// A number of turns that threads share, first come, first served. By default every thread always has one.
#[derive(Clone, Default)]
pub struct Turns(Option<Arc<Shared>>);

struct Shared {
    all: usize,
    state: Mutex<TurnState>,
    changed: Condvar,
}

struct TurnState {
    free: usize,
    /// The numbers of the waiting threads, in the order in which they came.
    waiting: VecDeque<u64>,
    next: u64,
}

/// A turn, until it is dropped.
pub struct Turn(Turns);

impl Turns {
    /// Makes this number of turns.
    pub fn new(all: usize) -> Self {
        let state = TurnState { free: all, waiting: VecDeque::new(), next: 0 };
        Self(Some(Arc::new(Shared { all, state: Mutex::new(state), changed: Condvar::new() })))
    }

    /// Returns the number of turns that are taken.
    pub fn running(&self) -> usize {
        self.0.as_ref().map_or(0, |shared| shared.all - shared.state().free)
    }

    /// Returns the number of waiting threads.
    pub fn waiting(&self) -> usize {
        self.0.as_ref().map_or(0, |shared| shared.state().waiting.len())
    }

    /// Waits for a turn.
    pub fn begin(&self) -> Turn {
        self.take(|| true);
        Turn(self.clone())
    }

    /// Waits for a turn as long as `stays`, which is called now and then, returns true; `None` once it returns false.
    pub fn begin_while(&self, stays: impl FnMut() -> bool) -> Option<Turn> {
        self.take(stays).then(|| Turn(self.clone()))
    }

    /// Does something without a turn.
    pub(crate) fn without<T>(&self, something: impl FnOnce() -> T) -> T {
        self.give();
        let done = something();
        self.take(|| true);
        done
    }

    /// Waits for a turn, and returns whether it was taken.
    fn take(&self, mut stays: impl FnMut() -> bool) -> bool {
        let Some(shared) = &self.0 else { return true };
        let mut state = shared.state();
        let me = state.next;
        state.next += 1;
        state.waiting.push_back(me);
        // Nobody overtakes, so every thread gets a turn before its peer gives up.
        while state.free == 0 || state.waiting.front() != Some(&me) {
            let (woken, waited) =
                shared.changed.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if waited.timed_out() {
                drop(state);
                let stays = stays();
                state = shared.state();
                if !stays {
                    state.waiting.retain(|waiting| *waiting != me);
                    shared.changed.notify_all();
                    return false;
                }
            }
        }
        state.waiting.pop_front();
        state.free -= 1;
        if state.free > 0 {
            shared.changed.notify_all();
        }
        true
    }

    fn give(&self) {
        let Some(shared) = &self.0 else { return };
        shared.state().free += 1;
        shared.changed.notify_all();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, TurnState> {
        // Each change is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.give();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
        time::Instant,
    };

    use super::*;
    use crate::Channel;
    use crate::transport::memory;

    #[test]
    fn no_more_compute_than_there_are_turns() {
        let (turns, at_work, most) = (Turns::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _turn = turns.begin();
                    for _ in 0..50 {
                        most.fetch_max(
                            at_work.fetch_add(1, Ordering::SeqCst) + 1,
                            Ordering::SeqCst,
                        );
                        thread::yield_now();
                        at_work.fetch_sub(1, Ordering::SeqCst);
                        turns.without(thread::yield_now);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 2);
        let _both = [turns.begin(), turns.begin()];
    }

    #[test]
    fn turns_are_given_in_the_order_of_arrival() {
        let turns = Turns::new(1);
        let first = turns.begin();
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..4 {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    let _turn = turns.begin();
                    assert_eq!(turns.running(), 1);
                    order.lock().unwrap().push(number);
                });
                let begun = Instant::now();
                while turns.waiting() <= number {
                    assert!(begun.elapsed() < Duration::from_secs(20));
                    thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
        assert_eq!((turns.running(), turns.waiting()), (0, 0));
    }

    #[test]
    fn one_that_leaves_is_no_longer_waited_for() {
        let turns = Turns::new(1);
        let _first = turns.begin();
        let mut asked = 0;
        let stays = || {
            asked += 1;
            asked < 3
        };
        assert!(turns.begin_while(stays).is_none());
        assert_eq!((turns.running(), turns.waiting()), (1, 0));
    }

    /// Two pairs of parties, and one turn on each side: if waiting threads kept their turns, no pair would finish.
    #[test]
    fn a_waiting_thread_lets_others_continue() {
        let sides = [Turns::new(1), Turns::new(1)];
        thread::scope(|scope| {
            for pair in 0..2 {
                let (a, b) = memory::pair();
                let [mine, theirs] = &sides;
                scope.spawn(move || {
                    let mut channel = Channel::new(a);
                    channel.share(mine.clone());
                    let _turn = mine.begin();
                    let mut heard = [0];
                    channel.recv_into("test", &mut heard).unwrap();
                    assert_eq!(heard, [pair]);
                    // More than the connection holds.
                    channel.send("test", &vec![pair; 1 << 22]).unwrap();
                    channel.flush().unwrap();
                });
                scope.spawn(move || {
                    let mut channel = Channel::new(b);
                    channel.share(theirs.clone());
                    let _turn = theirs.begin();
                    channel.send("test", &[pair]).unwrap();
                    let mut heard = vec![0; 1 << 22];
                    channel.recv_into("test", &mut heard).unwrap();
                    assert!(heard.iter().all(|byte| *byte == pair));
                });
            }
        });
    }
}
