//! Random queries over two small tables, as texts that people could have written.

use rand::{RngExt, rngs::StdRng};
use vesica_select::Side;

/// The values of a column.
#[derive(Clone, Copy)]
pub enum Values {
    /// Numbers with this many decimal places.
    Number(u8),
    Text(&'static [&'static str]),
    Boolean,
    /// Days at most this far from 2026-01-31.
    Date(i32),
}

impl Values {
    /// Whether a query may name the column anywhere.
    fn is_usual(&self) -> bool {
        !matches!(self, Self::Date(_))
    }
}

#[derive(Clone)]
pub struct Column {
    pub name: &'static str,
    /// The type after the colon of its declaration.
    pub declared: String,
    /// The type in DuckDB.
    pub sql: &'static str,
    pub values: Values,
}

/// The columns of the two tables.
pub type Columns = [Vec<Column>; 2];

impl Column {
    pub fn new(
        name: &'static str,
        declared: impl Into<String>,
        sql: &'static str,
        values: Values,
    ) -> Self {
        Self { name, declared: declared.into(), sql, values }
    }

    pub fn is_nullable(&self) -> bool {
        self.declared.ends_with('?')
    }

    /// The text of its declaration.
    pub fn declaration(&self) -> String {
        format!("\"{}\":{}", self.name, self.declared)
    }
}

/// A label as it is written, with its column and edges.
struct Written {
    label: (Side, &'static str, &'static str),
    text: String,
}

/// Writes queries.
pub struct Writer<'a> {
    columns: &'a Columns,
    rng: &'a mut StdRng,
    text: String,
    /// The side whose rows are each joined with the latest earlier row of the other.
    later: Option<Side>,
}

impl<'a> Writer<'a> {
    pub fn new(columns: &'a Columns, rng: &'a mut StdRng) -> Self {
        Self { columns, rng, text: String::new(), later: None }
    }

    /// Returns a side's column of dates.
    fn date(&self, side: Side) -> Option<&'a Column> {
        let mut columns = self.columns[side.index()].iter();
        columns.find(|column| matches!(column.values, Values::Date(_)))
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.random_range(0..of.len())]
    }

    /// Writes words, in any case and with any blanks between them.
    fn words(&mut self, words: &str) {
        for word in words.split(' ') {
            let blank = self.one(&[" ", " ", " ", "\n", "\t ", " -- a comment, 'with \"quotes\n"]);
            self.text += blank;
            match self.rng.random_range(0..3) {
                0 => self.text += &word.to_ascii_lowercase(),
                1 => self.text += word,
                _ => {
                    for letter in word.chars() {
                        self.text.push(if self.rng.random() {
                            letter
                        } else {
                            letter.to_ascii_lowercase()
                        });
                    }
                }
            }
        }
    }

    /// Writes a symbol, perhaps between blanks.
    fn symbol(&mut self, symbol: &str) {
        let (before, after) = (self.one(&["", "", " "]), self.one(&["", " ", "\n"]));
        self.text += &format!("{before}{symbol}{after}");
    }

    fn name(&mut self, name: &str) {
        let is_word =
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name != "group";
        match is_word && self.chance(70) {
            true => self.text += name,
            false => self.text += &format!("\"{name}\""),
        }
    }

    fn column(&mut self, side: Side, column: &Column) {
        let table = side.to_string();
        let table = if self.chance(20) { table.to_ascii_uppercase() } else { table };
        let blank = self.one(&["", "", "", " "]);
        self.text += &format!(" {table}{blank}.");
        self.name(column.name);
    }

    fn side(&mut self) -> Side {
        self.one(&Side::BOTH)
    }

    fn any_column(&mut self, side: Side, is: fn(&Values) -> bool) -> &'a Column {
        let of_side = self.columns[side.index()].iter();
        let fitting: Vec<_> = of_side.filter(|column| is(&column.values)).collect();
        self.one(&fitting)
    }

    fn number(&mut self) {
        let sign = self.one(&["", "", "-", "- "]);
        let (zeros, whole) = (self.one(&["", "", "00"]), self.rng.random_range(0..30));
        let end = self.one(&["", "", ".5", ".0", ".250", ".001"]);
        self.text += &format!(" {sign}{zeros}{whole}{end}");
    }

    /// Writes a query, which is valid.
    pub fn query(mut self, with_remainder: bool) -> String {
        let dates = Side::BOTH.map(|side| self.date(side));
        if dates.iter().all(Option::is_some) && self.chance(25) {
            self.later = Some(self.side());
        }
        self.words("SELECT");
        let count = self.one(&[0, 0, 1, 1, 1, 2]);
        let mut labels = Vec::new();
        while labels.len() < count {
            let label = self.label();
            let is_new = |other: &Written| other.label != label.label;
            if labels.iter().all(is_new) {
                labels.push(label);
            }
        }
        let mut items: Vec<_> = labels.iter().map(|label| label.text.clone()).collect();
        for _ in 0..self.rng.random_range(1..4) {
            let place = self.rng.random_range(0..=items.len());
            let aggregate = self.aggregate();
            items.insert(place, aggregate);
        }
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.symbol(",");
            }
            self.text += item;
            if self.chance(30) {
                self.words("AS");
                self.text.push(' ');
                let name = self.one(&["n", "the sum", "select", "x\"\"y"]);
                self.text += &format!("\"{name}{i}\"");
            } else {
                // Without a name, two equal items would have one.
                self.text += &format!(" AS c{i}");
            }
        }
        match self.later {
            Some(later) => self.as_of(later),
            None => self.words("FROM a JOIN b USING (key)"),
        }
        if self.chance(60) {
            self.words(if self.later.is_some() { "AND" } else { "WHERE" });
            self.conditions();
        }
        if !labels.is_empty() {
            let shift = self.rng.random_range(0..labels.len());
            labels.rotate_left(shift);
            self.words("GROUP BY");
            self.text.push(' ');
            let labels: Vec<_> = labels.into_iter().map(|label| label.text).collect();
            self.text += &labels.join(", ");
        }
        if self.chance(40) {
            self.words("HAVING");
            // DuckDB knows two keys after ON.
            let counted = match self.later {
                Some(later) => self.one(&[
                    " count(*)",
                    [" COUNT ( DISTINCT a.key )", " count(distinct b.KEY)"][later.index()],
                ]),
                None => self.one(&[" count(*)", " COUNT ( DISTINCT key )"]),
            };
            self.text += counted;
            self.symbol(">=");
            let least = self.rng.random_range(1..5);
            self.text += &least.to_string();
            if with_remainder && count > 0 && self.chance(50) {
                self.words("WITH REMAINDER");
            }
        }
        let end = self.one(&["", "", ";", " ; -- the end"]);
        self.text + end
    }

    /// Writes a join by the latest earlier row, with its bound.
    fn as_of(&mut self, later: Side) {
        let earlier = later.other();
        self.words(&format!("FROM {later} ASOF JOIN {earlier} ON {later}.key = {earlier}.key AND"));
        let sides = [later, earlier].map(|side| (side, self.date(side).unwrap()));
        for (symbol, end) in [(">=", "WHERE"), ("-", "<=")] {
            self.column(sides[0].0, sides[0].1);
            self.symbol(symbol);
            self.column(sides[1].0, sides[1].1);
            self.words(end);
        }
        let days = self.one(&[0, 1, 7, 14, 63]);
        self.text += &format!(" {days}");
    }

    /// Returns what is written inside.
    fn apart(&mut self, inside: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.text);
        inside(self);
        std::mem::replace(&mut self.text, before)
    }

    fn label(&mut self) -> Written {
        let side = self.side();
        let is_bucket = self.chance(30);
        let column = self.any_column(
            side,
            match is_bucket {
                true => |values| matches!(values, Values::Number(_)),
                false => |values| matches!(values, Values::Text(_) | Values::Boolean),
            },
        );
        let edges =
            if is_bucket { self.one(&[", 0", ", -1.5, 7", ", -10, 0, 0.250, 12"]) } else { "" };
        let text = self.apart(|this| {
            if is_bucket {
                this.words("bucket");
                this.symbol("(");
            }
            this.column(side, column);
            if is_bucket {
                this.text += &format!("{edges})");
            }
        });
        Written { label: (side, column.name, edges), text }
    }

    fn aggregate(&mut self) -> String {
        let side = self.later.unwrap_or_else(|| self.side());
        let kind = self.rng.random_range(0..8);
        self.apart(|this| {
            let number = |this: &mut Self, side| {
                let column = this.any_column(side, |values| matches!(values, Values::Number(_)));
                this.column(side, column);
            };
            match kind {
                0 | 1 => this.words("count(*)"),
                2 if this.later.is_some() => {
                    let counted = this.side();
                    this.words(&format!("count( DISTINCT {counted}.key )"));
                }
                2 => this.words("count( DISTINCT key )"),
                3 => {
                    this.words("count(");
                    let column = this.any_column(side, Values::is_usual);
                    this.column(side, column);
                    this.symbol(")");
                }
                kind => {
                    this.words(["sum(", "sum(", "avg(", "var_samp("][kind - 4]);
                    number(this, side);
                    if kind == 5 {
                        this.symbol("*");
                        let other = this.later.unwrap_or_else(|| this.side());
                        number(this, other);
                    }
                    this.symbol(")");
                }
            }
        })
    }

    /// Writes predicates of either side, joined by AND.
    fn conditions(&mut self) {
        let in_parentheses = self.chance(20);
        if in_parentheses {
            self.symbol("(");
        }
        for i in 0..self.rng.random_range(1..4) {
            if i > 0 {
                self.words("AND");
            }
            let side = self.side();
            self.predicate(side, 3, 2);
        }
        if in_parentheses {
            self.symbol(")");
        }
    }

    /// Writes a predicate, in parentheses if it binds less than `strength`: 0 for OR, 1 for AND, 2 for NOT.
    fn predicate(&mut self, side: Side, depth: u32, strength: u32) {
        let kind = if depth == 0 { 3 } else { self.rng.random_range(0..5) };
        let needs = kind < strength;
        if needs || self.chance(15) {
            self.symbol("(");
            self.plain(side, depth, kind);
            self.symbol(")");
        } else {
            self.text.push(' ');
            self.plain(side, depth, kind);
        }
    }

    fn plain(&mut self, side: Side, depth: u32, kind: u32) {
        match kind {
            0 | 1 => {
                for i in 0..self.rng.random_range(2..4) {
                    if i > 0 {
                        self.words(["OR", "AND"][kind as usize]);
                    }
                    self.predicate(side, depth - 1, kind + 1);
                }
            }
            2 => {
                self.words("NOT");
                self.predicate(side, depth - 1, 2);
            }
            _ => self.atom(side),
        }
    }

    fn atom(&mut self, side: Side) {
        let column = self.any_column(side, Values::is_usual);
        self.column(side, column);
        if matches!(column.values, Values::Boolean) && self.chance(80) {
            return;
        }
        if matches!(column.values, Values::Boolean) || self.chance(15) {
            let negated = self.one(&["IS NULL", "IS NOT NULL"]);
            return self.words(negated);
        }
        let literal = |this: &mut Self| match column.values {
            Values::Text(texts) => {
                let text = this.one(texts);
                this.text += &format!(" '{}'", text.replace('\'', "''"));
            }
            _ => this.number(),
        };
        let not = if self.chance(30) { "NOT " } else { "" };
        match self.rng.random_range(0..4) {
            0 => {
                self.words(&format!("{not}IN ("));
                for i in 0..self.rng.random_range(1..4) {
                    if i > 0 {
                        self.symbol(",");
                    }
                    literal(self);
                }
                self.symbol(")");
            }
            1 => {
                self.words(&format!("{not}BETWEEN"));
                literal(self);
                self.words("AND");
                literal(self);
            }
            _ => {
                let comparison = self.one(&["=", "<>", "<", "<=", ">", ">="]);
                self.symbol(comparison);
                literal(self);
            }
        }
    }
}
