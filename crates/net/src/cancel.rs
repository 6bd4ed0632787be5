//! Cancellation of a party from outside.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::Channel;

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

impl Channel {
    /// Uses this token for cancellation instead of one of its own.
    pub fn with_cancel_token(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// A handle that stops this channel from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }
}
