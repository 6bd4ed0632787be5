//! The part of a report on the parties of a run among several.

use serde::Serialize;
use vesica_agree::{
    disclosed::{Known, MatchRules},
    joint::{JointTerms, NamedParty},
};
use vesica_core::error::{Error, Result};
use vesica_task::disclosure::words::Tense;

use super::Report;
use crate::seat::Seat;

/// The parties of a run among several, as one of them knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartiesReport {
    /// This party's name.
    pub me: String,
    /// The name of the party that learns the result.
    pub leader: String,
    /// The name of the party that ends the run with the leader.
    pub pivot: String,
    /// All parties, in the order of their numbers.
    pub all: Vec<PartyReport>,
    /// The hash of the terms of all parties, the same in their reports.
    pub terms_hash: Option<String>,
}

/// One of several parties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartyReport {
    /// Its name.
    pub name: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Its distinct keys, once they are known.
    pub keys: Option<u64>,
}

impl Report {
    /// Sets the parties of a run among several.
    pub(crate) fn set_seat(&mut self, Seat { cast, me }: &Seat) {
        let party = |NamedParty { name, fingerprint }: &NamedParty| PartyReport {
            name: name.clone(),
            fingerprint: fingerprint.clone(),
            keys: None,
        };
        let [me, leader, pivot] =
            [*me, cast.leader, cast.pivot].map(|party| cast.name(party).to_owned());
        let all = cast.parties.iter().map(party).collect();
        self.parties = Some(PartiesReport { me, leader, pivot, all, terms_hash: None });
    }

    /// Sets the sizes of all sets in a run among several parties.
    pub(crate) fn set_sizes(&mut self, sizes: Option<&[u64]>) {
        let parties = self.parties.iter_mut().flat_map(|parties| &mut parties.all);
        for (party, size) in parties.zip(sizes.unwrap_or_default()) {
            party.keys = Some(*size);
        }
    }

    /// Records what all of several parties learned.
    ///
    /// # Errors
    /// [`Error::Bug`] before the parties are known.
    pub(crate) fn disclose_jointly(&mut self, terms: &JointTerms) -> Result<()> {
        let parties = self.parties.as_mut().ok_or(Error::bug("the run is among several"))?;
        parties.terms_hash = Some(terms.hash());
        let cast = terms.cast();
        let sizes: Option<Vec<_>> = parties.all.iter().map(|party| party.keys).collect();
        let sizes = sizes.unwrap_or_default();
        let size = |party: usize| sizes.get(party).copied();
        let known = Known {
            keys: [size(cast.leader), size(cast.pivot)],
            method: self.protocol,
            outcome: Some(&self.outcome),
            profiles: Some([false; 2]),
            rules: MatchRules::default(),
        };
        let me = cast.parties.iter().position(|party| party.name == parties.me);
        let me = me.ok_or(Error::bug("this party is one of several"))?;
        self.learned = Some(terms.said(me, known, Some(&sizes), Tense::Past));
        Ok(())
    }
}
