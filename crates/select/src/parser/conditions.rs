//! The condition of WHERE.

use super::{MAX_DEPTH, Named, Parser, tokens::is_word};
use crate::{
    as_of::AsOf,
    error::Error,
    lexer::Token,
    predicate::{Comparator, Literal, Predicate},
    refusals,
};

impl Parser<'_> {
    /// Reads the condition of WHERE: the bound of a join, and each side's filter.
    pub(super) fn conditions(
        &mut self,
        as_of: Option<&mut AsOf>,
    ) -> Result<[Option<Predicate>; 2], Error> {
        let Some(as_of) = as_of else { return self.filters() };
        self.bound(as_of)?;
        match self.eat("AND") {
            true => self.filters(),
            false if self.is("OR") => {
                self.fail("join the bound on the days and other conditions by AND")
            }
            false => Ok([None, None]),
        }
    }

    /// Reads a predicate, and assigns its parts to the sides.
    fn filters(&mut self) -> Result<[Option<Predicate>; 2], Error> {
        let whole = self.disjunction()?;
        let mut parts: [Vec<Predicate>; 2] = Default::default();
        let mut named = self.named.iter();
        for part in whole.conjuncts() {
            let columns: Vec<Named> = named.by_ref().take(part.columns().len()).copied().collect();
            let side = columns[0].side;
            if let Some(other) = columns.iter().find(|column| column.side != side) {
                let what = "a predicate may use the columns of one side only, since neither sees the other's: \
                            join predicates of both sides by AND";
                return Err(Error::at(self.text, other.at, what));
            }
            parts[side.index()].push(part.clone());
        }
        Ok(parts.map(|parts| joined(parts, Predicate::And)))
    }

    fn disjunction(&mut self) -> Result<Predicate, Error> {
        let mut parts = Vec::new();
        loop {
            match self.conjunction()? {
                Predicate::Or(inner) => parts.extend(inner),
                part => parts.push(part),
            }
            if !self.eat("OR") {
                break;
            }
        }
        Ok(joined(parts, Predicate::Or).expect("at least one part"))
    }

    fn conjunction(&mut self) -> Result<Predicate, Error> {
        let mut parts = Vec::new();
        loop {
            match self.negation()? {
                Predicate::And(inner) => parts.extend(inner),
                part => parts.push(part),
            }
            if !self.eat("AND") {
                break;
            }
        }
        Ok(joined(parts, Predicate::And).expect("at least one part"))
    }

    fn negation(&mut self) -> Result<Predicate, Error> {
        if self.depth == MAX_DEPTH {
            return self
                .fail(format!("parentheses and NOT may be nested at most {MAX_DEPTH} times"));
        }
        self.depth += 1;
        let predicate = if self.eat("NOT") {
            Predicate::Not(Box::new(self.negation()?))
        } else if self.is_symbol("(") && !is_word(self.following(1), "SELECT") {
            self.advance();
            let inner = self.disjunction()?;
            self.expect_symbol(")", "a closing parenthesis, AND or OR")?;
            inner
        } else {
            self.atom()?
        };
        self.depth -= 1;
        Ok(predicate)
    }

    fn atom(&mut self) -> Result<Predicate, Error> {
        if matches!(self.token(), Token::Text(_) | Token::Number(_)) {
            return self.fail("write the column before the constant: a.country = 'DE'");
        }
        let at = self.at();
        let column = self.column()?;
        self.named.push(Named { side: column.side, at });
        if self.is_symbol("-") {
            return self.fail(
                "a difference of dates needs ASOF JOIN, and stands before all other conditions",
            );
        }
        if let Token::Symbol(symbol) = *self.token()
            && let Some((by, _)) = Comparator::ALL.into_iter().find(|(_, known)| *known == symbol)
        {
            self.advance();
            return Ok(Predicate::Compare { column, by, with: self.literal()? });
        }
        if self.eat("IS") {
            let negated = self.eat("NOT");
            return match self.eat("NULL") {
                true => Ok(Predicate::IsNull { column, negated }),
                false => self.fail("IS is supported only as IS NULL and IS NOT NULL"),
            };
        }
        let negated = self.eat("NOT");
        if self.eat("BETWEEN") {
            let low = self.literal()?;
            self.expect("AND", "AND and the upper value")?;
            let at = self.at();
            let high = self.literal()?;
            self.same_type([&low, &high], at)?;
            return Ok(Predicate::Between { column, low, high, negated });
        }
        if self.eat("IN") {
            return Ok(Predicate::In { column, values: self.values()?, negated });
        }
        match self.token() {
            Token::Word(word) if !negated && ends_atom(word) => Ok(Predicate::Flag(column)),
            Token::Symbol(")" | ";") | Token::End if !negated => Ok(Predicate::Flag(column)),
            _ => self.refuse("a comparison, IN, BETWEEN or IS NULL"),
        }
    }

    /// Reads the list of IN.
    fn values(&mut self) -> Result<Vec<Literal>, Error> {
        if is_word(self.following(1), "SELECT") {
            return self.fail("subqueries are not supported");
        }
        self.expect_symbol("(", "a list of constants in parentheses")?;
        let mut values: Vec<Literal> = Vec::new();
        loop {
            let at = self.at();
            let value = self.literal()?;
            self.same_type([values.first().unwrap_or(&value), &value], at)?;
            values.push(value);
            if !self.eat_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")", "a comma or a closing parenthesis")?;
        Ok(values)
    }

    fn same_type(&self, [first, second]: [&Literal; 2], at: usize) -> Result<(), Error> {
        match (first, second) {
            (Literal::Number(_), Literal::Number(_)) | (Literal::Text(_), Literal::Text(_)) => {
                Ok(())
            }
            _ => Err(Error::at(self.text, at, "these constants must be all numbers or all texts")),
        }
    }

    fn literal(&mut self) -> Result<Literal, Error> {
        let literal = match self.token() {
            Token::Text(text) => {
                let text = text.clone();
                self.advance();
                Literal::Text(text)
            }
            Token::Word(_) if *self.following(1) == Token::Symbol(".") => {
                return self.fail("a column can be compared only with a constant");
            }
            Token::Quoted(_) => return self.fail("write texts in single quotes"),
            _ => Literal::Number(self.number("a number or a text in single quotes")?),
        };
        // Refuses what would make an expression of the constant.
        match self.token() {
            Token::Symbol(symbol) if refusals::of_symbol(symbol).is_some() => {
                self.refuse("the end of the predicate")
            }
            _ => Ok(literal),
        }
    }
}

/// Whether a word may follow a predicate.
fn ends_atom(word: &str) -> bool {
    ["and", "or", "group", "having", "with"].iter().any(|one| word.eq_ignore_ascii_case(one))
}

/// Joins predicates; a single one stays as it is.
fn joined(mut parts: Vec<Predicate>, by: fn(Vec<Predicate>) -> Predicate) -> Option<Predicate> {
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(by(parts)),
    }
}
