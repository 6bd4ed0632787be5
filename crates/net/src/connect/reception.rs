//! Callers at an address that anyone may call.
//!
//! Callers are admitted by their identity, and until they have proved it they cost little: a silent caller costs a
//! socket, one that sends data costs a TLS handshake in steps, and a single thread serves all of them. Each of [their
//! places](places()) may hold two file descriptors and about 100 KiB.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{connection::Connection, member::MAX_PARTIES};
use crate::{
    Clock, Error, Fingerprint, Pace, Result, Tls,
    pace::Paces,
    places::{self, Claim, SILENCE, least_deserving, network, places},
    transport::{
        is_blocked,
        tcp::{Listener, Tcp},
        tls::{CallKind, Credentials, Greeting, HANDSHAKE, Handshake, NO_PLACE, REFUSAL},
    },
};

/// The longest time that a caller may take to authenticate.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// The interval between two polls of the listener and all callers.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// The maximal number of calls of a gathering party that are heard at a time. It says at once for whom it calls.
const MOST_HEARD: usize = 4;

/// The callers that have not authenticated yet.
pub(super) struct Reception {
    listener: Listener,
    pub(super) credentials: Credentials,
    /// The time that a caller may take.
    patience: Duration,
    /// Whether the other side has been admitted.
    in_a_run: bool,
    /// The number of connections of the run that are still expected.
    pub(super) parallel: usize,
    /// The parties that are in a run, if several may be at a time.
    pub(super) guests: Option<Guests>,
    callers: Vec<Caller>,
    /// The maximal number of callers.
    places: usize,
}

/// An authenticated caller.
pub(super) struct Admitted {
    pub(super) connection: Connection,
    /// Its place among the guests, if there are several.
    pub(super) guest: Option<Guest>,
}

/// The parties that are in a run.
#[derive(Debug, Clone)]
pub(super) struct Guests {
    /// The number of places that each has for each kind of call.
    there: Arc<Mutex<BTreeMap<(Fingerprint, CallKind), usize>>>,
    /// Whether each of them may be there several times.
    again: bool,
    /// The kinds of calls for which they come.
    calls: &'static [CallKind],
    /// The calls of each, if they are bounded.
    paces: Option<GuestPaces>,
}

/// The calls of each guest, for runs between two and for gatherings.
#[derive(Debug, Clone)]
struct GuestPaces {
    runs: Arc<Mutex<Paces>>,
    gatherings: Arc<Mutex<Paces>>,
}

/// The place of a party among the guests, which it leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) peer: Fingerprint,
    pub(super) call: CallKind,
    guests: Guests,
}

impl Guests {
    /// Creates guests that come for these kinds of calls. Each may be in one run of two, and gather at any time.
    pub(super) fn for_calls(calls: &'static [CallKind]) -> Self {
        Self { there: Arc::default(), again: false, calls, paces: None }
    }

    /// Lets each be present several times.
    pub(super) fn with_many_places(self) -> Self {
        Self { again: true, ..self }
    }

    /// Bounds how often each may call. A gathering takes a call for each of the other parties.
    pub(super) fn set_pace(&mut self, pace: Pace, clock: Clock) {
        let parties = MAX_PARTIES as u32;
        let Pace { at_once, interval } = pace;
        let often = Pace { at_once: at_once.saturating_mul(parties), interval: interval / parties };
        let [runs, gatherings] =
            [pace, often].map(|pace| Arc::new(Mutex::new(Paces::new(pace, clock.clone()))));
        self.paces = Some(GuestPaces { runs, gatherings });
    }

    /// Returns a place for this party, or the greeting that gives the reason for its refusal: it already has its only
    /// place, calls too often, or calls for another kind of run.
    pub(super) fn enter(
        &self,
        peer: Fingerprint,
        call: CallKind,
    ) -> std::result::Result<Guest, Greeting> {
        if !self.calls.contains(&call) {
            return Err(Greeting::OtherKind);
        }
        let is_run = call == CallKind::Run;
        let most = match is_run {
            true if self.again => usize::MAX,
            true => 1,
            false => MOST_HEARD,
        };
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = there.get(&(peer, call)).copied().unwrap_or_default();
        if taken >= most {
            return Err(Greeting::InARun);
        }
        let may_come = |paces: &GuestPaces| {
            let paces = if is_run { &paces.runs } else { &paces.gatherings };
            paces.lock().unwrap_or_else(PoisonError::into_inner).may_call(peer)
        };
        if !self.paces.as_ref().is_none_or(may_come) {
            return Err(Greeting::Later);
        }
        there.insert((peer, call), taken + 1);
        Ok(Guest { peer, call, guests: self.clone() })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut there = self.guests.there.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = there.get_mut(&(self.peer, self.call)) {
            *taken -= 1;
            there.retain(|_, taken| *taken > 0);
        }
    }
}

impl Reception {
    pub(super) fn new(listener: Listener, credentials: Credentials, patience: Duration) -> Self {
        Self {
            listener,
            credentials,
            patience: patience.min(HANDSHAKE_TIME),
            in_a_run: false,
            parallel: 0,
            guests: None,
            callers: Vec::new(),
            places: places(),
        }
    }

    /// Creates a reception for any number of parties.
    pub(super) fn of_many(
        listener: Listener,
        credentials: Credentials,
        patience: Duration,
        guests: Guests,
    ) -> Self {
        Self { guests: Some(guests), ..Self::new(listener, credentials, patience) }
    }

    /// Whether nobody is authenticating.
    pub(super) fn is_empty(&self) -> bool {
        self.callers.is_empty()
    }

    /// Reads from every caller once and, unless the listener is closed, accepts new ones. Returns the other side
    /// once, when it has authenticated, and during a run a further connection that is expected.
    pub(super) fn turn(
        &mut self,
        open: bool,
        turned_away: &mut dyn FnMut(Error),
    ) -> Option<Admitted> {
        let mut admitted = None;
        for caller in std::mem::take(&mut self.callers) {
            self.hear(caller, &mut admitted, turned_away);
        }
        if open {
            self.let_in(&mut admitted, turned_away);
        }
        self.in_a_run |= admitted.is_some() && self.guests.is_none();
        admitted
    }

    /// Reads from a caller once.
    fn hear(
        &mut self,
        mut caller: Caller,
        admitted: &mut Option<Admitted>,
        turned_away: &mut dyn FnMut(Error),
    ) {
        // One at a time; if there are several, the others wait for the next turn.
        if admitted.is_some() && self.guests.is_some() {
            return self.callers.push(caller);
        }
        let expects = match (self.in_a_run, &admitted) {
            (_, Some(_)) => Expects::Nobody,
            (false, None) => Expects::Run,
            (true, None) if self.parallel > 0 => Expects::Parallel,
            (true, None) => Expects::Nobody,
        };
        let admission =
            Admission { credentials: &self.credentials, expects, guests: self.guests.as_ref() };
        match caller.turn(admission, self.patience) {
            ReadOutcome::Stays => self.callers.push(caller),
            ReadOutcome::Gone => {}
            ReadOutcome::TurnedAway(why) => {
                turned_away(why);
                self.callers.extend(caller.leave());
            }
            ReadOutcome::Admitted => match caller.admit() {
                Ok(found) => *admitted = Some(found),
                Err(error) => turned_away(Error::from_io(error, HANDSHAKE)),
            },
        }
    }

    /// Accepts all waiting callers, making room if every place is taken. Each is read at once: its first message
    /// has often arrived already, and protects it from later callers.
    fn let_in(&mut self, admitted: &mut Option<Admitted>, turned_away: &mut dyn FnMut(Error)) {
        for _ in 0..self.places {
            match self.listener.next() {
                Ok(Some((tcp, from))) => {
                    if self.callers.len() >= self.places {
                        self.make_room(turned_away);
                    }
                    self.hear(Caller::new(tcp, from), admitted, turned_away);
                }
                Ok(None) => return,
                // Usually too many open files; a caller that leaves frees one.
                Err(_) => return self.make_room(turned_away),
            }
        }
    }

    fn make_room(&mut self, turned_away: &mut dyn FnMut(Error)) {
        if let Some(index) = least_deserving(&self.callers) {
            self.callers.swap_remove(index).send_away();
            turned_away(Error::Crowded { places: self.places });
        }
    }
}

/// A caller.
struct Caller {
    network: IpAddr,
    since: Instant,
    tcp: Tcp,
    stage: Stage,
    guest: Option<Guest>,
}

enum Stage {
    /// Nothing has been received yet.
    Silent,
    /// Is authenticating.
    Speaking(Box<Handshake>),
    /// Was refused, and is given time to receive the reason.
    Leaving(Box<Tls>, Instant),
}

/// The reason for which a caller that is expected is turned away.
fn refusal(caller: Option<Fingerprint>, answered: Option<Greeting>) -> Error {
    match (caller, answered) {
        (Some(caller), Some(Greeting::Later)) => Error::TooOften { caller },
        (None, Some(Greeting::Later)) => Error::Later,
        (_, Some(Greeting::OtherKind)) => Error::OtherKind,
        (Some(caller), _) => Error::Engaged { caller },
        (None, _) => Error::InARun,
    }
}

/// The roles that the other side may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    /// The party that begins a run.
    Run,
    /// One more connection of the run.
    Parallel,
    /// None at the moment.
    Nobody,
}

/// The conditions on which a caller is admitted.
#[derive(Clone, Copy)]
struct Admission<'a> {
    /// This party's credentials, and the parties that it expects.
    credentials: &'a Credentials,
    /// The role that the caller may have.
    expects: Expects,
    /// The parties that are in a run, if several may be at a time.
    guests: Option<&'a Guests>,
}

/// The outcome of reading from a caller once.
enum ReadOutcome {
    Stays,
    Gone,
    TurnedAway(Error),
    Admitted,
}

impl Caller {
    fn new(tcp: Tcp, from: SocketAddr) -> Self {
        Self {
            network: network(from.ip()),
            since: Instant::now(),
            tcp,
            stage: Stage::Silent,
            guest: None,
        }
    }

    fn turn(&mut self, admission: Admission<'_>, patience: Duration) -> ReadOutcome {
        let Admission { credentials, expects, guests } = admission;
        let failed = match &mut self.stage {
            Stage::Silent => match self.tcp.peek() {
                Ok(()) => {
                    return match self.speak(credentials) {
                        Ok(()) => self.turn(admission, patience),
                        Err(error) => ReadOutcome::TurnedAway(error),
                    };
                }
                Err(error) if !is_blocked(&error) => Error::from_io(error, HANDSHAKE),
                Err(_) => Error::Stalled { phase: HANDSHAKE, after: patience },
            },
            Stage::Speaking(handshake) => {
                let mut step = handshake.advance();
                let place = &mut self.guest;
                let fits = |handshake: &Handshake| match (handshake.call(), guests) {
                    (Some(CallKind::Run), None) => expects == Expects::Run,
                    (Some(CallKind::Parallel), _) => expects == Expects::Parallel,
                    (Some(CallKind::Gathering) | None, None) => false,
                    // It already has its place.
                    (_, Some(_)) => true,
                };
                if step.is_ok() && handshake.is_known() {
                    let entered = match (handshake.peer(), handshake.call(), guests) {
                        (_, Some(CallKind::Gathering), None) => Err(Greeting::OtherKind),
                        (
                            Some(peer),
                            Some(call @ (CallKind::Run | CallKind::Gathering)),
                            Some(guests),
                        ) => guests.enter(peer, call).map(Some),
                        _ if fits(handshake) => Ok(None),
                        _ => Err(Greeting::InARun),
                    };
                    let greeting = match entered {
                        Ok(guest) => {
                            *place = guest;
                            Greeting::Welcome
                        }
                        Err(greeting) => greeting,
                    };
                    handshake.answer(greeting);
                    step = handshake.advance();
                }
                match step {
                    Ok(()) => match (handshake.verdict(), handshake.answered()) {
                        (Ok(()), Some(Greeting::Welcome)) if fits(handshake) => {
                            return ReadOutcome::Admitted;
                        }
                        (Ok(()), answered) => refusal(handshake.peer(), answered),
                        (Err(error), _) => error,
                    },
                    Err(error) if !is_blocked(&error) => handshake.classify(error),
                    Err(_) => Error::Stalled { phase: HANDSHAKE, after: patience },
                }
            }
            Stage::Leaving(tls, since) => {
                let stays = tls.leave().is_err_and(|e| is_blocked(&e)) && since.elapsed() < REFUSAL;
                return if stays { ReadOutcome::Stays } else { ReadOutcome::Gone };
            }
        };
        match failed {
            Error::Stalled { .. } if self.since.elapsed() < patience => ReadOutcome::Stays,
            failed => ReadOutcome::TurnedAway(failed),
        }
    }

    /// The first bytes have arrived: from now on the caller costs memory.
    fn speak(&mut self, credentials: &Credentials) -> Result<()> {
        let tcp = self.tcp.handle().map_err(|e| Error::from_io(e, HANDSHAKE))?;
        self.stage = Stage::Speaking(Box::new(credentials.server(tcp)?));
        Ok(())
    }

    /// The tunnel to the other side, which this caller is.
    fn admit(self) -> io::Result<Admitted> {
        self.tcp.set_waiting(true)?;
        match self.stage {
            Stage::Speaking(handshake) => {
                let tls = handshake.into_tls();
                let connection = Connection { tls, parallel: None, socket: Some(self.tcp) };
                Ok(Admitted { connection, guest: self.guest })
            }
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The caller was refused. `None` if there is nothing for it to receive.
    fn leave(self) -> Option<Self> {
        match self.stage {
            Stage::Speaking(handshake) => {
                let mut tls = handshake.into_tls();
                tls.close();
                let stage = Stage::Leaving(Box::new(tls), Instant::now());
                Some(Self { stage, guest: None, ..self })
            }
            _ => None,
        }
    }

    /// Takes its place away, and sends a notice if that is still possible in clear.
    fn send_away(mut self) {
        let clear = match &self.stage {
            Stage::Silent => true,
            Stage::Speaking(handshake) => !handshake.has_spoken(),
            Stage::Leaving(..) => false,
        };
        if clear {
            // A courtesy: without it the caller finds a closed connection.
            drop(self.tcp.write(&NO_PLACE));
        }
    }
}

impl places::Caller for Caller {
    type Origin = IpAddr;

    fn origin(&self) -> IpAddr {
        self.network
    }

    fn since(&self) -> Instant {
        self.since
    }

    /// The first message of a genuine caller arrives at once.
    fn claim(&self) -> Claim {
        match &self.stage {
            Stage::Leaving(..) => Claim::None,
            Stage::Speaking(handshake) if handshake.has_spoken() => Claim::Good,
            _ if self.since.elapsed() > SILENCE => Claim::None,
            _ => Claim::Pending,
        }
    }
}
