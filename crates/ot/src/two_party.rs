//! Both parties of a test in one process.

use std::{thread, time::Duration};

use vesica_net::{Channel, transport::memory};

/// Runs two parties and returns what both give. A party that waits in vain for the other gets an
/// error.
pub fn run<A: Send, B: Send>(
    left: impl FnOnce(&mut Channel) -> A + Send,
    right: impl FnOnce(&mut Channel) -> B + Send,
) -> (A, B) {
    let (left_end, right_end) = memory::pair();
    let channel = |end| Channel::new(end).with_stall_timeout(Duration::from_secs(20));
    let (mut left_channel, mut right_channel) = (channel(left_end), channel(right_end));
    thread::scope(|scope| {
        let left = scope.spawn(move || {
            let out = left(&mut left_channel);
            // The other party may have gone, which is for its own result to tell.
            let _ = left_channel.flush();
            out
        });
        let right = right(&mut right_channel);
        let _ = right_channel.flush();
        drop(right_channel);
        (left.join().unwrap(), right)
    })
}
