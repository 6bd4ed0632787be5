//! Connecting each pair of several parties, although some can only dial.
//!
//! A party with an address listens there. Of two parties with addresses, the later one dials the earlier one. Two
//! parties without an address meet at the *hub*, a party that both can dial: it joins the two connections, inside which
//! they set up TLS of their own, so that it carries bytes that it can neither read nor change.
//!
//! The first byte of a connection is the number of the party that it is for: the one that listens, or one that it joins
//! to the caller.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{Connection, Event, Meeting, Server, dial, reception::PAUSE, rest};
use crate::{
    CancelToken, Error, Fingerprint, Identity, Result, meter::CONNECT, transport::POLL_INTERVAL,
};

/// The most parties that may gather.
pub const MAX_PARTIES: usize = 32;

/// The time that an authenticated caller has to say for whom it calls.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pause before a party meets another one again.
const AGAIN: Duration = Duration::from_millis(500);

/// The time for which two joined parties may be silent; they have shorter limits of their own.
const IDLE: Duration = Duration::from_secs(86_400);

/// One of several parties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name by which all of them know it.
    pub name: String,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The address at which others reach it, as `host:port`; `None` if it can only dial.
    pub address: Option<String>,
}

/// Several parties, in the order of their numbers, before they are connected.
#[derive(Debug, Clone, Copy)]
pub struct Gathering<'a> {
    /// The parties, at least two and at most [`MAX_PARTIES`].
    pub members: &'a [Member],
    /// This party's number.
    pub me: usize,
    /// The number of a party with an address, at which parties meet that cannot reach each other. All name the same.
    pub hub: usize,
    /// The address at which this party listens, if it has an address.
    pub listen: Option<&'a str>,
}

/// The connections of a party to all others.
pub struct Assembled {
    /// The connections, in the order of the other parties' numbers.
    pub connections: Vec<Connection>,
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

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.members.len()).filter(move |party| *party != me)
    }

    /// Connects this party with all others. Each pair authenticates as between two. The peer of `meeting` does not
    /// matter.
    ///
    /// # Errors
    /// The errors of [`dial`]; [`Error::Bind`]; and [`Error::Absent`] with the names of the parties that have not come
    /// when the time has run out.
    ///
    /// # Panics
    /// If this party or the hub is not one of the parties, or the hub has no address although parties meet there.
    pub fn gather(&self, meeting: &Meeting<'_>) -> Result<Assembled> {
        let started = Instant::now();
        let host = self.host(meeting)?;
        let mut met: BTreeMap<usize, Connection> = BTreeMap::new();
        // All parties have the same order of pairs, so none waits for a party that waits for it.
        for other in self.others() {
            let left = meeting.wait.saturating_sub(started.elapsed());
            match self.reaching(other) {
                Reaching::Answer => {}
                Reaching::Dial => {
                    met.insert(other, self.dial(other, other, left, meeting)?);
                }
                Reaching::Join => {
                    met.insert(other, self.join(other, left, meeting)?);
                }
            }
        }
        if let Some(host) = &host {
            self.answer(host, &mut met, started, meeting)?;
        }
        Ok(Assembled { connections: met.into_values().collect(), host })
    }

    /// Dials a party, and names the one for whom the connection is.
    fn dial(
        &self,
        listener: usize,
        wanted: usize,
        wait: Duration,
        meeting: &Meeting<'_>,
    ) -> Result<Connection> {
        let Member { fingerprint, address, .. } = &self.members[listener];
        let address = address.as_deref().expect("a party that is dialled has an address");
        let mut connection = dial(address, &Meeting { peer: fingerprint, wait, ..*meeting })?;
        // More connections are not for this party.
        connection.parallel = None;
        connection.put(&[wanted as u8], meeting.stall, meeting.cancel)?;
        Ok(connection)
    }

    /// Meets a party at the hub. The hub may join this party to a connection that the other one has given up.
    fn join(&self, other: usize, wait: Duration, meeting: &Meeting<'_>) -> Result<Connection> {
        let started = Instant::now();
        let peer = &self.members[other].fingerprint;
        loop {
            let left = wait.saturating_sub(started.elapsed());
            let joined = self.dial(self.hub, other, left, meeting)?;
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
        let address = self.listen.unwrap_or(address);
        let numbers = self.members.iter().enumerate().map(|(i, member)| (member.fingerprint, i));
        let host = Host::start(address, meeting.me, self.me, peers, numbers.collect(), meeting)?;
        (meeting.observer)(&Event::Listening { address: host.address });
        Ok(Some(host))
    }

    /// Waits for the parties that dial this one.
    fn answer(
        &self,
        host: &Host,
        met: &mut BTreeMap<usize, Connection>,
        started: Instant,
        meeting: &Meeting<'_>,
    ) -> Result<()> {
        let expected: Vec<_> =
            self.others().filter(|other| self.reaching(*other) == Reaching::Answer).collect();
        let mut was_told = false;
        loop {
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
                let nobody =
                    Error::NobodyCame { address: host.address.to_string(), after: meeting.wait };
                return Err(self.absent(nobody, absent, meeting));
            }
            match host.arrivals.recv_timeout(POLL_INTERVAL) {
                // A party that has started again replaces its earlier connection.
                Ok(Arrival::Came(party, connection)) => {
                    met.insert(party, *connection);
                }
                Ok(Arrival::TurnedAway(why)) => {
                    (meeting.observer)(&Event::TurnedAway { why: &why });
                }
                Err(RecvTimeoutError::Timeout) if !was_told => {
                    was_told = true;
                    let place = &self.names(&absent);
                    (meeting.observer)(&Event::Waiting { place, left, why: None });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Closed { phase: CONNECT });
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

/// The part of a party that listens: it answers the others, and joins those that cannot reach each other. When it is
/// dropped, it stops to listen at once, and to join parties after a short time.
pub struct Host {
    address: SocketAddr,
    arrivals: Receiver<Arrival>,
    stop: CancelToken,
    thread: Option<JoinHandle<()>>,
}

/// An event at a host.
enum Arrival {
    /// A party has come.
    Came(usize, Box<Connection>),
    /// A caller was turned away.
    TurnedAway(Error),
}

impl Host {
    fn start(
        address: &str,
        identity: &Identity,
        me: usize,
        peers: BTreeSet<Fingerprint>,
        numbers: BTreeMap<Fingerprint, usize>,
        meeting: &Meeting<'_>,
    ) -> Result<Self> {
        let server = Server::of_many_connections(address, identity, peers, meeting.stall)?;
        let address = server.address();
        let (stop, (say, arrivals)) = (CancelToken::default(), mpsc::channel());
        let desk = Desk { me, numbers, say, stop: stop.clone() };
        let thread = thread::Builder::new().name("vesica-host".to_owned());
        let thread = thread
            .spawn(move || desk.serve(server))
            .map_err(|source| Error::Io { phase: CONNECT, source })?;
        Ok(Self { address, arrivals, stop, thread: Some(thread) })
    }

    /// Waits until the parties that were joined have parted, up to this time.
    pub fn close(self, patience: Duration) {
        let started = Instant::now();
        let is_serving = || self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        self.stop.cancel();
        while is_serving() && started.elapsed() < patience {
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop.cancel();
        // The thread ends by itself when the last pair has parted; nothing of it outlives the process.
        drop(self.thread.take());
    }
}

/// A host's own state.
struct Desk {
    me: usize,
    numbers: BTreeMap<Fingerprint, usize>,
    say: Sender<Arrival>,
    stop: CancelToken,
}

/// A caller that has said for whom it calls.
struct Caller {
    party: usize,
    wanted: usize,
    connection: Connection,
}

impl Desk {
    /// Answers callers until it is stopped, and then waits for the pairs that are joined.
    fn serve(self, mut server: Server) {
        let (heard, callers) = mpsc::channel();
        let mut waiting: BTreeMap<[usize; 2], Connection> = BTreeMap::new();
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        // Callers have authenticated; each may have as many connections as there are parties, twice.
        let most = 2 * self.numbers.len() * self.numbers.len();
        while !self.stop.is_cancelled() {
            let mut turned_away = Vec::new();
            let visit = server.turn(&mut |why| turned_away.push(why));
            for why in turned_away {
                // Nobody listens once all have come.
                let _ = self.say.send(Arrival::TurnedAway(why));
            }
            threads.retain(|thread| !thread.is_finished());
            let party = visit.as_ref().and_then(|visit| self.numbers.get(&visit.peer()).copied());
            match (visit, party) {
                (Some(visit), Some(party)) if threads.len() < most => {
                    let (mut connection, _) = visit.into_parts();
                    let (heard, stop) = (heard.clone(), self.stop.clone());
                    threads.extend(spawned("vesica-caller", move || {
                        let mut wanted = [0];
                        if connection.get(&mut wanted, PATIENCE, &stop).is_ok() {
                            let wanted = usize::from(wanted[0]);
                            let _ = heard.send(Caller { party, wanted, connection });
                        }
                    }));
                }
                (Some(_), _) => {}
                (None, _) => thread::sleep(PAUSE),
            }
            for caller in callers.try_iter() {
                threads.extend(self.place(caller, &mut waiting));
            }
        }
        drop((server, waiting));
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }

    /// Passes on a caller, or joins it to the one that waits for it.
    fn place(
        &self,
        caller: Caller,
        waiting: &mut BTreeMap<[usize; 2], Connection>,
    ) -> Option<JoinHandle<()>> {
        let Caller { party, wanted, connection } = caller;
        if wanted == self.me {
            let _ = self.say.send(Arrival::Came(party, Box::new(connection)));
            return None;
        }
        if wanted == party || wanted >= self.numbers.len() {
            return None;
        }
        let Some(other) = waiting.remove(&[wanted, party]) else {
            waiting.insert([party, wanted], connection);
            return None;
        };
        let ends = CancelToken::default();
        spawned("vesica-pair", move || {
            // They find out by themselves that their connection has ended.
            let _ = connection.join(other, IDLE, &ends, |_, _| {});
        })
    }
}

/// Starts a thread; without one, callers find their connections closed.
fn spawned(name: &str, work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work).ok()
}

#[cfg(test)]
mod tests;
