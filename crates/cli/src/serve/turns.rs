//! Whose turn it is: so many runs at a time, the first come first.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use vesica_net::Channel;

use super::stays;

/// The interval between two looks at the queue.
const PAUSE: Duration = Duration::from_millis(20);

/// The turns there are, and who waits.
#[derive(Clone)]
pub struct Turns(Arc<Mutex<Queue>>);

struct Queue {
    free: usize,
    all: usize,
    next: u64,
    waiting: VecDeque<u64>,
}

/// A turn, which ends when this is dropped.
pub struct Turn(Turns);

impl Turns {
    pub fn new(all: usize) -> Self {
        let queue = Queue { free: all, all, next: 0, waiting: VecDeque::new() };
        Self(Arc::new(Mutex::new(queue)))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many runs there are at the moment.
    pub fn running(&self) -> usize {
        let queue = self.queue();
        queue.all - queue.free
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.queue().waiting.len()
    }

    /// Waits until it is this partner's turn; `None` if it leaves or is asked to.
    pub fn wait(&self, channel: &mut Channel) -> Option<Turn> {
        let ticket = {
            let mut queue = self.queue();
            let ticket = queue.next;
            queue.next += 1;
            queue.waiting.push_back(ticket);
            ticket
        };
        loop {
            {
                let mut queue = self.queue();
                if queue.free > 0 && queue.waiting.front() == Some(&ticket) {
                    queue.waiting.pop_front();
                    queue.free -= 1;
                    return Some(Turn(self.clone()));
                }
            }
            if !stays(channel) {
                self.queue().waiting.retain(|waiting| *waiting != ticket);
                return None;
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.queue().free += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use vesica_net::transport::memory;

    use super::*;

    #[test]
    fn the_first_come_is_the_first_served_and_nobody_more_than_there_are_turns() {
        let turns = Turns::new(1);
        let (here, _there) = memory::pair();
        let first = turns.wait(&mut Channel::new(here)).unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for number in 0..4 {
                let (turns, order) = (&turns, order.clone());
                scope.spawn(move || {
                    let (here, _there) = memory::pair();
                    let turn = turns.wait(&mut Channel::new(here)).unwrap();
                    assert_eq!(turns.running(), 1);
                    order.lock().unwrap().push(number);
                    drop(turn);
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
    fn who_is_asked_to_leave_is_no_longer_waited_for() {
        let turns = Turns::new(1);
        let (here, _there) = memory::pair();
        let _first = turns.wait(&mut Channel::new(here)).unwrap();
        let (here, _there) = memory::pair();
        let mut channel = Channel::new(here);
        channel.cancel_token().cancel();
        assert!(turns.wait(&mut channel).is_none());
        assert_eq!(turns.waiting(), 0);
    }
}
