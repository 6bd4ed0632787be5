//! Tokens: looking at them, taking them, and refusing them.

use super::Parser;
use crate::{error::Error, fixed_point::FixedPoint, lexer::Token, refusals};

impl Parser<'_> {
    pub(super) fn token(&self) -> &Token {
        self.following(0)
    }

    pub(super) fn following(&self, more: usize) -> &Token {
        &self.tokens[(self.next + more).min(self.tokens.len() - 1)].token
    }

    pub(super) fn at(&self) -> usize {
        self.tokens[self.next].at
    }

    pub(super) fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn fail<T>(&self, what: impl Into<String>) -> Result<T, Error> {
        Err(Error::at(self.text, self.at(), what))
    }

    /// Refuses the current token, by name if it belongs to SQL.
    pub(super) fn refuse<T>(&self, expected: &str) -> Result<T, Error> {
        let shown = match self.token() {
            Token::Word(word) => match refusals::of_word(word) {
                Some(advice) => return self.fail(advice),
                None => format!("`{word}`"),
            },
            Token::Symbol("(") if is_word(self.following(1), "SELECT") => {
                return self.fail("subqueries are not supported");
            }
            Token::Symbol(symbol) => match refusals::of_symbol(symbol) {
                Some(advice) => return self.fail(advice),
                None => format!("`{symbol}`"),
            },
            Token::Quoted(name) => format!("\"{name}\""),
            Token::Text(_) => "a text".to_owned(),
            Token::Number(_) => "a number".to_owned(),
            Token::End => "the end of the query".to_owned(),
        };
        self.fail(format!("expected {expected} instead of {shown}"))
    }

    pub(super) fn is(&self, keyword: &str) -> bool {
        is_word(self.token(), keyword)
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.token(), Token::Symbol(this) if *this == symbol)
    }

    pub(super) fn eat(&mut self, keyword: &str) -> bool {
        let is = self.is(keyword);
        if is {
            self.advance();
        }
        is
    }

    pub(super) fn eat_symbol(&mut self, symbol: &str) -> bool {
        let is = self.is_symbol(symbol);
        if is {
            self.advance();
        }
        is
    }

    pub(super) fn expect(&mut self, keyword: &str, expected: &str) -> Result<(), Error> {
        if self.eat(keyword) { Ok(()) } else { self.refuse(expected) }
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str, expected: &str) -> Result<(), Error> {
        if self.eat_symbol(symbol) { Ok(()) } else { self.refuse(expected) }
    }

    pub(super) fn number(&mut self, expected: &str) -> Result<FixedPoint, Error> {
        let is_negative = self.is_symbol("-") && matches!(self.following(1), Token::Number(_));
        match *self.following(usize::from(is_negative)) {
            Token::Number(number) if is_negative => {
                self.advance();
                self.advance();
                Ok(FixedPoint::new(-number.number(), number.scale()))
            }
            Token::Number(number) => {
                self.advance();
                Ok(number)
            }
            _ => self.refuse(expected),
        }
    }
}

pub(super) fn is_word(token: &Token, keyword: &str) -> bool {
    matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
}
