//! What a run is to find out, as both sides name it.

use std::fmt;

use serde::{Serialize, Serializer};
use vesica_core::error::{Error, Misuse, Result};
use vesica_keyset::numbers::MAX_SCALE;
use vesica_table::output::Access;

use crate::interface::{Part, Task};

/// What a run is to find out. Both sides must name the same.
///
/// The queries there are: [`Query::ROWS`], [`Query::COUNT`], [`Query::SUM`], [`Query::PRODUCTS`],
/// [`Query::at_least`] and [`Query::SHARES`].
#[derive(Clone, Copy)]
pub struct Query {
    /// The kind of the query.
    pub kind: &'static QueryKind,
    /// The number that is part of it, where its kind takes one; otherwise 0.
    pub number: u64,
}

/// A kind of query: how it is named, what it takes, and the task that does it.
pub struct QueryKind {
    /// The name for people.
    pub(crate) name: &'static str,
    /// The name on the wire and in terms.
    pub(crate) word: &'static str,
    /// How a user writes it; `None` where it follows from something else.
    pub(crate) form: Option<Form>,
    /// Which sides bring a column of values.
    pub values: Values,
    /// Whether a number is part of it.
    pub takes_number: bool,
    /// Whether one side, which does not learn, sends columns to the other, which does.
    pub takes_columns: bool,
    /// Whether rows may have several identifiers.
    pub takes_identifiers: bool,
    /// Whether both sides may write matches in one order.
    pub takes_order: bool,
    /// Whether some side learns the result.
    pub is_told: bool,
    /// Whether a side that learns needs its rows to the end.
    pub keeps_rows: bool,
    /// Who may read the output.
    pub access: Access,
    /// The form of the output.
    pub(crate) result: ResultForm,
    /// What does it.
    pub task: &'static dyn Task,
}

/// How a user writes a query.
pub(crate) struct Form {
    /// The forms that there are: `sum, sum:COL`.
    pub(crate) names: &'static str,
    /// What each of them finds out, for a help text.
    pub(crate) help: &'static str,
}

/// Which sides bring a column of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Neither.
    None,
    /// One of the two.
    OfOne,
    /// Both.
    OfBoth,
    /// Each that wants to.
    Any,
}

/// The form of a query's result, and so where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultForm {
    /// A line of text, which standard output can take.
    Line,
    /// Rows of this side's table, for a file; a run without one only counts them.
    Rows,
    /// A file, without which there is no run.
    File,
}

impl Query {
    /// Its name for people; a threshold comes with its number.
    pub fn describe(self) -> String {
        match self.kind.takes_number {
            true => format!("{} {}", self.kind.name, self.number),
            false => self.kind.name.to_owned(),
        }
    }

    /// Its name as a user writes it, without its number or column.
    pub fn name(self) -> &'static str {
        self.kind.name
    }

    /// The form of its result.
    pub fn result_form(self) -> ResultForm {
        self.kind.result
    }

    /// Whether the other side brings values, where this side does or does not; for a side that may choose, it is
    /// taken not to.
    pub fn peer_brings_values(self, mine: bool) -> bool {
        match self.kind.values {
            Values::None | Values::Any => false,
            Values::OfOne => !mine,
            Values::OfBoth => true,
        }
    }

    /// Refuses a side's part that could not run, whatever the other side offers.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn check(self, part: &Part) -> Result<()> {
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
            let message = "columns are sent in a join; the query is another one";
            return Err(Error::usage(Misuse::Columns, message));
        }
        if part.aligns && !self.kind.takes_order {
            let message = "only rows are written in a common order; the query is another one";
            return Err(Error::usage(Misuse::Order, message));
        }
        if part.noise.is_some() && !self.kind.task.takes_noise() {
            let message = "noise is for counts and sums; the query is another one";
            return Err(Error::usage(Misuse::Noise, message));
        }
        self.kind.task.check(part)?;
        if part.is_told != self.kind.is_told {
            let message = "with shares nobody learns anything (--learns nobody), and with every other answer somebody does";
            return Err(Error::usage(Misuse::Query, message));
        }
        Ok(())
    }
}

impl PartialEq for Query {
    fn eq(&self, other: &Self) -> bool {
        (self.kind.word, self.number) == (other.kind.word, other.number)
    }
}

impl Eq for Query {}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({})", self.describe())
    }
}

/// As terms and reports have it: a word, or an object with the word and its number.
impl Serialize for Query {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.kind.takes_number {
            true => serializer.serialize_newtype_variant("Query", 0, self.kind.word, &self.number),
            false => serializer.serialize_str(self.kind.word),
        }
    }
}
