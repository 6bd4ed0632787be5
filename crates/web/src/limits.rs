//! How many items may be asked for: by one client, and in all.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::clients::Client;

/// Clients that are remembered. One whose bucket is full again is forgotten.
const MOST_CLIENTS: usize = 1 << 17;

/// So many items a minute, and so many at once after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Items a minute in the long run.
    pub a_minute: u64,
    /// Items at once.
    pub at_once: u64,
}

impl Rate {
    /// The days in which so many items can be asked for.
    pub fn days(self, items: u64) -> f64 {
        items.saturating_sub(self.at_once) as f64 / self.a_minute.max(1) as f64 / (60.0 * 24.0)
    }
}

/// What may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// By one client.
    pub client: Rate,
    /// By all together.
    pub all: Rate,
}

/// A bucket of tokens.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn full(rate: Rate, now: Instant) -> Self {
        Self { tokens: rate.at_once as f64, at: now }
    }

    fn fill(&mut self, rate: Rate, now: Instant) {
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        let more = seconds * rate.a_minute as f64 / 60.0;
        *self = Self { tokens: (self.tokens + more).min(rate.at_once as f64), at: now };
    }

    /// How long until there are so many tokens.
    fn wait(&self, items: f64, rate: Rate) -> Option<Duration> {
        let missing = items - self.tokens;
        let minutes = missing / rate.a_minute.max(1) as f64;
        (missing > 0.0).then(|| Duration::from_secs_f64(60.0 * minutes))
    }
}

/// Why a question is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This client has asked too much; it may try again after this long.
    Client(Duration),
    /// All together have.
    All(Duration),
    /// More than may ever be asked at once.
    Never,
}

/// Counts what is asked.
pub(crate) struct Limiter {
    limits: Limits,
    clients: HashMap<Client, Bucket>,
    all: Bucket,
}

impl Limiter {
    pub(crate) fn new(limits: Limits, now: Instant) -> Self {
        Self { limits, clients: HashMap::new(), all: Bucket::full(limits.all, now) }
    }

    /// Takes so many items from what a client may ask, or nothing.
    pub(crate) fn take(
        &mut self,
        client: Client,
        items: usize,
        now: Instant,
    ) -> Result<(), Refusal> {
        self.look(client, items, now)?;
        if let Some(bucket) = self.clients.get_mut(&client) {
            bucket.tokens -= items as f64;
        }
        self.all.tokens -= items as f64;
        Ok(())
    }

    /// Whether a client may ask for so many items now.
    pub(crate) fn look(
        &mut self,
        client: Client,
        items: usize,
        now: Instant,
    ) -> Result<(), Refusal> {
        let Limits { client: rate, all } = self.limits;
        if self.clients.len() >= MOST_CLIENTS && !self.clients.contains_key(&client) {
            self.clients.retain(|_, bucket| {
                bucket.fill(rate, now);
                bucket.tokens < rate.at_once as f64
            });
            if self.clients.len() >= MOST_CLIENTS {
                return Err(Refusal::All(Duration::from_secs(60)));
            }
        }
        if items as u64 > rate.at_once.min(all.at_once) {
            return Err(Refusal::Never);
        }
        let items = items as f64;
        let bucket = self.clients.entry(client).or_insert_with(|| Bucket::full(rate, now));
        bucket.fill(rate, now);
        self.all.fill(all, now);
        if let Some(wait) = bucket.wait(items, rate) {
            return Err(Refusal::Client(wait));
        }
        match self.all.wait(items, all) {
            Some(wait) => Err(Refusal::All(wait)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const LIMITS: Limits = Limits {
        client: Rate { a_minute: 60, at_once: 100 },
        all: Rate { a_minute: 120, at_once: 250 },
    };

    #[test]
    fn a_client_gets_what_flows_in() {
        let now = Instant::now();
        let mut limiter = Limiter::new(LIMITS, now);
        let [one, two, three, four] =
            [1, 2, 3, 4].map(|last| Client::at(Ipv4Addr::new(10, 0, 0, last).into()));
        assert_eq!(limiter.take(one, 101, now), Err(Refusal::Never));
        assert_eq!(limiter.take(one, 100, now), Ok(()));
        assert_eq!(limiter.take(one, 10, now), Err(Refusal::Client(Duration::from_secs(10))));
        assert_eq!(
            limiter.take(one, 10, now + Duration::from_secs(9)),
            Err(Refusal::Client(Duration::from_secs(1)))
        );
        let later = now + Duration::from_secs(10);
        assert_eq!(limiter.take(one, 10, later), Ok(()));
        // All together: 250, of which 100 and 10 are gone and 20 have come.
        assert_eq!(limiter.take(two, 100, later), Ok(()));
        let refused = limiter.take(three, 80, later);
        assert!(matches!(refused, Err(Refusal::All(_))), "{refused:?}");
        // What was refused took nothing.
        assert_eq!(limiter.take(three, 40, later), Ok(()));
        assert_eq!(limiter.take(four, 100, later + Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn memory_is_bounded() {
        let now = Instant::now();
        let rate = Rate { a_minute: 1, at_once: 1 };
        let all = Rate { a_minute: 1 << 30, at_once: 1 << 30 };
        let mut limiter = Limiter::new(Limits { client: rate, all }, now);
        for nth in 0..MOST_CLIENTS as u32 {
            assert_eq!(limiter.take(Client::Named(nth), 1, now), Ok(()));
        }
        let stranger = Client::at(Ipv6Addr::LOCALHOST.into());
        assert!(matches!(limiter.take(stranger, 1, now), Err(Refusal::All(_))));
        assert_eq!(limiter.take(stranger, 1, now + Duration::from_secs(61)), Ok(()));
        assert_eq!(limiter.clients.len(), 1);
    }

    #[test]
    fn an_enumeration_takes_as_long_as_it_says() {
        let rate = Rate { a_minute: 600, at_once: 4096 };
        assert!((rate.days(1_000_000_000) - 1157.4).abs() < 0.1);
        assert_eq!(rate.days(4096), 0.0);
    }

    #[test]
    fn an_address_of_one_kind_is_none_of_the_other() {
        let v4 = Client::at(Ipv4Addr::new(1, 2, 3, 4).into());
        assert_eq!(v4, Client::at(Ipv4Addr::new(1, 2, 3, 4).to_ipv6_mapped().into()));
        assert_ne!(v4, Client::at(Ipv4Addr::new(1, 2, 3, 5).into()));
        let v6 = |last| Client::at(Ipv6Addr::new(0x2001, 2, 3, last, 5, 6, 7, 8).into());
        assert_eq!(v6(4), Client::at(Ipv6Addr::new(0x2001, 2, 3, 4, 0, 0, 0, 1).into()));
        assert_ne!(v6(4), v6(5));
    }
}
