//! A query, and its canonical text.

use std::{borrow::Cow, fmt};

use crate::{
    as_of::AsOf,
    column::{ColumnRef, Name, Side, list},
    fixed_point::FixedPoint,
    predicate::{Datum, Predicate},
};

/// The column of a result that says which groups are shown, if the query has a minimum for groups.
pub const CELL: &str = "cell";

/// A label by which rows are grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// The value of a column.
    Column(ColumnRef),
    /// The number of edges that are at most the value of a column.
    Bucket {
        /// The column.
        column: ColumnRef,
        /// The edges, strictly ascending and at least one.
        edges: Vec<FixedPoint>,
    },
}

impl Label {
    /// Returns the column.
    pub fn column(&self) -> &ColumnRef {
        match self {
            Self::Column(column) | Self::Bucket { column, .. } => column,
        }
    }

    /// Returns the label of a row from the value of its column: the text of the value, or the number of its bucket.
    /// A null value has no label, and such rows are a group of their own.
    pub fn of<'a>(&self, value: Option<Datum<'a>>) -> Option<Cow<'a, str>> {
        match (self, value?) {
            (Self::Column(_), Datum::Text(text)) => Some(text.into()),
            (Self::Column(_), Datum::Boolean(is_true)) => Some(is_true.to_string().into()),
            (Self::Column(_), Datum::Number(number)) => Some(number.to_string().into()),
            (Self::Bucket { edges, .. }, Datum::Number(number)) => {
                Some(edges.partition_point(|edge| *edge <= number).to_string().into())
            }
            (Self::Bucket { .. }, _) => None,
        }
    }

    fn mirrored(&self) -> Self {
        match self {
            Self::Column(column) => Self::Column(column.mirrored()),
            Self::Bucket { column, edges } => {
                Self::Bucket { column: column.mirrored(), edges: edges.clone() }
            }
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => column.fmt(f),
            Self::Bucket { column, edges } => write!(f, "bucket({column}, {})", list(edges, ", ")),
        }
    }
}

/// A number that is computed for each group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aggregate {
    /// The number of joined rows.
    CountAll,
    /// The number of distinct keys: `count(DISTINCT key)`, or with the side's name in a join as of a day.
    CountKeys(Option<Side>),
    /// The number of joined rows in which a column is not null.
    Count(ColumnRef),
    /// The sum of a column.
    Sum(ColumnRef),
    /// The sum of the products of two columns, which may be the same column and stand in ascending order.
    SumOfProducts(ColumnRef, ColumnRef),
    /// The mean of a column.
    Mean(ColumnRef),
    /// The sample variance of a column.
    Variance(ColumnRef),
}

impl Aggregate {
    /// Returns the columns: none, one or two.
    pub fn columns(&self) -> Vec<&ColumnRef> {
        match self {
            Self::CountAll | Self::CountKeys(_) => Vec::new(),
            Self::Count(column)
            | Self::Sum(column)
            | Self::Mean(column)
            | Self::Variance(column) => vec![column],
            Self::SumOfProducts(first, second) => vec![first, second],
        }
    }

    /// Returns the sum of the products of two columns in any order.
    pub(crate) fn product(first: ColumnRef, second: ColumnRef) -> Self {
        match first <= second {
            true => Self::SumOfProducts(first, second),
            false => Self::SumOfProducts(second, first),
        }
    }

    fn mirrored(&self) -> Self {
        match self {
            Self::CountAll => Self::CountAll,
            Self::CountKeys(side) => Self::CountKeys(side.map(Side::other)),
            Self::Count(column) => Self::Count(column.mirrored()),
            Self::Sum(column) => Self::Sum(column.mirrored()),
            Self::SumOfProducts(first, second) => {
                Self::product(first.mirrored(), second.mirrored())
            }
            Self::Mean(column) => Self::Mean(column.mirrored()),
            Self::Variance(column) => Self::Variance(column.mirrored()),
        }
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CountAll => f.write_str("count(*)"),
            Self::CountKeys(None) => f.write_str("count(DISTINCT key)"),
            Self::CountKeys(Some(side)) => write!(f, "count(DISTINCT {side}.key)"),
            Self::Count(column) => write!(f, "count({column})"),
            Self::Sum(column) => write!(f, "sum({column})"),
            Self::SumOfProducts(first, second) => write!(f, "sum({first} * {second})"),
            Self::Mean(column) => write!(f, "avg({column})"),
            Self::Variance(column) => write!(f, "var_samp({column})"),
        }
    }
}

/// A column of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectItem {
    /// A label, by its number in [`Select::labels`].
    Label {
        /// The number.
        label: usize,
        /// The name after `AS`.
        name: Option<String>,
    },
    /// An aggregate.
    Aggregate {
        /// The aggregate.
        aggregate: Aggregate,
        /// The name after `AS`.
        name: Option<String>,
    },
}

/// A query. It is parsed from a text of at most [`MAX_BYTES`](crate::MAX_BYTES) bytes and displayed in canonical form:
/// one line, keywords in upper case, one space between tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Select {
    pub(crate) items: Vec<SelectItem>,
    pub(crate) as_of: Option<AsOf>,
    pub(crate) labels: Vec<Label>,
    pub(crate) filters: [Option<Predicate>; 2],
    pub(crate) least: u64,
    pub(crate) has_remainder: bool,
}

/// The uses of a column, for which its side must provide numbers, labels or flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnUse<'a> {
    /// The name of the column.
    pub name: &'a str,
    /// Whether its numbers are added up.
    pub is_number: bool,
    /// Whether rows are counted in which it is not null.
    pub is_counted: bool,
    /// Whether it is a label, or the column of a bucket.
    pub is_label: bool,
    /// Whether the side selects its rows by it.
    pub is_filter: bool,
    /// Whether rows are joined by its dates.
    pub is_date: bool,
}

impl Select {
    /// Returns the columns of the result, among them at least one aggregate.
    pub fn items(&self) -> &[SelectItem] {
        &self.items
    }

    /// Returns the distinct labels in the order of the columns of the result.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// Returns the aggregates in the order of the columns of the result.
    pub fn aggregates(&self) -> impl Iterator<Item = &Aggregate> {
        self.items.iter().filter_map(|item| match item {
            SelectItem::Aggregate { aggregate, .. } => Some(aggregate),
            SelectItem::Label { .. } => None,
        })
    }

    /// Returns the join by the latest earlier row; `None` for a join by the key only.
    pub fn as_of(&self) -> Option<&AsOf> {
        self.as_of.as_ref()
    }

    /// Returns the predicate that a side's rows must satisfy, which has columns of that side only.
    pub fn filter(&self, side: Side) -> Option<&Predicate> {
        self.filters[side.index()].as_ref()
    }

    /// Returns the minimum number of distinct keys of a group that is shown; 0 for none.
    pub fn least(&self) -> u64 {
        self.least
    }

    /// Returns whether all suppressed groups together are shown as one, if they have the minimum number of keys.
    pub fn has_remainder(&self) -> bool {
        self.has_remainder
    }

    /// Returns the names of the columns of the result: the names after `AS`, or the text of the label or aggregate.
    pub fn headings(&self) -> Vec<String> {
        let heading = |item: &SelectItem| match item {
            SelectItem::Label { name, .. } | SelectItem::Aggregate { name, .. } => {
                name.clone().unwrap_or_else(|| self.text(item))
            }
        };
        self.items.iter().map(heading).collect()
    }

    /// Returns the text of an item without its name.
    fn text(&self, item: &SelectItem) -> String {
        match item {
            SelectItem::Label { label, .. } => self.labels[*label].to_string(),
            SelectItem::Aggregate { aggregate, .. } => aggregate.to_string(),
        }
    }

    /// Returns the columns that a side must provide, in the order in which the query names them.
    pub fn columns<'q>(&'q self, side: Side) -> Vec<ColumnUse<'q>> {
        let mut uses: Vec<ColumnUse<'q>> = Vec::new();
        let mut note = |of: Side, name: &'q str, set: &dyn Fn(&mut ColumnUse<'_>)| {
            if of != side {
                return;
            }
            let known = uses.iter().position(|one| one.name == name);
            let place = known.unwrap_or_else(|| {
                let [is_number, is_counted, is_label, is_filter, is_date] = [false; 5];
                uses.push(ColumnUse { name, is_number, is_counted, is_label, is_filter, is_date });
                uses.len() - 1
            });
            set(&mut uses[place]);
        };
        for item in &self.items {
            match item {
                SelectItem::Label { label, .. } => {
                    let ColumnRef { side, name } = self.labels[*label].column();
                    note(*side, name, &|one| one.is_label = true);
                }
                SelectItem::Aggregate { aggregate, .. } => {
                    let is_count = matches!(aggregate, Aggregate::Count(_));
                    for column in aggregate.columns() {
                        note(column.side, &column.name, &|one| {
                            one.is_counted |= is_count;
                            one.is_number |= !is_count;
                        });
                    }
                }
            }
        }
        for column in self.filter(side).into_iter().flat_map(Predicate::columns) {
            note(side, &column.name, &|one| one.is_filter = true);
        }
        if let Some(as_of) = &self.as_of {
            note(side, &as_of.dates[side.index()], &|one| one.is_date = true);
        }
        uses
    }

    /// Returns the query with the two sides exchanged.
    pub fn mirrored(&self) -> Self {
        let item = |item: &SelectItem| match item {
            SelectItem::Aggregate { aggregate, name } => {
                SelectItem::Aggregate { aggregate: aggregate.mirrored(), name: name.clone() }
            }
            label => label.clone(),
        };
        let [of_a, of_b] = self.filters.each_ref().map(|filter| {
            filter.clone().map(|mut filter| {
                filter.columns_mut().into_iter().for_each(|column| *column = column.mirrored());
                filter
            })
        });
        Self {
            items: self.items.iter().map(item).collect(),
            as_of: self.as_of.as_ref().map(AsOf::mirrored),
            labels: self.labels.iter().map(Label::mirrored).collect(),
            filters: [of_b, of_a],
            ..*self
        }
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = |item: &SelectItem| match item {
            SelectItem::Label { name: Some(name), .. }
            | SelectItem::Aggregate { name: Some(name), .. } => {
                format!("{} AS {}", self.text(item), Name(name))
            }
            _ => self.text(item),
        };
        let items: Vec<_> = self.items.iter().map(item).collect();
        write!(f, "SELECT {} FROM ", items.join(", "))?;
        match &self.as_of {
            Some(as_of) => as_of.fmt(f)?,
            None => f.write_str("a JOIN b USING (key)")?,
        }
        let conjuncts: Vec<_> =
            self.filters.iter().flatten().flat_map(Predicate::conjuncts).collect();
        let bound = self.as_of.as_ref().map(AsOf::bound);
        let predicate = match conjuncts.is_empty() {
            true => None,
            false => Some(Predicate::conjunction(&conjuncts, true)),
        };
        let conditions: Vec<String> = bound.into_iter().chain(predicate).collect();
        if !conditions.is_empty() {
            write!(f, " WHERE {}", conditions.join(" AND "))?;
        }
        if !self.labels.is_empty() {
            write!(f, " GROUP BY {}", list(&self.labels, ", "))?;
        }
        if self.least > 0 {
            write!(f, " HAVING count(*) >= {}", self.least)?;
        }
        f.write_str(if self.has_remainder { " WITH REMAINDER" } else { "" })
    }
}
