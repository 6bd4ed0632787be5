//! Connecting to the other side: one party [dials](dial()), the other [listens](listen()); or both use a
//! [directory](exchange()), or a [relay](relayed()) to which both dial.
//!
//! Several parties [gather](Gathering::gather): each pair of them connects.
//!
//! A [`Server`] answers any number of parties, one after the other or at the same time.
//!
//! Each of the first four returns when the two sides have authenticated each other, or with the reason why they
//! could not. Events until then are reported to an observer as they happen.

pub(crate) mod connection;
mod dial;
mod exchange;
mod gather;
mod host;
mod join;
mod listen;
mod lobby;
mod member;
mod parallel;
mod porter;
mod reception;
mod relayed;
mod serve;

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

pub use self::{
    connection::Connection,
    dial::dial,
    exchange::exchange,
    gather::{Assembled, Gathering},
    host::Host,
    listen::listen,
    lobby::{GatheringName, Hello, Lobby},
    member::{MAX_PARTIES, Member},
    relayed::relayed,
    serve::{Server, Visit},
};

pub use crate::transport::tls::CallKind;
use crate::{
    CancelToken, Channel, Error, Fingerprint, Identity, Proxy, Result,
    meter::CONNECT,
    transport::{
        POLL_INTERVAL,
        tcp::{self, Tcp},
    },
};

/// The parties of a connection that is to be made, and its time limits.
pub struct Meeting<'a> {
    /// This party.
    pub me: &'a Identity,
    /// The other party.
    pub peer: &'a Fingerprint,
    /// The time limit for the other side to appear.
    pub wait: Duration,
    /// The stall timeout once it has appeared.
    pub stall: Duration,
    /// The proxy through which this party dials, if it needs one.
    pub proxy: Option<&'a Proxy>,
    /// Cancels the wait.
    pub cancel: &'a CancelToken,
    /// Receives events.
    pub observer: &'a dyn Fn(&Event<'_>),
}

/// Connects to `host:port`, through the proxy if there is one.
fn open(address: &str, proxy: Option<&Proxy>, left: Duration, cancel: &CancelToken) -> Result<Tcp> {
    let Some(proxy) = proxy else { return tcp::attempt(address, left, cancel) };
    let mut tcp = tcp::attempt(proxy.address(), left, cancel)?;
    proxy.ask(&mut tcp, address, left.max(LAST_CHANCE), cancel)?;
    Ok(tcp)
}

/// Pauses between two attempts, unless cancelled.
fn rest(pause: Duration, meeting: &Meeting<'_>) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < pause {
        if meeting.cancel.is_cancelled() {
            return Err(Error::Cancelled { phase: CONNECT });
        }
        thread::sleep(POLL_INTERVAL.min(pause.saturating_sub(started.elapsed())));
    }
    Ok(())
}

/// A step may take this long even if it begins when the time is nearly over.
const LAST_CHANCE: Duration = Duration::from_secs(5);

/// An event before the two parties have met.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// This party listens.
    Listening {
        /// The address, with the port that was chosen.
        address: SocketAddr,
    },
    /// The other side is not there yet, or not ready; this party continues to try. Reported once for each
    /// series of the same reason.
    Waiting {
        /// The address or directory at which the other side is expected.
        place: &'a str,
        /// The remaining time.
        left: Duration,
        /// Why the last attempt failed; `None` if this party simply waits.
        why: Option<&'a Error>,
    },
    /// A caller was not the other side; this party continues to listen.
    TurnedAway {
        /// Why.
        why: &'a Error,
    },
}

impl Connection {
    /// A channel over this connection, whose session is bound to it, and which knows the party at the other end.
    ///
    /// # Errors
    /// Same as [`Tls::exporter`](crate::transport::tls::Tls::exporter).
    pub fn into_channel(self) -> Result<Channel> {
        let (exporter, peer) = (self.tls.exporter()?, self.tls.peer()?);
        let mut channel = Channel::new(self.tls).with_peer(peer);
        channel.parallel = self.parallel;
        channel.bind("tls exporter", &exporter);
        Ok(channel)
    }
}

impl Channel {
    /// Sets the party at the other end. A [`Connection`] does this itself: call this only if the transport below has
    /// authenticated the party by other means.
    pub fn with_peer(mut self, peer: Fingerprint) -> Self {
        self.peer = Some(peer);
        self
    }

    /// The party at the other end; `None` if it is not authenticated.
    pub fn peer(&self) -> Option<Fingerprint> {
        self.peer
    }
}

#[cfg(test)]
mod tests;
