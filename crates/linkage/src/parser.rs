//! The grammar of rules: a rule is a list of parts with commas between them; a part is a field, or a function with
//! parts and a whole number in parentheses.

use std::str::FromStr;

use crate::{
    error::RuleError,
    function::{Derivation, KeyFunction},
    rule::{MAX_BYTES, MAX_PARTS, MatchRule, Operand},
};

/// The maximum depth of functions in functions.
const MAX_DEPTH: usize = 4;

impl FromStr for MatchRule {
    type Err = RuleError;

    /// Reads a rule such as `left(first, 1), last, dob`.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        parse(text)
    }
}

/// The maximum number of characters that a function counts.
const MAX_COUNT: u8 = 64;

/// Advice on texts that do not look like a rule.
const FORM: &str = "a rule has fields and functions of fields with commas between them, as in soundex(first), last, dob";

pub(crate) fn parse(text: &str) -> Result<MatchRule, RuleError> {
    if text.len() > MAX_BYTES {
        let what = format!("a rule has at most {MAX_BYTES} bytes, and this has {}", text.len());
        return Err(RuleError::list(what));
    }
    let mut parser = RuleParser { text, at: 0 };
    let mut parts: Vec<Operand> = Vec::new();
    loop {
        parser.skip_blanks();
        let at = parser.at;
        let part = parser.part(0)?;
        if parts.contains(&part) {
            return Err(RuleError::at(text, at, format!("`{part}` stands twice in the rule")));
        }
        parts.push(part);
        if parts.len() > MAX_PARTS {
            return Err(RuleError::at(text, at, format!("a rule has at most {MAX_PARTS} parts")));
        }
        match parser.next_symbol() {
            None => return Ok(MatchRule { parts }),
            Some(',') => parser.at += 1,
            Some(found) => return Err(parser.unexpected(found)),
        }
    }
}

/// The rest of a text.
struct RuleParser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> RuleParser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fail(&self, what: impl Into<String>) -> RuleError {
        RuleError::at(self.text, self.at, what)
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Returns the character after blanks.
    fn next_symbol(&mut self) -> Option<char> {
        self.skip_blanks();
        self.rest().chars().next()
    }

    /// Returns the characters from here on that belong to a name or a number.
    fn word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    }

    fn unexpected(&self, found: char) -> RuleError {
        let word = self.word().to_ascii_lowercase();
        self.fail(match (found, word.as_str()) {
            (_, "and") => "write a comma in place of AND".to_owned(),
            (_, "or") => "write alternatives as rules of their own".to_owned(),
            (';' | '|', _) => "write each rule as a text of its own".to_owned(),
            ('[', _) => "write left(x, n) for the first characters".to_owned(),
            ('"' | '\'' | '`', _) => "write names of fields without quotes".to_owned(),
            ('=' | '<' | '>' | '+' | '-' | '*' | '/' | '!' | '.' | ':', _) => {
                format!("`{found}` is not supported: {FORM}")
            }
            (_, "") => format!("`{}` is unexpected: {FORM}", found.escape_debug()),
            (_, word) => format!("a comma is missing before `{word}`"),
        })
    }

    fn part(&mut self, depth: usize) -> Result<Operand, RuleError> {
        self.skip_blanks();
        let (at, word) = (self.at, self.word());
        match self.rest().chars().next() {
            None if self.text.trim().is_empty() => return Err(self.fail(FORM)),
            None => return Err(self.fail("a field or a function is missing at the end")),
            Some(',') => return Err(self.fail("a field or a function is missing before the comma")),
            Some(')') => return Err(self.fail("a field or a function is missing before `)`")),
            Some('(') => return Err(self.fail("the name of a function is missing before `(`")),
            Some(c) if c.is_ascii_digit() => {
                return Err(self.fail("a number stands only after the field in left and right"));
            }
            Some(c) if !word.is_ascii() => {
                let what =
                    format!("names have letters from a to z, and not `{}`", c.escape_debug());
                return Err(self.fail(what));
            }
            Some(c) if !c.is_ascii_alphabetic() => return Err(self.unexpected(c)),
            Some(_) => {}
        }
        let name = word.to_ascii_lowercase();
        self.at += word.len();
        if self.next_symbol() != Some('(') {
            return Ok(Operand::Field(name));
        }
        let Some(function) = KeyFunction::of_name(&name) else {
            return Err(RuleError::at(self.text, at, KeyFunction::advice(&name)));
        };
        if depth == MAX_DEPTH {
            let what = format!("functions are nested at most {MAX_DEPTH} deep");
            return Err(RuleError::at(self.text, at, what));
        }
        self.at += 1;
        self.derived(function, at, depth)
    }

    /// Reads the arguments of a function, up to its parenthesis.
    fn derived(
        &mut self,
        function: &'static KeyFunction,
        begins: usize,
        depth: usize,
    ) -> Result<Operand, RuleError> {
        let (mut of, mut count) = (Vec::new(), None);
        loop {
            match self.next_symbol() {
                Some(c) if c.is_ascii_digit() && !of.is_empty() => {
                    count = Some(self.count(function)?)
                }
                _ => of.push(self.part(depth + 1)?),
            }
            match self.next_symbol() {
                Some(')') => break self.at += 1,
                Some(',') if count.is_none() => self.at += 1,
                Some(',') => return Err(self.fail("`)` is missing after the number")),
                None => return Err(self.fail(format!("`)` of {} is missing", function.name))),
                Some(found) => return Err(self.unexpected(found)),
            }
        }
        let most = match function.derivation {
            Derivation::Texts(_) => MAX_PARTS,
            _ => 1,
        };
        if of.len() > most || function.counts() != count.is_some() {
            let KeyFunction { name, arguments, .. } = function;
            let what = format!("write {name}({arguments})");
            return Err(RuleError::at(self.text, begins, what));
        }
        Ok(Operand::Derived { function, of, count })
    }

    /// Reads the number of characters that a function counts.
    fn count(&mut self, function: &KeyFunction) -> Result<u8, RuleError> {
        let word = self.word();
        if !function.counts() {
            return Err(self.fail(format!("{} takes no number", function.name)));
        }
        let count = word.parse().ok().filter(|count| (1..=MAX_COUNT).contains(count));
        let what = || self.fail(format!("write a number of characters from 1 to {MAX_COUNT}"));
        let count = count.ok_or_else(what)?;
        self.at += word.len();
        Ok(count)
    }
}
