//! The result of a run in numbers, for a report.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use vesica_core::words::decimal;

/// The numbers that a run found. A number that this side does not learn, or that its query does not ask for, is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Distinct keys that both sides have.
    pub matches: Option<u64>,
    /// The number of matches of each identifier, in the order of the terms, if a row has several.
    pub matches_of_identifiers: Option<Vec<u64>>,
    /// The number of rows whose first rule each is, in the order of the rules, if rules make the keys.
    pub rows_of_rules: Option<Vec<u64>>,
    /// The number of rows that match by the first rule and by a later one too.
    pub rows_found_again: Option<u64>,
    /// The result of a query for a number.
    pub answer: Option<QueryResult>,
    /// Rows written to the output.
    pub rows_written: Option<u64>,
    /// Matching keys whose received columns cannot be read.
    pub unreadable: Option<u64>,
    /// Keys of this side whose values were clamped, if noise is added to a sum, or in a query with bounds.
    pub clamped: Option<u64>,
    /// The numbers of groups of a query.
    pub cells: Option<CellCounts>,
    /// Keys of this side whose rows the query's filter leaves out.
    pub filtered: Option<u64>,
    /// Bins whose shares were written to the output.
    pub bins_written: Option<u64>,
}

impl Outcome {
    /// Returns the number of shared keys, if this side learned it. Both sides have the same.
    pub fn shared(&self) -> Option<u64> {
        match self.answer {
            Some(QueryResult::Count(count)) => Some(count),
            _ => self.matches,
        }
    }

    /// Returns the number of matches that limits on results count, if this side learned it: of shared keys, or by rules
    /// of this side's rows.
    pub fn counted(&self) -> Option<u64> {
        let rows = self.rows_of_rules.as_ref().map(|first| first.iter().sum());
        rows.or_else(|| self.shared())
    }

    /// Returns whether this side knows that no key matched.
    pub fn is_nothing(&self) -> bool {
        self.matches == Some(0) || self.answer == Some(QueryResult::Count(0))
    }
}

/// The numbers of groups in the answer to a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellCounts {
    /// The rows that are shown.
    pub shown: u64,
    /// The groups of public labels that have too few keys.
    pub suppressed: u64,
}

/// The result of a query for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum QueryResult {
    /// The number of keys that both sides have.
    Count(u64),
    /// The sum of one side's values over the shared keys.
    Sum(Decimal),
    /// The sum of the products of both sides' values over the shared keys.
    SumOfProducts(Decimal),
    /// Whether the number of shared keys reaches the threshold.
    AtLeast(bool),
    /// Fewer keys are shared than the minimum, and nothing else is revealed.
    TooFew,
    /// A count or a sum, with noise.
    Noisy(Decimal),
}

impl fmt::Display for QueryResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Sum(sum) | Self::SumOfProducts(sum) | Self::Noisy(sum) => write!(f, "{sum}"),
            Self::AtLeast(reached) => f.write_str(if *reached { "yes" } else { "no" }),
            Self::TooFew => f.write_str("too few"),
        }
    }
}

/// A number with decimal places. In JSON it is text, because many readers lose digits of large numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    /// The number without its decimal point.
    pub number: i128,
    /// The number of decimal places.
    pub scale: u8,
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal(self.number, self.scale))
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
