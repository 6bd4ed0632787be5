//! Queries in the language of queries: several numbers about the shared keys, by group, in one run.
//!
//! The side whose labels group the rows has the table of circuit PSI, whichever side learns; if both have labels,
//! [`Selection::labeller`] says which. Rows are read into the
//! slots of [`QueryColumns`](vesica_keyset::query_columns::QueryColumns); a `Route` leads from the query to the
//! engine's plan and back; the result is a table.

mod by_rules;
mod plan;
mod run;
mod selection;
mod shown;

use std::sync::Arc;

use rand::CryptoRng;
use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
    parties::Role,
    words::counted,
};
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{Adversary, Sizes, Status, aggregate};
use vesica_select::{Declared, Keys, Select, Side};
use vesica_table::output::Access;

pub use self::selection::{QueryTable, Selection};

use self::{
    plan::{Between, Route},
    run::Selecting,
};
use crate::{
    by_rules::whole_sets,
    disclosure::{Fact, Scenario, Secret},
    interface::{Call, Context, Gather, Method, Part, Party, Request, Task},
    outcome::Outcome,
    query::{Query, QueryBody, QueryBodyForm, QueryKind, ResultForm, RowsByRules, Values},
};

impl Query {
    /// A query in the language of queries.
    pub fn select(select: Select) -> Self {
        Self { kind: &KIND, body: QueryBody::Select(Arc::new(select)) }
    }
}

pub(crate) static KINDS: &[&QueryKind] = &[&KIND];

static KIND: QueryKind = QueryKind {
    name: "query",
    word: "select",
    form: None,
    values: Values::None,
    body: QueryBodyForm::Select,
    takes_columns: false,
    takes_identifiers: false,
    takes_rules: Some(RowsByRules::Hidden),
    takes_order: false,
    is_told: true,
    keeps_rows: false,
    access: Access::Usual,
    result: ResultForm::Table,
    task: &Selected,
};

/// The task of a query.
struct Selected;

impl Task for Selected {
    fn check(&self, part: &Part) -> Result<()> {
        let refused = |message: String| Err(Error::usage(Misuse::Query, message));
        if part.minimum > 0 {
            let message = "a query has its minimum in its text: HAVING count(*) >= N";
            return refused(message.to_owned());
        }
        if part.noise.is_some_and(|noise| noise.clamp.is_some()) {
            let message = "the bounds of a query's values are in the declarations of its columns: leave out --clamp";
            return refused(message.to_owned());
        }
        let (Some(select), Some(table)) = (&part.select, &part.table) else {
            return refused("a query requires this side's table, `a` or `b`".to_owned());
        };
        let Some(declared) = &table.declared else {
            return refused(format!("declare the columns of this side's table `{}`", table.side));
        };
        if part.rules.is_some() {
            let repeats = |side| side == table.side && declared.keys() == Keys::Repeats;
            by_rules::check(select, Side::BOTH.map(repeats))
                .map_err(|why| Error::usage(Misuse::Query, why))?;
        }
        let used = select.columns(table.side);
        let undeclared = used.iter().find(|used| declared.column(used.name).is_none());
        if let Some(used) = undeclared {
            let (side, name) = (table.side, used.name);
            return refused(format!(
                "the query uses the column `{name}` of this side's table `{side}`: declare it, as in --column {name}:integer"
            ));
        }
        let unused = declared
            .columns()
            .iter()
            .find(|column| used.iter().all(|used| used.name != column.name()));
        match unused {
            Some(column) => refused(format!(
                "the query does not use the column `{}` of this side's table `{}`: declare only columns that it uses",
                column.name(),
                table.side
            )),
            None => Ok(()),
        }
    }

    fn takes_noise(&self) -> bool {
        true
    }

    /// The two sides have the two tables, and their columns fit the query.
    fn conflict(&self, ours: &Part, theirs: &Part) -> Option<Difference> {
        let (Some(select), Some(mine), Some(others)) = (&ours.select, &ours.table, &theirs.table)
        else {
            return Some(Difference::of_both("table of the query", "a side names none".to_owned()));
        };
        if mine.side == others.side {
            let [here, there] = [mine, others].map(|table| format!("`{}`", table.side));
            return Some(Difference { what: "table of the query", here, there });
        }
        let judged = Selection::of_roles(select.clone(), [mine, others]);
        let judged = judged.and_then(|selection| selection.judge(ours));
        judged.err().map(|why| Difference::of_both("query", why))
    }

    fn methods(&self) -> Vec<Box<dyn Method>> {
        vec![Box::new(Selecting)]
    }

    fn activity(&self) -> &'static str {
        "answering the query"
    }

    fn facts(&self, scenario: &Scenario, _: Role) -> Vec<Fact> {
        let selection = scenario.selection.as_deref().cloned();
        selection
            .map(|selection| Fact::Query {
                selection,
                rows_of: (!scenario.rules.is_empty()).then_some(scenario.receiver),
                noise: scenario.noise,
                cells: scenario.cells,
            })
            .into_iter()
            .collect()
    }

    fn secrets(&self, scenario: &Scenario) -> Vec<Secret> {
        let exact = scenario.noise.map(|_| Secret::ExactNumber);
        let of_rules = scenario.secret_keys();
        [Secret::Members]
            .into_iter()
            .chain(of_rules)
            .chain([Secret::Values])
            .chain(exact)
            .chain([Secret::AllColumns])
            .collect()
    }

    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
        let cells = outcome.cells?;
        let suppressed = match cells.suppressed {
            0 => String::new(),
            few => {
                let unit = if context.by_rules { "rows" } else { "keys" };
                format!("; {} with too few {unit}", counted(few, "group"))
            }
        };
        Some((context.written)(counted(cells.shown, "row")) + &suppressed)
    }
}

/// The aggregate method whose construction answers queries.
static ENGINE: &aggregate::Method = &aggregate::circuit::RS21;

impl Method for Selecting {
    fn key(&self) -> &'static str {
        ENGINE.key
    }

    fn status(&self) -> Status {
        ENGINE.status
    }

    fn adversary(&self) -> Adversary {
        vesica_psi::select::ADVERSARY
    }

    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference> {
        let undeclared =
            || Difference::of_both("query", "a side has yet to declare its columns".to_owned());
        let plan = request.route().ok_or_else(undeclared)?.plan;
        whole_sets(request)?;
        Ok(Candidate::plan(ENGINE, &plan))
    }

    fn splits(&self) -> bool {
        true
    }

    fn gather(&self, call: &Call) -> Option<Box<dyn Gather>> {
        if call.request.rules.is_some() {
            return None;
        }
        Some(Box::new(run::QueryMethod::new(call.clone())?))
    }

    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>> {
        let method = run::QueryMethod::new(call).expect("a candidate has a route");
        Ok(Box::new(method.on_sets(channel, rng)?))
    }
}

impl Selection {
    /// Refuses a query that the engine cannot answer, with the noise and the rules of a side's part.
    ///
    /// # Errors
    /// The reason.
    pub fn judge(&self, part: &Part) -> std::result::Result<(), String> {
        let Part { noise, rules, .. } = *part;
        if rules.is_some() {
            let keys = |side| self.declared(side).map(Declared::keys);
            let repeats = |side| keys(side) == Some(Keys::Repeats);
            by_rules::check(self.select(), Side::BOTH.map(repeats))?;
        }
        let Some(shape) = self.shape() else { return Ok(()) };
        let sizes = Sizes { sender: 1, receiver: 1 };
        let receiver = self.labeller(rules.is_some()).unwrap_or(Role::A);
        let between = Between { receiver, learner: receiver, sizes, partitions: 1, people: rules };
        Route::new(self, shape, between, noise).map(drop)
    }
}

impl Request {
    /// Returns the route to the answer of a query whose columns both sides have declared.
    pub(crate) fn route(&self) -> Option<Route> {
        let selection = self.selection.as_deref()?;
        let shape = selection.shape()?;
        let Self { sizes, partitions, receiver, learner, noise, rules, .. } = *self;
        // People are in whole sets; a candidate refuses partitions of them.
        let people = rules.filter(|_| partitions == 1);
        let between = Between { receiver, learner, sizes, partitions, people };
        // Offers have only noise that is valid.
        Route::new(selection, shape, between, noise).ok()
    }
}
