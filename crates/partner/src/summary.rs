//! An agreement, an invitation or a planned run from its reader's point of view: what each run discloses, and what
//! binds both sides.

use vesica_agree::{disclosed::Known, joint::JointTerms, offer::Offer, terms::Terms};
use vesica_core::{
    error::Result,
    parties::{Parties, Role},
};
use vesica_psi::Status;
use vesica_task::disclosure::{
    Disclosure,
    words::{Learned, Names, Tense},
};

use super::policy::Policy;

/// The disclosures of runs under the same terms, and everything else in the terms.
#[derive(Debug, Clone)]
pub struct Summary {
    terms: Terms,
    /// The terms of all of several parties, and the reader's number if it is one of them.
    joint: Option<(JointTerms, Option<usize>)>,
    rules: Vec<Policy>,
    /// The meeting place of the sides, as a phrase.
    place: Option<String>,
    reader: Role,
    names: Names,
}

impl Summary {
    /// Summarises runs with these terms under these policies, for a reader on this side.
    pub fn new(terms: Terms, rules: Vec<Policy>, reader: Role) -> Self {
        Self { terms, joint: None, rules, place: None, reader, names: Names::of_reader(reader) }
    }

    /// Summarises runs among several parties with these terms under these policies, for the party of this number, or a
    /// reader who is not a party.
    pub(super) fn among(terms: JointTerms, rules: Vec<Policy>, reader: Option<usize>) -> Self {
        let cast = terms.cast();
        let name = |party: usize| match Some(party) == reader {
            true => "this side",
            false => cast.name(party),
        };
        let names = Names::among(name(cast.leader), name(cast.partner(cast.leader)));
        let role = if reader == Some(cast.leader) { Role::A } else { Role::B };
        let of_two = terms.of_party(cast.leader).clone();
        Self { joint: Some((terms, reader)), names, ..Self::new(of_two, rules, role) }
    }

    /// Changes the point of view to a reader on neither side.
    pub(super) fn between(self, names: Names) -> Self {
        Self { names, ..self }
    }

    /// Adds the reader's own rules to the agreement's.
    pub(super) fn with_rules(mut self, own: Policy) -> Self {
        self.rules.push(own);
        self
    }

    /// Adds the place where the sides meet.
    pub(super) fn at(self, place: String) -> Self {
        self.at_if(Some(place))
    }

    /// Adds the place where the sides meet, if it is known.
    pub(super) fn at_if(self, place: Option<String>) -> Self {
        Self { place, ..self }
    }

    /// Summarises the run that results from this offer if the other side makes a matching one, for the side that has
    /// this role.
    ///
    /// # Errors
    /// [`Error::Usage`](vesica_core::error::Error::Usage) for an offer that could not run, and
    /// [`Error::Terms`](vesica_core::error::Error::Terms) if no other offer matches.
    pub fn of_offer(offer: &Offer, role: Role) -> Result<Self> {
        offer.check()?;
        let [me, peer] = ["me", "peer"].map(str::to_owned);
        let parties = Parties { role, me, peer };
        Ok(Self::new(Terms::expected(offer, &parties)?, Vec::new(), role))
    }

    /// Returns the disclosure of such a run, with the reader's role and the other's; in an agreement the inviting side
    /// has the role of the connecting one.
    pub fn disclosure(&self) -> Disclosure {
        match &self.joint {
            Some((terms, _)) => terms.disclosure(self.known()),
            None => self.terms.disclosure(self.known()),
        }
    }

    /// Returns the facts that are known before a run.
    fn known(&self) -> Known<'static> {
        let rules = self.rules.iter().map(Policy::match_rules);
        let rules = rules.reduce(|a, b| a.stricter(b)).unwrap_or_default();
        Known { rules, ..Known::default() }
    }

    /// Returns the role of the reader's side in the disclosure.
    pub fn reader(&self) -> Role {
        self.reader
    }

    /// Returns the disclosure of a run, in sentences.
    pub fn disclosed(&self) -> Vec<String> {
        match &self.joint {
            None => self.disclosure().lines(self.reader, &self.names, Tense::Future),
            Some((terms, reader)) => {
                let Learned { me, peer, assuming } =
                    terms.said(*reader, self.known(), None, Tense::Future);
                [me, peer, assuming].into_iter().filter(|said| !said.is_empty()).collect()
            }
        }
    }

    /// Returns the summary as JSON: the reader's role, the disclosure as facts and in sentences, and everything else
    /// that binds the sides.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "role": self.reader,
            "disclosure": self.disclosure(),
            "sentences": self.disclosed(),
            "clauses": self.clauses(),
        })
    }

    /// Returns everything else that binds the sides, in phrases.
    pub fn clauses(&self) -> Vec<String> {
        let mut said = self.terms.clauses(&self.names);
        let folding = self.joint.as_ref().map(|(terms, _)| terms.folding());
        said.extend(folding.filter(|folding| folding.status() == Status::Research).map(
            |folding| format!("sets are folded by `{}`, a research protocol", folding.name()),
        ));
        said.extend(self.place.clone());
        for rules in &self.rules {
            // The protocol checks the minimum of a number, which the terms say.
            let is_term = self.terms.minimum() > 0;
            let rules =
                Policy { min_result: rules.min_result.filter(|_| !is_term), ..rules.clone() };
            said.extend(rules.sentences());
        }
        said
    }
}
