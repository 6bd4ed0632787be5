//! Cancellation of a party from outside.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Asks a channel, or any other holder of the token, to stop; may be used from any thread.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Makes the next or current operation end with [`Error::Cancelled`](crate::Error::Cancelled),
    /// within about a [poll interval](crate::transport::POLL_INTERVAL).
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
