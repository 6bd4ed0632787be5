//! The check that enough keys are shared, before the sides learn which.
//!
//! For rows, the learning side's program checks a minimum after the protocol, which only protects against a side that
//! runs an honest program. Here circuit PSI first reveals one bit about the same sets to both sides, and the protocol
//! for rows runs only if enough keys are shared: a side that studies all it received learns no more about a smaller
//! intersection.
//!
//! Several parties fold their sets for it, and fold them again for the rows, under another seed and with other keys.

use rand::CryptoRng;
use vesica_agree::memory::{Budget, Ladder, Room, Rung};
use vesica_core::{
    difference::Difference,
    error::{Error, Result},
    refusal::Refusal,
};
use vesica_keyset::{keyset::KeySet, seed::Seed, table_keys::TableKeys};
use vesica_net::Channel;
use vesica_psi::{DigestLength, Sizes, joint::Place};
use vesica_task::{
    interface::{Call, Found, Method, Request},
    outcome::QueryResult,
    query::Query,
    sides::Sides,
};

use super::{Session, chosen, circle::Folds, resumed::JointOpening};
use crate::partitions::Fold;

/// Whether enough keys are shared, from the leader to the helpers.
const ENOUGH: &str = "joint/enough";

impl Session<'_> {
    /// Continues only if the two sets share at least this many keys, which both sides learn. `call` describes the run
    /// that follows.
    ///
    /// # Errors
    /// [`Error::Policy`] if fewer are shared, [`Error::Terms`] for sets that are too large for a side's memory, and
    /// every error of a method.
    pub(super) fn require(
        &mut self,
        least: u64,
        keys: &TableKeys,
        call: &Call,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<()> {
        let set = held(keys)?;
        let method = self.threshold_method(least, call, 0.0)?;
        let seed = self.draw(rng)?;
        let is_reached = self.reaches(least, &*method, call, &seed, set, rng)?;
        enough(is_reached, least)
    }

    /// Continues only if the sets of all parties share at least this many keys, which all of them learn.
    ///
    /// # Errors
    /// As `Session::require`.
    pub(super) fn require_jointly(
        &mut self,
        least: u64,
        keys: &TableKeys,
        opening: &JointOpening,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<()> {
        let set = held(keys)?;
        let seed = self.joint_seed(opening, rng)?;
        let keys = opening.sizes.clone();
        let sizes: Vec<_> = keys.iter().map(|keys| *keys as usize).collect();
        let circle = self.circle()?;
        let (place, me, terms) = (circle.place(), circle.me(), circle.terms.clone());
        let cast = terms.cast();
        circle.begin(Folds { keys, sizes, partitions: 1, seed: *seed.as_bytes() });
        let memory = Self::fold_memory(&terms, me, &opening.sizes, 1);
        if place == Place::Helper {
            if Budget::new(self.inputs).times(memory) == 0 {
                return Err(too_large());
            }
            self.phase("joint");
            let items = seed.items(set.digests(), DigestLength::Short);
            self.prepare_fold(0, rng)?;
            self.fold_items(&items, rng)?;
            let mut is_reached = [0];
            let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
            mesh.talk(cast.leader, |channel| channel.recv_into(ENOUGH, &mut is_reached))?;
            return match is_reached {
                [0] => enough(false, least),
                [1] => enough(true, least),
                _ => Err(mesh.to(cast.leader).malformed(ENOUGH, "neither 0 nor 1").into()),
            };
        }
        let partner = cast.partner(me);
        let [mine, theirs] = [me, partner].map(|party| opening.sizes[party] as usize);
        let (sender, receiver) = if self.receives() { (theirs, mine) } else { (mine, theirs) };
        let request = self.terms.request(Sizes { sender, receiver });
        let sides = self.sides(opening.sizes[me], opening.sizes[partner]);
        let call = Call::new(request, self.parties.role, sides, set.counts().read);
        let method = self.threshold_method(least, &call, memory)?;
        let is_reached = self.reaches(least, &*method, &call, &seed, set, rng)?;
        if place == Place::Leader {
            let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
            for helper in cast.helpers() {
                mesh.to(helper).send(ENOUGH, &[u8::from(is_reached)])?;
                mesh.to(helper).flush()?;
            }
        }
        enough(is_reached, least)
    }

    /// Agrees on the method that computes whether this many keys are shared. It runs beside a fold of `beside` bytes of
    /// memory.
    fn threshold_method(
        &mut self,
        least: u64,
        call: &Call,
        beside: f64,
    ) -> Result<Box<dyn Method>> {
        let (query, request) = threshold(least, call);
        let candidates = self.terms.candidates_of(&query, &request)?;
        let ladder = Ladder::new(Rung { candidates, beside }, 0, |_| Rung::default());
        let budget = Budget::new(self.inputs);
        self.phase("choice");
        let channel = &mut *self.channel;
        let room = Room::send(&ladder, 0, call.receives(), budget, channel)?;
        let fit = room.agree(&room.receive(channel)?)?;
        chosen(&query, fit.first().map_or("", |candidate| candidate.key))
    }

    /// Computes whether this many keys are shared.
    fn reaches(
        &mut self,
        least: u64,
        method: &dyn Method,
        call: &Call,
        seed: &Seed,
        set: &KeySet,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<bool> {
        let sides = Sides { i_learn: true, peer_learns: true, ..call.sides };
        let call = Call::new(threshold(least, call).1, call.role, sides, call.rows);
        self.phase(method.key());
        let (channel, circle) = (&mut *self.channel, &mut self.circle);
        let found = self.pool.install(|| -> Result<Found> {
            let failed = |error, channel: &Channel| Error::of_protocol(error, channel);
            if let Some(circle) = circle {
                circle.prepare(0, channel, rng).map_err(|error| failed(error, channel))?;
            }
            let mut items = seed.items(set.digests(), method.item_length());
            let party = method.prepare(call, channel, rng);
            let party = party.map_err(|error| failed(error, channel))?;
            let ran = match circle {
                None => party.run(items.items(), set.rows(), channel, rng),
                Some(circle) => {
                    let derived = circle.fold(items.items(), channel, rng);
                    items = derived.map_err(|error| failed(error, channel))?;
                    let circle: &mut dyn Fold = circle;
                    circle.beside_others(channel, |channel| {
                        party.run(items.items(), set.rows(), channel, rng)
                    })
                }
            };
            let unrevealed = ran.map_err(|error| failed(error, channel))?;
            // The result is one bit, which no rule limits.
            (unrevealed.reveal)(channel, rng)
        })?;
        Ok(found.outcome.answer == Some(QueryResult::AtLeast(true)))
    }
}

/// Returns the query whether this many keys are shared, and its request for the sets of a run.
fn threshold(least: u64, call: &Call) -> (Query, Request) {
    let request = Request { number: least, ..Request::rows(call.request.sizes, 1) };
    (Query::at_least(least), request)
}

/// Returns the keys if they are in memory.
fn held(keys: &TableKeys) -> Result<&KeySet> {
    match keys {
        TableKeys::Held(set) => Ok(set),
        TableKeys::Spilled(_) => Err(too_large()),
    }
}

fn too_large() -> Error {
    let message = "it needs all sets in memory, and a side's keys are on disk: raise --memory";
    Error::Terms(vec![Difference::of_both("threshold first", message.to_owned())])
}

/// Refuses to continue with too few shared keys.
fn enough(is_reached: bool, least: u64) -> Result<()> {
    if is_reached { Ok(()) } else { Err(Refusal::too_few(least).into()) }
}
