//! The one account of what a run discloses: what each side learns, what neither learns, and the assumptions under which
//! that is true.
//!
//! A [`Disclosure`] holds facts. [`words`] puts them into sentences, before a run or after it, from the point of view of one
//! side or with both sides' names. Whatever tells a person or a program what a run discloses has it from here: invitations,
//! agreements, previews, summaries, reports, ledgers, records and their pages.
//!
//! Sides are named by their roles, so that both sides of a run have the same facts.

pub mod words;

use serde::{Deserialize, Serialize};
use vesica_core::parties::Role;

use crate::noise::Noise;

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
    /// The assumptions under which all of that is true.
    pub assuming: Vec<Assumption>,
}

/// A fact that one side learns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fact {
    /// Which of its keys the other side has too.
    Matches {
        /// The number of matches, where it is known.
        matches: Option<u64>,
        /// The learner's distinct keys, where they are known.
        keys: Option<u64>,
        /// The fewest matches that are shown.
        least: u64,
    },
    /// Which of its identifiers each row matches by.
    Identifiers,
    /// Values of the other side's columns, in rows that match.
    Columns {
        /// The names of the columns; empty where the other side has yet to name them.
        columns: Vec<String>,
        /// The most rows of one key.
        rows: u32,
    },
    /// A number about the shared keys.
    Number {
        /// The quantity.
        of: Measure,
        /// If fewer keys than this are shared, the learner learns only that; 0 for no minimum.
        minimum: u64,
        /// The noise that hides a single key.
        noise: Option<Noise>,
        /// The answer, as far as it is known.
        answer: Answer,
    },
    /// Whether a number of keys is shared, computed before anything else.
    ThresholdFirst {
        /// The number of keys.
        keys: u64,
    },
    /// The number of shared keys, which the protocol shows although the question is another.
    SharedKeys,
    /// A secret share of the result.
    Share,
    /// The number of distinct keys of the other side.
    SetSize {
        /// The number, where it is known.
        keys: Option<u64>,
        /// Whether it is that of several identifiers together.
        together: bool,
    },
    /// Coarse shares of the other side's keys that have certain features, from `--diagnose`.
    KeyProfile,
}

/// A quantity that is computed of the shared keys.
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

/// The answer to a question for a number, as far as an account knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Unknown: the run has not taken place, or the account is of a side that does not learn it.
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
    /// Which of its keys the other side has.
    Members,
    /// The number without its noise.
    ExactNumber,
    /// Any single value.
    Values,
    /// The result, of which each side has a share.
    Result,
    /// Any column of the other side's table.
    AllColumns,
    /// Any column of the other side's table but those that are named.
    OtherColumns,
}

/// A condition under which an account is true, or a limit of what it promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "assumption", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Assumption {
    /// None holds: the protocol is insecure.
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
        /// Whether it learns first and tells the other side.
        tells: bool,
    },
    /// Values are taken as the sending side gives them.
    SentValues {
        /// The side that sends them.
        sender: Role,
    },
    /// A side holds digests and can guess the identifiers behind them.
    Digests {
        /// The side.
        holder: Role,
    },
    /// A result below a minimum is kept back by the program of the side that finds it.
    KeptBack {
        /// The side that finds it.
        finder: Role,
        /// The minimum.
        least: u64,
    },
    /// One share alone says nothing.
    Shares,
    /// Of few shared keys, an exact number says much about each.
    FewKeys,
    /// A side may use keys that it guessed.
    GuessedKeys,
}

/// A run that will take place or took place, as far as that decides what it discloses.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Whether each side learns the result.
    pub learns: [bool; 2],
    /// Whether each side brings values.
    pub brings: [bool; 2],
    /// The protocol's receiver.
    pub receiver: Role,
    /// Distinct keys of each side.
    pub keys: [Option<u64>; 2],
    /// The number of identifiers of a row.
    pub identifiers: usize,
    /// The number that is part of the question, or 0.
    pub number: u64,
    /// The minimum that the protocol itself checks, or 0.
    pub minimum: u64,
    /// The noise that hides a single key.
    pub noise: Option<Noise>,
    /// The columns that one side sends: their names, which may have yet to be given, and the most rows of a key.
    pub sent: (Vec<String>, u32),
    /// A rule by which the side that finds matches keeps back fewer than this, or 0.
    pub least: u64,
    /// The number of shared keys.
    pub matches: Option<u64>,
    /// The answer to a question for a number.
    pub answer: Answer,
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

    /// The matches, as a side learns them. The other side's account does not know how many there are, unless both learn.
    pub(crate) fn matches(&self, learner: Role) -> Fact {
        Fact::Matches { matches: self.matches, keys: self.keys(learner), least: self.least }
    }

    /// A number about the shared keys.
    pub(crate) fn number(&self, of: Measure) -> Fact {
        let Self { minimum, noise, answer, .. } = *self;
        Fact::Number { of, minimum, noise, answer }
    }
}

impl Disclosure {
    /// The names of columns and protocols in it.
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

    /// The facts that a side learns.
    pub fn facts(&self, role: Role) -> &[Fact] {
        match role {
            Role::A => &self.a,
            Role::B => &self.b,
        }
    }
}
