//! Connecting each pair of several parties, although some can only dial.
//!
//! A party with an address listens there. Of two parties with addresses, the later one dials the earlier one. Two
//! parties without an address meet at the *hub*, a party that both can dial: it joins the two connections, inside which
//! they set up TLS of their own, so that it carries bytes that it can neither read nor change.
//!
//! The first bytes of a connection name the gathering and the party that the caller wants; see [`Hello`].

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use super::{
    Connection, Event, Hello, Host, Lobby, Meeting, Server, dial::dial_for, lobby::GatheringName,
    member::Member, rest,
};
use crate::{
    AbortReason, Channel, Error, Result,
    meter::CONNECT,
    transport::{POLL_INTERVAL, tcp::Tcp, tls::CallKind},
};

/// The pause before a party meets another one again.
const AGAIN: Duration = Duration::from_millis(500);

/// Several parties, in the order of their numbers, before they are connected.
#[derive(Debug, Clone, Copy)]
pub struct Gathering<'a> {
    /// The name that all of them give it.
    pub name: GatheringName,
    /// The parties, at least two and at most [`MAX_PARTIES`](super::MAX_PARTIES).
    pub members: &'a [Member],
    /// This party's number.
    pub me: usize,
    /// The number of a party with an address, at which parties meet that cannot reach each other. All name the same.
    pub hub: usize,
    /// The address at which this party listens, if it has an address.
    pub listen: Option<&'a str>,
}

/// The channels of a party to all others.
pub struct Assembled {
    /// The channels, in the order of the other parties' numbers.
    pub channels: Vec<Channel>,
    /// This party's host, if it listens; it is kept until the run is over.
    pub host: Option<Host>,
}

/// The side of a pair on which a party is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaching {
    /// It listens.
    Answer,
    /// It dials the other party.
    Dial,
    /// It meets the other party at the hub.
    Join,
}

impl Gathering<'_> {
    /// Returns the way in which this party meets another one.
    fn reaching(&self, other: usize) -> Reaching {
        let [mine, theirs] = [self.me, other].map(|party| self.members[party].address.is_some());
        match (mine, theirs) {
            (true, true) if self.me < other => Reaching::Answer,
            (true, false) => Reaching::Answer,
            (_, true) => Reaching::Dial,
            (false, false) => Reaching::Join,
        }
    }

    /// Returns whether another party calls this one.
    pub fn is_called(&self) -> bool {
        self.others().any(|other| self.reaching(other) == Reaching::Answer)
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.members.len()).filter(move |party| *party != me)
    }

    /// Connects this party with all others. Each pair authenticates as between two. The peer of `meeting` does not
    /// matter.
    ///
    /// # Errors
    /// As [`dial`](super::dial()); [`Error::Bind`]; and [`Error::Absent`] with the names of the parties that have not
    /// come when the time has run out.
    ///
    /// # Panics
    /// If this party or the hub is not one of the parties, or the hub has no address although parties meet there.
    pub fn gather(&self, meeting: &Meeting<'_>) -> Result<Assembled> {
        let host = self.host(meeting)?;
        let channels = self.meet(host.as_ref().map(Host::lobby), meeting)?;
        Ok(Assembled { channels, host })
    }

    /// Connects this party with all others, if its callers arrive at this lobby. Otherwise as [`Gathering::gather`].
    ///
    /// # Errors
    /// As [`Gathering::gather`].
    ///
    /// # Panics
    /// As [`Gathering::gather`].
    pub fn gather_at(&self, lobby: &Lobby, meeting: &Meeting<'_>) -> Result<Vec<Channel>> {
        self.meet(Some(lobby), meeting)
    }

    fn meet(&self, lobby: Option<&Lobby>, meeting: &Meeting<'_>) -> Result<Vec<Channel>> {
        let mut met = BTreeMap::new();
        match self.meet_all(lobby, &mut met, meeting) {
            Ok(()) => Ok(met.into_values().map(|one| one.channel).collect()),
            Err(error) => {
                let missing = self.others().find(|other| !met.contains_key(other));
                let reason = match (&error, missing) {
                    (Error::Cancelled { .. }, _) | (_, None) => AbortReason::Cancelled,
                    (_, Some(party)) => AbortReason::Missing(party as u8),
                };
                // The others need not wait any longer.
                thread::scope(|scope| {
                    for one in met.values_mut() {
                        scope.spawn(move || one.channel.abort(reason));
                    }
                });
                Err(error)
            }
        }
    }

    fn meet_all(
        &self,
        lobby: Option<&Lobby>,
        met: &mut BTreeMap<usize, MetParty>,
        meeting: &Meeting<'_>,
    ) -> Result<()> {
        let started = Instant::now();
        // All parties have the same order of pairs, so none waits for a party that waits for it.
        for other in self.others() {
            let left = meeting.wait.saturating_sub(started.elapsed());
            let connection = match self.reaching(other) {
                Reaching::Answer => continue,
                Reaching::Dial => self.dial(other, None, left, meeting)?,
                Reaching::Join => self.join(other, left, meeting)?,
            };
            met.insert(other, MetParty::new(connection)?);
        }
        lobby.map_or(Ok(()), |lobby| self.answer(lobby, met, started, meeting))
    }

    /// Dials a party, and names the one to which it joins this one, if it does.
    fn dial(
        &self,
        listener: usize,
        join: Option<usize>,
        wait: Duration,
        meeting: &Meeting<'_>,
    ) -> Result<Connection> {
        let Member { fingerprint, address, .. } = &self.members[listener];
        let address = address.as_deref().expect("a party that is dialled has an address");
        let meeting = &Meeting { peer: fingerprint, wait, ..*meeting };
        let mut connection = dial_for(CallKind::Gathering, address, meeting)?;
        // More connections are not for this party.
        connection.parallel = None;
        Hello { name: self.name, join }.send(&mut connection, meeting.stall, meeting.cancel)?;
        Ok(connection)
    }

    /// Meets a party at the hub. The hub may join this party to a connection that the other one has given up.
    fn join(&self, other: usize, wait: Duration, meeting: &Meeting<'_>) -> Result<Connection> {
        let started = Instant::now();
        let peer = &self.members[other].fingerprint;
        loop {
            let left = wait.saturating_sub(started.elapsed());
            let joined = self.dial(self.hub, Some(other), left, meeting)?;
            match joined.inside(meeting.me, peer, self.me < other, left, meeting.cancel) {
                Err(Error::Closed { .. } | Error::Io { .. }) if started.elapsed() < wait => {
                    rest(AGAIN.min(left), meeting)?;
                }
                met => return met.map_err(|error| self.absent(error, [other], meeting)),
            }
        }
    }

    /// Starts to listen, if others reach this party by its address.
    fn host(&self, meeting: &Meeting<'_>) -> Result<Option<Host>> {
        let Some(address) = self.members[self.me].address.as_deref() else { return Ok(None) };
        let peers = self.others().map(|party| self.members[party].fingerprint).collect();
        let server = Server::of_gatherings(
            self.listen.unwrap_or(address),
            meeting.me,
            peers,
            meeting.stall,
        )?;
        let address = server.address();
        let host = Host::start(server, Lobby::new(self.name, self.me, self.members))?;
        (meeting.observer)(&Event::Listening { address });
        Ok(Some(host))
    }

    /// Waits at its lobby for the parties that call this one.
    fn answer(
        &self,
        lobby: &Lobby,
        met: &mut BTreeMap<usize, MetParty>,
        started: Instant,
        meeting: &Meeting<'_>,
    ) -> Result<()> {
        let expected: Vec<_> =
            self.others().filter(|other| self.reaching(*other) == Reaching::Answer).collect();
        let mut was_told = false;
        loop {
            // A party that has left may come again; one that this party has called is lost.
            met.retain(|party, one| {
                self.reaching(*party) != Reaching::Answer || one.stays().is_ok()
            });
            for (party, one) in met.iter_mut() {
                one.stays().map_err(|error| self.absent(error, [*party], meeting))?;
            }
            let absent: Vec<_> =
                expected.iter().copied().filter(|party| !met.contains_key(party)).collect();
            if absent.is_empty() {
                return Ok(());
            }
            if meeting.cancel.is_cancelled() {
                return Err(Error::Cancelled { phase: CONNECT });
            }
            let left = meeting.wait.saturating_sub(started.elapsed());
            if left.is_zero() {
                let parties = self.names(&absent);
                return Err(Error::Absent { parties, after: meeting.wait });
            }
            let came = lobby.take(POLL_INTERVAL.min(left));
            for why in lobby.turned_away() {
                (meeting.observer)(&Event::TurnedAway { why: &why });
            }
            if came.is_empty() && !was_told {
                was_told = true;
                let place = &self.names(&absent);
                (meeting.observer)(&Event::Waiting { place, left, why: None });
            }
            for (party, connection) in came {
                // A party that has started again replaces its earlier connection.
                if let Ok(one) = MetParty::new(connection) {
                    met.insert(party, one);
                }
            }
        }
    }

    /// The error of parties that have not come, if that is the reason of this one.
    fn absent(
        &self,
        error: Error,
        parties: impl IntoIterator<Item = usize>,
        meeting: &Meeting<'_>,
    ) -> Error {
        match error {
            Error::NobodyCame { .. } | Error::Stalled { .. } | Error::Closed { .. } => {
                let parties: Vec<_> = parties.into_iter().collect();
                Error::Absent { parties: self.names(&parties), after: meeting.wait }
            }
            error => error,
        }
    }

    fn names(&self, parties: &[usize]) -> String {
        let names = parties.iter().map(|party| self.members[*party].name.as_str());
        names.collect::<Vec<_>>().join(" and ")
    }
}

/// A party that has come, while others have not.
struct MetParty {
    channel: Channel,
    /// The socket underneath, if it has one of its own.
    socket: Option<Tcp>,
}

impl MetParty {
    fn new(mut connection: Connection) -> Result<Self> {
        let socket = connection.socket.take();
        Ok(Self { channel: connection.into_channel()?, socket })
    }

    /// Keeps the party from giving up, and fails if it has left.
    fn stays(&mut self) -> Result<()> {
        if let Some(socket) = &self.socket {
            let set = |waits| socket.set_waiting(waits).map_err(|e| Error::from_io(e, CONNECT));
            set(false)?;
            let heard = self.channel.hear_now();
            set(true)?;
            heard?;
        }
        self.channel.keep_alive()
    }
}

#[cfg(test)]
mod tests;
