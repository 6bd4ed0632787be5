//! The method of a run, and its parameters.

use std::sync::Arc;

use rand::CryptoRng;
use vesica_core::{
    error::{Error, Result},
    of_others::OfOthers,
};
use vesica_keyset::{
    partitions::Division,
    seed::{Committed, Seed},
};
use vesica_planner::Candidate;
use vesica_psi::{Cost, Sizes};
use vesica_task::{
    interface::{Method, Request},
    query::Query,
};
use zeroize::Zeroizing;

use super::{Opening, READY, Session};
use crate::ladder::{self, Bounds};

/// The method of a run, and the seed under which it compares keys.
pub(super) struct Chosen {
    pub(super) method: Box<dyn Method>,
    /// The predicted cost; `None` for a resumed run.
    pub(super) cost: Option<Cost>,
    pub(super) seed: Arc<Seed>,
}

/// Returns the method of this name, which both sides have chosen for a query.
///
/// # Errors
/// [`Error::Bug`] if it does not answer the query.
pub(super) fn chosen(query: &Query, key: &str) -> Result<Box<dyn Method>> {
    query.method(key).ok_or(Error::bug("the choice is not in the catalogue"))
}

impl Session<'_> {
    /// Returns this side's secret in a query over both tables; others need none.
    pub(super) fn secret_of_query(
        &self,
        seed: &Seed,
        rng: &mut dyn CryptoRng,
    ) -> Option<Arc<Zeroizing<[u8; 32]>>> {
        let is_needed = self.terms.query().selected().is_some();
        is_needed.then(|| self.standing.secret("vesica 1 secret of a query", seed, rng).into())
    }

    /// Returns the method, the number and sizes of partitions, and the seed: from an earlier attempt, or new ones.
    pub(super) fn pick(
        &mut self,
        opening: &mut Opening,
        committed: Committed,
        are_held: bool,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Chosen> {
        let Opening { whole, peer_items, call, begun, .. } = opening;
        let whole = *whole;
        let (partitions, key, sizes, cost, seed) = match begun {
            Some(begun) if begun.peer_keys == OfOthers::One(*peer_items) => {
                let partitions = begun.partitions as usize;
                let part = |keys| Division::of_two(partitions).capacity(keys);
                let sizes = Sizes { sender: part(whole.sender), receiver: part(whole.receiver) };
                let seed = Seed::again(begun.seed, self.channel);
                (partitions, begun.method.clone(), sizes, None, seed)
            }
            Some(_) => {
                return Err(self.channel.malformed(READY, "not the set of this run").into());
            }
            None => {
                let terms = self.terms.clone();
                let is_kept = self.standing.is_kept();
                let bounds = Bounds { is_kept, ..Bounds::of_two(whole) };
                let ladder = ladder::of_terms(&terms, whole, self.receives(), are_held, bounds)?;
                let (Candidate { key, partitions, sizes, cost, .. }, seed) =
                    self.choose(&ladder, self.least(are_held), Some(committed))?;
                let seed = seed.ok_or(Error::bug("both sides have opened their parts"))?;
                (partitions, key.to_owned(), sizes, Some(cost), seed)
            }
        };
        let method = chosen(self.terms.query(), &key)?;
        call.request = Request { partitions, ..self.terms.request(sizes) };
        call.secret = self.secret_of_query(&seed, rng);
        Ok(Chosen { method, cost, seed: Arc::new(seed) })
    }
}
