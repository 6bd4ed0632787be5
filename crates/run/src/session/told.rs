//! The parties that learn the result beside the leader, which shows it to them.

use rand::CryptoRng;
use vesica_core::{
    error::{Error, Result},
    parties::Role,
};
use vesica_net::Channel;
use vesica_psi::{Sizes, joint::Place};
use vesica_task::{
    interface::{Call, Found, PartyKeys, Request, Telling},
    sides::{Side, Sides},
};

use super::circle::Circle;

impl Circle<'_> {
    /// Returns whether this party shows others the result, or is shown it.
    pub(super) fn passes_on(&self) -> bool {
        let cast = self.terms.cast();
        cast.learns(self.me()) && !cast.learners.is_empty()
    }

    /// Shows the result that this party has found to those that learn it too, or learns it from the leader, with the
    /// items that all parties know. `found` is the result so far, which is returned if this party is shown nothing.
    ///
    /// # Errors
    /// As [`Telling::tell`] and [`Telling::learn`].
    pub(super) fn pass_on(
        &mut self,
        mut found: Found,
        keys: PartyKeys<'_>,
        channel: &mut Channel,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Found> {
        if !self.passes_on() {
            return Ok(found);
        }
        let telling = self.telling()?;
        let (me, leader) = (self.me(), self.terms.cast().leader);
        if me == leader {
            for learner in self.terms.cast().learners.clone() {
                let call = self.call(learner);
                let mut mesh = self.mesh(channel);
                mesh.talk(learner, |channel| telling.tell(&found, keys, &call, channel, rng))?;
            }
            return Ok(found);
        }
        let call = self.call(me);
        let mut mesh = self.mesh(channel);
        let learned = mesh.talk(leader, |channel| telling.learn(keys, &call, channel, rng))?;
        let own = found.outcome.clamped;
        found = learned;
        found.outcome.clamped = own.or(found.outcome.clamped);
        Ok(found)
    }

    fn telling(&self) -> Result<&'static dyn Telling> {
        let query = self.terms.of_party(self.terms.cast().leader).query();
        query.kind.task.telling().ok_or(Error::bug("the result of this query is for the leader"))
    }

    /// Returns the run of the leader with a party that learns, as this party sees it.
    fn call(&self, learner: usize) -> Call {
        let (terms, cast) = (self.terms.of_party(learner), self.terms.cast());
        let part = |party: usize| self.folds.sizes[party];
        let sizes = Sizes { sender: part(learner), receiver: part(cast.leader) };
        // Each learner and partition has its part of what may fail.
        let partitions = self.folds.partitions * cast.learners.len();
        let request = Request { partitions, ..terms.request(sizes) };
        let (role, receiver, peer) = match self.place() {
            Place::Leader => (Role::A, Side::Me, learner),
            _ => (Role::B, Side::Peer, cast.leader),
        };
        let [my_keys, peer_keys] = [self.me(), peer].map(|party| self.folds.keys[party]);
        let (i_learn, peer_learns) = (true, true);
        let sides = Sides { my_keys, peer_keys, i_learn, peer_learns, receiver, identifiers: 1 };
        Call::new(request, role, sides, my_keys)
    }
}
