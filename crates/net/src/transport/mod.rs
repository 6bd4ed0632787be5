//! Byte streams a [`Channel`](crate::Channel) can run over.

pub mod memory;

use std::{
    io::{Read, Write},
    time::Duration,
};

/// The longest that one call on a [`Transport`] may block without moving a byte.
pub const TICK: Duration = Duration::from_millis(100);

/// A reliable, ordered byte stream to one peer.
///
/// `read` and `write` move what they can and return; where nothing can be moved for [`TICK`] they
/// return [`WouldBlock`](std::io::ErrorKind::WouldBlock) or
/// [`TimedOut`](std::io::ErrorKind::TimedOut), so that the channel can look at its stall timeout and
/// its cancel flag. A `read` of zero bytes says that the peer closed the stream. `flush` may return
/// those two kinds as well, and is then called again.
pub trait Transport: Read + Write + Send {}

impl<T: Read + Write + Send> Transport for T {}
