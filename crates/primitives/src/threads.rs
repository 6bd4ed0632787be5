//! Work for all threads of the pool that this thread is in.
//!
//! Parallel iterators of rayon are compiled again for every closure, with all the code that splits them and joins their
//! parts. Here, only the closure is.
//!
//! A thread takes the next item when it is done with one. An item should therefore be work for a few microseconds at
//! least: a chunk rather than an element.

use std::sync::{Mutex, OnceLock};

/// Does `work` for every item, in any order.
///
/// # Panics
/// If `work` does, after all threads have stopped.
pub fn for_each<I>(items: I, work: impl Fn(I::Item) + Sync)
where
    I: IntoIterator<IntoIter: ExactSizeIterator + Send>,
{
    let items = items.into_iter();
    let count = items.len();
    let items = Mutex::new(items);
    // The lock is held while an item is taken, and not while it is worked on.
    let next = || items.lock().ok()?.next();
    together(count, &|| {
        while let Some(item) = next() {
            work(item);
        }
    });
}

/// Returns the result of `make` for every item, in the order of the items.
///
/// # Panics
/// Same as [`for_each`].
pub fn map<I, T>(items: I, make: impl Fn(I::Item) -> T + Sync) -> Vec<T>
where
    I: IntoIterator<IntoIter: ExactSizeIterator + Send>,
    T: Default + Send,
{
    let items = items.into_iter();
    let mut made: Vec<T> = Vec::new();
    made.resize_with(items.len(), T::default);
    for_each(items.zip(&mut made), |(item, made)| *made = make(item));
    made
}

/// Does `work` for every item, in any order, until it fails for one.
///
/// # Errors
/// An error of `work`; if it fails for several items, the error for any of these.
///
/// # Panics
/// Same as [`for_each`].
pub fn try_for_each<I, E>(items: I, work: impl Fn(I::Item) -> Result<(), E> + Sync) -> Result<(), E>
where
    I: IntoIterator<IntoIter: ExactSizeIterator + Send>,
    E: Send + Sync,
{
    let failed = OnceLock::new();
    for_each(items, |item| {
        if failed.get().is_none()
            && let Err(error) = work(item)
        {
            // Another thread may have been first.
            let _ = failed.set(error);
        }
    });
    failed.into_inner().map_or(Ok(()), Err)
}

/// Runs `work` on as many threads as there are, but no more than there are items, and at least on this one.
fn together(items: usize, work: &(dyn Fn() + Sync)) {
    let threads = rayon::current_num_threads().min(items);
    if threads <= 1 {
        return work();
    }
    rayon::scope(|scope| {
        (1..threads).for_each(|_| scope.spawn(|_| work()));
        work();
    });
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn with_threads(threads: usize, test: impl FnOnce() + Send) {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(test);
    }

    #[test]
    fn every_item_is_worked_on_once_and_results_are_in_their_order() {
        for threads in 1..5 {
            with_threads(threads, || {
                for count in [0, 1, 2, 3, 1000] {
                    let mut worked = vec![0; count];
                    for_each(worked.iter_mut().enumerate(), |(i, worked)| *worked += i + 1);
                    assert!(worked.into_iter().eq(1..=count));
                    assert!(map(0..count, |i| i * i).into_iter().eq((0..count).map(|i| i * i)));
                }
            });
        }
    }

    #[test]
    fn work_within_work_is_done() {
        with_threads(3, || {
            let sums = map(0..20, |i| map(0..100, |j| i * j).iter().sum::<usize>());
            assert!(sums.into_iter().eq((0..20).map(|i| i * 4950)));
        });
    }

    #[test]
    fn threads_share_the_work() {
        // Neither item ends before both have begun.
        with_threads(2, || {
            let barrier = std::sync::Barrier::new(2);
            for_each(0..2, |_| {
                barrier.wait();
            });
        });
    }

    #[test]
    fn a_failure_ends_the_work() {
        for threads in 1..4 {
            with_threads(threads, || {
                let worked = Mutex::new(Vec::new());
                let result = try_for_each(0..1000, |i| {
                    worked.lock().unwrap().push(i);
                    if i < 5 { Ok(()) } else { Err(i) }
                });
                assert!(result.unwrap_err() >= 5);
                assert!(worked.into_inner().unwrap().len() <= 5 + threads);
                assert_eq!(try_for_each(0..1000, |_| Ok::<(), u8>(())), Ok(()));
            });
        }
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        for threads in 1..4 {
            with_threads(threads, || {
                let work = || for_each(0..10, |i| assert!(i != 7, "the item of bad luck"));
                assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
            });
        }
    }
}
