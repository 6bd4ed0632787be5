//! The answer to a query in the clear, by the meaning that the crate gives to its parts.

use std::collections::{BTreeMap, BTreeSet};

use vesica_select::{
    AsOf, CellSum, ColumnKind, ColumnRef, Date, Datum, Declared, FixedPoint, Formula, Keys, Label,
    Range, Select, Shape, Side, Summand,
};

/// A value of a table.
#[derive(Clone)]
pub enum Cell {
    Number(FixedPoint),
    Text(&'static str),
    Boolean(bool),
    Date(Date),
}

/// A row; null is `None`.
pub struct Row {
    pub key: u32,
    pub cells: BTreeMap<&'static str, Option<Cell>>,
}

impl Row {
    fn datum(&self, name: &str) -> Option<Datum<'static>> {
        self.cells[name].as_ref().map(|cell| match cell {
            Cell::Number(number) => Datum::Number(*number),
            Cell::Text(text) => Datum::Text(text),
            Cell::Boolean(is_true) => Datum::Boolean(*is_true),
            Cell::Date(date) => Datum::Number(FixedPoint::new(date.number().into(), 0)),
        })
    }

    /// The value of a column of numbers in units of its scale; 0 for null.
    fn number(&self, name: &str) -> i128 {
        match self.datum(name) {
            Some(Datum::Number(number)) => number.number(),
            _ => 0,
        }
    }
}

/// Two rows with the same key.
pub type Joined<'t> = [&'t Row; 2];

/// A query with both tables, and their declared columns.
pub struct Asked<'t> {
    pub query: &'t Select,
    pub shape: &'t Shape,
    pub tables: &'t [Vec<Row>; 2],
    pub declared: &'t [Declared; 2],
}

/// Joined rows by their labels.
pub type Groups<'t> = BTreeMap<Vec<Option<String>>, Vec<Joined<'t>>>;

impl<'t> Asked<'t> {
    /// The rows that pass the filter of their side.
    pub fn counted(&self, side: Side) -> Vec<&'t Row> {
        let holds = |row: &&Row| {
            let filter = self.query.filter(side);
            filter.is_none_or(|filter| filter.holds(&|name| row.datum(name)) == Some(true))
        };
        self.tables[side.index()].iter().filter(holds).collect()
    }

    /// All joined rows that count.
    fn joined(&self) -> Vec<Joined<'t>> {
        let [a_rows, b_rows] = Side::BOTH.map(|side| self.counted(side));
        let Some(as_of) = self.query.as_of() else {
            let all = a_rows.iter().flat_map(|a| b_rows.iter().map(move |b| [*a, *b]));
            return all.filter(|[a, b]| a.key == b.key).collect();
        };
        let [counted, found] = match as_of.later {
            Side::A => [a_rows, b_rows],
            Side::B => [b_rows, a_rows],
        };
        let mut joined = Vec::new();
        for later in counted {
            let Some(earlier) = self.latest(as_of, later) else { continue };
            // The filter applies to the row that was found.
            if !found.iter().any(|row| std::ptr::eq(*row, earlier)) {
                continue;
            }
            joined.push(match as_of.later {
                Side::A => [later, earlier],
                Side::B => [earlier, later],
            });
        }
        joined
    }

    /// The latest row that is not after another one, if it is near enough.
    fn latest(&self, as_of: &AsOf, later: &Row) -> Option<&'t Row> {
        let day = |row: &Row, side: Side| row.number(&as_of.dates[side.index()]);
        let on = day(later, as_of.later);
        let earlier = as_of.earlier();
        let rows = self.tables[earlier.index()].iter().filter(|row| row.key == later.key);
        let latest =
            rows.filter(|row| day(row, earlier) <= on).max_by_key(|row| day(row, earlier))?;
        (on - day(latest, earlier) <= i128::from(as_of.within)).then_some(latest)
    }

    /// All groups with rows. A query without labels has one group, even without rows.
    pub fn groups(&self) -> Groups<'t> {
        let mut groups = Groups::new();
        if self.query.labels().is_empty() {
            groups.insert(Vec::new(), Vec::new());
        }
        for joined in self.joined() {
            let label = |label: &Label| {
                let column = label.column();
                let datum = joined[column.side.index()].datum(&column.name);
                label.of(datum).map(|label| label.into_owned())
            };
            let labels = self.query.labels().iter().map(label).collect();
            groups.entry(labels).or_default().push(joined);
        }
        groups
    }

    /// The results of a group with these rows.
    pub fn results(&self, rows: &[Joined<'_>]) -> Vec<Option<FixedPoint>> {
        let sums: Vec<i128> = self.shape.sums.iter().map(|sum| self.sum(sum, rows)).collect();
        let mut results = self.shape.aggregates(&sums);
        // A group without rows has no sums, even of a column that is never null.
        if rows.is_empty() {
            let sums = self.shape.results.iter().zip(&mut results);
            sums.filter(|(formula, _)| matches!(formula, Formula::Sum { .. }))
                .for_each(|(_, sum)| *sum = None);
        }
        results
    }

    fn sum(&self, sum: &CellSum, rows: &[Joined<'_>]) -> i128 {
        match &sum.summand {
            Summand::Key => keys(rows) as i128,
            Summand::Row => rows.len() as i128,
            Summand::Present(columns) => {
                let is_present = |row: &&Joined<'_>| {
                    let datum = |column: &ColumnRef| row[column.side.index()].datum(&column.name);
                    columns.iter().all(|column| datum(column).is_some())
                };
                rows.iter().filter(is_present).count() as i128
            }
            Summand::Product(factors) => {
                let columns: Vec<_> = factors.iter().map(|factor| &factor.column).collect();
                let product = |row: &Joined<'_>| -> i128 {
                    let number =
                        |column: &&ColumnRef| row[column.side.index()].number(&column.name);
                    columns.iter().map(number).product()
                };
                match columns.iter().any(|column| self.range(column).is_some()) {
                    // Rows that are joined as of a day have bounds each.
                    true if self.query.as_of().is_some() => {
                        let one_by_one = rows.iter();
                        one_by_one
                            .map(|row| self.bounded(&columns, std::slice::from_ref(row)))
                            .sum()
                    }
                    true => self.bounded(&columns, rows),
                    false => rows.iter().map(product).sum(),
                }
            }
        }
    }

    /// The declared bounds of a column.
    pub fn range(&self, column: &ColumnRef) -> Option<Range> {
        match self.declared[column.side.index()].column(&column.name)?.kind() {
            ColumnKind::Number { range, .. } => *range,
            _ => None,
        }
    }

    /// The sum of a key's values in some rows of a side, and the same within the declared bounds.
    pub fn total(&self, column: &ColumnRef, rows: &[&Row]) -> [i128; 2] {
        let total: i128 = rows.iter().map(|row| row.number(&column.name)).sum();
        let bounded = match self.range(column) {
            Some(range) if total != 0 => total.clamp(range.low.into(), range.high.into()),
            _ => total,
        };
        [total, bounded]
    }

    /// The sum of products of columns with bounds, which hold for the sum of a key's rows.
    fn bounded(&self, columns: &[&ColumnRef], rows: &[Joined<'_>]) -> i128 {
        let mut by_key: BTreeMap<u32, [Vec<&Row>; 2]> = BTreeMap::new();
        for row in rows {
            for (of_side, row) in by_key.entry(row[0].key).or_default().iter_mut().zip(row) {
                if of_side.iter().all(|known| !std::ptr::eq(*known, *row)) {
                    of_side.push(row);
                }
            }
        }
        let part = |side: Side, rows: &[&Row]| -> i128 {
            let own: Vec<_> = columns.iter().filter(|column| column.side == side).collect();
            let repeats = self.declared[side.index()].keys() == Keys::Repeats;
            match &own[..] {
                [] => rows.len() as i128,
                // Each row has a product of its own.
                [one, other] if repeats && self.query.as_of().is_none() => {
                    rows.iter().map(|row| row.number(&one.name) * row.number(&other.name)).sum()
                }
                own => own.iter().map(|column| self.total(column, rows)[1]).product(),
            }
        };
        let product = |rows: &[Vec<&Row>; 2]| -> i128 {
            Side::BOTH.iter().map(|side| part(*side, &rows[side.index()])).product()
        };
        by_key.values().map(product).sum()
    }
}

/// The number of distinct keys.
pub fn keys(rows: &[Joined<'_>]) -> u64 {
    rows.iter().map(|row| row[0].key).collect::<BTreeSet<_>>().len() as u64
}
