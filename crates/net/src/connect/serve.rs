//! Listening for many parties at one address.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use super::{
    Connection,
    reception::{Admitted, Guest, Guests, Reception},
};
use crate::{
    Clock, Error, Fingerprint, Identity, Pace, Result,
    transport::{
        tcp::Listener,
        tls::{CallKind, Credentials},
    },
};

/// Listens for many parties. Until they have authenticated, callers cost as little as with
/// [`listen`](super::listen()); each party can be in one run at a time.
pub struct Server {
    reception: Reception,
    address: SocketAddr,
}

/// A party that has called and authenticated.
pub struct Visit {
    connection: Connection,
    guest: Guest,
}

impl Server {
    /// Listens at `host:port`. A caller may take `patience` to authenticate, and at most ten seconds.
    ///
    /// # Errors
    /// [`Error::Resolve`] and [`Error::Bind`].
    pub fn bind(
        address: &str,
        me: &Identity,
        peers: BTreeSet<Fingerprint>,
        patience: Duration,
    ) -> Result<Self> {
        Self::of_guests(address, me, peers, patience, Guests::for_calls(&[CallKind::Run]))
    }

    /// Like [`Server::bind`], also for parties that gather several others. Each has a place for a few calls until it
    /// has said for whom it calls; a [`Lobby`](super::Lobby) bounds their connections from then on.
    ///
    /// # Errors
    /// Same as [`Server::bind`].
    pub fn of_gatherings_too(
        address: &str,
        me: &Identity,
        peers: BTreeSet<Fingerprint>,
        patience: Duration,
    ) -> Result<Self> {
        let guests = Guests::for_calls(&[CallKind::Run, CallKind::Gathering]);
        Self::of_guests(address, me, peers, patience, guests)
    }

    /// Like [`Server::bind`], only for parties that gather several others.
    pub(super) fn of_gatherings(
        address: &str,
        me: &Identity,
        peers: BTreeSet<Fingerprint>,
        patience: Duration,
    ) -> Result<Self> {
        Self::of_guests(address, me, peers, patience, Guests::for_calls(&[CallKind::Gathering]))
    }

    fn of_guests(
        address: &str,
        me: &Identity,
        peers: BTreeSet<Fingerprint>,
        patience: Duration,
        guests: Guests,
    ) -> Result<Self> {
        let listener = Listener::bind(address)?;
        let address = listener.local_addr();
        let credentials = Credentials::for_any(me, peers)?;
        let reception = Reception::of_many(listener, credentials, patience, guests);
        Ok(Self { reception, address })
    }

    /// Like [`Server::bind`], for parties that may each have any number of connections at a time.
    ///
    /// # Errors
    /// Same as [`Server::bind`].
    pub fn of_many_connections(
        address: &str,
        me: &Identity,
        peers: BTreeSet<Fingerprint>,
        patience: Duration,
    ) -> Result<Self> {
        let guests = Guests::for_calls(&[CallKind::Run]).with_many_places();
        Self::of_guests(address, me, peers, patience, guests)
    }

    /// Admits each party at this pace; a party that calls more often is asked to call again later.
    pub fn set_pace(&mut self, pace: Pace, clock: Clock) {
        self.reception.guests.iter_mut().for_each(|guests| guests.set_pace(pace, clock.clone()));
    }

    /// Returns the address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Expects these parties from now on.
    pub fn expect(&mut self, peers: BTreeSet<Fingerprint>) {
        self.reception.credentials.expect(peers);
    }

    /// Hears every caller once, and returns one that has authenticated, if there is one. It does not wait: call it
    /// every few milliseconds, and again at once after it returned a visit.
    pub fn turn(&mut self, turned_away: &mut dyn FnMut(Error)) -> Option<Visit> {
        let Admitted { connection, guest } = self.reception.turn(true, turned_away)?;
        Some(Visit { connection, guest: guest? })
    }
}

impl Visit {
    /// Returns the party's fingerprint.
    pub fn peer(&self) -> Fingerprint {
        self.guest.peer
    }

    /// Returns the kind of connection that it asks for.
    pub fn call(&self) -> CallKind {
        self.guest.call
    }

    /// The connection, and a guard that holds the party's place until it is dropped.
    pub fn into_parts(self) -> (Connection, impl Send + use<>) {
        (self.connection, self.guest)
    }
}
