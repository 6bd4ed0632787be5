//! The knowledge that the parties of a run among several gain, in sentences.

use vesica_core::{parties::Role, words::grouped};
use vesica_psi::joint::Place;
use vesica_task::disclosure::{
    Assumption, Disclosure, Fact, Measure,
    words::{Learned, Names, Tense, sentence},
};

use super::{Cast, JointTerms, Search};
use crate::disclosed::Known;

impl JointTerms {
    /// Describes the facts that the party `me` and the others learn. `known` has the facts of the session of leader and
    /// pivot, and `sizes` the sizes of all sets, once they are known.
    pub fn said(
        &self,
        me: Option<usize>,
        known: Known<'_>,
        sizes: Option<&[u64]>,
        tense: Tense,
    ) -> Learned {
        self.cast.said(&self.disclosure(known), me, sizes, tense)
    }
}

impl Cast {
    /// Describes the facts that the party `me` and the others learn, or all parties to a reader who is not a party.
    /// `disclosure` is of the session of leader and pivot, and `sizes` has the sizes of all sets, once they are known.
    pub fn said(
        &self,
        disclosure: &Disclosure,
        me: Option<usize>,
        sizes: Option<&[u64]>,
        tense: Tense,
    ) -> Learned {
        let cast = self;
        let name = |party: usize| match Some(party) == me {
            true => "this side",
            false => cast.name(party),
        };
        let keys = sizes;
        let sizes = sizes.map(|sizes| {
            let others = sizes.iter().enumerate().filter(|(party, _)| Some(*party) != me);
            let sizes =
                others.map(|(party, size)| format!("{} {}", cast.name(party), grouped(*size)));
            format!(" ({})", sizes.collect::<Vec<_>>().join(", "))
        });
        let sizes = format!("how many keys every other party has{}", sizes.unwrap_or_default());
        let facts = disclosure.facts(Role::A);
        let of_two = Names::among(name(cast.leader), name(cast.partner(cast.leader)));
        // With the numbers of this party, or with none.
        let result = |party: usize, keys: Option<u64>| -> Vec<String> {
            let phrase = |fact: &Fact| match fact {
                Fact::SetSize { .. } => None,
                Fact::Matches { matches, .. } if cast.least().is_some() => {
                    Some(self.held(keys.zip(*matches)))
                }
                Fact::Matches { matches, least, .. } => {
                    let matches = keys.and(*matches);
                    let fact = Fact::Matches { matches, keys, least: *least };
                    let names = Names::among(name(party), "every other party");
                    Some(fact.phrase(Role::A, &names))
                }
                fact => Some(fact.phrase(self.reads_as(party, fact), &of_two)),
            };
            facts.iter().filter_map(phrase).collect()
        };
        // One bit that all learn before anything else.
        let first = facts.iter().filter(|fact| matches!(fact, Fact::ThresholdFirst { .. }));
        let first: Vec<_> = first.map(|fact| fact.phrase(Role::A, &of_two)).collect();
        let keys = |party: usize| keys.and_then(|keys| keys.get(party)).copied();
        let each = "how many keys each party has".to_owned();
        let mine = me.map(|me| match cast.learns(me) {
            true => [result(me, keys(me)), vec![sizes]].concat(),
            false => [first.clone(), vec![sizes]].concat(),
        });
        // Parties that learn the same are named together.
        let mut learners: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
        let others = (0..cast.parties.len()).filter(|party| Some(*party) != me);
        for party in others.clone().filter(|party| cast.learns(*party)) {
            let known = keys(party).filter(|_| party == cast.leader);
            let learned = [result(party, known), vec![each.clone()]].concat();
            match learners.iter_mut().find(|(_, other)| *other == learned) {
                Some((names, _)) => names.push(cast.name(party)),
                None => learners.push((vec![cast.name(party)], learned)),
            }
        }
        let said = learners.into_iter().map(|(names, learned)| match &names[..] {
            [one] => sentence(one, tense, learned),
            several => sentence(&format!("Each of {}", listed(several)), tense, learned),
        });
        let mut theirs: Vec<_> = said.collect();
        if others.clone().any(|party| !cast.learns(party)) {
            theirs.push(sentence("Every other party", tense, [first, vec![each]].concat()));
        }
        let mine = mine.map(|mine| sentence("This side", tense, mine)).unwrap_or_default();
        let theirs = theirs.join(" ");
        let deviates = |assumption: &Assumption| matches!(assumption, Assumption::Malicious { .. });
        let is_malicious = disclosure.assuming.iter().any(deviates);
        let mut assuming = if is_malicious { self.deviations() } else { self.coalitions() };
        for assumption in &disclosure.assuming {
            if let Assumption::Research { protocol } = assumption {
                assuming += &format!(" `{protocol}` is a research protocol and not for real data.");
            }
        }
        Learned { me: mine, peer: theirs, assuming }
    }

    /// Returns the side of leader and pivot in whose words a fact is for a party. A helper has no values of its own.
    fn reads_as(&self, party: usize, fact: &Fact) -> Role {
        match (self.place(party), fact) {
            (Place::Leader, _) => Role::A,
            (Place::Pivot, _) => Role::B,
            (Place::Helper, Fact::Number { of: Measure::Sum(owner), .. }) => owner.other(),
            (Place::Helper, _) => Role::A,
        }
    }

    /// Describes the holders that the leader learns, with the numbers of its keys and of those that have enough.
    fn held(&self, known: Option<(u64, u64)>) -> String {
        let least = self.least().unwrap_or_default();
        let known = known.map(|(keys, held)| format!(" ({} of {})", grouped(held), grouped(keys)));
        format!(
            "which of its keys at least {least} other parties have, and which parties have each of these{}",
            known.unwrap_or_default()
        )
    }

    /// Describes what parties can do that deviate from the protocol.
    fn deviations(&self) -> String {
        let (leader, pivot) = (self.name(self.leader), self.name(self.partner(self.leader)));
        format!(
            "This is meant to hold even if parties deviate from the protocol (malicious security), by an argument that nobody has \
             reviewed. {leader} may then use somewhat more keys than it announces, and the helpers together one set half as \
             large again as all of theirs. Any party can make the result smaller or empty, or end the run. If {leader} and {pivot} deviate together, they \
             learn which keys of a set that they choose all others have."
        )
    }

    /// Describes what parties learn that pool what they received.
    fn coalitions(&self) -> String {
        let cast = self;
        let leader = cast.name(cast.leader);
        let Search::ByAll { pivot } = cast.search else {
            let fewer = cast.least().unwrap_or_default().saturating_sub(1);
            return format!(
                "This holds if all parties follow the protocol (semi-honest security). If {leader} and another party pool \
                 what they received, they learn which of {leader}'s keys at least {fewer} of the parties that remain have, \
                 and which parties; each further party that joins them makes this number smaller by one, down to 1. Parties without \
                 {leader} learn nothing else."
            );
        };
        let pivot = cast.name(pivot);
        let mut helpers = cast.helpers().map(|party| cast.name(party));
        let pooled = match (helpers.next(), helpers.next()) {
            (Some(only), None) => format!("they learn which of {leader}'s keys {only} has"),
            _ => format!(
                "they learn which of {leader}'s keys all others have; with more parties, which of them all that remain have"
            ),
        };
        let learners: Vec<_> = cast.learners.iter().map(|party| cast.name(*party)).collect();
        let shown = match &learners[..] {
            [] => String::new(),
            [one] => format!(" {one} has the result from {leader}."),
            several => format!(" {} have the result from {leader}.", listed(several)),
        };
        format!(
            "This holds if all parties follow the protocol (semi-honest security). If {leader} and {pivot} pool what they \
             received, {pooled}. Other parties that do so learn no more than each of them.{shown}"
        )
    }
}

/// Joins names.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
