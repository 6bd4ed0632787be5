//! Byte streams for a [`Channel`](crate::Channel).

#[cfg(all(test, unix))]
mod example;
pub mod files;
pub mod memory;
pub mod proxy;
pub mod shaper;
pub mod tcp;
pub mod tls;

use std::{
    io::{self, Read, Write},
    time::Duration,
};

/// The longest time for which one call on a [`Transport`] may block without moving a byte.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A reliable, ordered byte stream to one peer.
///
/// `read` and `write` move as many bytes as possible and return. If nothing can be moved for [`POLL_INTERVAL`], they
/// return [`WouldBlock`](io::ErrorKind::WouldBlock) or [`TimedOut`](io::ErrorKind::TimedOut), so that the channel can
/// check its stall timeout and its cancel flag. A `read` of zero bytes means that the peer closed the stream. `flush`
/// may return those two kinds as well, and is then called again. Dropping a transport closes the stream; data that was
/// flushed before still arrives.
///
/// Written bytes may wait in the transport until `flush` has succeeded; `read` does not send.
pub trait Transport: Read + Write + Send {}

impl<T: Read + Write + Send> Transport for T {}

/// Whether an error means that nothing could be moved this time, as opposed to ever.
pub(crate) fn is_blocked(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
