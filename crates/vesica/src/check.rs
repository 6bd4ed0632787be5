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
    table::{
        input::Columns,
        source::{Dialect, Source, Text},
    },
};

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Size of the input in bytes.
    pub bytes: u64,
    /// Its format, by the name that requests have for it.
    pub format: &'static str,
    /// What it is packed with: `gzip` or `zstd`; absent where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<&'static str>,
    /// The types of the key columns, in a format that has types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key_types: Vec<String>,
    /// Whether it begins with a byte-order mark; absent where it is no text, as are the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_order_mark: Option<bool>,
    /// How its lines end: `LF`, `CRLF`, `CR` or `mixed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_ends: Option<&'static str>,
    /// The delimiter used, in delimited text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<&'static str>,
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
    dialect: impl Into<Dialect>,
    keys: &[KeyColumn],
    null_values: &NullValues,
) -> Result<Check> {
    let input = input.open(dialect)?;
    let reading =
        Reading { keys: keys.to_vec(), null_values: null_values.clone(), ..Reading::default() };
    let names: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
    let scan = input.read_columns(Columns { keys: &names, values: None })?;
    let positions = if scan.header().is_empty() { Vec::new() } else { scan.find(&names)? };
    let types = positions.iter().filter_map(|column| scan.header().column_type(*column));
    let key_types = types.map(|found| found.name.clone()).collect();
    let (delimiter, compression) = (scan.delimiter(), scan.compression());
    let bytes = scan.digest().map_or(0, |digest| digest.bytes);
    let (table, _, findings) = KeySet::read(scan, &reading, |_, _| {})?;
    Ok(Check {
        bytes,
        format: table.format().name(),
        compression,
        key_types,
        byte_order_mark: table.text().map(Text::has_bom),
        line_ends: table.text().map(|text| text.line_ends().name()),
        delimiter,
        findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        keys::{key::Normalize, keyset::RowCounts},
        table::source::Delimiter,
    };

    fn checked(text: &str, column: &str, normalize: Normalize) -> Check {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let keys = [KeyColumn { name: column.into(), normalize }];
        check(source, Delimiter::Auto, &keys, &NullValues::default()).unwrap()
    }

    #[test]
    fn numbers() {
        let text = "\u{feff}mail;v\r\nA@b.c;1\r\n a@b.c;2\r\n;3\r\nd@e.f;4\r\nd@e.f;5\r\n";
        let found = checked(text, "mail", Normalize::Email);
        assert_eq!((found.line_ends, found.delimiter), (Some("CRLF"), Some("semicolon")));
        assert_eq!((found.byte_order_mark, found.format), (Some(true), "csv"));
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
