//! The disclosure of a run under its terms.

use vesica_core::parties::Role;
use vesica_psi::{Adversary, Sizes, Status};
use vesica_task::{
    disclosure::{Answer, Assumption, Disclosure, Fact, Scenario, Secret},
    interface::Method,
    outcome::{Outcome, QueryResult},
    query::QueryBodyForm,
};

use super::terms::Terms;

/// The facts of a run besides its terms. Before a run there are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// Distinct keys of each side.
    pub keys: [Option<u64>; 2],
    /// The protocol that ran.
    pub method: Option<&'a str>,
    /// The outcome of a run that succeeded, as far as the disclosure may state it.
    pub outcome: Option<&'a Outcome>,
    /// Whether the sides showed each other what their keys look like; `None` to take it from the terms.
    pub profiles: Option<[bool; 2]>,
    /// The rules for matches.
    pub rules: MatchRules,
}

/// Rules of an agreement that decide which matches are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchRules {
    /// The minimum number of matches that is shown; 0 for no such rule.
    pub least: u64,
    /// Whether both sides first compute whether this minimum is reached.
    pub threshold_first: bool,
}

impl MatchRules {
    /// Combines the rules of both: the stricter ones apply.
    pub fn stricter(self, other: Self) -> Self {
        let least = self.least.max(other.least);
        Self { least, threshold_first: self.threshold_first || other.threshold_first }
    }
}

impl Terms {
    /// Returns the disclosure of a run under these terms.
    pub fn disclosure(&self, known: Known<'_>) -> Disclosure {
        let kind = self.query().kind;
        // A protocol checks the minimum of a number itself.
        let least = if kind.keeps_rows { known.rules.least } else { 0 };
        let scenario = self.scenario(known, least);
        let methods = kind.task.methods();
        let method = known.method.or(self.protocol());
        let method = methods.iter().find(|entry| Some(entry.key()) == method).map(|entry| &**entry);
        let facts = |role| self.facts(&scenario, known, method, role);
        Disclosure {
            a: facts(Role::A),
            b: facts(Role::B),
            neither: self.secrets(&scenario, method),
            assuming: self.assumptions(&scenario, method, least),
        }
    }

    fn scenario(&self, known: Known<'_>, least: u64) -> Scenario {
        let request = self.request(Sizes { sender: 0, receiver: 0 });
        let receiver = self.receiver();
        let of_roles = |of: &dyn Fn(Role) -> bool| [Role::A, Role::B].map(of);
        let sent = self.sent_columns();
        Scenario {
            learns: of_roles(&|role| self.learns(role)),
            brings: of_roles(&|role| match role == receiver {
                true => request.receiver_brings,
                false => request.sender_brings,
            }),
            receiver,
            keys: known.keys,
            identifiers: self.identifiers(),
            rules: self.rules().map_or_else(Vec::new, |rules| rules.rules().to_vec()),
            number: self.query().number(),
            minimum: self.query().selected().map_or(self.minimum(), |select| select.least()),
            noise: self.noise(),
            sent: sent.map_or((Vec::new(), 1), |sent| (sent.columns.clone(), sent.rows)),
            least,
            matches: known.outcome.and_then(|outcome| outcome.matches),
            answer: known
                .outcome
                .and_then(|outcome| outcome.answer)
                .map_or(Answer::Unknown, answer),
            selection: self.selection().cloned(),
            cells: known.outcome.and_then(|outcome| outcome.cells),
        }
    }

    fn facts(
        &self,
        scenario: &Scenario,
        known: Known<'_>,
        method: Option<&dyn Method>,
        role: Role,
    ) -> Vec<Fact> {
        let task = self.query().kind.task;
        let MatchRules { threshold_first, .. } = known.rules;
        let mut facts = Vec::new();
        if threshold_first && scenario.least > 0 {
            facts.push(Fact::ThresholdFirst { keys: scenario.least });
        }
        // Each side has a share, and nobody learns the result.
        if scenario.learns(role) || !self.query().kind.is_told {
            facts.extend(task.facts(scenario, role));
        }
        let brings = scenario.brings[role as usize];
        if method.is_some_and(|method| method.tells_size()) && !brings {
            facts.push(Fact::SharedKeys);
        }
        let keys = scenario.keys(role.other());
        facts.push(Fact::SetSize { keys, together: scenario.identifiers > 1 });
        let shown = known.profiles.unwrap_or([self.diagnoses(); 2]);
        if shown[role.other() as usize] {
            facts.push(Fact::KeyProfile);
        }
        facts
    }

    /// Returns whether numbers of a side's table are added up.
    fn adds_up(&self, role: Role) -> bool {
        match self.selection() {
            Some(selection) => {
                let columns = selection.select().columns(selection.side(role));
                columns.iter().any(|column| column.is_number || column.is_counted)
            }
            None => self.query().kind.is_told && self.brings_values(role),
        }
    }

    fn secrets(&self, scenario: &Scenario, method: Option<&dyn Method>) -> Vec<Secret> {
        let secrets = self.query().kind.task.secrets(scenario);
        match method.map(Method::adversary) {
            // Keys can be guessed, and so can everything that follows from them.
            Some(Adversary::None) => secrets
                .into_iter()
                .filter(|secret| matches!(secret, Secret::AllColumns | Secret::OtherColumns))
                .collect(),
            _ => [Secret::ForeignKeys].into_iter().chain(secrets).collect(),
        }
    }

    fn assumptions(
        &self,
        scenario: &Scenario,
        method: Option<&dyn Method>,
        least: u64,
    ) -> Vec<Assumption> {
        let receiver = scenario.receiver;
        let tells = scenario.learns == [true; 2];
        let protocol = || method.map_or_else(String::new, |method| method.key().to_owned());
        let adversary = method.map_or(self.security().adversary(), Method::adversary);
        let mut said = Vec::new();
        if method.is_some_and(|method| method.status() == Status::Research) {
            said.push(Assumption::Research { protocol: protocol() });
        }
        said.push(match adversary {
            Adversary::None => Assumption::Insecure { protocol: protocol(), receiver },
            Adversary::SemiHonest => Assumption::SemiHonest,
            Adversary::MaliciousSender => Assumption::MaliciousSender { receiver },
            Adversary::Malicious => Assumption::Malicious { receiver, tells },
        });
        let kind = self.query().kind;
        said.extend((!kind.is_told).then_some(Assumption::Shares));
        if kind.takes_columns {
            said.extend(self.rules().map(|_| Assumption::OneToOne { receiver }));
            said.push(Assumption::SentValues { sender: receiver.other() });
        }
        if least > 0 {
            said.push(Assumption::KeptBack {
                finder: receiver,
                least,
                of_rows: kind.hides_rules(),
            });
        }
        let holders = [Role::A, Role::B].into_iter().filter(|role| self.holds_digests(*role));
        said.extend(holders.map(|holder| Assumption::Digests { holder }));
        let is_number = !kind.keeps_rows && kind.is_told && kind.body != QueryBodyForm::Number;
        if is_number && scenario.minimum == 0 && scenario.noise.is_none() {
            said.push(Assumption::FewKeys);
        }
        let learners = [Role::A, Role::B].into_iter().filter(|role| scenario.learns(*role));
        let choose = learners.filter(|role| scenario.noise.is_none() && self.adds_up(*role));
        said.extend(choose.map(|learner| Assumption::ChosenNumbers { learner }));
        said.extend(self.rules().map(|_| Assumption::FalseMatches));
        if kind.keeps_rows && kind.hides_rules() && scenario.rules.len() > 1 {
            said.push(Assumption::SingleRules { learner: receiver });
        }
        said.push(Assumption::GuessedKeys);
        said
    }
}

/// Returns the answer of a run that succeeded. Numbers other than counts are left out of disclosures.
fn answer(result: QueryResult) -> Answer {
    match result {
        QueryResult::Count(count) => Answer::Shown(Some(count)),
        QueryResult::Sum(_) | QueryResult::SumOfProducts(_) | QueryResult::Noisy(_) => {
            Answer::Shown(None)
        }
        QueryResult::AtLeast(reached) => Answer::Reached(reached),
        QueryResult::TooFew => Answer::TooFew,
    }
}
