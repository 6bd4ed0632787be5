//! Rows that match by rules, each once, without the rules by which it does.

use rand::CryptoRng;
use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
    parties::Role,
    words::counted,
};
use vesica_keyset::key_rows::KeyRows;
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{
    Adversary, Items, Status,
    aggregate::{
        Valued,
        circuit::RS21,
        linked::{LinkedPeople, Receiver, Sender},
    },
};
use vesica_table::output::Access;

use crate::{
    aligned::matched,
    by_rules::whole_sets,
    disclosure::{Fact, Scenario, Secret},
    gather::End,
    interface::{Call, Content, Context, Found, Method, Part, Party, Request, Task, Unrevealed},
    outcome::{Outcome, QueryResult},
    query::{Form, Query, QueryBody, QueryBodyForm, QueryKind, ResultForm, RowsByRules, Values},
};

impl Query {
    /// This side's rows that match a row of the other side by rules, without the rules.
    pub const LINKED: Self = Self { kind: &KIND, body: QueryBody::Nothing };
}

/// The query for linked rows.
pub(crate) static KINDS: &[&QueryKind] = &[&KIND];

static KIND: QueryKind = QueryKind {
    name: "linked",
    word: "linked",
    form: Some(Form {
        names: "linked",
        help: "linked: with --match, this side's rows that match by a rule, without the rule",
    }),
    values: Values::None,
    body: QueryBodyForm::Nothing,
    takes_columns: false,
    takes_identifiers: false,
    takes_rules: Some(RowsByRules::Hidden),
    takes_order: false,
    is_told: true,
    keeps_rows: true,
    access: Access::Usual,
    result: ResultForm::Rows,
    task: &LinkedRows,
};

struct LinkedRows;

impl Task for LinkedRows {
    fn check(&self, part: &Part) -> Result<()> {
        let message = if part.rules.is_none() {
            "`--answer linked` hides the rules by which rows match: name rules with --match, or ask for rows"
        } else if part.learners > 1 {
            "only one side learns linked rows: use --learns me on one side and --learns peer on the other"
        } else if part.minimum > 0 {
            "a query for rows takes no minimum; only counts and sums do"
        } else {
            return Ok(());
        };
        Err(Error::usage(Misuse::Query, message))
    }

    fn methods(&self) -> Vec<Box<dyn Method>> {
        vec![Box::new(Linking)]
    }

    fn activity(&self) -> &'static str {
        "linking"
    }

    fn facts(&self, scenario: &Scenario, _: Role) -> Vec<Fact> {
        vec![scenario.matching_rows()]
    }

    fn secrets(&self, scenario: &Scenario) -> Vec<Secret> {
        let of_keys = scenario.secret_keys();
        [Secret::RulesOfRows].into_iter().chain(of_keys).chain([Secret::AllColumns]).collect()
    }

    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
        let rows = outcome.rows_written?;
        let written = (context.written)(counted(rows, "row"));
        // Rows with equal fields count as one.
        let found = outcome.shared().filter(|found| *found != rows);
        Some(match found {
            None => format!("{}; {written}", matching(rows, "row")),
            Some(found) => format!("{}; {written}", matching(found, "different row")),
        })
    }
}

/// Says that this number of rows match.
fn matching(found: u64, rows: &str) -> String {
    format!("{} {}", counted(found, rows), if found == 1 { "matches" } else { "match" })
}

/// Returns the query in the form that the method takes.
fn linked(request: &Request) -> LinkedPeople {
    LinkedPeople { sizes: request.sizes, most: request.rules.unwrap_or(1) }
}

/// The only method, with the construction of `rs21-circuit`.
struct Linking;

impl Method for Linking {
    fn key(&self) -> &'static str {
        RS21.key
    }

    fn status(&self) -> Status {
        RS21.status
    }

    fn adversary(&self) -> Adversary {
        RS21.adversary
    }

    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference> {
        whole_sets(request)?;
        Ok(Candidate::linking(linked(request)))
    }

    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>> {
        let linking = linked(&call.request).functionality();
        let end = match call.receives() {
            true => End::Receiver(linking.receiver(channel, rng)?),
            false => End::Sender(linking.sender(channel, rng)?),
        };
        Ok(Box::new(HidingRules(end)))
    }
}

/// A party that learns linked rows, or provides keys for them.
struct HidingRules(End<Box<Sender>, Box<Receiver>>);

impl Party for HidingRules {
    fn run<'a>(
        self: Box<Self>,
        items: Items<'a>,
        set: &'a KeyRows,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Unrevealed<'a>> {
        let matches = match self.0 {
            End::Sender(party) => {
                party.run(items, channel, rng)?;
                channel.flush()?;
                let nothing = Found { outcome: Outcome::default(), content: None };
                return Ok(Unrevealed::complete(nothing));
            }
            End::Receiver(party) => {
                let people = set.people();
                party.run(Valued { people: &people, ..Valued::new(items, &[]) }, channel, rng)?
            }
        };
        // A person's rows all have the key that stands for the person.
        let rows = matched(&matches, None, items, set);
        let outcome = Outcome {
            answer: Some(QueryResult::Count(matches.len() as u64)),
            rows_written: Some(rows.rows.len() as u64),
            ..Outcome::default()
        };
        Ok(Unrevealed::complete(Found { outcome, content: Some(Content::Rows(rows)) }))
    }
}
