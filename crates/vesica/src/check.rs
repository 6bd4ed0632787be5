//! What there is to know about one table before a run, in numbers only.

use serde::Serialize;

use crate::{
    error::Result,
    keys::{
        findings::Findings,
        key::KeyColumn,
        keyset::{KeySet, Reading},
        null_values::NullValues,
    },
    table::source::{Delimiter, Source},
};

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Size of the table in bytes.
    pub bytes: u64,
    /// Whether it begins with a byte-order mark.
    pub byte_order_mark: bool,
    /// How its lines end: `LF`, `CRLF`, `CR` or `mixed`.
    pub line_ends: &'static str,
    /// The delimiter used.
    pub delimiter: &'static str,
    /// What a run would find, with its warnings.
    #[serde(flatten)]
    pub findings: Findings,
}

/// Reads a table as a run would, and counts.
///
/// # Errors
/// Whatever is wrong with the table.
pub fn check(
    input: Source,
    delimiter: Delimiter,
    keys: &[KeyColumn],
    null_values: &NullValues,
) -> Result<Check> {
    let input = input.open(delimiter)?;
    let reading =
        Reading { keys: keys.to_vec(), null_values: null_values.clone(), ..Reading::default() };
    let scan = input.read()?;
    let delimiter = scan.delimiter().name();
    let (table, _, findings) = KeySet::read(scan, &reading, |_, _| {})?;
    let text = table.text();
    Ok(Check {
        bytes: text.bytes().len() as u64,
        byte_order_mark: text.has_bom(),
        line_ends: text.line_ends().name(),
        delimiter,
        findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{key::Normalize, keyset::RowCounts};

    fn checked(text: &str, column: &str, normalize: Normalize) -> Check {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let keys = [KeyColumn { name: column.into(), normalize }];
        check(source, Delimiter::Auto, &keys, &NullValues::default()).unwrap()
    }

    #[test]
    fn numbers() {
        let text = "\u{feff}mail;v\r\nA@b.c;1\r\n a@b.c;2\r\n;3\r\nd@e.f;4\r\nd@e.f;5\r\n";
        let found = checked(text, "mail", Normalize::Email);
        assert_eq!((found.line_ends, found.delimiter), ("CRLF", "semicolon"));
        assert!(found.byte_order_mark);
        let found = found.findings;
        assert_eq!(found.rows, RowCounts { read: 5, null: 1, duplicate: 2, used: 2 });
        assert_eq!((found.keys_changed, found.keys_merged), (2, 1));
        assert!(found.utf8 && found.columns == 2);
    }

    #[test]
    fn guessable_keys_are_warned_of() {
        let low = |text: &str| {
            let found = checked(text, "k", Normalize::None);
            found.findings.warnings.iter().any(|w| w.contains("low entropy"))
        };
        assert!(low("k\n+44 1632 960983\n(020) 7946-0018\n"));
        assert!(low(&format!("k\n{}", "green\nred\n".repeat(1000))));
        assert!(low(&format!("k\n{}", "green\nred\n".repeat(10))));
        assert!(!low("k\nann@example.org\nbob@example.org\n"));
        assert!(!low("k\n4929123456789012345\n"));
    }

    #[test]
    fn empty_tables_are_no_fault() {
        let first = |text| checked(text, "k", Normalize::None).findings.warnings[0].clone();
        assert!(first("").contains("empty"));
        assert!(first("k\n").contains("no row"));
    }
}
