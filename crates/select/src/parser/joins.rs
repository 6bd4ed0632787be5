//! The clause FROM.

use super::{Parser, tokens::is_word};
use crate::{
    as_of::{AsOf, MAX_WITHIN},
    column::Side,
    error::Error,
    lexer::Token,
    refusals,
};

/// The advice about joins by the latest earlier row.
const AS_OF: &str = "FROM a ASOF JOIN b ON a.key = b.key AND a.ordered_at >= b.shown_at";

impl Parser<'_> {
    pub(super) fn from(&mut self) -> Result<Option<AsOf>, Error> {
        const FROM: &str = "FROM a JOIN b USING (key)";
        self.expect("FROM", FROM)?;
        let is_table = |side: &Side| self.is(&side.to_string());
        let later = Side::BOTH.into_iter().find(is_table);
        if let Some(later) = later.filter(|_| is_word(self.following(1), "ASOF")) {
            return self.as_of(later).map(Some);
        }
        self.table("a")?;
        self.expect("JOIN", FROM)?;
        self.table("b")?;
        self.expect("USING", "USING (key)")?;
        self.expect_symbol("(", "USING (key)")?;
        if !self.eat("key") || !self.is_symbol(")") {
            return self
                .fail("write USING (key): the columns of the key are not part of the query");
        }
        self.advance();
        Ok(None)
    }

    /// Reads a join by the latest earlier row, whose first table is this side's.
    fn as_of(&mut self, later: Side) -> Result<AsOf, Error> {
        let sides = [later, later.other()];
        let [first, second] = sides.map(|side| side.to_string());
        let at = self.at();
        let is_join = self.eat(&first)
            && self.eat("ASOF")
            && self.eat("JOIN")
            && self.eat(&second)
            && self.eat("ON")
            && self.key_of(&first)
            && self.eat_symbol("=")
            && self.key_of(&second)
            && self.eat("AND");
        if !is_join {
            return Err(Error::at(self.text, at, format!("write {AS_OF}")));
        }
        let mut dates = [String::new(), String::new()];
        for (place, side) in sides.into_iter().enumerate() {
            if place == 1 {
                self.expect_symbol(">=", "`>=` between the dates of both sides")?;
            }
            let at = self.at();
            let column = self.column()?;
            if column.side != side {
                let what = format!("a column of side {side} belongs here: {AS_OF}");
                return Err(Error::at(self.text, at, what));
            }
            dates[side.index()] = column.name;
        }
        Ok(AsOf { later, dates, within: 0 })
    }

    fn key_of(&mut self, table: &str) -> bool {
        self.eat(table) && self.eat_symbol(".") && self.eat("key")
    }

    /// Reads the bound on the days between joined rows, with which the condition of WHERE begins.
    pub(super) fn bound(&mut self, as_of: &mut AsOf) -> Result<(), Error> {
        let at = self.at();
        for side in [as_of.later, as_of.earlier()] {
            if side != as_of.later {
                self.expect_symbol("-", "`-` between the dates of both sides")?;
            }
            if !self.column().is_ok_and(|column| column == as_of.date(side)) {
                let [later, earlier] = [as_of.later, as_of.earlier()].map(|side| as_of.date(side));
                let what =
                    format!("begin with the most days between two rows: {later} - {earlier} <= 14");
                return Err(Error::at(self.text, at, what));
            }
        }
        let bound = format!("`<=` and a number of days from 0 to {MAX_WITHIN}");
        self.expect_symbol("<=", &bound)?;
        match *self.token() {
            Token::Number(days)
                if days.scale() == 0 && (0..=i128::from(MAX_WITHIN)).contains(&days.number()) =>
            {
                self.advance();
                as_of.within = days.number() as u32;
                Ok(())
            }
            _ => self.refuse(&bound),
        }
    }

    /// Reads the name of a table.
    fn table(&mut self, name: &str) -> Result<(), Error> {
        if !self.eat(name) {
            return match self.token() {
                Token::Word(word) if refusals::of_word(word).is_none() => self.fail(format!(
                    "expected table {name} instead of `{word}`: write FROM a JOIN b USING (key)"
                )),
                _ => self.refuse(&format!("table {name}")),
            };
        }
        match self.token() {
            Token::Word(word)
                if !["join", "using"].contains(&word.to_ascii_lowercase().as_str())
                    && refusals::of_word(word).is_none() =>
            {
                self.fail("names for tables are not supported: write FROM a JOIN b USING (key)")
            }
            Token::Symbol(",") => self.fail("the only join is FROM a JOIN b USING (key)"),
            _ => Ok(()),
        }
    }
}
