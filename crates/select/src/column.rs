//! Columns of the two sides, and their names.

use std::fmt;

/// One of the two tables of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Table `a`.
    A,
    /// Table `b`.
    B,
}

impl Side {
    /// Both sides, by [`Side::index`].
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Returns 0 for `a` and 1 for `b`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the other side.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["a", "b"][self.index()])
    }
}

/// A column of one side: `a.spend`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnRef {
    /// The side.
    pub side: Side,
    /// The name of the column in that side's table.
    pub name: String,
}

impl ColumnRef {
    pub(crate) fn mirrored(&self) -> Self {
        Self { side: self.side.other(), name: self.name.clone() }
    }
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.side, Name(&self.name))
    }
}

/// A name as it is written: in double quotes unless it is a plain word.
pub(crate) struct Name<'a>(pub(crate) &'a str);

/// Words that are quoted as names, so that the canonical text is valid in other dialects of SQL.
const RESERVED: [&str; 50] = [
    "all",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "create",
    "default",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "from",
    "group",
    "having",
    "in",
    "intersect",
    "into",
    "is",
    "join",
    "lateral",
    "limit",
    "not",
    "null",
    "offset",
    "on",
    "or",
    "order",
    "select",
    "some",
    "table",
    "then",
    "to",
    "true",
    "union",
    "using",
    "when",
    "where",
    "with",
];

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name) = self;
        let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !RESERVED.iter().any(|word| name.eq_ignore_ascii_case(word));
        match is_word {
            true => f.write_str(name),
            false => write!(f, "\"{}\"", name.replace('"', "\"\"")),
        }
    }
}

/// Displays values with a separator between them.
pub(crate) fn list<T: fmt::Display>(values: &[T], separator: &str) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(separator)
}
