//! Connecting to the other side: one party [dials](dial()), the other [listens](listen()); or both use a
//! [directory](exchange()).
//!
//! Each of the three returns when the two sides have authenticated each other, or with the reason why they
//! could not. Events until then are reported to an observer as they happen.

mod dial;
mod exchange;
mod listen;

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    time::Duration,
};

pub use self::{dial::dial, exchange::exchange, listen::listen};

use self::listen::Porter;
use crate::{CancelToken, Channel, Error, Fingerprint, Identity, Result, Tls};

/// Who meets whom, and for how long it is tried.
pub struct Meeting<'a> {
    /// This party.
    pub me: &'a Identity,
    /// The other one.
    pub peer: &'a Fingerprint,
    /// How long to wait for the other side to appear.
    pub wait: Duration,
    /// How long to wait, once it has appeared, without a sign of life.
    pub stall: Duration,
    /// Stops waiting.
    pub cancel: &'a CancelToken,
    /// Is told what happens.
    pub observer: &'a dyn Fn(&Event<'_>),
}

/// What happens until two parties have met.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// This party listens.
    Listening {
        /// Where, with the port that was chosen.
        address: SocketAddr,
    },
    /// The other side is not there yet, or not ready; this party goes on trying. Told once for each kind
    /// of reason in a row.
    Waiting {
        /// Where the other side is expected: an address or a directory.
        place: &'a str,
        /// How long it will be tried yet.
        left: Duration,
        /// Why the last attempt failed; none where there is nothing but to wait.
        why: Option<&'a Error>,
    },
    /// Somebody who called is not the other side; this party goes on listening.
    TurnedAway {
        /// Why.
        why: &'a Error,
    },
}

/// The connection of two parties who have met.
pub struct Connection {
    tls: Tls,
    /// Tells callers that this party is in a run.
    _porter: Option<Porter>,
}

impl Connection {
    /// A channel over this connection, whose session is bound to it.
    ///
    /// # Errors
    /// As [`Tls::exporter`].
    pub fn into_channel(self) -> Result<Channel> {
        let exporter = self.tls.exporter()?;
        let mut channel = Channel::new(self);
        channel.bind("tls exporter", &exporter);
        Ok(channel)
    }
}

impl From<Tls> for Connection {
    fn from(tls: Tls) -> Self {
        Self { tls, _porter: None }
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

#[cfg(test)]
mod tests;
