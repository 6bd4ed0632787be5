//! What a client may take of the service besides the keys that it asks for: places, and turns at a pace.
//!
//! A client that takes its turns faster than its pace waits, and is turned away where it would wait long. So it costs the
//! others little, whatever it does, and one that is a little too fast notices little.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    clients::Client,
    limits::{Limits, Refusal},
    pace::Pace,
};

/// The longest that a client waits for its turn.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Clients that are remembered. One that has no place and could take all its turns and keys is forgotten.
const MOST_CLIENTS: usize = 1 << 17;

/// The wait of a client that is one too many to be remembered.
const CROWDED: Duration = Duration::from_secs(60);

/// How often those are looked for.
const SWEEP: Duration = Duration::from_secs(1);

/// What a client holds of what there is for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holding {
    Connection,
    /// A connection that is a WebSocket.
    Socket,
    /// Bytes of questions that are received or wait, and of their answers.
    Bytes,
}

const PLACES: usize = 3;

impl Holding {
    /// How many one client has, and how many there are.
    fn bounds(self) -> (usize, usize) {
        match self {
            Self::Connection => (1 << 6, 1 << 13),
            Self::Socket => (1 << 4, 1 << 10),
            Self::Bytes => (1 << 22, 1 << 26),
        }
    }

    /// How many one client may have when so many are taken: less where room gets short, so that many clients do not leave
    /// others without any.
    fn of_one(self, taken: usize) -> usize {
        let (of_one, of_all) = self.bounds();
        if taken > of_all / 2 { of_one / 8 } else { of_one }
    }
}

/// What a client takes in turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Opening a connection, and the handshake.
    Arrival,
    /// A request, or a message on a WebSocket.
    Request,
    /// A KiB of a file.
    Kilobyte,
}

const TURNS: usize = 3;

/// All clients.
pub(crate) struct Visitors {
    paces: [Pace; TURNS],
    /// Keys that one client may ask for, and all together.
    keys: Pace,
    keys_of_all: Pace,
    /// Whether a proxy has all connections, of which none are counted for one client.
    is_proxied: bool,
    state: Mutex<VisitorsState>,
}

struct VisitorsState {
    clients: HashMap<Client, Visitor>,
    taken: [usize; PLACES],
    /// When the keys that all together asked for have passed.
    keys: Instant,
    swept: Instant,
}

struct Visitor {
    taken: [usize; PLACES],
    /// When the turns that were taken have passed.
    until: [Instant; TURNS],
    /// Likewise for the keys that were asked for.
    keys: Instant,
}

/// Places of a client, until they are dropped.
pub(crate) struct Taken {
    visitors: Arc<Visitors>,
    client: Client,
    place: Holding,
    amount: usize,
}

impl Visitors {
    pub(crate) fn new(limits: Limits, is_proxied: bool, now: Instant) -> Self {
        // A request asks for a key at least, or is for a file.
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
        // No code that can panic runs with the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes so many places, unless they are taken already.
    pub(crate) fn place(
        self: &Arc<Self>,
        client: Client,
        (place, amount): (Holding, usize),
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

    /// Takes so many turns: how long the client has to wait for them; `None` if that is too long, and none are taken.
    pub(crate) fn turn(
        &self,
        client: Client,
        (turn, turns): (Turn, u32),
        now: Instant,
    ) -> Option<Duration> {
        if self.is_proxied && turn == Turn::Arrival {
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

    /// Returns whether a client may ask for these keys now.
    pub(crate) fn look(&self, client: Client, keys: usize, now: Instant) -> Result<(), Refusal> {
        self.check(&mut self.state(), client, keys, now).map(drop)
    }

    /// Takes these keys from what a client may ask for, or none of them.
    pub(crate) fn ask(&self, client: Client, keys: usize, now: Instant) -> Result<(), Refusal> {
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
    ) -> Result<u32, Refusal> {
        let most = self.keys.at_once.min(self.keys_of_all.at_once);
        let keys = u32::try_from(keys).ok().filter(|keys| *keys <= most).ok_or(Refusal::Never)?;
        let of_all = self.keys_of_all.wait(state.keys, keys, now);
        let visitor = state.visitor(client, now).ok_or(Refusal::All(CROWDED))?;
        let of_one = self.keys.wait(visitor.keys, keys, now);
        match (of_one, of_all) {
            (Duration::ZERO, Duration::ZERO) => Ok(keys),
            (Duration::ZERO, wait) => Err(Refusal::All(wait)),
            (wait, _) => Err(Refusal::Client(wait)),
        }
    }

    #[cfg(test)]
    fn taken(&self, place: Holding) -> usize {
        self.state().taken[place as usize]
    }
}

impl VisitorsState {
    /// What is known of a client; `None` where too many others are.
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

    const LIMITS: Limits = Limits {
        client: Rate { a_minute: 60, at_once: 100 },
        all: Rate { a_minute: 120, at_once: 250 },
    };

    fn visitors(is_proxied: bool, now: Instant) -> Arc<Visitors> {
        Arc::new(Visitors::new(Limits { client: RATE, all: RATE }, is_proxied, now))
    }

    #[test]
    fn who_takes_turns_too_fast_waits_and_is_then_turned_away() {
        let now = Instant::now();
        let visitors = visitors(false, now);
        let (one, other) = (Client::Named(1), Client::Named(2));
        let arrive = |client, now| visitors.turn(client, (Turn::Arrival, 1), now);
        for _ in 0..=64 {
            assert_eq!(arrive(one, now), Some(Duration::ZERO));
        }
        // Twenty a second from here on, and none that would wait for more than ten.
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
            at += visitors.turn(one, (Turn::Kilobyte, 256), at).unwrap();
        }
        assert!((15..17).contains(&(at - now).as_secs()), "{:?}", at - now);
    }

    #[test]
    fn places_are_bounded_for_one_client_and_in_all() {
        let now = Instant::now();
        let visitors = visitors(false, now);
        let connect = |client| visitors.place(Client::Named(client), (Holding::Connection, 1), now);
        let mut taken: Vec<_> = (0..64).map(|_| connect(0).unwrap()).collect();
        assert!(connect(0).is_none());
        taken.pop();
        assert!(connect(0).is_some());
        // Where more than half is taken, a client gets less.
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
            .filter_map(|_| visitors.place(proxy, (Holding::Connection, 1), now))
            .collect();
        assert_eq!(taken.len(), 1 << 13);
        assert!((0..10_000).all(|_| visitors.turn(proxy, (Turn::Arrival, 1), now).is_some()));
        assert!(visitors.place(proxy, (Holding::Bytes, 1 << 23), now).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let now = Instant::now();
        let visitors = visitors(false, now);
        let ask = |client, now| visitors.turn(Client::Named(client), (Turn::Request, 1), now);
        assert!((0..MOST_CLIENTS as u32).all(|client| ask(client, now).is_some()));
        assert_eq!(ask(u32::MAX, now), None);
        assert_eq!(ask(0, now), Some(Duration::ZERO));
        // After a while those who are gone are forgotten.
        assert_eq!(ask(u32::MAX, now + Duration::from_secs(2)), Some(Duration::ZERO));
        assert_eq!(visitors.state().clients.len(), 1);
    }

    #[test]
    fn a_client_gets_what_flows_in() {
        let now = Instant::now();
        let visitors = Visitors::new(LIMITS, false, now);
        let [one, two, three, four] = [1, 2, 3, 4].map(Client::Named);
        assert_eq!(visitors.ask(one, 101, now), Err(Refusal::Never));
        assert_eq!(visitors.ask(one, 100, now), Ok(()));
        assert_eq!(visitors.ask(one, 10, now), Err(Refusal::Client(Duration::from_secs(10))));
        assert_eq!(
            visitors.ask(one, 10, now + Duration::from_secs(9)),
            Err(Refusal::Client(Duration::from_secs(1)))
        );
        let later = now + Duration::from_secs(10);
        assert_eq!(visitors.ask(one, 10, later), Ok(()));
        // All together have 250: 100 and 10 are gone, and 20 have come.
        assert_eq!(visitors.ask(two, 100, later), Ok(()));
        let refused = visitors.ask(three, 80, later);
        assert!(matches!(refused, Err(Refusal::All(_))), "{refused:?}");
        // What was refused took nothing.
        assert_eq!(visitors.ask(three, 40, later), Ok(()));
        assert_eq!(visitors.ask(four, 100, later + Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn clients_that_asked_are_remembered_and_then_forgotten() {
        let now = Instant::now();
        let rate = Rate { a_minute: 1, at_once: 1 };
        let all = Rate { a_minute: 1 << 30, at_once: 1 << 30 };
        let visitors = Visitors::new(Limits { client: rate, all }, false, now);
        for nth in 0..MOST_CLIENTS as u32 {
            assert_eq!(visitors.ask(Client::Named(nth), 1, now), Ok(()));
        }
        let stranger = Client::Named(u32::MAX);
        assert!(matches!(visitors.ask(stranger, 1, now), Err(Refusal::All(_))));
        assert_eq!(visitors.ask(stranger, 1, now + Duration::from_secs(61)), Ok(()));
        assert_eq!(visitors.state().clients.len(), 1);
    }
}
