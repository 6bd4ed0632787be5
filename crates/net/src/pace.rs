//! The pace at which each party may call.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::{Clock, Fingerprint};

/// The pace of a party's calls: a number at once, and then one in each interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The number of calls that may follow at once after a pause.
    pub at_once: u32,
    /// The time until a party that has used them up may call again.
    pub interval: Duration,
}

/// The calls of each party.
#[derive(Debug)]
pub(crate) struct Paces {
    pace: Pace,
    clock: Clock,
    /// The time at which all of a party's calls are available again, for each party that has used some.
    free: BTreeMap<Fingerprint, Instant>,
}

impl Paces {
    pub(crate) fn new(pace: Pace, clock: Clock) -> Self {
        Self { pace, clock, free: BTreeMap::new() }
    }

    /// Counts a call, unless this party must wait.
    pub(crate) fn may_call(&mut self, party: Fingerprint) -> bool {
        let now = self.clock.now();
        self.free.retain(|_, free| *free > now);
        let Pace { at_once, interval } = self.pace;
        let free = self.free.get(&party).copied().unwrap_or(now) + interval;
        let may = free <= now + interval.saturating_mul(at_once);
        if may {
            self.free.insert(party, free);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;

    #[test]
    fn a_party_has_its_calls_and_then_one_for_each_interval() {
        let [one, other] = [(); 2].map(|()| Identity::generate().unwrap().fingerprint());
        let clock = Clock::default();
        let minute = Duration::from_secs(60);
        let mut paces = Paces::new(Pace { at_once: 3, interval: minute }, clock.clone());
        let mut calls = |party| (0..10).filter(|_| paces.may_call(party)).count();
        assert_eq!((calls(one), calls(one)), (3, 0));
        assert_eq!(calls(other), 3, "another party has its own");
        clock.advance(minute);
        assert_eq!(calls(one), 1);
        clock.advance(2 * minute);
        assert_eq!(calls(one), 2);
        clock.advance(100 * minute);
        assert_eq!((calls(one), calls(other)), (3, 3));
        clock.advance(100 * minute);
        assert!(
            paces.may_call(one) && paces.free.len() == 1,
            "a party that has all its calls is forgotten"
        );
    }
}
