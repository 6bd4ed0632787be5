//! A random query, with random tables for it and facts of a run.

use std::sync::LazyLock;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica::{
    Learns, Role,
    queries::{Declared, Keys, QueryTable, Select, Selection, Side},
};
use vesica_select::{CellSum, FixedPoint, LabelShape, Shape, Summand};

use super::{
    clear::{Cell, Row},
    random::{Column, Columns, Values, Writer},
    tables::{declared, table},
};

const NAMES: &[&str] = &["north", "South", "é", "it's"];

/// As many labels as there may be.
static MANY: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| (0..4096).map(|i| &*format!("c{i}").leak()).collect());

/// A query over two tables, and the way in which it is answered.
pub struct Case {
    pub number: u64,
    /// The query as it was written.
    pub text: String,
    pub query: Select,
    pub shape: Shape,
    pub columns: Columns,
    pub declared: [Declared; 2],
    pub tables: [Vec<Row>; 2],
    /// Whether some values are near the largest that there may be.
    pub is_extreme: bool,
    /// The side of the connection that has table `a`.
    pub a: Role,
    /// Whether the connecting side learns.
    pub learns: Learns,
    pub partitions: u32,
    /// Whether both sides keep journals.
    pub keeps: bool,
    /// The first message that is not sent in the first attempt, and its sender.
    pub breaks: Option<(Role, usize)>,
}

/// Shows neither columns that are not used nor rows.
impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.declared.each_ref().map(|declared| {
            let texts: Vec<_> = declared.columns().iter().map(ToString::to_string).collect();
            let short = |text: String| text.chars().take(80).collect::<String>();
            (declared.keys(), texts.into_iter().map(short).collect::<Vec<_>>())
        });
        f.debug_struct("Case")
            .field("number", &self.number)
            .field("query", &self.query.to_string())
            .field("columns", &columns)
            .field("rows", &self.tables.each_ref().map(Vec::len))
            .field("a", &self.a)
            .field("learns", &self.learns)
            .field("partitions", &self.partitions)
            .field("breaks", &self.breaks)
            .finish_non_exhaustive()
    }
}

fn one<T: Copy>(of: &[T], rng: &mut StdRng) -> T {
    of[rng.random_range(0..of.len())]
}

/// Columns whose types have everything that a type can have.
fn columns(rng: &mut StdRng) -> Columns {
    let many: &'static [&'static str] = &MANY[..one(&[2, 60, 700, 4096], rng)];
    let public = format!("{{{}}}", many.join(","));
    let private = format!("label<={}", many.len());
    let names = one(&["{north,South,é,'it''s'}", "label<=4", "label<=64"], rng);
    let null = one(&["", "?"], rng);
    let mut number = |name, types: &[&str], sql, scale| {
        Column::new(name, one(types, rng), sql, Values::Number(scale))
    };
    let (money, balance, whole) = ("DECIMAL(20,2)", "DECIMAL(22,3)", "DECIMAL(19,0)");
    let spend = [
        "decimal(2)?",
        "decimal(2)",
        "decimal(2)[-5..10]?",
        "decimal(2)[1..7.5]",
        "decimal(2)[-80000000000000..90000000000000]?",
    ];
    let of_balance = ["decimal(3)", "decimal(3)?", "decimal(3)[-7..100]", "decimal(3)[-1..0]?"];
    let numbers = [
        number("spend", &spend, money, 2),
        number("Visits", &["integer", "integer?", "integer[-3..12]"], whole, 0),
        number("balance", &of_balance, balance, 3),
        number("age", &["integer?", "integer", "integer[0..2000000]?"], whole, 0),
    ];
    let [spend, visits, balance, age] = numbers;
    let label = |name, declared: String, texts| {
        Column::new(name, format!("{declared}{null}"), "VARCHAR", Values::Text(texts))
    };
    [
        vec![
            spend,
            visits,
            label("first name", names.to_owned(), NAMES),
            label("many", private, many),
            Column::new("vip", format!("boolean{null}"), "BOOLEAN", Values::Boolean),
            Column::new("at", "date[2026-01-01..2026-03-02]", "DATE", Values::Date(30)),
        ],
        vec![
            label("region", names.to_owned(), NAMES),
            balance,
            age,
            label("group", public, many),
            Column::new("opted_in", "boolean?", "BOOLEAN", Values::Boolean),
            Column::new("seen", "date[2026-01-28..2026-02-03]", "DATE", Values::Date(3)),
        ],
    ]
}

/// Allows a key as many labels, or dates, as it may have rows.
fn allow_several(columns: &mut [Column], is: fn(Values) -> bool) {
    for column in columns.iter_mut().filter(|column| is(column.values)) {
        let declared = column.declared.trim_end_matches('?');
        let null = &column.declared[declared.len()..];
        column.declared = format!("{declared}/3{null}");
    }
}

/// Returns whether every release answers a query of this shape: one by labels of both sides has few groups, and no
/// products of two columns of one side.
fn is_supported(shape: &Shape) -> bool {
    let earlier = shape.latest.map(|latest| latest.earlier);
    let groups = Side::BOTH.map(|side| {
        let labels = shape.labels.iter().filter(|label| label.side == side);
        labels.map(LabelShape::count).product::<u64>()
    });
    let is_square = |sum: &CellSum| match &sum.summand {
        Summand::Product(factors) => {
            factors.len() == 2 && factors[0].column.side == factors[1].column.side
        }
        _ => false,
    };
    // The side whose rows are found has the table of circuit PSI, even if only the other has labels.
    let (of_other, is_free) = match earlier {
        Some(earlier) => (groups[earlier.other().index()], false),
        None => (groups.into_iter().max().unwrap_or(1), groups.contains(&1)),
    };
    let numbers = of_other * (shape.sums.len() as u64 + 1);
    is_free || of_other == 1 || numbers <= 256 && !shape.sums.iter().any(is_square)
}

impl Case {
    /// The case with this number.
    pub fn random(number: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(number);
        let rng = &mut rng;
        let keys = match rng.random_range(0..10) {
            0 | 1 => [Keys::Repeats, Keys::Unique],
            2 | 3 => [Keys::Unique, Keys::Repeats],
            4 => [Keys::Repeats, Keys::Repeats],
            _ => [Keys::Unique, Keys::Unique],
        };
        let (text, query, columns, declared, shape) = loop {
            let mut columns = columns(rng);
            let text = Writer::new(&columns, rng).query(true);
            let query: Select = text.parse().unwrap();
            if let Some(as_of) = query.as_of() {
                let [later, earlier] = [as_of.later, as_of.earlier()].map(Side::index);
                allow_several(&mut columns[earlier], |values| matches!(values, Values::Text(_)));
                allow_several(&mut columns[later], |values| matches!(values, Values::Date(_)));
            }
            // A side declares only the columns that it uses.
            let declared = Side::BOTH.map(|side| {
                let used = query.columns(side);
                let is_used = |column: &&Column| used.iter().any(|used| used.name == column.name);
                let used: Vec<_> = columns[side.index()].iter().filter(is_used).cloned().collect();
                declared(&used, keys[side.index()])
            });
            let of_sides = Side::BOTH
                .map(|side| QueryTable { side, declared: Some(declared[side.index()].clone()) });
            let [a, b] = &of_sides;
            let Ok(selection) = Selection::of_roles(query.clone().into(), [a, b]) else { continue };
            let shape = selection.shape().unwrap().clone();
            if !is_supported(&shape) {
                continue;
            }
            break (text, query, columns, declared, shape);
        };
        let mut made = Self {
            number,
            tables: [Vec::new(), Vec::new()],
            is_extreme: keys == [Keys::Unique; 2] && rng.random_range(0..4) == 0,
            a: one(&[Role::A, Role::B], rng),
            learns: one(&[Learns::Me, Learns::Peer, Learns::Both], rng),
            partitions: one(&[1, 1, 1, 4], rng),
            keeps: rng.random_range(0..3) == 0,
            breaks: None,
            text,
            query,
            shape,
            columns,
            declared,
        };
        if made.keeps && rng.random_range(0..2) == 0 {
            made.breaks = Some((one(&[Role::A, Role::B], rng), rng.random_range(5..150)));
        }
        made.tables = made.random_tables(keys, rng);
        made
    }

    /// Tables that share some keys or none; one or both may be empty.
    fn random_tables(&self, keys: [Keys; 2], rng: &mut StdRng) -> [Vec<Row>; 2] {
        let n = one(&[1, 2, 10, 40, 100, 250], rng);
        let of_sides = match rng.random_range(0..12) {
            0 => [0..0, 0..n],
            1 => [0..n, 0..0],
            2 => [0..0, 0..0],
            3 => [0..n, n..2 * n],
            4 => [0..n / 7, 0..n],
            _ => [0..n, n / 5..n + n / 5],
        };
        let mut tables = Side::BOTH.map(|side| {
            let at = side.index();
            let is_later = self.query.as_of().is_some_and(|as_of| as_of.later == side);
            table(&self.columns[at], keys[at], of_sides[at].clone(), is_later, rng)
        });
        for side in Side::BOTH {
            let rows = &mut tables[side.index()];
            let is_earlier = self.query.as_of().is_some_and(|as_of| as_of.earlier() == side);
            // All rows of a key have one label, except for texts among which a day selects one.
            for label in self.query.labels().iter().filter(|label| label.column().side == side) {
                let name = &*label.column().name;
                let column = self.columns[side.index()].iter().find(|column| column.name == name);
                if is_earlier && matches!(column.unwrap().values, Values::Text(_)) {
                    continue;
                }
                for i in 1..rows.len() {
                    if rows[i].key == rows[i - 1].key {
                        let label = rows[i - 1].cells[name].clone();
                        *rows[i].cells.get_mut(name).unwrap() = label;
                    }
                }
            }
            if self.is_extreme && !rows.is_empty() {
                for column in &self.columns[side.index()] {
                    let Values::Number(scale) = column.values else { continue };
                    // The magnitudes of all rows add up to less than 2^63.
                    let most = i128::from(i64::MAX - 100_000_000) * one(&[1, -1], rng);
                    let row = rng.random_range(0..rows.len());
                    let cell = Cell::Number(FixedPoint::new(most, scale));
                    rows[row].cells.insert(column.name, Some(cell));
                }
            }
        }
        tables
    }

    /// A side's table as a text.
    pub fn csv(&self, side: Side) -> Vec<u8> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let columns = &self.columns[side.index()];
        let names = columns.iter().map(|column| column.name);
        writer.write_record(std::iter::once("k").chain(names)).unwrap();
        for row in &self.tables[side.index()] {
            let value = |column: &Column| match &row.cells[column.name] {
                None => String::new(),
                Some(Cell::Number(number)) => number.to_string(),
                Some(Cell::Text(text)) => (*text).to_owned(),
                Some(Cell::Boolean(is_true)) => is_true.to_string(),
                Some(Cell::Date(date)) => date.to_string(),
            };
            let key = format!("key {}", row.key);
            writer.write_record(std::iter::once(key).chain(columns.iter().map(value))).unwrap();
        }
        writer.into_inner().unwrap()
    }
}
