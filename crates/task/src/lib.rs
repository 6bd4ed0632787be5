//! The tasks of a run.
//!
//! Each task is a file here and a line of `TASKS`. A task defines which offers it refuses, its catalogue of methods,
//! how a party of a method runs, the content of the output, and what each side learns, all through the [`interface`].
//! No other part of a run knows a task by name.
//!
//! **Must never import** an offer, a session or a report: a task sees the agreed request, the items and the keys.

pub mod aggregates;
mod aligned;
mod by_rules;
pub mod disclosure;
#[cfg(test)]
mod example;
mod gather;
pub mod interface;
mod join_pieces;
mod joined;
pub mod joins;
pub mod linked;
pub mod noise;
mod one_to_one;
pub mod outcome;
pub mod piece;
pub mod query;
mod row_pieces;
pub mod rows;
pub mod select;
pub mod shares;
pub mod sides;

use self::query::{Form, Query, QueryBody, QueryBodyForm, QueryKind, Values};

/// The queries of each task.
static TASKS: &[&[&QueryKind]] =
    &[rows::KINDS, linked::KINDS, joins::KINDS, aggregates::KINDS, shares::KINDS, select::KINDS];

fn kinds() -> impl Iterator<Item = &'static QueryKind> {
    TASKS.iter().flat_map(|kinds| kinds.iter().copied())
}

/// Returns the kinds of queries that a user can name, and their forms.
fn written() -> impl Iterator<Item = (&'static QueryKind, &'static Form)> {
    kinds().filter_map(|kind| Some((kind, kind.form.as_ref()?)))
}

/// Returns the kind of query with this name on the wire.
pub fn by_word(word: &str) -> Option<&'static QueryKind> {
    kinds().find(|kind| kind.word == word)
}

/// Returns the activity of the method with this name, as a phrase before the name.
pub fn activity(method: &str) -> Option<&'static str> {
    let knows = |kind: &&QueryKind| kind.task.methods().iter().any(|known| known.key() == method);
    kinds().find(knows).map(|kind| kind.task.activity())
}

impl Query {
    /// Parses one of [`Query::forms`]: the name of a query, and after a colon its number or the name of this side's
    /// column of values, which is returned too. `number` parses a number.
    ///
    /// # Errors
    /// The possible values, in words for a user.
    pub fn parse(
        text: &str,
        number: impl Fn(&str) -> Option<u64>,
    ) -> Result<(Self, Option<String>), String> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let unknown = || format!("possible values: {}", Self::forms());
        let named = written().find(|(kind, _)| kind.name == name);
        let (kind, form) = named.ok_or_else(unknown)?;
        if kind.body == QueryBodyForm::Number {
            let number = number(rest.ok_or_else(unknown)?);
            let number = number.ok_or_else(|| format!("{} takes a whole number", form.names))?;
            return Ok((Self { kind, body: QueryBody::Number(number) }, None));
        }
        let fits = match rest {
            None => kind.values != Values::OfBoth,
            Some(column) => kind.values != Values::None && !column.is_empty(),
        };
        match fits {
            true => Ok((Self { kind, body: QueryBody::Nothing }, rest.map(str::to_owned))),
            false => Err(unknown()),
        }
    }

    /// Returns the forms in which queries are written, separated by commas.
    pub fn forms() -> String {
        written().map(|(_, form)| form.names).collect::<Vec<_>>().join(", ")
    }

    /// Returns a help text for each form of a query.
    pub fn help() -> String {
        written().map(|(_, form)| form.help).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every method has a phrase that a person reads while it runs.
    #[test]
    fn every_method_has_an_activity() {
        for method in kinds().flat_map(|kind| kind.task.methods()) {
            assert!(activity(method.key()).is_some(), "{}", method.key());
        }
        assert_eq!(activity("read"), None);
    }

    #[test]
    fn names_are_not_used_twice() {
        for kind in kinds() {
            assert_eq!(kinds().filter(|other| other.name == kind.name).count(), 1);
            assert_eq!(kinds().filter(|other| other.word == kind.word).count(), 1);
        }
    }

    #[test]
    fn queries_are_read_by_table() {
        let parsed = |text: &str| Query::parse(text, |number| number.parse().ok());
        let column = |name: &str| Some(name.to_owned());
        for (text, query, values) in [
            ("rows", Query::ROWS, None),
            ("count", Query::COUNT, None),
            ("sum", Query::SUM, None),
            ("sum:a:b", Query::SUM, column("a:b")),
            ("products:x", Query::PRODUCTS, column("x")),
            ("threshold:5", Query::at_least(5), None),
            ("linked", Query::LINKED, None),
            ("shares", Query::SHARES, None),
            ("shares:x", Query::SHARES, column("x")),
        ] {
            assert_eq!(parsed(text), Ok((query, values)), "{text}");
        }
        for text in
            ["", "row", "join", "rows:x", "count:x", "sum:", "products", "threshold", "shares:"]
        {
            assert!(parsed(text).unwrap_err().starts_with("possible values: rows, "), "{text}");
        }
        assert_eq!(parsed("threshold:x").unwrap_err(), "threshold:K takes a whole number");
    }
}
