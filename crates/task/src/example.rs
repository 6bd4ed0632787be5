//! The example of a task in `docs/developing/extending.md`: this side's rows whose key the other side does not have.

use rand::CryptoRng;
use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
    parties::Role,
    words::{counted, grouped},
};
use vesica_keyset::key_rows::KeyRows;
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{Adversary, CATALOGUE, DigestLength, Items, Protocol, Status};
use vesica_table::{output::Access, row_number::RowNumber, written::Matched};

use crate::{
    disclosure::{Fact, Scenario, Secret},
    interface::{
        Call, Content, Context, Found, Method, Part, Party, Request, RevealStep, Task, Unrevealed,
    },
    outcome::Outcome,
    query::{Form, Query, QueryBody, QueryBodyForm, QueryKind, ResultForm, Values},
};

impl Query {
    /// This side's rows whose key the other side does not have.
    pub const COMPLEMENT: Self = Self { kind: &KIND, body: QueryBody::Nothing };
}

pub(crate) static KINDS: &[&QueryKind] = &[&KIND];

static KIND: QueryKind = QueryKind {
    name: "complement",
    word: "complement",
    form: Some(Form {
        names: "complement",
        help: "complement: this side's rows whose key the other side does not have",
    }),
    values: Values::None,         // no side provides a column of values
    body: QueryBodyForm::Nothing, // unlike threshold:K
    takes_columns: false,         // unlike a join, no side sends columns
    takes_identifiers: false,     // a row that matches by one of several would be in both results
    takes_rules: None,            // the same
    takes_order: false,           // the two sides have no rows in common
    is_told: true,                // a side learns the result
    keeps_rows: true,             // so the table is kept until the end
    access: Access::Usual,        // who may read the output
    result: ResultForm::Rows,
    task: &Complement,
};

struct Complement;

impl Task for Complement {
    fn check(&self, part: &Part) -> Result<()> {
        if part.minimum > 0 {
            let message = "a query for rows takes no minimum; only counts and sums do";
            return Err(Error::usage(Misuse::Query, message));
        }
        Ok(())
    }

    fn methods(&self) -> Vec<Box<dyn Method>> {
        CATALOGUE.iter().map(|protocol| Box::new(Leaving(protocol)) as Box<dyn Method>).collect()
    }

    fn activity(&self) -> &'static str {
        "leaving out shared keys"
    }

    fn facts(&self, scenario: &Scenario, learner: Role) -> Vec<Fact> {
        vec![scenario.matches(learner)]
    }

    fn secrets(&self, _: &Scenario) -> Vec<Secret> {
        vec![Secret::AllColumns]
    }

    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
        let others = grouped(context.keys - outcome.matches?);
        let line = format!("{others} of {} match nothing", counted(context.keys, "key"));
        let rows = outcome.rows_written.map(|rows| (context.written)(counted(rows, "row")));
        Some([Some(line), rows].into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

/// A protocol whose matches are left out.
struct Leaving(&'static Protocol);

impl Method for Leaving {
    fn key(&self) -> &'static str {
        self.0.key
    }

    fn status(&self) -> Status {
        self.0.status
    }

    fn adversary(&self) -> Adversary {
        self.0.adversary
    }

    fn item_length(&self) -> DigestLength {
        self.0.digest
    }

    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference> {
        (&self.0).candidate(request)
    }

    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>> {
        Ok(Box::new(Rest((&self.0).prepare(call, channel, rng)?)))
    }
}

/// A party that finds matching rows, and writes all the other ones.
struct Rest(Box<dyn Party>);

impl Party for Rest {
    fn run<'a>(
        self: Box<Self>,
        items: Items<'a>,
        set: &'a KeyRows,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Unrevealed<'a>> {
        let Unrevealed { shared, reveal } = self.0.run(items, set, channel, rng)?;
        let reveal: RevealStep<'a> = Box::new(move |channel, rng| {
            let found = reveal(channel, rng)?;
            Ok(others(found, set.counts().read))
        });
        Ok(Unrevealed { shared, reveal })
    }
}

/// Returns the other rows of a table with this many rows.
fn others(found: Found, rows: u64) -> Found {
    let Some(Content::Rows(matched)) = found.content else { return found };
    let is_other = |row: &RowNumber| matched.rows.binary_search(row).is_err();
    let rows: Vec<_> = RowNumber::all(rows).filter(is_other).collect();
    let outcome = Outcome { rows_written: Some(rows.len() as u64), ..found.outcome };
    Found { outcome, content: Some(Content::Rows(Matched { rows, ..Matched::default() })) }
}

#[test]
fn the_other_rows_are_written() {
    let matched = Matched { rows: [1, 2].map(RowNumber::new).to_vec(), ..Matched::default() };
    let outcome = Outcome { matches: Some(2), rows_written: Some(2), ..Outcome::default() };
    let found = others(Found { outcome, content: Some(Content::Rows(matched)) }, 5);
    let Some(Content::Rows(written)) = found.content else { panic!("rows are written") };
    assert_eq!(
        (written.rows, found.outcome.rows_written),
        ([0, 3, 4].map(RowNumber::new).to_vec(), Some(3))
    );
    let context = Context {
        keys: 1_000,
        number: 0,
        minimum: 0,
        noise: None,
        scale: 0,
        by_rules: false,
        written: &|what| format!("{what} written"),
    };
    let headline = KINDS[0].task.headline(&found.outcome, &context);
    assert_eq!(headline.unwrap(), "998 of 1,000 keys match nothing; 3 rows written");
    assert_eq!(Query::COMPLEMENT.describe(), "complement");
    assert_eq!(KINDS[0].task.methods().len(), CATALOGUE.len());
}
