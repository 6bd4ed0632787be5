//! A relay between parties that can both only dial out.
//!
//! Each party dials the relay, proves its identity and that it means this relay, and names the party that it wants to
//! meet. When two parties want to meet each other, the relay notifies both and from then on copies bytes both ways. The
//! two set up TLS with each other through it, so the relay, or an impostor, sees only who meets whom, when, and how
//! many bytes they exchange.
//!
//! One thread serves all callers that authenticate or wait; each pair has two threads.

mod proof;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

pub use self::proof::RelayRefusal;
#[doc(hidden)]
pub use self::proof::{CHALLENGE, hear};
pub(crate) use self::proof::{MAGIC, RELAY, RelayReply, answer};

use crate::{
    CancelToken, Clock, Error, Fingerprint, Pace, Result,
    identity::random,
    pace::Paces,
    places::{self, Claim, SILENCE, least_deserving, network, places},
    transport::is_blocked,
};

/// The time limit for a party to authenticate.
const PATIENCE: Duration = Duration::from_secs(5);

/// The interval between two signs of life to a party that waits.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// The interval between two looks for callers.
const PAUSE: Duration = Duration::from_millis(10);

/// The pace of a party's calls.
const PACE: Pace = Pace { at_once: 60, interval: Duration::from_secs(1) };

/// The limits of a relay.
#[derive(Debug, Clone)]
pub struct RelayLimits {
    /// The parties that may use it.
    pub admitted: BTreeSet<Fingerprint>,
    /// The addresses, as `host:port`, by which parties dial it. A party that means another address is turned away.
    pub addresses: Vec<String>,
    /// The maximum number of pairs at a time.
    pub pairs: usize,
    /// The maximum number of pairs of one party at a time, and of others that it may wait for.
    pub of_one: usize,
    /// The maximum number of bytes of a pair, both ways together.
    pub bytes: u64,
    /// The longest wait of a party for another.
    pub wait: Duration,
    /// The longest silence of a pair.
    pub idle: Duration,
}

impl RelayLimits {
    /// The maximum number of parties that wait at a time.
    fn waiting(&self) -> usize {
        self.pairs.saturating_mul(2).max(self.of_one)
    }
}

/// An event at a relay.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A party waits for another.
    Waits {
        /// The fingerprints.
        party: Fingerprint,
    },
    /// Two parties met.
    Met {
        /// The fingerprints.
        parties: [Fingerprint; 2],
    },
    /// They parted.
    Parted {
        /// The fingerprints.
        parties: [Fingerprint; 2],
        /// Bytes both ways.
        bytes: u64,
    },
    /// A caller was turned away.
    TurnedAway {
        /// The reason.
        why: RelayRefusal,
    },
    /// About a second has gone by.
    Second,
}

/// A relay.
pub struct Relay {
    listener: TcpListener,
    state: Arc<RelayState>,
    paces: Paces,
    proving: Vec<Proving>,
    /// The maximal number of callers that are authenticating.
    places: usize,
    waiting: Vec<Waiting>,
}

type Observe = dyn Fn(&Event) + Send + Sync;

/// The state that all pairs share.
struct RelayState {
    limits: RelayLimits,
    observe: Box<Observe>,
    /// The number of pairs of each party.
    pairs: Mutex<BTreeMap<Fingerprint, usize>>,
}

/// A caller that is authenticating.
struct Proving {
    stream: TcpStream,
    network: IpAddr,
    since: Instant,
    challenge: [u8; CHALLENGE],
    said: Vec<u8>,
}

/// A party that waits for another.
struct Waiting {
    parties: [Fingerprint; 2],
    stream: TcpStream,
    since: Instant,
}

impl Relay {
    /// Listens at `host:port`, and reports events to an observer.
    ///
    /// # Errors
    /// [`Error::Resolve`] and [`Error::Bind`].
    pub fn bind(
        address: &str,
        limits: RelayLimits,
        observe: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<Self> {
        let resolved = address.to_socket_addrs();
        let failed = |source| Error::Resolve { address: address.to_owned(), source };
        let addresses: Vec<SocketAddr> = resolved.map_err(failed)?.collect();
        let bound = TcpListener::bind(&addresses[..]).and_then(|listener| {
            // `accept` has no timeout, so it is polled.
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let failed = |source| Error::Bind { address: address.to_owned(), source };
        let listener = bound.map_err(failed)?;
        let state = RelayState { limits, observe: Box::new(observe), pairs: Mutex::default() };
        let paces = Paces::new(PACE, Clock::default());
        Ok(Self {
            listener,
            state: Arc::new(state),
            paces,
            proving: Vec::new(),
            places: places(),
            waiting: Vec::new(),
        })
    }

    /// Returns the address at which it listens.
    ///
    /// # Errors
    /// The operating system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is cancelled. Pairs that have met then continue until they part.
    pub fn run(mut self, cancel: &CancelToken) {
        let mut looked = Instant::now();
        while !cancel.is_cancelled() {
            if looked.elapsed() >= SIGN_OF_LIFE {
                looked = Instant::now();
                let wait = self.state.limits.wait;
                self.waiting.retain_mut(|waiting| waiting.stays(wait));
                self.state.tell(&Event::Second);
            }
            for caller in std::mem::take(&mut self.proving) {
                self.hear(caller);
            }
            self.let_in();
            thread::sleep(PAUSE);
        }
    }

    /// Accepts all callers, making room if all places are taken.
    fn let_in(&mut self) {
        for _ in 0..self.places {
            match self.listener.accept() {
                Ok((stream, from)) => {
                    if self.proving.len() >= self.places {
                        self.make_room();
                    }
                    // It may be gone already.
                    if let Ok(caller) = Proving::new(stream, from) {
                        self.proving.push(caller);
                    }
                }
                Err(error) if is_blocked(&error) => return,
                // Usually too many open files; a caller that leaves frees one.
                Err(_) => return self.make_room(),
            }
        }
    }

    fn make_room(&mut self) {
        if let Some(index) = least_deserving(&self.proving) {
            let caller = self.proving.swap_remove(index);
            self.state.turn_away(&caller.stream, RelayRefusal::Displaced);
        }
    }

    /// Reads from a caller once.
    fn hear(&mut self, mut caller: Proving) {
        let RelayLimits { addresses, admitted, .. } = &self.state.limits;
        let heard = caller.read().and_then(|is_whole| match is_whole {
            false => Ok(None),
            true => hear(&caller.said, &caller.challenge, addresses, admitted).map(Some),
        });
        match heard {
            Ok(Some(parties)) => self.introduce(caller.stream, parties),
            Ok(None) => self.proving.push(caller),
            Err(why) => self.state.turn_away(&caller.stream, why),
        }
    }

    /// Makes a party wait, or pairs it with the one that waits for it.
    fn introduce(&mut self, stream: TcpStream, [me, peer]: [Fingerprint; 2]) {
        if !self.paces.may_call(me) {
            return self.state.turn_away(&stream, RelayRefusal::TooMuch);
        }
        // A party that calls again gives up its earlier place.
        self.waiting.retain(|waiting| waiting.parties != [me, peer]);
        let other = self.waiting.iter().position(|waiting| waiting.parties == [peer, me]);
        let Some(other) = other else { return self.wait(stream, [me, peer]) };
        let streams = [stream, self.waiting.swap_remove(other).stream];
        match PairPlace::take(&self.state, [me, peer]) {
            Ok(place) => place.join(streams),
            Err(why) => {
                self.state.say(&streams[1], RelayReply::NoPlace);
                self.state.turn_away(&streams[0], why);
            }
        }
    }

    /// Makes a party wait. If too many are waiting, the party that waits for the most others loses a place.
    fn wait(&mut self, stream: TcpStream, parties: [Fingerprint; 2]) {
        let limits = &self.state.limits;
        let mine = self.waiting.iter().filter(|waiting| waiting.parties[0] == parties[0]);
        if mine.count() >= limits.of_one {
            return self.state.turn_away(&stream, RelayRefusal::TooMuch);
        }
        if self.waiting.len() >= limits.waiting()
            && let Some(index) = least_deserving(&self.waiting)
        {
            let displaced = self.waiting.swap_remove(index);
            self.state.say(&displaced.stream, RelayReply::NoPlace);
            self.state.tell(&Event::TurnedAway { why: RelayRefusal::NoPlace });
        }
        self.state.say(&stream, RelayReply::Wait);
        self.waiting.push(Waiting { parties, stream, since: Instant::now() });
        self.state.tell(&Event::Waits { party: parties[0] });
    }
}

impl Proving {
    /// Challenges a caller.
    fn new(stream: TcpStream, from: SocketAddr) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let challenge = random().map_err(io::Error::other)?;
        // An empty send buffer has room for these few bytes.
        (&stream).write_all(&[&MAGIC[..], &challenge].concat())?;
        let (network, since) = (network(from.ip()), Instant::now());
        Ok(Self { stream, network, since, challenge, said: Vec::new() })
    }

    /// Reads the part of its answer that has arrived, and nothing beyond. Returns whether the answer is complete.
    fn read(&mut self) -> std::result::Result<bool, RelayRefusal> {
        loop {
            let missing = proof::length(&self.said)? - self.said.len();
            if missing == 0 {
                return Ok(true);
            }
            let mut bytes = vec![0; missing];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(RelayRefusal::Silent),
                Ok(read) => self.said.extend_from_slice(&bytes[..read]),
                Err(error) if is_blocked(&error) && self.since.elapsed() < PATIENCE => {
                    return Ok(false);
                }
                Err(_) => return Err(RelayRefusal::Silent),
            }
        }
    }
}

impl places::Caller for Proving {
    type Origin = IpAddr;

    fn origin(&self) -> IpAddr {
        self.network
    }

    fn since(&self) -> Instant {
        self.since
    }

    /// A genuine caller answers as soon as it has received the challenge.
    fn claim(&self) -> Claim {
        if self.since.elapsed() > SILENCE { Claim::None } else { Claim::Good }
    }
}

impl places::Caller for Waiting {
    type Origin = Fingerprint;

    fn origin(&self) -> Fingerprint {
        self.parties[0]
    }

    fn since(&self) -> Instant {
        self.since
    }

    fn claim(&self) -> Claim {
        Claim::Good
    }
}

impl Waiting {
    /// Sends it a sign of life, and returns whether it is still there and may keep waiting.
    fn stays(&mut self, wait: Duration) -> bool {
        let was_told =
            self.stream.write(&[RelayReply::Wait as u8]).is_ok_and(|written| written == 1);
        // A party sends nothing while it waits.
        let is_there = self.stream.peek(&mut [0]).is_err_and(|error| is_blocked(&error));
        was_told && is_there && self.since.elapsed() < wait
    }
}

impl RelayState {
    fn tell(&self, event: &Event) {
        (self.observe)(event);
    }

    /// Sends a word to a caller, which may be gone.
    fn say(&self, mut stream: &TcpStream, word: RelayReply) {
        let _ = stream.write_all(&[word as u8]);
    }

    fn turn_away(&self, stream: &TcpStream, why: RelayRefusal) {
        why.word().into_iter().for_each(|word| self.say(stream, word));
        self.tell(&Event::TurnedAway { why });
    }
}

/// The place of a pair, until it is dropped.
struct PairPlace {
    state: Arc<RelayState>,
    parties: [Fingerprint; 2],
}

impl PairPlace {
    /// A place, unless there are too many pairs, or too many of one of the two.
    fn take(
        state: &Arc<RelayState>,
        parties: [Fingerprint; 2],
    ) -> std::result::Result<Self, RelayRefusal> {
        let mut pairs = state.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        // Each pair is counted for both.
        if pairs.values().sum::<usize>() / 2 >= state.limits.pairs {
            return Err(RelayRefusal::NoPlace);
        }
        let has = |party| pairs.get(party).is_some_and(|pairs| *pairs >= state.limits.of_one);
        if parties.iter().any(has) {
            return Err(RelayRefusal::TooMuch);
        }
        parties.iter().for_each(|party| *pairs.entry(*party).or_default() += 1);
        Ok(Self { state: state.clone(), parties })
    }

    /// Joins the two, on threads of their own.
    fn join(self, streams: [TcpStream; 2]) {
        let state = self.state.clone();
        streams.iter().for_each(|stream| state.say(stream, RelayReply::Met));
        state.tell(&Event::Met { parties: self.parties });
        let join = move || {
            let bytes = self.carry(&streams);
            self.state.tell(&Event::Parted { parties: self.parties, bytes });
        };
        // Without a thread, the two find their connections closed.
        drop(thread::Builder::new().name("vesica-pair".to_owned()).spawn(join));
    }

    /// Copies both ways until both have ended, and returns the number of bytes.
    fn carry(&self, [one, other]: &[TcpStream; 2]) -> u64 {
        let bytes = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| self.copy(one, other, &bytes));
            self.copy(other, one, &bytes);
        });
        bytes.into_inner()
    }

    fn copy(&self, mut from: &TcpStream, mut to: &TcpStream, bytes: &AtomicU64) {
        let limits = &self.state.limits;
        let mut buffer = vec![0; 1 << 16];
        let mut attempt = || -> io::Result<()> {
            from.set_nonblocking(false)?;
            from.set_read_timeout(Some(limits.idle))?;
            to.set_nonblocking(false)?;
            to.set_write_timeout(Some(limits.idle))?;
            loop {
                let read = from.read(&mut buffer)?;
                if read == 0 {
                    return to.shutdown(Shutdown::Write);
                }
                let all = bytes.fetch_add(read as u64, Ordering::Relaxed) + read as u64;
                if all > limits.bytes {
                    return Err(io::ErrorKind::QuotaExceeded.into());
                }
                to.write_all(&buffer[..read])?;
            }
        };
        if attempt().is_err() {
            for stream in [from, to] {
                // It may be gone.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

impl Drop for PairPlace {
    fn drop(&mut self) {
        let mut pairs = self.state.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        for party in &self.parties {
            pairs.entry(*party).and_modify(|pairs| *pairs -= 1);
        }
        pairs.retain(|_, pairs| *pairs > 0);
    }
}

#[cfg(test)]
mod tests;
