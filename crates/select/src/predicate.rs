//! Predicates over the columns of one side, which that side evaluates by itself.

use std::{cmp::Ordering, fmt, slice};

use crate::{
    column::{ColumnRef, Name, list},
    fixed_point::FixedPoint,
};

/// A value of a row. Null is `None` in an `Option` of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Datum<'a> {
    /// True or false.
    Boolean(bool),
    /// A number.
    Number(FixedPoint),
    /// A text.
    Text(&'a str),
}

/// A constant of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// A number.
    Number(FixedPoint),
    /// A text.
    Text(String),
}

impl Literal {
    /// Compares a value with the constant; `None` if their types differ.
    fn order(&self, value: Datum<'_>) -> Option<Ordering> {
        match (value, self) {
            (Datum::Number(value), Self::Number(constant)) => Some(value.cmp(constant)),
            (Datum::Text(value), Self::Text(constant)) => Some(value.cmp(constant)),
            _ => None,
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
        }
    }
}

/// A comparison of a column with a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    /// `=`
    Equal,
    /// `<>`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Comparator {
    /// Each comparison with its symbol.
    pub(crate) const ALL: [(Self, &str); 6] = [
        (Self::Equal, "="),
        (Self::Unequal, "<>"),
        (Self::Less, "<"),
        (Self::AtMost, "<="),
        (Self::Greater, ">"),
        (Self::AtLeast, ">="),
    ];

    fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// A predicate over the columns of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predicate {
    /// A column of type boolean is true.
    Flag(ColumnRef),
    /// A column compares with a constant in this way.
    Compare {
        /// The column.
        column: ColumnRef,
        /// The comparison.
        by: Comparator,
        /// The constant.
        with: Literal,
    },
    /// A column has one of several values, or none of them.
    In {
        /// The column.
        column: ColumnRef,
        /// The values, which are of one type and at least one.
        values: Vec<Literal>,
        /// Whether it has none of them.
        negated: bool,
    },
    /// A column lies between two values of one type or equals one of them, or not.
    Between {
        /// The column.
        column: ColumnRef,
        /// The lower value.
        low: Literal,
        /// The upper value.
        high: Literal,
        /// Whether it does not lie between them.
        negated: bool,
    },
    /// A column is null, or is not.
    IsNull {
        /// The column.
        column: ColumnRef,
        /// Whether it is not null.
        negated: bool,
    },
    /// The predicate does not hold.
    Not(Box<Predicate>),
    /// All of at least two predicates hold. None of them is a conjunction itself.
    And(Vec<Predicate>),
    /// One of at least two predicates holds. None of them is a disjunction itself.
    Or(Vec<Predicate>),
}

impl Predicate {
    /// Evaluates the predicate for a row, given the values of its columns, by SQL's three-valued logic: `None` if
    /// nulls leave it unknown. Only rows for which it is true are counted. A value of another type than the constant's
    /// is treated as null; [`Select::check`](crate::Select::check) refuses such queries.
    pub fn holds<'a>(&self, row: &dyn Fn(&str) -> Option<Datum<'a>>) -> Option<bool> {
        match self {
            Self::Flag(column) => match row(&column.name)? {
                Datum::Boolean(is_true) => Some(is_true),
                Datum::Number(_) | Datum::Text(_) => None,
            },
            Self::Compare { column, by, with } => Some(by.accepts(with.order(row(&column.name)?)?)),
            Self::In { column, values, negated } => {
                let value = row(&column.name)?;
                let mut has = false;
                for one in values {
                    has |= one.order(value)?.is_eq();
                }
                Some(has != *negated)
            }
            Self::Between { column, low, high, negated } => {
                let value = row(&column.name)?;
                Some((low.order(value)?.is_ge() && high.order(value)?.is_le()) != *negated)
            }
            Self::IsNull { column, negated } => Some(row(&column.name).is_none() != *negated),
            Self::Not(inner) => Some(!inner.holds(row)?),
            Self::And(all) => decided(all, false, row),
            Self::Or(any) => decided(any, true, row),
        }
    }

    /// Returns the columns in the order in which they are named, with repetitions.
    pub fn columns(&self) -> Vec<&ColumnRef> {
        match self {
            Self::Flag(column)
            | Self::Compare { column, .. }
            | Self::In { column, .. }
            | Self::Between { column, .. }
            | Self::IsNull { column, .. } => vec![column],
            Self::Not(inner) => inner.columns(),
            Self::And(parts) | Self::Or(parts) => parts.iter().flat_map(Self::columns).collect(),
        }
    }

    pub(crate) fn columns_mut(&mut self) -> Vec<&mut ColumnRef> {
        match self {
            Self::Flag(column)
            | Self::Compare { column, .. }
            | Self::In { column, .. }
            | Self::Between { column, .. }
            | Self::IsNull { column, .. } => vec![column],
            Self::Not(inner) => inner.columns_mut(),
            Self::And(parts) | Self::Or(parts) => {
                parts.iter_mut().flat_map(Self::columns_mut).collect()
            }
        }
    }

    /// Returns the parts of a conjunction, or the predicate itself.
    pub(crate) fn conjuncts(&self) -> &[Self] {
        match self {
            Self::And(parts) => parts,
            other => slice::from_ref(other),
        }
    }

    /// Returns the text of a conjunction.
    pub(crate) fn conjunction(parts: &[&Self], is_qualified: bool) -> String {
        let text = |part: &&Self| match part {
            Self::Or(_) => format!("({})", part.text(is_qualified)),
            _ => part.text(is_qualified),
        };
        parts.iter().map(text).collect::<Vec<_>>().join(" AND ")
    }

    /// Returns the canonical text, in which columns have their sides if it is qualified.
    pub(crate) fn text(&self, is_qualified: bool) -> String {
        let name = |column: &ColumnRef| match is_qualified {
            true => column.to_string(),
            false => Name(&column.name).to_string(),
        };
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match self {
            Self::Flag(column) => name(column),
            Self::Compare { column, by, with } => {
                let (_, symbol) = Comparator::ALL[*by as usize];
                format!("{} {symbol} {with}", name(column))
            }
            Self::In { column, values, negated } => {
                format!("{} {}IN ({})", name(column), not(negated), list(values, ", "))
            }
            Self::Between { column, low, high, negated } => {
                format!("{} {}BETWEEN {low} AND {high}", name(column), not(negated))
            }
            Self::IsNull { column, negated } => format!("{} IS {}NULL", name(column), not(negated)),
            Self::Not(inner) if matches!(**inner, Self::Flag(_)) => {
                format!("NOT {}", inner.text(is_qualified))
            }
            Self::Not(inner) => format!("NOT ({})", inner.text(is_qualified)),
            Self::And(parts) => Self::conjunction(&parts.iter().collect::<Vec<_>>(), is_qualified),
            Self::Or(parts) => {
                parts.iter().map(|part| part.text(is_qualified)).collect::<Vec<_>>().join(" OR ")
            }
        }
    }

    /// Returns the atomic predicates in the order in which they are written.
    pub(crate) fn atoms(&self) -> Vec<&Self> {
        match self {
            Self::Not(inner) => inner.atoms(),
            Self::And(parts) | Self::Or(parts) => parts.iter().flat_map(Self::atoms).collect(),
            atom => vec![atom],
        }
    }
}

/// Combines parts: one part with the value `decisive` decides, otherwise one unknown part makes the result unknown.
fn decided<'a>(
    parts: &[Predicate],
    decisive: bool,
    row: &dyn Fn(&str) -> Option<Datum<'a>>,
) -> Option<bool> {
    let mut result = Some(!decisive);
    for part in parts {
        match part.holds(row) {
            Some(value) if value == decisive => return Some(decisive),
            Some(_) => {}
            None => result = None,
        }
    }
    result
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(true))
    }
}
