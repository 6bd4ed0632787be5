//! What a client may take of the service besides the keys that it asks for: places, and turns at a pace.
//!
//! A client that takes its turns faster than its pace waits, and is turned away where it would wait long. So it costs the
//! others little, whatever it does, and one that is a little too fast notices little.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{clients::Client, limits::Limits};

/// The longest that a client waits for its turn.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Clients that are remembered. One that has no place and could take all its turns is forgotten.
const MOST_CLIENTS: usize = 1 << 16;

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

/// So many turns in a time, and so many at once after a pause.
#[derive(Debug, Clone, Copy)]
struct Pace {
    interval: Duration,
    at_once: u32,
}

impl Pace {
    fn new(a_second: f64, at_once: u32) -> Self {
        Self { interval: Duration::from_secs_f64(1.0 / a_second.max(1.0)), at_once }
    }

    /// How long until so many turns may be taken, which are then taken unless that is too long. `until` is when all turns
    /// that were taken have passed.
    fn take(self, until: &mut Instant, turns: u32, now: Instant) -> Option<Duration> {
        let wait = until.saturating_duration_since(now);
        let wait = wait.saturating_sub(self.interval.saturating_mul(self.at_once));
        (wait <= PATIENCE).then(|| {
            *until = (*until).max(now) + self.interval.saturating_mul(turns);
            wait
        })
    }
}

/// All clients.
pub(crate) struct Visitors {
    paces: [Pace; TURNS],
    /// Whether a proxy has all connections, of which none are counted for one client.
    is_proxied: bool,
    state: Mutex<State>,
}

struct State {
    clients: HashMap<Client, Visitor>,
    taken: [usize; PLACES],
    swept: Instant,
}

struct Visitor {
    taken: [usize; PLACES],
    /// When the turns that were taken have passed.
    until: [Instant; TURNS],
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
        let paces = [Pace::new(20.0, 64), Pace::new(requests, 256), Pace::new(65_536.0, 16_384)];
        let state = State { clients: HashMap::new(), taken: [0; PLACES], swept: now };
        Self { paces, is_proxied, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
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
        let until = &mut state.visitor(client, now)?.until;
        self.paces[turn as usize].take(&mut until[turn as usize], turns, now)
    }

    #[cfg(test)]
    fn taken(&self, place: Holding) -> usize {
        self.state().taken[place as usize]
    }
}

impl State {
    /// What is known of a client; `None` where too many others are.
    fn visitor(&mut self, client: Client, now: Instant) -> Option<&mut Visitor> {
        if self.clients.len() >= MOST_CLIENTS && !self.clients.contains_key(&client) {
            if now.saturating_duration_since(self.swept) < SWEEP {
                return None;
            }
            self.swept = now;
            self.clients.retain(|_, visitor| {
                visitor.taken != [0; PLACES] || visitor.until.iter().any(|until| *until > now)
            });
            if self.clients.len() >= MOST_CLIENTS {
                return None;
            }
        }
        let new = || Visitor { taken: [0; PLACES], until: [now; TURNS] };
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
}
