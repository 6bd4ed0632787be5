//! The check that enough keys are shared, before the sides learn which.
//!
//! For rows, the learning side's program checks a minimum after the protocol, which only protects against a side that
//! runs an honest program. Here circuit PSI first reveals one bit about the same sets to both sides, and the protocol
//! for rows runs only if enough keys are shared: a side that studies all it received learns no more about a smaller
//! intersection.

use rand::CryptoRng;
use vesica_agree::memory::{Budget, Ladder, Room, Rung};
use vesica_core::{
    difference::Difference,
    error::{Error, Result},
    refusal::Refusal,
};
use vesica_keyset::table_keys::TableKeys;
use vesica_task::{
    interface::{Call, Request},
    outcome::QueryResult,
    query::Query,
    sides::Sides,
};

use super::session::{Session, chosen};

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
        let query = Query::at_least(least);
        let request = Request { number: least, ..Request::rows(call.request.sizes, 1) };
        let TableKeys::Held(set) = keys else {
            let message =
                "it needs both sets in memory, and a side's keys are on disk: raise --memory";
            return Err(Error::Terms(vec![Difference::of_both(
                "threshold first",
                message.to_owned(),
            )]));
        };
        let (candidates, beside) = (self.terms().candidates_of(&query, &request)?, 0.0);
        let ladder = Ladder::new(Rung { partitions: 1, candidates, beside }, 0, |_| Rung {
            partitions: 1,
            candidates: Vec::new(),
            beside: 0.0,
        });
        let budget = Budget::new(self.inputs().memory);
        let receives = call.receives();
        let channel = self.channel();
        channel.phase("choice");
        let rung = Room::send(&ladder, 0, receives, budget, channel)?.agree(channel)?;
        let key = rung.candidates.first().map_or("", |candidate| candidate.key);
        let method = chosen(&query, key)?;
        let sides = Sides { i_learn: true, peer_learns: true, ..call.sides };
        let call = Call::new(request, call.role, sides, call.rows);
        let seed = self.draw(rng)?;
        self.phase(method.key());
        let pool = self.pool();
        let channel = self.channel();
        let found = pool.install(|| {
            let items = seed.items(set.digests(), method.item_length());
            let prepared = method.prepare(call, channel, rng);
            let ran = prepared.and_then(|party| party.run(items.items(), set.rows(), channel, rng));
            let unrevealed = ran.map_err(|error| Error::of_protocol(error, channel))?;
            // The result is one bit, which no rule limits.
            (unrevealed.reveal)(channel, rng)
        })?;
        match found.outcome.answer {
            Some(QueryResult::AtLeast(true)) => Ok(()),
            _ => Err(Refusal::too_few(least).into()),
        }
    }
}
