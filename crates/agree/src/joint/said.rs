//! The knowledge that the parties of a run among several gain, in sentences.

use vesica_core::{parties::Role, words::grouped};
use vesica_task::disclosure::{
    Assumption, Fact,
    words::{Learned, Names, Tense, sentence},
};

use super::JointTerms;
use crate::disclosed::Known;

impl JointTerms {
    /// Describes the facts that the party `me` and the others learn; to a reader who is not a party, those that the
    /// leader and the others learn. `known` has the facts of the session of leader and
    /// pivot, and `sizes` the sizes of all sets, once they are known.
    pub fn said(
        &self,
        me: Option<usize>,
        known: Known<'_>,
        sizes: Option<&[u64]>,
        tense: Tense,
    ) -> Learned {
        let cast = &self.cast;
        let name = |party: usize| match Some(party) == me {
            true => "this side",
            false => cast.name(party),
        };
        let sizes = sizes.map(|sizes| {
            let others = sizes.iter().enumerate().filter(|(party, _)| Some(*party) != me);
            let sizes =
                others.map(|(party, size)| format!("{} {}", cast.name(party), grouped(*size)));
            format!(" ({})", sizes.collect::<Vec<_>>().join(", "))
        });
        let sizes = format!("how many keys every other party has{}", sizes.unwrap_or_default());
        let disclosure = self.of_pairs[cast.leader].disclosure(known);
        let facts = disclosure.facts(Role::A).iter();
        let phrase = |fact: &Fact| match fact {
            Fact::SetSize { .. } => None,
            Fact::Matches { .. } => {
                Some(fact.phrase(Role::A, &Names::among(name(cast.leader), "every other party")))
            }
            fact => Some(fact.phrase(Role::A, &Names::among(name(cast.leader), name(cast.pivot)))),
        };
        let result: Vec<_> = facts.filter_map(phrase).collect();
        let (this, each) = ("This side", "how many keys each party has".to_owned());
        let [mine, theirs] = match me {
            None => [
                sentence(cast.name(cast.leader), tense, [&result[..], &[sizes]].concat()),
                sentence("Every other party", tense, vec![each]),
            ],
            Some(me) if me == cast.leader => [
                sentence(this, tense, [&result[..], &[sizes]].concat()),
                sentence("Every other party", tense, vec![each]),
            ],
            Some(_) => {
                let leader = cast.name(cast.leader);
                let others = format!("Every party but {leader}");
                let leads =
                    sentence(leader, tense, [&result[..], std::slice::from_ref(&each)].concat());
                let others = sentence(&others, tense, vec![each]);
                [sentence(this, tense, vec![sizes]), format!("{leads} {others}")]
            }
        };
        let mut assuming = self.coalitions();
        for assumption in &disclosure.assuming {
            if let Assumption::Research { protocol } = assumption {
                assuming += &format!(" `{protocol}` is a research protocol and not for real data.");
            }
        }
        Learned { me: mine, peer: theirs, assuming }
    }

    /// Describes what parties learn that pool what they received.
    fn coalitions(&self) -> String {
        let cast = &self.cast;
        let [leader, pivot] = [cast.leader, cast.pivot].map(|party| cast.name(party));
        let mut helpers = cast.helpers().map(|party| cast.name(party));
        let pooled = match (helpers.next(), helpers.next()) {
            (Some(only), None) => format!("they learn which of {leader}'s keys {only} has"),
            _ => format!(
                "they learn which of {leader}'s keys all others have; with more parties, which of them all that remain have"
            ),
        };
        format!(
            "This holds if all parties follow the protocol (semi-honest security). If {leader} and {pivot} pool what they \
             received, {pooled}. Other parties that do so learn no more than each of them."
        )
    }
}
