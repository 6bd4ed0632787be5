//! Places of callers at an address that anyone may call, and the choice of the caller that loses its place when all are
//! taken.
//!
//! Until a caller has authenticated, it holds one of a fixed number of places. When all are taken, a new caller
//! displaces one from the origin with the most callers, so nobody can keep others out by calling often or by staying
//! silent.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

/// The maximal number of callers that are authenticating, if a process may have many files open.
pub(crate) const PLACES: usize = 256;

/// The maximal number of callers that are authenticating. Each may hold two files open, and together they may hold half
/// of the files that this process may have open.
pub(crate) fn places() -> usize {
    #[cfg(unix)]
    let files = {
        use rustix::process::{Resource, getrlimit};
        getrlimit(Resource::Nofile).current
    };
    #[cfg(not(unix))]
    let files: Option<u64> = None;
    files.map_or(PLACES, |files| usize::try_from(files / 4).unwrap_or(PLACES).clamp(16, PLACES))
}

/// A caller that has said nothing, or too little, for this long is the first to lose its place.
pub(crate) const SILENCE: Duration = Duration::from_secs(1);

/// A caller that has a place.
pub(crate) trait Caller {
    /// Callers of one origin are counted together.
    type Origin: Ord;

    /// The origin of this caller.
    fn origin(&self) -> Self::Origin;

    /// The time since which it has its place.
    fn since(&self) -> Instant;

    /// Its claim to the place.
    fn claim(&self) -> Claim;
}

/// A caller's claim to its place, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claim {
    /// It behaves like a genuine caller. Chance decides which of them loses its place: if one kind of caller were
    /// always spared, a flood of that kind could keep a genuine one out. This way it gets through after a few attempts.
    Good,
    /// Its first message has not arrived yet. The caller that has been silent longest loses its place.
    Pending,
    /// It can lose its place without harm: a genuine caller's message would have arrived long ago.
    None,
}

/// The caller that loses its place, among those from the origin that has the most.
pub(crate) fn least_deserving<C: Caller>(callers: &[C]) -> Option<usize> {
    let mut from: BTreeMap<C::Origin, usize> = BTreeMap::new();
    callers.iter().for_each(|caller| *from.entry(caller.origin()).or_default() += 1);
    let rank = |caller: &C| {
        let order = match caller.claim() {
            Claim::Good => chance(),
            _ => caller.since().elapsed().as_nanos() as u64,
        };
        (from.get(&caller.origin()).copied(), caller.claim(), order)
    };
    (0..callers.len()).max_by_key(|index| rank(&callers[*index]))
}

/// An unpredictable number.
fn chance() -> u64 {
    RandomState::new().hash_one(())
}

/// The unit for counting callers: an IPv4 address, or the /64 of a single IPv6 host.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place(u8, Claim, Instant);

    impl Caller for Place {
        type Origin = u8;

        fn origin(&self) -> u8 {
            self.0
        }

        fn since(&self) -> Instant {
            self.2
        }

        fn claim(&self) -> Claim {
            self.1
        }
    }

    #[test]
    fn the_origin_with_the_most_callers_loses_the_one_that_needs_its_place_least() {
        let start = Instant::now();
        let place = |origin, claim, age| Place(origin, claim, start - Duration::from_millis(age));
        let loser = |callers: &[Place]| least_deserving(callers);
        assert_eq!(loser(&[]), None);
        let (good, pending, none) = (Claim::Good, Claim::Pending, Claim::None);
        // The caller of a quiet origin stays, even an idle one.
        let crowd = [place(1, none, 900), place(2, good, 5), place(2, pending, 3)];
        assert_eq!(loser(&crowd), Some(2));
        let crowd = [place(1, pending, 4), place(1, none, 2), place(1, good, 9)];
        assert_eq!(loser(&crowd), Some(1));
        let crowd = [place(1, pending, 4), place(1, pending, 7), place(1, pending, 5)];
        assert_eq!(loser(&crowd), Some(1));
        // Among genuine ones the choice is unpredictable.
        let crowd = [place(1, good, 1), place(1, good, 2), place(1, good, 3)];
        let losers: std::collections::BTreeSet<_> = (0..200).map(|_| loser(&crowd)).collect();
        assert_eq!(losers.len(), 3);
    }

    #[test]
    fn a_host_is_one_network_whatever_addresses_it_has() {
        let of = |address: &str| network(address.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
