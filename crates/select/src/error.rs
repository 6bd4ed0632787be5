//! Errors of queries and declarations.

use std::fmt;

use crate::column::{ColumnRef, Side};

/// The reason why a text is not a query or a declaration, or why a query does not fit what the sides declare.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is wrong at this place.
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The character in the line, counted from 1.
        column: usize,
        /// The fault, and what to write instead.
        what: String,
    },
    /// A side declares a column twice.
    DeclaredTwice {
        /// The name of the column.
        name: String,
    },
    /// A side does not declare a column of the query.
    Undeclared {
        /// The column.
        column: ColumnRef,
    },
    /// The declared type does not fit the use of a column.
    Unfit {
        /// The column.
        column: ColumnRef,
        /// Its declaration.
        declared: String,
        /// The use, after "the query".
        used: &'static str,
        /// The types that fit.
        fitting: &'static str,
    },
    /// A query compares a column with a text that is not one of its labels.
    NotALabel {
        /// The column.
        column: ColumnRef,
        /// The text.
        text: String,
    },
    /// An aggregate would count values of one side once for each row of the other side.
    Multiplied {
        /// The aggregate.
        aggregate: String,
        /// The side that repeats keys.
        repeats: Side,
    },
    /// Both sides repeat keys, so only keys can be counted.
    BothRepeat {
        /// The aggregate.
        aggregate: String,
    },
    /// A side whose rows are each joined with the latest earlier row repeats keys, and does not say how often.
    LaterRepeats {
        /// The side's column of dates.
        column: ColumnRef,
    },
    /// Suppressed groups would be added up in which a key counts several times.
    RemainderOfSeveral,
    /// An aggregate uses a column of the side whose earlier rows are looked up.
    OfEarlier {
        /// The aggregate.
        aggregate: String,
        /// The side.
        side: Side,
    },
    /// There are more possible groups than the maximum.
    TooManyGroups {
        /// The number of possible groups.
        groups: u64,
        /// The maximum.
        most: u64,
    },
}

impl Error {
    /// Returns an error at a byte of a text.
    pub(crate) fn at(text: &str, byte: usize, what: impl Into<String>) -> Self {
        let before = &text[..byte];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self::Syntax { line, column, what: what.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { line, column, what } => {
                write!(f, "line {line}, column {column}: {what}")
            }
            Self::DeclaredTwice { name } => write!(f, "column `{name}` is declared twice"),
            Self::Undeclared { column } => {
                write!(
                    f,
                    "side {} does not declare {column}: declare it, or correct the name",
                    column.side
                )
            }
            Self::Unfit { column, declared, used, fitting } => {
                write!(
                    f,
                    "the query {used} {column}, which is declared as `{declared}`: declare it as {fitting}"
                )
            }
            Self::NotALabel { column, text } => write!(
                f,
                "the query compares {column} with '{text}', which is not one of its declared labels"
            ),
            Self::Multiplied { aggregate, repeats } => write!(
                f,
                "{aggregate} would count values of side {} once for each row of side {repeats}, which repeats keys: \
                 use columns of side {repeats}, or combine its rows so that each key is unique",
                repeats.other()
            ),
            Self::BothRepeat { aggregate } => write!(
                f,
                "{aggregate} would count each pair of rows, because both sides repeat keys: \
                 use count(DISTINCT key), or combine the rows of one side so that each key is unique"
            ),
            Self::LaterRepeats { column } => write!(
                f,
                "ASOF JOIN with several rows of a key of side {} needs their maximum: declare {column} as \
                 date[FIRST..LAST]/ROWS, or keep one row of each key and leave out --repeated-keys",
                column.side
            ),
            Self::RemainderOfSeveral => f.write_str(
                "a key with several rows and labels may be in several suppressed groups, which WITH REMAINDER would add up: \
                 leave it out",
            ),
            Self::OfEarlier { aggregate, side } => write!(
                f,
                "with ASOF JOIN, {aggregate} cannot use columns of side {side}: use its columns in GROUP BY and WHERE only"
            ),
            Self::TooManyGroups { groups, most } => write!(
                f,
                "the query has {groups} possible groups, and at most {most} are supported: \
                 declare fewer labels, or use buckets with fewer edges"
            ),
        }
    }
}

impl std::error::Error for Error {}
