//! An authenticated connection between two parties, and the means to open more of the same parties.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use crate::{CancelToken, Result, Tls, Transport, transport::tcp::Tcp};

/// An authenticated connection between two parties.
pub struct Connection {
    pub(super) tls: Tls,
    /// The means to open more connections.
    pub(super) parallel: Option<Parallel>,
    /// The socket underneath, if it has one of its own.
    pub(super) socket: Option<Tcp>,
}

/// The means to open more connections of the same two parties.
pub(crate) struct Parallel {
    /// Whether this party names each connection to the other. Exactly one of the two parties does.
    pub(super) calls: bool,
    pub(super) source: ParallelSource,
}

/// The source of more connections.
pub(super) enum ParallelSource {
    /// New connections.
    Connections(Box<dyn Connections>),
    /// Existing transports, one for each channel.
    Transports(Box<dyn Iterator<Item = Box<dyn Transport>> + Send>),
}

/// A maker of connections of the same two parties, which authenticate again.
pub(super) trait Connections: Send {
    /// Makes another connection, waiting up to `patience` and as long as the other side `is_there`.
    ///
    /// # Errors
    /// As for the first connection, and any error of `is_there`.
    fn next(
        &mut self,
        patience: Duration,
        cancel: &CancelToken,
        is_there: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Connection>;
}

impl Parallel {
    /// Returns the means to open connections with this maker.
    pub(super) fn of(calls: bool, connections: impl Connections + 'static) -> Self {
        Self { calls, source: ParallelSource::Connections(Box::new(connections)) }
    }
}

impl From<Tls> for Connection {
    fn from(tls: Tls) -> Self {
        Self { tls, parallel: None, socket: None }
    }
}

impl Read for Connection {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.tls.read(buf)
    }
}

impl Write for Connection {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.tls.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tls.flush()
    }
}
