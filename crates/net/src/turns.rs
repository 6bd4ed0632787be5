//! Turns of threads that compute, where there are more of them than processors: one that waits for its peer lets another
//! compute.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// A number of turns that threads share. By default everybody always has one.
#[derive(Clone, Default)]
pub struct Turns(Option<Arc<Shared>>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: usize,
    /// Those who wait, by numbers, in the order in which they came.
    waiting: VecDeque<u64>,
    next: u64,
}

/// A turn, until it is dropped.
pub struct Turn(Turns);

impl Turns {
    /// So many turns.
    pub fn new(turns: usize) -> Self {
        let state = State { free: turns, waiting: VecDeque::new(), next: 0 };
        Self(Some(Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() })))
    }

    /// Waits for a turn.
    pub fn begin(&self) -> Turn {
        self.take();
        Turn(self.clone())
    }

    /// Does something without a turn.
    pub(crate) fn without<T>(&self, something: impl FnOnce() -> T) -> T {
        self.give();
        let done = something();
        self.take();
        done
    }

    fn take(&self) {
        let Some(shared) = &self.0 else { return };
        let mut state = shared.state();
        let me = state.next;
        state.next += 1;
        state.waiting.push_back(me);
        // Nobody overtakes, so that everybody gets a turn before a peer gives up.
        while state.free == 0 || state.waiting.front() != Some(&me) {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.pop_front();
        state.free -= 1;
        if state.free > 0 {
            shared.changed.notify_all();
        }
    }

    fn give(&self) {
        let Some(shared) = &self.0 else { return };
        shared.state().free += 1;
        shared.changed.notify_all();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
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

    /// Two pairs of parties, and one turn on each side: without giving it away while one waits, nobody would get anything.
    #[test]
    fn whoever_waits_lets_others_go_on() {
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
