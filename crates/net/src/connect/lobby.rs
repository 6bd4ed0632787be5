//! The callers of a gathering, at the party that they call.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{Connection, member::Member};
use crate::{AbortReason, CancelToken, Error, Fingerprint, Result};

/// The time that an authenticated caller has to say for whom it calls.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time for which two joined parties may be silent; they have shorter limits of their own.
const IDLE: Duration = Duration::from_secs(86_400);

/// The name of a gathering, which its callers say first.
pub type GatheringName = [u8; 32];

/// The first bytes of a connection among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// The gathering.
    pub name: GatheringName,
    /// The number of the party to which the called one joins the caller; `None` if the connection is for the called
    /// one.
    pub join: Option<usize>,
}

/// The code on the wire of a connection for the called party.
const FOR_CALLED: u8 = 255;

impl Hello {
    const BYTES: usize = 32 + 1;

    /// Sends it on a connection.
    pub(super) fn send(
        self,
        connection: &mut Connection,
        patience: Duration,
        cancel: &CancelToken,
    ) -> Result<()> {
        let mut bytes = [self.join.map_or(FOR_CALLED, |party| party as u8); Self::BYTES];
        bytes[..32].copy_from_slice(&self.name);
        connection.put(&bytes, patience, cancel)
    }

    /// Receives it from a caller, who has ten seconds for it.
    ///
    /// # Errors
    /// As [`Connection::get`].
    pub fn receive(connection: &mut Connection, cancel: &CancelToken) -> Result<Self> {
        let mut bytes = [0; Self::BYTES];
        connection.get(&mut bytes, PATIENCE, cancel)?;
        let [name @ .., wanted] = bytes;
        Ok(Self { name, join: (wanted != FOR_CALLED).then_some(wanted.into()) })
    }

    /// Refuses a caller, who hears that its agreement is not the one of this side. One that would be joined to another
    /// party finds its connection closed.
    pub fn refuse(self, connection: Connection) {
        if let (None, Ok(mut channel)) = (self.join, connection.into_channel()) {
            channel.abort(AbortReason::Agreement);
        }
    }
}

/// The place at which the callers of a gathering arrive: the parties that call this one, and those that cannot reach
/// each other, which it joins.
///
/// It holds at most one connection of each party for each other one: a later one replaces it.
pub struct Lobby {
    name: GatheringName,
    me: usize,
    numbers: BTreeMap<Fingerprint, usize>,
    state: Mutex<LobbyState>,
    changed: Condvar,
}

#[derive(Default)]
struct LobbyState {
    /// The connections to this party, by the number of the caller.
    came: BTreeMap<usize, Connection>,
    /// The connections to others, by the numbers of the caller and the party that it wants.
    waiting: BTreeMap<[usize; 2], Connection>,
    /// The parties that are joined.
    pairs: Vec<JoinHandle<()>>,
    /// The reasons for which callers were turned away since they were last asked for.
    turned_away: Vec<Error>,
}

impl Lobby {
    /// Creates the lobby of party `me`.
    pub fn new(name: GatheringName, me: usize, members: &[Member]) -> Self {
        let numbers =
            members.iter().enumerate().map(|(number, member)| (member.fingerprint, number));
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { name, me, numbers: numbers.collect(), state, changed }
    }

    /// Keeps the connection of a caller until it is taken, or joins it to the one that waits for it. A caller who is
    /// refused hears so.
    ///
    /// # Errors
    /// [`Error::OtherGathering`].
    pub fn place(&self, caller: Fingerprint, hello: Hello, connection: Connection) -> Result<()> {
        let party = self.numbers.get(&caller).copied().filter(|party| *party != self.me);
        let party = party.filter(|_| hello.name == self.name);
        let (party, other) = match (party, hello.join) {
            (Some(party), None) => {
                self.state().came.insert(party, connection);
                self.changed.notify_all();
                return Ok(());
            }
            (Some(party), Some(other))
                if other < self.numbers.len() && ![party, self.me].contains(&other) =>
            {
                (party, other)
            }
            _ => {
                hello.refuse(connection);
                return Err(Error::OtherGathering { caller });
            }
        };
        let mut state = self.state();
        state.pairs.retain(|pair| !pair.is_finished());
        match state.waiting.remove(&[other, party]) {
            // More than these are not of parties that follow the protocol.
            Some(_) if state.pairs.len() >= self.most_callers() => {}
            Some(waiting) => state.pairs.extend(joined(connection, waiting)),
            None => drop(state.waiting.insert([party, other], connection)),
        }
        Ok(())
    }

    /// Returns the largest number of callers at a time that have not said yet for whom they call.
    pub(super) fn most_callers(&self) -> usize {
        2 * self.numbers.len() * self.numbers.len()
    }

    /// Returns whether a party waits for this one.
    pub fn is_called(&self) -> bool {
        !self.state().came.is_empty()
    }

    /// Returns whether parties are joined here.
    pub fn joins(&self) -> bool {
        self.state().pairs.iter().any(|pair| !pair.is_finished())
    }

    /// Takes the connections of all parties that have called this one, by their numbers, after at most this time.
    pub(super) fn take(&self, patience: Duration) -> BTreeMap<usize, Connection> {
        let state = self.state();
        let none = |state: &mut LobbyState| state.came.is_empty() && state.turned_away.is_empty();
        let waited = self.changed.wait_timeout_while(state, patience, none);
        mem::take(&mut waited.unwrap_or_else(PoisonError::into_inner).0.came)
    }

    /// Notes that a caller was turned away.
    pub(super) fn turn_away(&self, why: Error) {
        self.state().turned_away.push(why);
        self.changed.notify_all();
    }

    /// Takes the reasons for which callers were turned away.
    pub(super) fn turned_away(&self) -> Vec<Error> {
        mem::take(&mut self.state().turned_away)
    }

    /// Lets go of everyone who waits, and waits until the parties that are joined have parted.
    pub(super) fn close(&self) {
        let LobbyState { pairs, .. } = mem::take(&mut *self.state());
        pairs.into_iter().for_each(|pair| drop(pair.join()));
    }

    fn state(&self) -> MutexGuard<'_, LobbyState> {
        // Each change is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes on bytes between two parties in a thread of its own. Without one, they find their connections closed.
fn joined(one: Connection, other: Connection) -> Option<JoinHandle<()>> {
    let pair = move || {
        // They find out by themselves that their connection has ended.
        let _ = one.join(other, IDLE, &CancelToken::default(), |_, _| {});
    };
    thread::Builder::new().name("vesica-pair".to_owned()).spawn(pair).ok()
}
