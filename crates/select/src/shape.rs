//! The judgement of a query by what the sides declare: the sums that answer it.

use crate::{
    as_of::AsOf,
    column::{ColumnRef, Side},
    date::Period,
    declaration::{ColumnKind, Declaration, Declared, Keys, Range},
    error::Error,
    fixed_point::{FixedPoint, mean, variance},
    predicate::{Comparator, Literal, Predicate},
    query::{Aggregate, Label, Select},
};

/// The largest number of possible groups of a query.
pub const MAX_GROUPS: u64 = 4096;

/// The most keys of a table, as a power of two.
const LOG_KEYS: u32 = 40;

/// The magnitudes of all numbers of a column add up to less than this.
const MAX_SUM: u128 = 1 << 63;

/// The computation that answers a query: a few sums for each group, and the results that follow from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The distinct sums over the joined rows of a group.
    pub sums: Vec<CellSum>,
    /// The way from the sums to each aggregate, in the order of the query.
    pub results: Vec<Formula>,
    /// The labels, in the order of the query.
    pub labels: Vec<LabelShape>,
    /// The number of possible groups, at most [`MAX_GROUPS`]; 1 without labels.
    pub groups: u64,
    /// Whether each side has at most one row of a key in the join.
    pub keys: [Keys; 2],
    /// The row of the other side with which a row is joined, if it is the latest earlier one.
    pub latest: Option<Latest>,
}

/// The latest row of a side that is not after a day of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latest {
    /// The side whose rows are found.
    pub earlier: Side,
    /// The days that the other side's rows may have.
    pub period: Period,
    /// The most days between two rows.
    pub within: u32,
    /// The most labels of one key.
    pub labels: u32,
    /// The most rows of one key of the other side, which are joined one by one.
    pub rows: u32,
}

impl Latest {
    /// Returns the number of days of the other side's rows, with one more for a row that a key could also have.
    pub fn positions(&self) -> u32 {
        self.period.days() + u32::from(self.rows > 1)
    }
}

/// A sum over the joined rows of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellSum {
    /// The number that each row contributes.
    pub summand: Summand,
    /// The width that holds the sum, with its sign if it has one.
    pub width: Width,
    /// The number of decimal places of the sum.
    pub scale: u8,
}

/// A number that each joined row contributes to a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Summand {
    /// 1 for each distinct key.
    Key,
    /// 1 for each row. If the keys of both sides are unique, rows are counted as keys.
    Row,
    /// 1 for each row in which none of these nullable columns is null, which are one or two.
    Present(Vec<ColumnRef>),
    /// The product of one or two columns, or 0 if one of them is null. One of a side that repeats keys is multiplied
    /// after the rows of a key are added up, but for the product of two columns of that side, and for rows that are
    /// each joined with the latest earlier one.
    Product(Vec<Factor>),
}

impl Summand {
    /// Returns whether each side contributes a column.
    pub fn sides(&self) -> [bool; 2] {
        let columns: Vec<&ColumnRef> = match self {
            Self::Key | Self::Row => Vec::new(),
            Self::Present(columns) => columns.iter().collect(),
            Self::Product(factors) => factors.iter().map(|factor| &factor.column).collect(),
        };
        Side::BOTH.map(|side| columns.iter().any(|column| column.side == side))
    }
}

/// A column whose numbers are added up, or multiplied and added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// The column.
    pub column: ColumnRef,
    /// The bounds of its numbers in units of its scale; [`Range::FULL`] if none are declared.
    pub range: Range,
    /// The number of decimal places.
    pub scale: u8,
}

/// The width of a sum in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// 32 bits, enough to count keys.
    W32,
    /// 64 bits.
    W64,
    /// 128 bits.
    W128,
}

impl Width {
    /// Returns the number of bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::W32 => 32,
            Self::W64 => 64,
            Self::W128 => 128,
        }
    }

    /// Returns the smallest width of a sum with a sign and at most this magnitude.
    fn of_magnitude(most: u128) -> Self {
        match most {
            0..0x8000_0000 => Self::W32,
            0x8000_0000..MAX_SUM => Self::W64,
            _ => Self::W128,
        }
    }
}

/// The way from sums, by their numbers in [`Shape::sums`], to an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// The count itself.
    Count {
        /// The count.
        count: usize,
    },
    /// The sum itself.
    Sum {
        /// The sum.
        sum: usize,
        /// The number of summands, if some may be missing. A sum of none is null.
        present: Option<usize>,
    },
    /// [`mean`] of the sum.
    Mean {
        /// The sum.
        sum: usize,
        /// The number of summands.
        present: usize,
    },
    /// [`variance`] of the sums.
    Variance {
        /// The sum.
        sum: usize,
        /// The sum of the squares.
        squares: usize,
        /// The number of summands.
        present: usize,
    },
}

/// A label of the groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelShape {
    /// The side that knows the label of its rows.
    pub side: Side,
    /// The labels.
    pub values: LabelValues,
    /// Whether rows without a label form another group.
    pub is_nullable: bool,
}

impl LabelShape {
    /// Returns the largest number of groups.
    pub fn count(&self) -> u64 {
        let values = match &self.values {
            LabelValues::Public(labels) => labels.len() as u64,
            LabelValues::Private { most } => u64::from(*most),
        };
        values + u64::from(self.is_nullable)
    }
}

/// The labels of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelValues {
    /// These labels, which both sides know.
    Public(Vec<String>),
    /// Labels that only one side knows.
    Private {
        /// The maximum number of distinct labels.
        most: u32,
    },
}

impl Shape {
    /// Returns the aggregates of a group that has rows, from its sums in units of their scales. Null is `None`, as is a
    /// mean or variance that does not fit.
    ///
    /// # Panics
    /// If there are fewer sums than in [`Shape::sums`].
    pub fn aggregates(&self, sums: &[i128]) -> Vec<Option<FixedPoint>> {
        let scale = |sum: usize| self.sums[sum].scale;
        let count = |sum: usize| u64::try_from(sums[sum]).ok();
        let aggregate = |formula: &Formula| match *formula {
            Formula::Sum { present: Some(present), .. } if sums[present] == 0 => None,
            Formula::Count { count: sum } | Formula::Sum { sum, .. } => {
                Some(FixedPoint::new(sums[sum], scale(sum)))
            }
            Formula::Mean { sum, present } => mean(sums[sum], count(present)?, scale(sum)),
            Formula::Variance { sum, squares, present } => {
                variance(sums[sum], sums[squares], count(present)?, scale(sum))
            }
        };
        self.results.iter().map(aggregate).collect()
    }
}

impl Select {
    /// Judges the query by the columns that the sides declare.
    ///
    /// # Errors
    /// [`Error`] if a column is not declared or its type does not fit, if rows would be counted several times, or if
    /// there are too many groups.
    pub fn check(&self, a: &Declared, b: &Declared) -> Result<Shape, Error> {
        let judge = Judge { sides: [a, b], as_of: self.as_of.as_ref() };
        let latest = judge.latest(&self.labels)?;
        if self.has_remainder && latest.is_some_and(|latest| latest.rows > 1 && latest.labels > 1) {
            return Err(Error::RemainderOfSeveral);
        }
        let labels: Result<Vec<_>, _> =
            self.labels.iter().map(|label| judge.label(label)).collect();
        let labels = labels?;
        for atom in self.filters.iter().flatten().flat_map(Predicate::atoms) {
            judge.atom(atom)?;
        }
        let groups = labels.iter().map(LabelShape::count).fold(1, u64::saturating_mul);
        if groups > MAX_GROUPS {
            return Err(Error::TooManyGroups { groups, most: MAX_GROUPS });
        }
        let mut sums = Vec::new();
        let results: Result<_, _> =
            self.aggregates().map(|aggregate| judge.aggregate(aggregate, &mut sums)).collect();
        let keys = Side::BOTH.map(|side| match judge.repeats(side) {
            true => Keys::Repeats,
            false => Keys::Unique,
        });
        Ok(Shape { results: results?, sums, labels, groups, keys, latest })
    }
}

/// Both sides' declarations.
struct Judge<'a> {
    sides: [&'a Declared; 2],
    as_of: Option<&'a AsOf>,
}

impl<'a> Judge<'a> {
    fn declaration(&self, column: &ColumnRef) -> Result<&'a Declaration, Error> {
        let declared = self.sides[column.side.index()].column(&column.name);
        declared.ok_or_else(|| Error::Undeclared { column: column.clone() })
    }

    /// Returns whether several rows of a side with one key may be joined.
    fn repeats(&self, side: Side) -> bool {
        let is_looked_up = self.as_of.is_some_and(|as_of| as_of.earlier() == side);
        self.sides[side.index()].keys() == Keys::Repeats && !is_looked_up
    }

    /// Judges the join of a query with these labels.
    fn latest(&self, labels: &[Label]) -> Result<Option<Latest>, Error> {
        let of_label = |label: &Label| -> Result<u32, Error> {
            let column = label.column();
            let per_key = self.declaration(column)?.kind().per_key();
            let is_looked_up = self.as_of.is_some_and(|as_of| as_of.earlier() == column.side);
            match per_key > 1 && !is_looked_up {
                true => Err(self.unfit(
                    column,
                    "groups by",
                    "label<=N or {LABEL,...}: only ASOF JOIN looks for one of several labels of a key",
                )?),
                false => Ok(if is_looked_up { per_key } else { 1 }),
            }
        };
        let labels = labels.iter().map(of_label).try_fold(1, |most, one| Ok(most.max(one?)))?;
        let Some(as_of) = self.as_of else { return Ok(None) };
        let date = |side: Side, fitting| {
            let column = as_of.date(side);
            let declaration = self.declaration(&column)?;
            match declaration.kind() {
                ColumnKind::Date { period, rows } if !declaration.is_nullable() => {
                    Ok((*period, *rows))
                }
                _ => Err(self.unfit(&column, "joins rows by", fitting)?),
            }
        };
        let fitting = "date[FIRST..LAST], without a question mark";
        let (Some(period), rows) = date(as_of.later, fitting)? else {
            return Err(self.unfit(&as_of.date(as_of.later), "joins rows by", fitting)?);
        };
        let fitting = "date, without a question mark and a number of rows";
        if date(as_of.earlier(), fitting)?.1 > 1 {
            return Err(self.unfit(&as_of.date(as_of.earlier()), "joins rows by", fitting)?);
        }
        let rows = match (self.repeats(as_of.later), rows) {
            (true, 1) => return Err(Error::LaterRepeats { column: as_of.date(as_of.later) }),
            (true, rows) => rows,
            (false, _) => 1,
        };
        let (earlier, within) = (as_of.earlier(), as_of.within);
        Ok(Some(Latest { earlier, period, within, labels, rows }))
    }

    /// Returns the most rows of a side with one key that are each joined by themselves.
    fn joined_rows(&self, side: Side) -> u32 {
        let as_of = self.as_of.filter(|as_of| as_of.later == side && self.repeats(side));
        let declaration = as_of.and_then(|as_of| self.declaration(&as_of.date(side)).ok());
        match declaration.map(Declaration::kind) {
            Some(ColumnKind::Date { rows, .. }) => *rows,
            _ => 1,
        }
    }

    fn unfit(
        &self,
        column: &ColumnRef,
        used: &'static str,
        fitting: &'static str,
    ) -> Result<Error, Error> {
        let declared = self.declaration(column)?.to_string();
        Ok(Error::Unfit { column: column.clone(), declared, used, fitting })
    }

    fn label(&self, label: &Label) -> Result<LabelShape, Error> {
        let column = label.column();
        let declaration = self.declaration(column)?;
        let values = match (label, declaration.kind()) {
            (Label::Column(_), ColumnKind::PublicLabels { labels, .. }) => {
                LabelValues::Public(labels.clone())
            }
            (Label::Column(_), ColumnKind::Label { most, .. }) => {
                LabelValues::Private { most: *most }
            }
            (Label::Column(_), ColumnKind::Boolean) => {
                LabelValues::Public([false, true].map(|label| label.to_string()).into())
            }
            (Label::Bucket { edges, .. }, ColumnKind::Number { .. }) => {
                LabelValues::Public((0..=edges.len()).map(|bucket| bucket.to_string()).collect())
            }
            (Label::Column(_), _) => {
                return Err(self.unfit(
                    column,
                    "groups by",
                    "label<=N, {LABEL,...} or boolean, or group by bucket(...)",
                )?);
            }
            (Label::Bucket { .. }, _) => {
                return Err(self.unfit(column, "makes buckets of", "integer or decimal(SCALE)")?);
            }
        };
        Ok(LabelShape { side: column.side, values, is_nullable: declaration.is_nullable() })
    }

    /// Checks that the constants of a predicate have the type of its column.
    fn atom(&self, atom: &Predicate) -> Result<(), Error> {
        let (column, constants) = match atom {
            Predicate::Flag(column) => {
                return match self.declaration(column)?.kind() {
                    ColumnKind::Boolean => Ok(()),
                    _ => Err(self.unfit(column, "uses as a condition", "boolean")?),
                };
            }
            Predicate::Compare { column, with, .. } => (column, vec![with]),
            Predicate::In { column, values, .. } => (column, values.iter().collect()),
            Predicate::Between { column, low, high, .. } => (column, vec![low, high]),
            Predicate::IsNull { column, .. } => return self.declaration(column).map(drop),
            Predicate::Not(_) | Predicate::And(_) | Predicate::Or(_) => return Ok(()),
        };
        let is_listed = matches!(
            atom,
            Predicate::In { .. }
                | Predicate::Compare { by: Comparator::Equal | Comparator::Unequal, .. }
        );
        for constant in constants {
            match (constant, self.declaration(column)?.kind()) {
                (Literal::Text(text), ColumnKind::PublicLabels { labels, .. })
                    if is_listed && !labels.contains(text) =>
                {
                    return Err(Error::NotALabel { column: column.clone(), text: text.clone() });
                }
                (Literal::Number(_), ColumnKind::Number { .. }) => {}
                (
                    Literal::Text(_),
                    ColumnKind::Text | ColumnKind::Label { .. } | ColumnKind::PublicLabels { .. },
                ) => {}
                (Literal::Number(_), _) => {
                    return Err(self.unfit(
                        column,
                        "compares with a number",
                        "integer or decimal(SCALE)",
                    )?);
                }
                (Literal::Text(_), _) => {
                    return Err(self.unfit(
                        column,
                        "compares with a text",
                        "text, label<=N or {LABEL,...}",
                    )?);
                }
            }
        }
        Ok(())
    }

    /// Adds the sums of an aggregate to the others.
    fn aggregate(&self, aggregate: &Aggregate, sums: &mut Vec<CellSum>) -> Result<Formula, Error> {
        self.counts_once(aggregate)?;
        let mut add = |sum: CellSum| {
            sums.iter().position(|known| *known == sum).unwrap_or_else(|| {
                sums.push(sum);
                sums.len() - 1
            })
        };
        Ok(match aggregate {
            Aggregate::CountAll => Formula::Count { count: add(self.rows()) },
            Aggregate::CountKeys(_) => Formula::Count { count: add(keys()) },
            Aggregate::Count(column) => Formula::Count { count: add(self.present(&[column])?) },
            Aggregate::Sum(_) | Aggregate::SumOfProducts(..) => {
                let columns = aggregate.columns();
                let sum = add(self.sum(&columns)?);
                let present = self.present(&columns)?;
                let is_nullable = matches!(present.summand, Summand::Present(_));
                Formula::Sum { sum, present: is_nullable.then(|| add(present)) }
            }
            Aggregate::Mean(column) => Formula::Mean {
                sum: add(self.sum(&[column])?),
                present: add(self.present(&[column])?),
            },
            Aggregate::Variance(column) => Formula::Variance {
                sum: add(self.sum(&[column])?),
                squares: add(self.sum(&[column, column])?),
                present: add(self.present(&[column])?),
            },
        })
    }

    /// Refuses an aggregate that SQL would compute over all pairs of rows of a key.
    fn counts_once(&self, aggregate: &Aggregate) -> Result<(), Error> {
        let repeats = Side::BOTH.map(|side| self.repeats(side));
        if repeats == [true; 2] && !matches!(aggregate, Aggregate::CountKeys(_)) {
            return Err(Error::BothRepeat { aggregate: aggregate.to_string() });
        }
        let columns = aggregate.columns();
        let earlier = self.as_of.map(AsOf::earlier);
        if let Some(column) = columns.iter().find(|column| Some(column.side) == earlier) {
            let (aggregate, side) = (aggregate.to_string(), column.side);
            return Err(Error::OfEarlier { aggregate, side });
        }
        for side in Side::BOTH {
            let is_multiplied = match aggregate {
                Aggregate::Count(column) => column.side != side && self.is_nullable(column)?,
                _ => !columns.is_empty() && columns.iter().all(|column| column.side != side),
            };
            if repeats[side.index()] && is_multiplied {
                return Err(Error::Multiplied { aggregate: aggregate.to_string(), repeats: side });
            }
        }
        Ok(())
    }

    fn is_nullable(&self, column: &ColumnRef) -> Result<bool, Error> {
        Ok(self.declaration(column)?.is_nullable())
    }

    /// Returns the number of joined rows.
    fn rows(&self) -> CellSum {
        match Side::BOTH.iter().any(|side| self.repeats(*side)) {
            true => CellSum { summand: Summand::Row, width: Width::W64, scale: 0 },
            false => keys(),
        }
    }

    /// Returns the number of rows in which no column is null.
    fn present(&self, columns: &[&ColumnRef]) -> Result<CellSum, Error> {
        let mut nullable: Vec<ColumnRef> = Vec::new();
        for column in columns {
            if self.is_nullable(column)? && !nullable.contains(column) {
                nullable.push((*column).clone());
            }
        }
        let rows = self.rows();
        Ok(if nullable.is_empty() {
            rows
        } else {
            CellSum { summand: Summand::Present(nullable), ..rows }
        })
    }

    /// Returns the sum of a column, or of the products of two.
    fn sum(&self, columns: &[&ColumnRef]) -> Result<CellSum, Error> {
        let factors: Result<Vec<_>, _> = columns.iter().map(|column| self.factor(column)).collect();
        let factors = factors?;
        let scale = factors.iter().map(|factor| factor.scale).sum();
        // Bounds hold for sums of a key's rows, and so say nothing about products of two columns in each row. They hold
        // for each row that is joined by itself.
        let is_of_rows = self.as_of.is_none()
            && factors.len() == 2
            && factors[0].column.side == factors[1].column.side
            && self.repeats(factors[0].column.side);
        if let Some(factor) = factors
            .iter()
            .find(|_| is_of_rows)
            .filter(|_| factors.iter().any(|factor| factor.range != Range::FULL))
        {
            return Err(self.unfit(
                &factor.column,
                "multiplies in each row of a key",
                "integer or decimal(SCALE) without bounds, which hold for a key's rows together",
            )?);
        }
        let rows = factors.first().map_or(1, |factor| self.joined_rows(factor.column.side));
        let width = match is_of_rows {
            true => Width::W128,
            false => Width::of_magnitude(magnitude(&factors, rows)),
        };
        Ok(CellSum { summand: Summand::Product(factors), width, scale })
    }

    fn factor(&self, column: &ColumnRef) -> Result<Factor, Error> {
        match self.declaration(column)?.kind() {
            ColumnKind::Number { scale, range } => Ok(Factor {
                column: column.clone(),
                range: range.unwrap_or(Range::FULL),
                scale: *scale,
            }),
            _ => Err(self.unfit(column, "adds up", "integer or decimal(SCALE)")?),
        }
    }
}

/// Returns the number of distinct keys.
fn keys() -> CellSum {
    CellSum { summand: Summand::Key, width: Width::W32, scale: 0 }
}

/// Returns a bound of the sum of the products of some columns. Each key contributes at most the product of the columns'
/// largest magnitudes, once for each of some rows. Besides, the magnitudes of one column add up to less than 2^63, and
/// the other columns multiply them by at most their largest magnitudes.
fn magnitude(factors: &[Factor], rows: u32) -> u128 {
    let largest = |factor: &Factor| u128::from(factor.range.magnitude());
    let product: u128 = factors.iter().map(largest).product();
    let by_keys = product.saturating_mul(u128::from(rows) << LOG_KEYS);
    let others = |i: usize| {
        factors.iter().enumerate().filter(move |(j, _)| *j != i).map(|(_, one)| largest(one))
    };
    let by_sums = (0..factors.len()).map(|i| others(i).product::<u128>() * (MAX_SUM - 1));
    by_sums.fold(by_keys, u128::min)
}
