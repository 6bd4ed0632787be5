//! What there is to know about one table before a run, in numbers only.

use serde::Serialize;

use crate::{
    error::Result,
    keys::{
        key::{Extractor, Key, KeyColumn, Normalize},
        keyset::{Collector, RowCounts},
    },
    table::{
        csv::{Row, Scan},
        source::{Delimiter, Source},
    },
    words::grouped,
};

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Size of the table in bytes.
    pub bytes: u64,
    /// Columns in the header.
    pub columns: usize,
    /// What the rows would come to in a run; `used` is the number of distinct keys.
    pub rows: RowCounts,
    /// Whether all of it is UTF-8; only the key columns have to be.
    pub utf8: bool,
    /// Whether it begins with a byte-order mark.
    pub byte_order_mark: bool,
    /// How its lines end: `LF`, `CRLF`, `CR` or `mixed`.
    pub line_ends: &'static str,
    /// The delimiter used.
    pub delimiter: &'static str,
    /// Rows whose key the normalisation changes.
    pub keys_changed: u64,
    /// Distinct keys that the normalisation makes equal to another.
    pub keys_merged: u64,
    /// Rows whose key is made of digits alone, signs and spaces aside.
    pub digit_keys: u64,
    /// The most digits such a key has, all its columns together.
    pub most_digits: u64,
    /// What the user should think about.
    pub warnings: Vec<String>,
}

/// Reads a table as a run would, and counts.
///
/// # Errors
/// Whatever is wrong with the table.
pub fn check(input: Source, delimiter: Delimiter, keys: &[KeyColumn]) -> Result<Check> {
    let scan = Scan::new(input.read()?, delimiter)?;
    let (columns, delimiter) = (scan.columns().len(), scan.delimiter());
    let mut tally = Tally::new(&scan, keys)?;
    let table = scan.rows(|row| tally.see(&row))?;
    let rows = tally.normalised.finish().counts();
    let text = table.text();
    let mut check = Check {
        bytes: text.bytes().len() as u64,
        columns,
        rows,
        utf8: text.is_utf8(),
        byte_order_mark: text.has_bom(),
        line_ends: text.line_ends().name(),
        delimiter: delimiter.name(),
        keys_changed: tally.changed,
        keys_merged: tally.raw.finish().counts().used - rows.used,
        digit_keys: tally.digit_keys,
        most_digits: tally.most_digits,
        warnings: Vec::new(),
    };
    check.warnings = check.list_warnings();
    Ok(check)
}

/// What is counted row by row.
struct Tally<'a> {
    columns: &'a [KeyColumn],
    as_agreed: Extractor,
    as_it_is: Extractor,
    normalised: Collector,
    raw: Collector,
    changed: u64,
    digit_keys: u64,
    most_digits: u64,
}

impl<'a> Tally<'a> {
    fn new(scan: &Scan, columns: &'a [KeyColumn]) -> Result<Self> {
        let as_it_is = |key: &KeyColumn| KeyColumn { normalize: Normalize::None, ..key.clone() };
        let raw_columns: Vec<_> = columns.iter().map(as_it_is).collect();
        Ok(Self {
            columns,
            as_agreed: Extractor::new(scan, columns)?,
            as_it_is: Extractor::new(scan, &raw_columns)?,
            normalised: Collector::default(),
            raw: Collector::default(),
            changed: 0,
            digit_keys: 0,
            most_digits: 0,
        })
    }

    fn see(&mut self, row: &Row<'_>) -> Result<()> {
        let Key::Present(key) = self.as_agreed.key(row)? else {
            self.normalised.push(None);
            return Ok(());
        };
        self.normalised.push(Some(key));
        if let Key::Present(raw) = self.as_it_is.key(row)? {
            self.raw.push(Some(raw));
        }
        let values = self.as_agreed.raw(row)?;
        let mut columns = self.columns.iter().zip(&values);
        let changes = columns.any(|(column, value)| column.normalize.apply(value) != *value);
        self.changed += u64::from(changes);
        if let Some(digits) = values.iter().map(|value| digits(value)).sum::<Option<u64>>() {
            self.digit_keys += 1;
            self.most_digits = self.most_digits.max(digits);
        }
        Ok(())
    }
}

/// How many digits a value has that is a number, such as an id, a date or a telephone number;
/// `None` for others.
fn digits(value: &str) -> Option<u64> {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let filling = |c: char| c.is_ascii_digit() || c.is_whitespace() || "+-()./".contains(c);
    (digits > 0 && value.chars().all(filling)).then_some(digits as u64)
}

impl Check {
    fn list_warnings(&self) -> Vec<String> {
        /// So many guesses, ten to this power, a single machine makes in a day.
        const GUESSABLE_DIGITS: u64 = 12;
        let mut warnings = Vec::new();
        let keyed = self.rows.used + self.rows.duplicate;
        if self.columns == 0 {
            warnings.push("the file is empty: not even a header".to_owned());
        } else if self.rows.read == 0 {
            warnings.push("there is a header but no row".to_owned());
        } else if keyed == 0 {
            warnings.push("no row has a key".to_owned());
        }
        if keyed > 0 && self.digit_keys * 10 >= keyed * 9 && self.most_digits <= GUESSABLE_DIGITS {
            warnings.push(format!(
                "low entropy: the keys are numbers of at most {} digits; the other side could put \
                 in every possible one and learn your whole list, so run this only with a party \
                 and a set size you trust",
                self.most_digits
            ));
        }
        if keyed >= 1000 && self.rows.used * 100 <= keyed {
            warnings.push(format!(
                "low entropy: {} rows have only {} distinct keys; the other side could guess them \
                 all",
                grouped(keyed),
                grouped(self.rows.used)
            ));
        }
        if self.keys_merged > 0 {
            warnings.push(format!(
                "{} keys differ only in what the normalisation removes; their rows count as \
                 duplicates",
                grouped(self.keys_merged)
            ));
        }
        if self.rows.null * 2 > self.rows.read {
            warnings.push("more than half of the rows have no key".to_owned());
        }
        if !self.utf8 {
            warnings.push("the file is not UTF-8 outside its key columns".to_owned());
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str, column: &str, normalize: Normalize) -> Check {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        check(source, Delimiter::Auto, &[KeyColumn { name: column.into(), normalize }]).unwrap()
    }

    #[test]
    fn numbers() {
        let text = "\u{feff}mail;v\r\nA@b.c;1\r\n a@b.c;2\r\n;3\r\nd@e.f;4\r\nd@e.f;5\r\n";
        let found = checked(text, "mail", Normalize::Email);
        assert_eq!(found.rows, RowCounts { read: 5, null: 1, duplicate: 2, used: 2 });
        assert_eq!((found.keys_changed, found.keys_merged), (2, 1));
        assert_eq!((found.line_ends, found.delimiter), ("CRLF", "semicolon"));
        assert!(found.byte_order_mark && found.utf8 && found.columns == 2);
    }

    #[test]
    fn guessable_keys_are_warned_of() {
        let low = |text: &str| {
            let found = checked(text, "k", Normalize::None);
            found.warnings.iter().any(|w| w.contains("low entropy"))
        };
        assert!(low("k\n+44 1632 960983\n(020) 7946-0018\n"));
        assert!(low(&format!("k\n{}", "green\nred\n".repeat(1000))));
        assert!(!low("k\nann@example.org\nbob@example.org\n"));
        assert!(!low("k\n4929123456789012345\n"));
    }

    #[test]
    fn empty_tables_are_no_fault() {
        assert!(checked("", "k", Normalize::None).warnings[0].contains("empty"));
        assert!(checked("k\n", "k", Normalize::None).warnings[0].contains("no row"));
    }
}
