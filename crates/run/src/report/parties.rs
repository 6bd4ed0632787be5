//! The part of a report on the parties of a run among several.

use serde::Serialize;
use vesica_agree::{
    disclosed::{Known, MatchRules},
    joint::{JointTerms, NamedParty},
};
use vesica_core::error::{Error, Result};
use vesica_partner::account::{JointEnd, Noted, NotedLearned};
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
    /// The name of the party that ends the run with the leader; `None` in a search for holders.
    pub pivot: Option<String>,
    /// The least number of holders, in a search for them.
    pub at_least: Option<usize>,
    /// The names of the parties that learn it too.
    pub learners: Vec<String>,
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
        let [me, leader] = [*me, cast.leader].map(|party| cast.name(party).to_owned());
        let pivot = cast.pivot().map(|party| cast.name(party).to_owned());
        let at_least = cast.least();
        let all = cast.parties.iter().map(party).collect();
        let learners = cast.learners.iter().map(|party| cast.name(*party).to_owned()).collect();
        let terms_hash = None;
        let parties = PartiesReport { me, leader, pivot, at_least, learners, all, terms_hash };
        self.parties = Some(parties);
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
    pub(crate) fn disclose_jointly(&mut self, terms: &JointTerms, rules: MatchRules) -> Result<()> {
        let me = self.number(terms)?;
        let sizes = self.sizes();
        let known = self.known_jointly(terms, rules, true);
        let learned = terms.said(Some(me), known, Some(&sizes), Tense::Past);
        self.learned = Some(learned);
        let parties = self.parties.as_mut().ok_or(Error::bug("the run is among several"))?;
        parties.terms_hash = Some(terms.hash());
        Ok(())
    }

    /// Returns the end of a run among several parties for its record and this side's ledger.
    ///
    /// # Errors
    /// [`Error::Bug`] before the parties are known.
    pub(crate) fn joint_end<'a>(
        &self,
        terms: &'a JointTerms,
        rules: MatchRules,
        seed: &[u8; 32],
    ) -> Result<JointEnd<'a>> {
        let me = self.number(terms)?;
        let known = self.known_jointly(terms, rules, terms.cast().learns(me));
        let said = terms.said(Some(me), known, Some(&self.sizes()), Tense::Past);
        let learned = [said.me, said.peer].join(" ");
        let session = blake3::derive_key("vesica 1 session of a joint record", seed);
        Ok(JointEnd {
            terms,
            noted: Noted {
                counted: self.outcome.counted(),
                learned: NotedLearned::Several(learned.trim_end_matches('.').to_owned()),
            },
            // All sign the same record, so it holds no outcome, which only learners know.
            signed: terms.disclosure(self.known_jointly(terms, rules, false)),
            protocol: self.protocol.unwrap_or_default(),
            security: self.security.and_then(|security| security.provided).unwrap_or_default(),
            partitions: self.partitions.unwrap_or_default(),
            session: blake3::Hash::from_bytes(session).to_hex().to_string(),
        })
    }

    /// Returns the number of this party.
    fn number(&self, terms: &JointTerms) -> Result<usize> {
        let me = self.parties.as_ref().map(|parties| &parties.me);
        let mut parties = terms.cast().parties.iter();
        let number = me.and_then(|me| parties.position(|party| party.name == *me));
        number.ok_or(Error::bug("this party is one of several"))
    }

    /// Returns the sizes of all sets, once they are known.
    fn sizes(&self) -> Vec<u64> {
        let parties = self.parties.iter().flat_map(|parties| &parties.all);
        parties.map(|party| party.keys).collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns the facts about the session of leader and pivot.
    fn known_jointly(
        &self,
        terms: &JointTerms,
        rules: MatchRules,
        knows_outcome: bool,
    ) -> Known<'_> {
        let (cast, sizes) = (terms.cast(), self.sizes());
        let size = |party: usize| sizes.get(party).copied();
        Known {
            keys: [cast.leader, cast.partner(cast.leader)].map(size),
            method: self.protocol,
            outcome: Some(&self.outcome).filter(|_| knows_outcome),
            profiles: Some([false; 2]),
            rules,
        }
    }
}
