//! Several parties in one process, with a link between each pair of them.

use std::{panic::resume_unwind, thread};

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Error};

use crate::{
    tamper::{Tamper, tamper},
    transcript::{Recorder, Transcript, record},
    two_party::{Link, PATIENCE, Wire},
};

/// The seed of the first party's randomness; each other party's is one more than the one before.
const SEED: u64 = 0x5eed;

/// The outcome of a party, and the messages that it sent.
#[derive(Debug)]
pub struct Ran<T, E> {
    /// Its result.
    pub outcome: Result<T, E>,
    /// The messages that it sent to each other party, in the order of their numbers.
    pub sent: Vec<Transcript>,
}

/// Runs honest parties, each in a thread of its own, and returns their results. A party gets its number, and its
/// channels to all others in the order of their numbers.
///
/// # Panics
/// If a party panics or fails, or another one waits for it until the timeout.
pub fn run<T: Send, E>(
    parties: usize,
    link: Link,
    party: impl Fn(usize, &mut [Channel], &mut StdRng) -> Result<T, E> + Sync,
) -> Vec<T>
where
    E: From<Error> + std::fmt::Display + Send,
{
    let outcomes = start(mesh(parties, link), party).into_iter().enumerate();
    let result = |(i, outcome): (usize, Result<T, E>)| {
        outcome.unwrap_or_else(|error| panic!("party {i} over {link:?}: {error}"))
    };
    outcomes.map(result).collect()
}

/// Runs parties, each in a thread of its own, and returns all outcomes and messages. A party that succeeds ends its
/// channels in order; one that fails closes them at once.
///
/// # Panics
/// If a party panics.
pub fn among<T: Send, E: From<Error> + Send>(
    parties: usize,
    link: Link,
    party: impl Fn(usize, &mut [Channel], &mut StdRng) -> Result<T, E> + Sync,
) -> Vec<Ran<T, E>> {
    recorded(mesh(parties, link), party)
}

/// Runs parties on the ends of their links, and records their messages.
fn recorded<T: Send, E: From<Error> + Send>(
    ends: Vec<Vec<Wire>>,
    party: impl Fn(usize, &mut [Channel], &mut StdRng) -> Result<T, E> + Sync,
) -> Vec<Ran<T, E>> {
    let recorded = ends.into_iter().map(|wires| wires.into_iter().map(record).unzip());
    let (wires, recorders): (Vec<Vec<Wire>>, Vec<Vec<Recorder>>) = recorded.unzip();
    let outcomes = start(wires, party).into_iter().zip(recorders);
    let ran = |(outcome, recorders): (Result<T, E>, Vec<Recorder>)| Ran {
        outcome,
        sent: recorders.iter().map(Recorder::transcript).collect(),
    };
    outcomes.map(ran).collect()
}

/// Runs parties. One of them, `from`, changes message number `k` to another, `to`. Returns all outcomes and messages.
///
/// # Panics
/// If a party panics.
pub fn deviating<T: Send, E: From<Error> + Send>(
    parties: usize,
    [from, to]: [usize; 2],
    k: usize,
    change: &Tamper,
    party: impl Fn(usize, &mut [Channel], &mut StdRng) -> Result<T, E> + Sync,
) -> Vec<Ran<T, E>> {
    let mut ends = mesh(parties, Link::Memory);
    let place = to - usize::from(to > from);
    let wire = ends[from].remove(place);
    ends[from].insert(place, tamper(wire, k, change.clone()));
    recorded(ends, party)
}

/// Connects each two parties, and returns each party's ends in the order of the others' numbers.
fn mesh(parties: usize, link: Link) -> Vec<Vec<Wire>> {
    let mut ends: Vec<Vec<Wire>> = (0..parties).map(|_| Vec::new()).collect();
    for left in 0..parties {
        for right in left + 1..parties {
            let (wire, other) = link.connect();
            ends[left].push(wire);
            ends[right].push(other);
        }
    }
    ends
}

/// Runs parties on the ends of their links.
fn start<T: Send, E: From<Error> + Send>(
    ends: Vec<Vec<Wire>>,
    party: impl Fn(usize, &mut [Channel], &mut StdRng) -> Result<T, E> + Sync,
) -> Vec<Result<T, E>> {
    let one = |(me, wires): (usize, Vec<Wire>)| {
        let channel = |Wire { transport, clock }| {
            Channel::new(transport).with_clock(clock).with_stall_timeout(PATIENCE)
        };
        let mut channels: Vec<Channel> = wires.into_iter().map(channel).collect();
        let mut rng = StdRng::seed_from_u64(SEED + me as u64);
        let result = party(me, &mut channels, &mut rng)?;
        channels.iter_mut().try_for_each(Channel::finish)?;
        Ok(result)
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            ends.into_iter().enumerate().map(|ends| scope.spawn(|| one(ends))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|outcome| outcome.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}
