//! A fair queue of pending questions, round-robin by client, so a busy client delays only itself.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Maximum number of pending questions of one client.
const OF_ONE: usize = 16;

/// Maximum number of pending questions of all clients.
const OF_ALL: usize = 1 << 12;

/// A queue of pending jobs.
pub(crate) struct Queue<C, J> {
    state: Mutex<QueueState<C, J>>,
    wake: Condvar,
    /// Maximum number of questions of one client that are answered at the same time.
    at_a_time: usize,
}

struct QueueState<C, J> {
    waiting: HashMap<C, VecDeque<J>>,
    /// Clients with pending questions, in the order of their turns.
    turns: VecDeque<C>,
    running: HashMap<C, usize>,
    length: usize,
    is_closed: bool,
}

/// The queue is full, either for this client or in total.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl<C: Copy + Eq + Hash, J> Queue<C, J> {
    /// Creates a queue for this many threads. If there are several, one client never occupies all of them.
    pub(crate) fn new(threads: usize) -> Self {
        let state = QueueState {
            waiting: HashMap::new(),
            turns: VecDeque::new(),
            running: HashMap::new(),
            length: 0,
            is_closed: false,
        };
        let at_a_time = threads.saturating_sub(1).max(1);
        Self { state: Mutex::new(state), wake: Condvar::new(), at_a_time }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<C, J>> {
        // No code that can panic runs while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a question.
    pub(crate) fn push(&self, client: C, job: J) -> Result<(), Full> {
        let mut state = self.state();
        let of_one = state.waiting.get(&client).map_or(0, VecDeque::len);
        if state.is_closed || state.length >= OF_ALL || of_one >= OF_ONE {
            return Err(Full);
        }
        if of_one == 0 {
            state.turns.push_back(client);
        }
        state.waiting.entry(client).or_default().push_back(job);
        state.length += 1;
        self.wake.notify_one();
        Ok(())
    }

    /// Waits for the next question, for which [`done`](Self::done) must be called later. Returns `None` once the queue
    /// is closed.
    pub(crate) fn pop(&self) -> Option<(C, J)> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(next) = state.next(self.at_a_time) {
                return Some(next);
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records that a question of this client has been answered.
    pub(crate) fn done(&self, client: C) {
        let mut state = self.state();
        if let Some(running) = state.running.get_mut(&client) {
            *running -= 1;
            if *running == 0 {
                state.running.remove(&client);
            }
        }
        self.wake.notify_one();
    }

    /// Drops all pending questions, and ends the threads.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.waiting.clear();
        state.turns.clear();
        self.wake.notify_all();
    }
}

impl<C: Copy + Eq + Hash, J> QueueState<C, J> {
    fn next(&mut self, at_a_time: usize) -> Option<(C, J)> {
        let may = |client: &C| self.running.get(client).is_none_or(|running| *running < at_a_time);
        let turn = self.turns.iter().position(may)?;
        let client = self.turns.remove(turn)?;
        let waiting = self.waiting.get_mut(&client)?;
        let job = waiting.pop_front()?;
        if waiting.is_empty() {
            self.waiting.remove(&client);
        } else {
            self.turns.push_back(client);
        }
        self.length -= 1;
        *self.running.entry(client).or_default() += 1;
        Some((client, job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_take_turns() {
        let queue = Queue::new(3);
        for nth in 0..5 {
            queue.push('a', nth).unwrap();
        }
        queue.push('b', 10).unwrap();
        queue.push('c', 20).unwrap();
        let mut order = Vec::new();
        for _ in 0..7 {
            let (client, job) = queue.pop().unwrap();
            order.push(job);
            queue.done(client);
        }
        assert_eq!(order, [0, 10, 20, 1, 2, 3, 4]);
    }

    #[test]
    fn no_client_has_all_threads() {
        let queue = Queue::new(2);
        queue.push('a', 1).unwrap();
        queue.push('a', 2).unwrap();
        assert_eq!(queue.pop(), Some(('a', 1)));
        queue.push('b', 3).unwrap();
        // The first client's second question waits until its first is answered.
        assert_eq!(queue.pop(), Some(('b', 3)));
        queue.done('a');
        assert_eq!(queue.pop(), Some(('a', 2)));
    }

    #[test]
    fn room_is_bounded_by_client_and_in_all() {
        let queue = Queue::new(1);
        for nth in 0..OF_ONE {
            queue.push(0, nth).unwrap();
        }
        assert_eq!(queue.push(0, 0), Err(Full));
        for client in 1..=OF_ALL - OF_ONE {
            queue.push(client, 0).unwrap();
        }
        assert_eq!(queue.push(usize::MAX, 0), Err(Full));
        queue.close();
        assert_eq!(queue.pop(), None);
        assert_eq!(queue.push(7, 0), Err(Full));
    }
}
