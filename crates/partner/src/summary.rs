//! An agreement, an invitation or a planned run as its reader sees it: what each run discloses, and what binds both sides.

use vesica_agree::{disclosed::Known, offer::Offer, terms::Terms};
use vesica_core::{
    error::Result,
    parties::{Parties, Role},
};
use vesica_task::disclosure::{
    Disclosure,
    words::{Names, Tense},
};

use super::policy::Policy;

/// What runs under the same terms disclose, and everything else that the terms say.
#[derive(Debug, Clone)]
pub struct Summary {
    terms: Terms,
    rules: Vec<Policy>,
    /// The meeting place of the sides, in words.
    place: Option<String>,
    reader: Role,
    names: Names,
}

impl Summary {
    /// Of runs with these terms under these policies, for a reader on this side.
    pub fn new(terms: Terms, rules: Vec<Policy>, reader: Role) -> Self {
        Self { terms, rules, place: None, reader, names: Names::of_reader(reader) }
    }

    /// For a reader on neither side.
    pub(super) fn between(self, names: Names) -> Self {
        Self { names, ..self }
    }

    /// With rules of the reader's own, beside those of the agreement.
    pub(super) fn with_rules(mut self, own: Policy) -> Self {
        self.rules.push(own);
        self
    }

    /// With the place where the sides meet.
    pub(super) fn at(self, place: String) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Of a run that this offer leads to if the other side makes a matching one.
    ///
    /// # Errors
    /// [`Error::Usage`](vesica_core::error::Error::Usage) for an offer that could not run, and [`Error::Terms`](vesica_core::error::Error::Terms) where
    /// no other offer matches.
    pub fn of_offer(offer: &Offer) -> Result<Self> {
        offer.check()?;
        let [me, peer] = ["me", "peer"].map(str::to_owned);
        let parties = Parties { role: Role::A, me, peer };
        Ok(Self::new(Terms::expected(offer, &parties)?, Vec::new(), Role::A))
    }

    /// The account of such a run, with the reader's role and the other's; in an agreement the inviting side has the role of the
    /// connecting one.
    pub fn disclosure(&self) -> Disclosure {
        let rules = self.rules.iter().map(Policy::match_rules);
        let rules = rules.reduce(|a, b| a.stricter(b)).unwrap_or_default();
        self.terms.disclosure(Known { rules, ..Known::default() })
    }

    /// The role of the reader's side in the account.
    pub fn reader(&self) -> Role {
        self.reader
    }

    /// The disclosure of a run, in sentences.
    pub fn disclosed(&self) -> Vec<String> {
        self.disclosure().lines(self.reader, &self.names, Tense::Future)
    }

    /// The summary as JSON: the reader's role, the account as facts and in sentences, and everything else that binds the sides.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "role": self.reader,
            "disclosure": self.disclosure(),
            "sentences": self.disclosed(),
            "clauses": self.clauses(),
        })
    }

    /// Everything else that binds the sides, in phrases.
    pub fn clauses(&self) -> Vec<String> {
        let mut said = self.terms.clauses(&self.names);
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
