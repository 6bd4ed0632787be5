//! The query of a run, which both sides name.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};
use vesica_core::error::{Error, Misuse, Result};
use vesica_keyset::{linked::AmbiguousKeys, numbers::MAX_SCALE};
use vesica_select::Select;
use vesica_table::output::Access;

use crate::interface::{Method, Part, Task};

/// The query of a run. Both sides must name the same one.
///
/// The queries are [`Query::ROWS`], [`Query::LINKED`], [`Query::COUNT`], [`Query::SUM`], [`Query::PRODUCTS`],
/// [`Query::at_least`], [`Query::select`] and [`Query::SHARES`].
#[derive(Clone)]
pub struct Query {
    /// The kind of the query.
    pub kind: &'static QueryKind,
    /// The rest of the query, in the form that its kind takes.
    pub body: QueryBody,
}

/// The part of a query besides its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryBody {
    /// Nothing: the kind says it all.
    Nothing,
    /// A number.
    Number(u64),
    /// A text in the language of queries.
    Select(Arc<Select>),
}

/// The form of a query's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryBodyForm {
    /// None.
    Nothing,
    /// A number.
    Number,
    /// A text in the language of queries.
    Select,
}

impl QueryBody {
    /// Returns its form.
    pub fn form(&self) -> QueryBodyForm {
        match self {
            Self::Nothing => QueryBodyForm::Nothing,
            Self::Number(_) => QueryBodyForm::Number,
            Self::Select(_) => QueryBodyForm::Select,
        }
    }
}

/// A kind of query: its name, its inputs, and its task.
pub struct QueryKind {
    /// The name for people.
    pub(crate) name: &'static str,
    /// The name on the wire and in terms.
    pub(crate) word: &'static str,
    /// The form in which a user writes it; `None` if it follows from other options.
    pub(crate) form: Option<Form>,
    /// The sides that provide a column of values.
    pub values: Values,
    /// The form of its body.
    pub body: QueryBodyForm,
    /// Whether one side, which does not learn, sends columns to the other, which does.
    pub takes_columns: bool,
    /// Whether rows may have several identifiers.
    pub takes_identifiers: bool,
    /// The way in which it takes rows that match by rules, if rules may make the keys.
    pub takes_rules: Option<RowsByRules>,
    /// Whether both sides may write matches in the same order.
    pub takes_order: bool,
    /// Whether any side learns the result.
    pub is_told: bool,
    /// Whether a learning side needs its rows until the end.
    pub keeps_rows: bool,
    /// The users who may read the output.
    pub access: Access,
    /// The form of the output.
    pub(crate) result: ResultForm,
    /// The task that answers it.
    pub task: &'static dyn Task,
}

impl QueryKind {
    /// Returns whether nobody learns the rules by which a row matches, if rules make the keys.
    pub fn hides_rules(&self) -> bool {
        self.takes_rules == Some(RowsByRules::Hidden)
    }
}

/// The way in which a query takes rows that match by rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsByRules {
    /// Each row that matches, with the rules by which it does.
    Shown,
    /// Each row with one row of the other side, by the first rule that links them.
    OneToOne,
    /// Each row once, or a number about such rows: nobody learns the rules by which a row matches.
    Hidden,
}

impl RowsByRules {
    /// Returns the treatment of ambiguous keys.
    pub fn ambiguous(self) -> AmbiguousKeys {
        match self {
            Self::Shown => AmbiguousKeys::ByFirstRule,
            Self::OneToOne | Self::Hidden => AmbiguousKeys::ByNoRule,
        }
    }
}

/// The form in which a user writes a query.
pub(crate) struct Form {
    /// The possible forms: `sum, sum:COL`.
    pub(crate) names: &'static str,
    /// A help text for each of them.
    pub(crate) help: &'static str,
}

/// The sides that provide a column of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Neither.
    None,
    /// One of the two.
    OfOne,
    /// Both.
    OfBoth,
    /// Each side may.
    Any,
}

/// The form of a query's result, which determines its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultForm {
    /// A line of text, which may go to standard output.
    Line,
    /// A small table, which may go to standard output.
    Table,
    /// Rows of this side's table, for a file; a run without a file only counts them.
    Rows,
    /// A file, which is required.
    File,
}

impl Query {
    /// Returns the method of this name, if it answers the query.
    pub fn method(&self, key: &str) -> Option<Box<dyn Method>> {
        self.kind.task.methods().into_iter().find(|method| method.key() == key)
    }

    /// Returns its name for people, with the number of a threshold, or the text of a query.
    pub fn describe(&self) -> String {
        match &self.body {
            QueryBody::Nothing => self.kind.name.to_owned(),
            QueryBody::Number(number) => format!("{} {number}", self.kind.name),
            QueryBody::Select(select) => select.to_string(),
        }
    }

    /// Returns the number that is part of it, or 0.
    pub fn number(&self) -> u64 {
        match self.body {
            QueryBody::Number(number) => number,
            QueryBody::Nothing | QueryBody::Select(_) => 0,
        }
    }

    /// Returns the text that is part of it, parsed.
    pub fn selected(&self) -> Option<&Arc<Select>> {
        match &self.body {
            QueryBody::Select(select) => Some(select),
            QueryBody::Nothing | QueryBody::Number(_) => None,
        }
    }

    /// Returns its name as a user writes it, without its number or column.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Returns the form of its result.
    pub fn result_form(&self) -> ResultForm {
        self.kind.result
    }

    /// Returns whether the other side provides values, depending on whether this side does; a side that may choose is
    /// assumed not to.
    pub fn peer_brings_values(&self, mine: bool) -> bool {
        match self.kind.values {
            Values::None | Values::Any => false,
            Values::OfOne => !mine,
            Values::OfBoth => true,
        }
    }

    /// Refuses a side's part that could not run with any offer of the other side.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn check(&self, part: &Part) -> Result<()> {
        let takes_values = self.kind.values != Values::None;
        if part.brings_values && !takes_values {
            let message = "only sums and shares take a column of values";
            return Err(Error::usage(Misuse::Query, message));
        }
        if part.scale > MAX_SCALE || part.scale > 0 && !takes_values {
            let message = format!("only sums and shares take a scale, and of at most {MAX_SCALE}");
            return Err(Error::usage(Misuse::Query, message));
        }
        if part.sends && !self.kind.takes_columns {
            let message = "only a join sends columns; the query is not a join";
            return Err(Error::usage(Misuse::Columns, message));
        }
        if part.aligns && !self.kind.takes_order {
            let message = "only rows are written in a common order; the query is not for rows";
            return Err(Error::usage(Misuse::Order, message));
        }
        if part.noise.is_some() && !self.kind.task.takes_noise() {
            let message = "only counts, sums and queries over both tables take noise";
            return Err(Error::usage(Misuse::Noise, message));
        }
        self.kind.task.check(part)?;
        if (part.learners > 0) != self.kind.is_told {
            let message = "`--answer shares` requires `--learns nobody`; every other answer requires a side that learns";
            return Err(Error::usage(Misuse::Query, message));
        }
        Ok(())
    }
}

impl PartialEq for Query {
    fn eq(&self, other: &Self) -> bool {
        (self.kind.word, &self.body) == (other.kind.word, &other.body)
    }
}

impl Eq for Query {}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({})", self.describe())
    }
}

/// Serialised for terms and reports: a word, or an object with the word and its number or text.
impl Serialize for Query {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let word = self.kind.word;
        match &self.body {
            QueryBody::Nothing => serializer.serialize_str(word),
            QueryBody::Number(number) => {
                serializer.serialize_newtype_variant("Query", 0, word, number)
            }
            QueryBody::Select(select) => {
                serializer.serialize_newtype_variant("Query", 0, word, &select.to_string())
            }
        }
    }
}
