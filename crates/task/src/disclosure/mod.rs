//! The disclosure of a run: what each side learns, what neither learns, and the assumptions under which that is true.
//!
//! A [`Disclosure`] holds facts. [`words`] puts them into sentences, before a run or after it, from the point of view
//! of one side or with both sides' names. Every description of what a run discloses is made from it: invitations,
//! agreements, previews, summaries, reports, ledgers, records and their pages.
//!
//! Sides are named by their roles, so that both sides of a run have the same facts.

pub mod words;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vesica_core::parties::Role;

use crate::{noise::Noise, outcome::CellCounts, select::Selection};

/// The facts that the two sides of a run learn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disclosure {
    /// The facts that the connecting side learns.
    pub a: Vec<Fact>,
    /// The facts that the listening side learns.
    pub b: Vec<Fact>,
    /// The facts that neither side learns.
    pub neither: Vec<Secret>,
    /// The assumptions under which all of this is true.
    pub assuming: Vec<Assumption>,
}

/// A fact that one side learns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fact {
    /// The keys that the other side has too.
    Matches {
        /// The number of matches, if it is known.
        matches: Option<u64>,
        /// The learner's distinct keys, if they are known.
        keys: Option<u64>,
        /// The minimum number of matches that is shown.
        least: u64,
    },
    /// The identifiers by which each row matches.
    Identifiers,
    /// The rules by which each row matches.
    Rules {
        /// The rules, in order.
        rules: Vec<String>,
    },
    /// The rows that match a row of the other side by one of the rules, without the rule.
    MatchingRows {
        /// Their number, if it is known. Rows with equal fields are one.
        rows: Option<u64>,
        /// The minimum number that is shown.
        least: u64,
    },
    /// The matches that are of one row of the other side.
    SameRow,
    /// Values of the other side's columns, in matching rows.
    Columns {
        /// The names of the columns; empty if the other side has yet to name them.
        columns: Vec<String>,
        /// The maximum number of rows per key.
        rows: u32,
    },
    /// A number about the shared keys.
    Number {
        /// The quantity.
        of: Measure,
        /// The side whose rows it is about, if rules make the keys: those that match a row of the other side.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows_of: Option<Role>,
        /// If fewer keys than this are shared, the learner learns only that; 0 for no minimum.
        minimum: u64,
        /// The noise that hides a single key.
        noise: Option<Noise>,
        /// The answer, if it is known.
        answer: Answer,
    },
    /// The answer to a query in the language of queries.
    Query {
        /// The query, and the columns that both sides declare.
        selection: Selection,
        /// The side whose rows are counted in place of keys, if rules make the keys.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows_of: Option<Role>,
        /// The noise that hides a single key in all numbers together.
        noise: Option<Noise>,
        /// The numbers of groups, if they are known.
        cells: Option<CellCounts>,
    },
    /// Whether a number of keys is shared, computed before anything else.
    ThresholdFirst {
        /// The number of keys.
        keys: u64,
    },
    /// The number of shared keys, which the protocol reveals although the query is another one.
    SharedKeys,
    /// A secret share of the result.
    Share,
    /// The number of distinct keys of the other side.
    SetSize {
        /// The number, if it is known.
        keys: Option<u64>,
        /// Whether it counts several identifiers together.
        together: bool,
    },
    /// Coarse shares of the other side's keys that have certain features, from `--diagnose`.
    KeyProfile,
}

/// A quantity computed from the shared keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The number of shared keys.
    Count,
    /// The sum of this side's values.
    Sum(Role),
    /// The sum of the products of both sides' values.
    SumOfProducts,
    /// Whether at least this many keys are shared.
    AtLeast(u64),
}

/// The answer to a query for a number, as far as a disclosure knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Unknown: the run has not taken place, or the disclosure is for a side that does not learn it.
    Unknown,
    /// The number was shown; a count is known.
    Shown(Option<u64>),
    /// The threshold was reached, or not.
    Reached(bool),
    /// Fewer keys are shared than the minimum.
    TooFew,
}

/// A fact that neither side learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Secret {
    /// Any key of the other side that it does not have itself.
    ForeignKeys,
    /// The learner's keys that the other side has.
    Members,
    /// The number without its noise.
    ExactNumber,
    /// The number of keys that each rule made, and the number of those that were left out.
    KeysOfRules,
    /// More about a row that matches than that one of its keys does.
    RulesOfRows,
    /// Any single value.
    Values,
    /// The result; each side has a share of it.
    Result,
    /// Any column of the other side's table.
    AllColumns,
    /// Any column of the other side's table except the named ones.
    OtherColumns,
}

/// A condition under which a disclosure is true, or a limit of its promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "assumption", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Assumption {
    /// No assumption: the protocol is insecure.
    Insecure {
        /// The protocol.
        protocol: String,
        /// The side that can find out the other's keys.
        receiver: Role,
    },
    /// The protocol is not for real data.
    Research {
        /// The protocol.
        protocol: String,
    },
    /// Both sides follow the protocol.
    SemiHonest,
    /// The receiver follows the protocol.
    MaliciousSender {
        /// The receiver.
        receiver: Role,
    },
    /// Neither side needs to follow the protocol.
    Malicious {
        /// The receiver, which may use more keys than it announced.
        receiver: Role,
        /// Whether it learns first and reveals the result to the other side.
        tells: bool,
    },
    /// The program of the side that receives columns keeps them for rows that are linked one to one.
    OneToOne {
        /// The side that receives them.
        receiver: Role,
    },
    /// Values are accepted as the sending side provides them.
    SentValues {
        /// The side that sends them.
        sender: Role,
    },
    /// A side holds digests and can guess the identifiers behind them.
    Digests {
        /// The side.
        holder: Role,
    },
    /// The program of the side that finds a result below a minimum withholds it.
    KeptBack {
        /// The side that finds it.
        finder: Role,
        /// The minimum.
        least: u64,
        /// Whether it counts rows in place of keys.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        of_rows: bool,
    },
    /// A single share reveals nothing.
    Shares,
    /// If few keys are shared, an exact number reveals much about each.
    FewKeys,
    /// A side that learns sums of its own numbers may choose them so that they single out keys.
    ChosenNumbers {
        /// The side.
        learner: Role,
    },
    /// By rules, rows of different people may match.
    FalseMatches,
    /// A row with a key by one rule only shows that it matches by this rule, and the learner can write such rows.
    SingleRules {
        /// The side that learns rows.
        learner: Role,
    },
    /// A side may use keys that it guessed.
    GuessedKeys,
}

/// The facts about a future or past run that determine what it discloses.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Whether each side learns the result.
    pub learns: [bool; 2],
    /// Whether each side provides values.
    pub brings: [bool; 2],
    /// The protocol's receiver.
    pub receiver: Role,
    /// Distinct keys of each side.
    pub keys: [Option<u64>; 2],
    /// The number of identifiers of a row.
    pub identifiers: usize,
    /// The rules by which rows match, if rules make the keys.
    pub rules: Vec<String>,
    /// The number that is part of the query, or 0.
    pub number: u64,
    /// The minimum that the protocol itself checks, or 0.
    pub minimum: u64,
    /// The noise that hides a single key.
    pub noise: Option<Noise>,
    /// The columns that one side sends: their names, which may not be known yet, and the maximum number of rows per
    /// key.
    pub sent: (Vec<String>, u32),
    /// A rule by which the side that finds fewer matches than this withholds them, or 0.
    pub least: u64,
    /// The number of shared keys.
    pub matches: Option<u64>,
    /// The answer to a query for a number.
    pub answer: Answer,
    /// A query in the language of queries, and the columns that both sides declare.
    pub selection: Option<Arc<Selection>>,
    /// The numbers of groups in its answer, if they are known.
    pub cells: Option<CellCounts>,
}

impl Scenario {
    /// Returns whether a side learns the result.
    pub fn learns(&self, role: Role) -> bool {
        self.learns[role as usize]
    }

    /// Returns the number of distinct keys of a side, once it is known.
    pub fn keys(&self, role: Role) -> Option<u64> {
        self.keys[role as usize]
    }

    /// Returns the matches as a fact that a side learns. A disclosure for the other side does not know their number,
    /// unless both learn.
    pub(crate) fn matches(&self, learner: Role) -> Fact {
        Fact::Matches { matches: self.matches, keys: self.keys(learner), least: self.least }
    }

    /// Returns the numbers of keys by rule, which nobody learns if there are several rules. A single rule makes all the
    /// keys of a set.
    pub(crate) fn secret_keys(&self) -> Option<Secret> {
        (self.rules.len() > 1).then_some(Secret::KeysOfRules)
    }

    /// Returns the rows that match by rules as a fact that a side learns.
    pub(crate) fn matching_rows(&self) -> Fact {
        let rows = match self.answer {
            Answer::Shown(rows) => rows,
            _ => None,
        };
        Fact::MatchingRows { rows, least: self.least }
    }

    /// Returns a number about the shared keys as a fact, or about the matching rows of a side if rules make the keys.
    pub(crate) fn number(&self, rows_of: Role, of: Measure) -> Fact {
        let Self { minimum, noise, answer, .. } = *self;
        let rows_of = (!self.rules.is_empty()).then_some(rows_of);
        Fact::Number { of, rows_of, minimum, noise, answer }
    }
}

impl Disclosure {
    /// Returns the names of columns and protocols in it.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let columns = self.a.iter().chain(&self.b).flat_map(|fact| match fact {
            Fact::Columns { columns, .. } => &columns[..],
            _ => &[],
        });
        columns.chain(self.assuming.iter().filter_map(|assumption| match assumption {
            Assumption::Insecure { protocol, .. } | Assumption::Research { protocol } => {
                Some(protocol)
            }
            _ => None,
        }))
    }

    /// Returns the facts that a side learns.
    pub fn facts(&self, role: Role) -> &[Fact] {
        match role {
            Role::A => &self.a,
            Role::B => &self.b,
        }
    }
}
