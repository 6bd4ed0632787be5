//! Per-client resources other than keys: quotas of connections and memory, and paces of connections and requests.
//!
//! A client that exceeds its pace is delayed, and is refused if the delay would be long. It therefore costs the others
//! little, and a client that is only slightly too fast hardly notices.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    clients::Client,
    limits::{ClientLimits, Rejection},
    pace::Pace,
};

/// Maximum delay before a client is refused.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of remembered clients. A client that uses nothing and has its full allowance is forgotten.
const MOST_CLIENTS: usize = 1 << 17;

/// Time after which a client may try again if too many clients are remembered.
const CROWDED: Duration = Duration::from_secs(60);

/// Interval between searches for clients to forget.
const SWEEP: Duration = Duration::from_secs(1);

/// A resource that is limited for each client and in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holding {
    Connection,
    /// A connection that is a WebSocket.
    Socket,
    /// Bytes of questions being received or pending, and of their answers.
    Bytes,
}

const PLACES: usize = 3;

impl Holding {
    /// Returns the limits for one client and for all.
    fn bounds(self) -> (usize, usize) {
        match self {
            Self::Connection => (1 << 6, 1 << 13),
            Self::Socket => (1 << 4, 1 << 10),
            Self::Bytes => (1 << 22, 1 << 26),
        }
    }

    /// Returns one client's limit when this many are taken in total. It is lower when the resource is scarce, so that a
    /// few clients cannot use all of it.
    fn of_one(self, taken: usize) -> usize {
        let (of_one, of_all) = self.bounds();
        if taken > of_all / 2 { of_one / 8 } else { of_one }
    }
}

/// An action whose rate is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// Opening a connection, including the handshake.
    Arrival,
    /// A request, or a message on a WebSocket.
    Request,
    /// One KiB of a file.
    Kilobyte,
}

const TURNS: usize = 3;

/// The resources of all clients.
pub(crate) struct Visitors {
    paces: [Pace; TURNS],
    /// Paces of the keys of one client and of all.
    keys: Pace,
    keys_of_all: Pace,
    /// Whether all connections come from a proxy, so that no client's connections are counted.
    is_proxied: bool,
    state: Mutex<VisitorsState>,
}

struct VisitorsState {
    clients: HashMap<Client, Visitor>,
    taken: [usize; PLACES],
    /// Time at which the keys of all clients together are available again in full.
    keys: Instant,
    swept: Instant,
}

struct Visitor {
    taken: [usize; PLACES],
    /// Time at which each pace is available again in full.
    until: [Instant; TURNS],
    /// Time at which the client's keys are available again in full.
    keys: Instant,
}

/// Resources that a client holds until this is dropped.
pub(crate) struct Taken {
    visitors: Arc<Visitors>,
    client: Client,
    place: Holding,
    amount: usize,
}

impl Visitors {
    pub(crate) fn new(limits: ClientLimits, is_proxied: bool, now: Instant) -> Self {
        // A request asks for at least one key, or is for a file.
        let requests = limits.client.a_minute as f64 / 60.0 + 20.0;
        let paces = [
            Pace::a_second(20.0, 64),
            Pace::a_second(requests, 256),
            Pace::a_second(65_536.0, 16_384),
        ];
        let state =
            VisitorsState { clients: HashMap::new(), taken: [0; PLACES], keys: now, swept: now };
        let (keys, keys_of_all) = (Pace::of(limits.client), Pace::of(limits.all));
        Self { paces, keys, keys_of_all, is_proxied, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, VisitorsState> {
        // No code that can panic runs while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes this amount of a resource, or returns `None` if it is not available.
    pub(crate) fn place(
        self: &Arc<Self>,
        client: Client,
        place: Holding,
        amount: usize,
        now: Instant,
    ) -> Option<Taken> {
        let mut state = self.state();
        let all = state.taken[place as usize];
        let is_counted = !(self.is_proxied && place == Holding::Connection);
        let visitor = state.visitor(client, now)?;
        let of_one = visitor.taken[place as usize];
        if all + amount > place.bounds().1 || is_counted && of_one + amount > place.of_one(all) {
            return None;
        }
        visitor.taken[place as usize] += amount;
        state.taken[place as usize] += amount;
        Some(Taken { visitors: self.clone(), client, place, amount })
    }

    /// Takes this many turns, and returns how long the client must wait. Returns `None`, and takes none, if that is too
    /// long.
    pub(crate) fn turn(
        &self,
        client: Client,
        turn: Allowance,
        turns: u32,
        now: Instant,
    ) -> Option<Duration> {
        if self.is_proxied && turn == Allowance::Arrival {
            return Some(Duration::ZERO);
        }
        let mut state = self.state();
        let until = &mut state.visitor(client, now)?.until[turn as usize];
        let pace = self.paces[turn as usize];
        let wait = pace.wait(*until, 0, now);
        (wait <= PATIENCE).then(|| {
            pace.take(until, turns, now);
            wait
        })
    }

    /// Checks whether a client may ask for these keys now.
    pub(crate) fn look(&self, client: Client, keys: usize, now: Instant) -> Result<(), Rejection> {
        self.check(&mut self.state(), client, keys, now).map(drop)
    }

    /// Takes these keys from a client's allowance, or none of them.
    pub(crate) fn ask(&self, client: Client, keys: usize, now: Instant) -> Result<(), Rejection> {
        let mut state = self.state();
        let keys = self.check(&mut state, client, keys, now)?;
        if let Some(visitor) = state.visitor(client, now) {
            self.keys.take(&mut visitor.keys, keys, now);
        }
        self.keys_of_all.take(&mut state.keys, keys, now);
        Ok(())
    }

    fn check(
        &self,
        state: &mut VisitorsState,
        client: Client,
        keys: usize,
        now: Instant,
    ) -> Result<u32, Rejection> {
        let most = self.keys.at_once.min(self.keys_of_all.at_once);
        let keys = u32::try_from(keys).ok().filter(|keys| *keys <= most).ok_or(Rejection::Never)?;
        let of_all = self.keys_of_all.wait(state.keys, keys, now);
        let visitor = state.visitor(client, now).ok_or(Rejection::All(CROWDED))?;
        let of_one = self.keys.wait(visitor.keys, keys, now);
        match (of_one, of_all) {
            (Duration::ZERO, Duration::ZERO) => Ok(keys),
            (Duration::ZERO, wait) => Err(Rejection::All(wait)),
            (wait, _) => Err(Rejection::Client(wait)),
        }
    }

    #[cfg(test)]
    fn taken(&self, place: Holding) -> usize {
        self.state().taken[place as usize]
    }
}

impl VisitorsState {
    /// Returns the state of a client, or `None` if too many others are remembered.
    fn visitor(&mut self, client: Client, now: Instant) -> Option<&mut Visitor> {
        if self.clients.len() >= MOST_CLIENTS && !self.clients.contains_key(&client) {
            if now.saturating_duration_since(self.swept) < SWEEP {
                return None;
            }
            self.swept = now;
            self.clients.retain(|_, visitor| {
                visitor.taken != [0; PLACES]
                    || visitor.until.iter().chain([&visitor.keys]).any(|until| *until > now)
            });
            if self.clients.len() >= MOST_CLIENTS {
                return None;
            }
        }
        let new = || Visitor { taken: [0; PLACES], until: [now; TURNS], keys: now };
        Some(self.clients.entry(client).or_insert_with(new))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let (place, amount) = (self.place as usize, self.amount);
        let mut state = self.visitors.state();
        state.taken[place] -= amount;
        if let Some(visitor) = state.clients.get_mut(&self.client) {
            visitor.taken[place] -= amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Rate;

    const RATE: Rate = Rate { a_minute: 600, at_once: 4096 };

    const LIMITS: ClientLimits = ClientLimits {
        client: Rate { a_minute: 60, at_once: 100 },
        all: Rate { a_minute: 120, at_once: 250 },
    };

    fn visitors(is_proxied: bool, now: Instant) -> Arc<Visitors> {
        Arc::new(Visitors::new(ClientLimits { client: RATE, all: RATE }, is_proxied, now))
    }

    #[test]
    fn a_client_that_is_too_fast_waits_and_is_then_turned_away() {
        let now = Instant::now();
        let visitors = visitors(false, now);
        let (one, other) = (Client::Named(1), Client::Named(2));
        let arrive = |client, now| visitors.turn(client, Allowance::Arrival, 1, now);
        for _ in 0..=64 {
            assert_eq!(arrive(one, now), Some(Duration::ZERO));
        }
        // From here on 20 a second, and refused if the wait exceeds ten seconds.
        assert_eq!(arrive(one, now), Some(Duration::from_millis(50)));
        assert_eq!(arrive(one, now), Some(Duration::from_millis(100)));
        let more = (0..1000).filter(|_| arrive(one, now).is_some()).count();
        assert_eq!(more, 198);
        assert_eq!(arrive(one, now), None);
        assert_eq!(arrive(other, now), Some(Duration::ZERO));
        assert_eq!(arrive(one, now + Duration::from_secs(5)), Some(Duration::from_millis(5050)));
        // A file of 1 GiB takes a quarter of a minute.
        let mut at = now;
        for _ in 0..1 << 12 {
            at += visitors.turn(one, Allowance::Kilobyte, 256, at).unwrap();
        }
        assert!((15..17).contains(&(at - now).as_secs()), "{:?}", at - now);
    }

    #[test]
    fn places_are_bounded_for_one_client_and_in_all() {
        let now = Instant::now();
        let visitors = visitors(false, now);
        let connect = |client| visitors.place(Client::Named(client), Holding::Connection, 1, now);
        let mut taken: Vec<_> = (0..64).map(|_| connect(0).unwrap()).collect();
        assert!(connect(0).is_none());
        taken.pop();
        assert!(connect(0).is_some());
        // When more than half is taken, the limit for each client drops.
        taken.extend((1..65).flat_map(|client| (0..64).map(move |_| client)).filter_map(connect));
        assert_eq!(visitors.taken(Holding::Connection), 4103);
        assert!((0..8).all(|_| connect(99).map(|place| taken.push(place)).is_some()));
        assert!(connect(99).is_none());
        drop(taken);
        assert_eq!(visitors.taken(Holding::Connection), 0);
        let mut taken = Vec::new();
        taken.extend((0..10_000).filter_map(connect));
        assert_eq!(taken.len(), 1 << 13);
    }

    #[test]
    fn a_proxy_has_all_connections() {
        let now = Instant::now();
        let visitors = visitors(true, now);
        let proxy = Client::Named(0);
        let taken: Vec<_> = (0..10_000)
            .filter_map(|_| visitors.place(proxy, Holding::Connection, 1, now))
            .collect();
        assert_eq!(taken.len(), 1 << 13);
        assert!((0..10_000).all(|_| visitors.turn(proxy, Allowance::Arrival, 1, now).is_some()));
        assert!(visitors.place(proxy, Holding::Bytes, 1 << 23, now).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let now = Instant::now();
        let visitors = visitors(false, now);
        let ask = |client, now| visitors.turn(Client::Named(client), Allowance::Request, 1, now);
        assert!((0..MOST_CLIENTS as u32).all(|client| ask(client, now).is_some()));
        assert_eq!(ask(u32::MAX, now), None);
        assert_eq!(ask(0, now), Some(Duration::ZERO));
        // Clients without activity are forgotten after a while.
        assert_eq!(ask(u32::MAX, now + Duration::from_secs(2)), Some(Duration::ZERO));
        assert_eq!(visitors.state().clients.len(), 1);
    }

    #[test]
    fn a_client_gets_what_flows_in() {
        let now = Instant::now();
        let visitors = Visitors::new(LIMITS, false, now);
        let [one, two, three, four] = [1, 2, 3, 4].map(Client::Named);
        assert_eq!(visitors.ask(one, 101, now), Err(Rejection::Never));
        assert_eq!(visitors.ask(one, 100, now), Ok(()));
        assert_eq!(visitors.ask(one, 10, now), Err(Rejection::Client(Duration::from_secs(10))));
        assert_eq!(
            visitors.ask(one, 10, now + Duration::from_secs(9)),
            Err(Rejection::Client(Duration::from_secs(1)))
        );
        let later = now + Duration::from_secs(10);
        assert_eq!(visitors.ask(one, 10, later), Ok(()));
        // The total was 250: 100 and 10 are taken, and 20 have been added.
        assert_eq!(visitors.ask(two, 100, later), Ok(()));
        let refused = visitors.ask(three, 80, later);
        assert!(matches!(refused, Err(Rejection::All(_))), "{refused:?}");
        // Refused requests took nothing.
        assert_eq!(visitors.ask(three, 40, later), Ok(()));
        assert_eq!(visitors.ask(four, 100, later + Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn clients_that_asked_are_remembered_and_then_forgotten() {
        let now = Instant::now();
        let rate = Rate { a_minute: 1, at_once: 1 };
        let all = Rate { a_minute: 1 << 30, at_once: 1 << 30 };
        let visitors = Visitors::new(ClientLimits { client: rate, all }, false, now);
        for nth in 0..MOST_CLIENTS as u32 {
            assert_eq!(visitors.ask(Client::Named(nth), 1, now), Ok(()));
        }
        let stranger = Client::Named(u32::MAX);
        assert!(matches!(visitors.ask(stranger, 1, now), Err(Rejection::All(_))));
        assert_eq!(visitors.ask(stranger, 1, now + Duration::from_secs(61)), Ok(()));
        assert_eq!(visitors.state().clients.len(), 1);
    }
}
