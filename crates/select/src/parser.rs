//! From a text to a query, by recursive descent.

mod conditions;
mod joins;
mod tokens;

use std::str::FromStr;

use self::tokens::is_word;
use crate::{
    as_of::AsOf,
    column::{ColumnRef, Side},
    error::Error,
    fixed_point::FixedPoint,
    lexer::{Lexeme, Lexer, Token},
    query::{Aggregate, CELL, Label, Select, SelectItem},
    refusals,
};

/// The longest text of a query, in bytes.
pub const MAX_BYTES: usize = 8 << 10;

/// The deepest nesting of parentheses and NOT in a predicate.
const MAX_DEPTH: u32 = 32;

/// The largest minimum of HAVING.
const MAX_LEAST: i128 = 1 << 28;

impl FromStr for Select {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut lexer = Lexer::new(text, MAX_BYTES)?;
        let mut tokens = Vec::new();
        loop {
            let lexeme = lexer.next()?;
            tokens.push(lexeme);
            if tokens.last().is_some_and(|last| last.token == Token::End) {
                break;
            }
        }
        Parser { text, tokens, next: 0, depth: 0, named: Vec::new() }.select()
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Ends with [`Token::End`].
    tokens: Vec<Lexeme>,
    next: usize,
    depth: u32,
    /// The columns of the predicate, in the order in which they are named.
    named: Vec<Named>,
}

/// A column's side, and the byte at which the column is named.
#[derive(Clone, Copy)]
struct Named {
    side: Side,
    at: usize,
}

/// The clauses of a query.
impl Parser<'_> {
    fn select(mut self) -> Result<Select, Error> {
        if self.is("WITH") {
            return self
                .fail("common table expressions are not supported: a query begins with SELECT");
        }
        if !self.eat("SELECT") {
            return self.fail("a query begins with SELECT");
        }
        let (mut items, mut labels, mut places) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            places.push(self.at());
            let item = self.item(&mut labels)?;
            items.push(item);
            if !self.eat_symbol(",") {
                break;
            }
        }
        let mut as_of = self.from()?;
        self.names_keys(&items, &places, as_of.as_ref())?;
        let filters = match self.eat("WHERE") {
            true => self.conditions(as_of.as_mut())?,
            false if as_of.is_some() => {
                return self.fail(
                    "ASOF JOIN needs the most days between two rows: write WHERE a.ordered_at - b.shown_at <= 14",
                );
            }
            false => [None, None],
        };
        self.group_by(&labels)?;
        let least = if self.eat("HAVING") { self.having()? } else { 0 };
        let has_remainder = self.is("WITH") && is_word(self.following(1), "REMAINDER");
        if has_remainder {
            if least == 0 || labels.is_empty() {
                return self.fail("WITH REMAINDER needs GROUP BY and HAVING count(*) >= N");
            }
            self.advance();
            self.advance();
        }
        self.eat_symbol(";");
        if *self.token() != Token::End {
            return self.refuse("the end of the query");
        }
        let query = Select { items, as_of, labels, filters, least, has_remainder };
        if query.aggregates().next().is_none() {
            let what = "the SELECT list needs an aggregate, such as count(*)";
            return Err(Error::at(self.text, places[0], what));
        }
        let headings = query.headings();
        for (i, heading) in headings.iter().enumerate() {
            if headings[..i].iter().any(|known| known.eq_ignore_ascii_case(heading)) {
                let what = format!(
                    "two columns of the result have the name `{heading}`: write AS and another name"
                );
                return Err(Error::at(self.text, places[i], what));
            }
        }
        let taken = headings.iter().position(|heading| heading.eq_ignore_ascii_case(CELL));
        if let Some(i) = taken.filter(|_| query.least() > 0 && !query.labels().is_empty()) {
            let what = format!(
                "the result has a column `{CELL}` that says which groups are shown: write AS and another name"
            );
            return Err(Error::at(self.text, places[i], what));
        }
        Ok(query)
    }

    /// Checks that keys are named as in SQL, where both sides of a join as of a day have some.
    fn names_keys(
        &self,
        items: &[SelectItem],
        places: &[usize],
        as_of: Option<&AsOf>,
    ) -> Result<(), Error> {
        for (item, at) in items.iter().zip(places) {
            let SelectItem::Aggregate { aggregate: Aggregate::CountKeys(side), .. } = item else {
                continue;
            };
            let what = match (as_of, side) {
                (Some(as_of), None) => format!("write count(DISTINCT {}.key)", as_of.later),
                (None, Some(_)) => "write count(DISTINCT key)".to_owned(),
                _ => continue,
            };
            return Err(Error::at(self.text, *at, what));
        }
        Ok(())
    }

    fn item(&mut self, labels: &mut Vec<Label>) -> Result<SelectItem, Error> {
        if self.is_symbol("*") {
            return self.fail("`SELECT *` is not supported: name labels and aggregates");
        }
        let at = self.at();
        let function = match self.token() {
            Token::Word(word) if *self.following(1) == Token::Symbol("(") => {
                Some(word.to_ascii_lowercase())
            }
            Token::Word(_) | Token::Quoted(_) => None,
            _ => return self.refuse("a label or an aggregate"),
        };
        let item = match function {
            Some(function) if function != "bucket" => {
                let aggregate = self.aggregate(&function)?;
                SelectItem::Aggregate { aggregate, name: self.name()? }
            }
            _ => {
                let label = self.label()?;
                if labels.contains(&label) {
                    return Err(Error::at(
                        self.text,
                        at,
                        format!("the label {label} is named twice"),
                    ));
                }
                labels.push(label);
                SelectItem::Label { label: labels.len() - 1, name: self.name()? }
            }
        };
        Ok(item)
    }

    /// Reads the name after AS, if there is one.
    fn name(&mut self) -> Result<Option<String>, Error> {
        let has_name = self.eat("AS");
        match self.token() {
            Token::Word(name) | Token::Quoted(name) if has_name => {
                let name = name.clone();
                self.advance();
                Ok(Some(name))
            }
            _ if has_name => self.refuse("a name"),
            Token::Word(word) if !self.is("FROM") && refusals::of_word(word).is_none() => {
                self.fail(format!("write AS before the name `{word}`"))
            }
            _ if self.is("FROM") || self.is_symbol(",") => Ok(None),
            _ => self.refuse("a comma or FROM"),
        }
    }

    fn label(&mut self) -> Result<Label, Error> {
        if !(self.is("bucket") && *self.following(1) == Token::Symbol("(")) {
            return Ok(Label::Column(self.column()?));
        }
        self.advance();
        self.advance();
        let column = self.column()?;
        self.expect_symbol(",", "a comma and the edges of the buckets")?;
        let mut edges: Vec<FixedPoint> = Vec::new();
        loop {
            let at = self.at();
            let edge = self.number("a number as the edge of a bucket")?;
            if edges.last().is_some_and(|last| *last >= edge) {
                return Err(Error::at(self.text, at, "the edges of buckets must ascend"));
            }
            edges.push(edge);
            if !self.eat_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")", "a comma or a closing parenthesis")?;
        Ok(Label::Bucket { column, edges })
    }

    fn aggregate(&mut self, function: &str) -> Result<Aggregate, Error> {
        if !["count", "sum", "avg", "var_samp"].contains(&function) {
            return match refusals::of_word(function) {
                Some(advice) => self.fail(advice),
                None => self.fail(refusals::of_function(function)),
            };
        }
        self.advance();
        self.advance();
        let aggregate = match function {
            "count" => self.count()?,
            "sum" => {
                let first = self.column()?;
                match self.eat_symbol("*") {
                    true => Aggregate::product(first, self.column()?),
                    false => Aggregate::Sum(first),
                }
            }
            "avg" => Aggregate::Mean(self.column()?),
            _ => Aggregate::Variance(self.column()?),
        };
        self.expect_symbol(")", "a closing parenthesis")?;
        Ok(aggregate)
    }

    /// Reads what is counted, up to the closing parenthesis.
    fn count(&mut self) -> Result<Aggregate, Error> {
        if self.eat_symbol("*") {
            return Ok(Aggregate::CountAll);
        }
        if self.eat("DISTINCT") {
            if self.eat("key") {
                return Ok(Aggregate::CountKeys(None));
            }
            let is_key =
                *self.following(1) == Token::Symbol(".") && is_word(self.following(2), "key");
            let side = Side::BOTH.into_iter().find(|side| is_key && self.is(&side.to_string()));
            if side.is_some() {
                (0..3).for_each(|_| self.advance());
                return Ok(Aggregate::CountKeys(side));
            }
            return self.fail("DISTINCT is supported only in count(DISTINCT key)");
        }
        if self.is("key") {
            return self.fail("write count(DISTINCT key) or count(*)");
        }
        if self.is_symbol(")") || matches!(self.token(), Token::Number(_)) {
            return self.fail("write count(*)");
        }
        Ok(Aggregate::Count(self.column()?))
    }

    /// Reads a column with its side.
    fn column(&mut self) -> Result<ColumnRef, Error> {
        const EXPECTED: &str = "a column such as a.spend";
        let (word, is_qualified) = match self.token() {
            Token::Word(word) | Token::Quoted(word) => {
                (word, *self.following(1) == Token::Symbol("."))
            }
            _ => return self.refuse(EXPECTED),
        };
        let is_plain = matches!(self.token(), Token::Word(_));
        if !is_qualified {
            if is_plain && let Some(advice) = refusals::of_word(word) {
                return self.fail(advice);
            }
            if *self.following(1) == Token::Symbol("(") {
                return self.fail(refusals::of_function(word));
            }
            let name = if is_plain { word.clone() } else { format!("\"{word}\"") };
            return self.fail(format!("write a.{name} or b.{name}: each column needs its side"));
        }
        let side = match word.as_str() {
            "a" | "A" if is_plain => Side::A,
            "b" | "B" if is_plain => Side::B,
            _ => return self.fail(format!("unknown table `{word}`: the tables are a and b")),
        };
        self.advance();
        self.advance();
        let name = match self.token() {
            Token::Word(name) | Token::Quoted(name) => name.clone(),
            Token::Symbol("*") => {
                return self.fail("`*` is supported only in count(*): name a column");
            }
            _ => return self.refuse("the name of a column"),
        };
        if name.eq_ignore_ascii_case("key") {
            return self.fail("the key cannot be a column of a query: use count(DISTINCT key)");
        }
        self.advance();
        Ok(ColumnRef { side, name })
    }

    /// Reads GROUP BY, which must name all labels.
    fn group_by(&mut self, labels: &[Label]) -> Result<(), Error> {
        let at = self.at();
        let mut missing: Vec<&Label> = labels.iter().collect();
        if self.eat("GROUP") {
            self.expect("BY", "BY after GROUP")?;
            loop {
                let at = self.at();
                if matches!(self.token(), Token::Number(_)) {
                    return self.fail("write the label itself in GROUP BY, not its number");
                }
                let label = self.label()?;
                let known = missing.iter().position(|one| **one == label);
                let Some(known) = known else {
                    let what = match labels.contains(&label) {
                        true => format!("the label {label} is named twice"),
                        false => format!("the label {label} must also be in the SELECT list"),
                    };
                    return Err(Error::at(self.text, at, what));
                };
                missing.remove(known);
                if !self.eat_symbol(",") {
                    break;
                }
            }
        }
        match missing.first() {
            Some(label) => {
                Err(Error::at(self.text, at, format!("GROUP BY must name the label {label}")))
            }
            None => Ok(()),
        }
    }

    /// Reads the condition of HAVING.
    fn having(&mut self) -> Result<u64, Error> {
        const HAVING: &str = "the only condition of HAVING is count(*) >= N, with N from 1 to 2^28";
        let at = self.at();
        let is_count = self.eat("count")
            && self.eat_symbol("(")
            && matches!(self.count(), Ok(Aggregate::CountAll | Aggregate::CountKeys(_)))
            && self.eat_symbol(")")
            && self.eat_symbol(">=");
        match *self.token() {
            Token::Number(number)
                if is_count
                    && number.scale() == 0
                    && (1..=MAX_LEAST).contains(&number.number()) =>
            {
                self.advance();
                Ok(number.number() as u64)
            }
            _ => Err(Error::at(self.text, at, HAVING)),
        }
    }
}
