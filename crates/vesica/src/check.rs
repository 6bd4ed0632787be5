//! The check of one table before a run, in numbers only.

use std::sync::Arc;

use serde::Serialize;
use vesica_core::{error::Result, percentage::Percentage, words::counted};
use vesica_keyset::{
    findings::Findings, key::KeyColumn, keyset::KeySet, reading::Reading,
    rule_findings::RuleFindings, survey::ColumnFindings,
};
use vesica_linkage::{MatchRule, Rules};
use vesica_normalize::null_values::NullValues;
use vesica_table::{
    input::Columns,
    source::{Dialect, Source},
    text::LineEnds,
};

/// The findings of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Size of the input in bytes.
    pub bytes: u64,
    /// Its format, by the name that options use.
    pub format: &'static str,
    /// Its compression, `gzip` or `zstd`; absent if it is not compressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<&'static str>,
    /// The types of the key columns, in a format that has types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key_types: Vec<String>,
    /// Whether it begins with a byte-order mark. This field and the next two are absent if the input is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_order_mark: Option<bool>,
    /// The line ends: `LF`, `CRLF`, `CR` or `mixed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_ends: Option<&'static str>,
    /// The delimiter used, in delimited text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<&'static str>,
    /// The findings of a run, with its warnings.
    #[serde(flatten)]
    pub findings: Findings,
    /// The effect of the normalisation on each key column, in the order of the key; empty for an empty file.
    pub key_columns: Vec<ColumnFindings>,
    /// The rules in their order, if rules make the keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CheckedRule>,
    /// The rules with few enough false matches, those with the fewest first; `None` without such a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admitted: Option<Vec<String>>,
}

/// A rule, with the numbers of a table's keys by it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedRule {
    /// The rule.
    pub rule: String,
    /// The numbers.
    #[serde(flatten)]
    pub found: RuleFindings,
    /// Pairs of different people to expect that agree by this rule, in a run with a table of `peer_rows` rows.
    pub false_matches: f64,
    /// The bits of a guess.
    pub guess_bits: f64,
    /// Whether it compares the field `first`, which holds given names by convention.
    #[serde(skip)]
    compares_given_names: bool,
}

/// The keys of a table to look at.
#[derive(Debug, Clone, Default)]
pub struct CheckedKeys {
    /// The key columns, or the columns of fields if rules make the keys.
    pub columns: Vec<KeyColumn>,
    /// The number of key columns of each identifier; empty if all columns form one identifier.
    pub identifiers: Vec<u8>,
    /// The rules that make the keys, if they do.
    pub rules: Option<Rules>,
    /// Values that count as empty.
    pub null_values: NullValues,
    /// The rows of the other table, for predictions; `None` for as many as this one has.
    pub peer_rows: Option<u64>,
    /// The false matches of a rule that is admitted, at most, as a share of the smaller table's rows.
    pub max_false_per_rule: Option<Percentage>,
}

impl CheckedKeys {
    /// Returns the keys that rules make.
    pub fn of_rules(rules: Rules, null_values: NullValues) -> Self {
        let columns = rules.fields().iter().map(|field| KeyColumn {
            name: field.column().to_owned(),
            normalize: field.normalize().clone(),
        });
        Self { columns: columns.collect(), rules: Some(rules), null_values, ..Self::default() }
    }
}

/// Reads a table as a run would, and counts.
///
/// # Errors
/// Any fault of the table.
pub fn check(input: Source, dialect: impl Into<Dialect>, keys: &CheckedKeys) -> Result<Check> {
    let CheckedKeys {
        columns: keys,
        identifiers,
        rules,
        null_values,
        peer_rows,
        max_false_per_rule,
    } = keys;
    let dialect: Dialect = dialect.into();
    let memory = dialect.most_bytes;
    let input = input.open(dialect)?;
    let reading = Reading {
        memory,
        keys: keys.to_vec(),
        identifiers: identifiers.to_vec(),
        rules: rules.clone().map(Arc::new),
        null_values: null_values.clone(),
        survey: true,
        ..Reading::default()
    };
    let names: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
    let scan = input.read_columns(Columns { keys: &names, ..Columns::default() })?;
    let positions = if scan.header().is_missing() { Vec::new() } else { scan.find(&names)? };
    // A run would refuse to write all columns.
    let unwritten = scan.header().assert_written().err();
    let types = positions.iter().filter_map(|column| scan.header().column_type(*column));
    let key_types = types.map(|found| found.name.clone()).collect();
    let (delimiter, compression) = (scan.delimiter(), scan.compression());
    let (table, mut set, mut findings) = KeySet::read(scan, &reading, |_, _| {})?;
    findings.warnings.extend(unwritten.map(|fault| fault.to_string()));
    let rules = rules.as_ref().map(|rules| of_rules(rules, &findings, *peer_rows));
    let rules = rules.unwrap_or_default();
    let smaller = findings.rows.read.min(peer_rows.unwrap_or(u64::MAX));
    let warnings = rules.iter().zip(1..).filter_map(|(rule, nth)| rule.warning(nth, smaller));
    findings.warnings.extend(warnings);
    let admitted = max_false_per_rule.map(|most| admitted(&rules, most.share() * smaller as f64));
    Ok(Check {
        bytes: table.digest().map_or(0, |digest| digest.bytes),
        format: table.format().name(),
        compression,
        key_types,
        byte_order_mark: table.has_byte_order_mark(),
        line_ends: table.line_ends().map(LineEnds::name),
        delimiter,
        findings,
        key_columns: set.take_survey(),
        rules,
        admitted,
    })
}

/// Returns the rules with the numbers of a table.
fn of_rules(rules: &Rules, findings: &Findings, peer_rows: Option<u64>) -> Vec<CheckedRule> {
    let rows = findings.rows.read;
    let peer_rows = peer_rows.unwrap_or(rows) as f64;
    let rule = |(rule, found): (&MatchRule, &RuleFindings)| CheckedRule {
        rule: rule.to_string(),
        found: *found,
        false_matches: found.false_matches(rows, peer_rows),
        guess_bits: found.guess_bits(rows),
        compares_given_names: rule.fields().contains(&"first"),
    };
    rules.rules().iter().zip(&findings.rules).map(rule).collect()
}

/// Returns the rules that some row has a key by and that match at most this number of pairs of different people, those
/// with the fewest first and otherwise in their order.
fn admitted(rules: &[CheckedRule], most: f64) -> Vec<String> {
    let suits = |rule: &&CheckedRule| rule.found.keyed > 0 && rule.false_matches <= most;
    let mut admitted: Vec<_> = rules.iter().filter(suits).collect();
    admitted.sort_by(|a, b| a.false_matches.total_cmp(&b.false_matches));
    admitted.into_iter().map(|rule| rule.rule.clone()).collect()
}

impl CheckedRule {
    /// Warns of a rule that matches many pairs of different people, as a share of the smaller table's rows.
    fn warning(&self, number: usize, rows: u64) -> Option<String> {
        /// The share of rows from which a rule does more harm than good.
        const MANY: f64 = 0.005;
        if self.false_matches <= MANY * rows as f64 || self.false_matches < 1.0 {
            return None;
        }
        let cause = match self.compares_given_names {
            true => "people with the same frequent values",
            false => "twins and others of one household, for it compares no field `first`",
        };
        Some(format!(
            "rule {number} ({}) would match about {} of different people, mostly {cause}: add a part to it, or leave it out",
            self.rule,
            counted(self.false_matches.ceil() as u64, "pair")
        ))
    }
}

#[cfg(test)]
mod tests {
    use vesica_keyset::counts::RowCounts;
    use vesica_normalize::normalize::Normalize;
    use vesica_table::source::Delimiter;

    use super::*;

    fn checked(text: &str, column: &str, normalize: Normalize) -> Check {
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let columns = vec![KeyColumn { name: column.into(), normalize }];
        let keys = CheckedKeys { columns, ..CheckedKeys::default() };
        check(source, Delimiter::Auto, &keys).unwrap()
    }

    #[test]
    fn numbers() {
        let text = "\u{feff}mail;v\r\nA@b.c;1\r\n a@b.c;2\r\n;3\r\nd@e.f;4\r\nd@e.f;5\r\n";
        let found = checked(text, "mail", Normalize::EMAIL);
        assert_eq!((found.line_ends, found.delimiter), (Some("CRLF"), Some("semicolon")));
        assert_eq!((found.byte_order_mark, found.format), (Some(true), "csv"));
        let found = found.findings;
        assert_eq!(found.rows, RowCounts { read: 5, null: 1, duplicate: 2, used: 2 });
        assert_eq!((found.keys_changed, found.keys_merged), (2, 1));
        assert!(found.utf8 && found.columns == 2);
    }

    #[test]
    fn each_column_shows_the_effect_of_its_profile() {
        let of = |text: &str, profile: &str| {
            let mut found = checked(text, "k", profile.parse().unwrap()).key_columns;
            assert_eq!(
                (found.len(), &found[0].column[..], &found[0].profile[..]),
                (1, "k", profile)
            );
            found.remove(0)
        };
        let text = "k\nA@b.c\na@b.c\n a@b.c\n\nNULL\nnobody\nd@e.f\nd@e.f\n";
        let found = of(text, "email");
        assert_eq!((found.values, found.invalid), (6, 1));
        assert_eq!((found.changed, found.merged), (2, 2));
        let found = of(text, "none");
        assert_eq!((found.values, found.invalid, found.changed, found.merged), (7, 0, 0, 0));
        let digests = "k\nb4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514\n\
                       tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=\nb4c9a289\n";
        let found = of(digests, "hashed:email");
        assert_eq!((found.values, found.invalid, found.changed, found.merged), (3, 1, 1, 1));
        assert!(checked("", "k", Normalize::NONE).key_columns.is_empty());
        let both = [("k", "none"), ("l", "date")];
        let keys = both.map(|(name, profile)| KeyColumn {
            name: name.into(),
            normalize: profile.parse().unwrap(),
        });
        let source =
            Source::Memory { name: "t".into(), bytes: b"l,k\nx,\n2024-02-30,y\n".to_vec() };
        let keys = CheckedKeys { columns: keys.to_vec(), ..CheckedKeys::default() };
        let found = check(source, Delimiter::Auto, &keys).unwrap();
        let of_columns = found.key_columns.iter().map(|found| (found.values, found.invalid));
        assert_eq!(of_columns.collect::<Vec<_>>(), [(1, 0), (2, 2)]);
    }

    #[test]
    fn a_profile_that_would_fit_is_suggested() {
        let fits = |rows: &[&str], profile: &str| {
            let text = format!(
                "k\n{}\n",
                rows.iter().cycle().take(40).copied().collect::<Vec<_>>().join("\n")
            );
            checked(&text, "k", profile.parse().unwrap()).key_columns[0].fits.join(" ")
        };
        assert_eq!(fits(&["a@b.org", "C@D.org"], "none"), "email");
        assert_eq!(fits(&["a@b.org", "C@D.org"], "email:plain"), "");
        assert_eq!(fits(&["2024-02-29", "1999-12-31"], "trim"), "date");
        assert_eq!(fits(&["29.02.2024", "1.12.1999"], "none"), "date:%d.%m.%Y");
        assert_eq!(fits(&["29.02.2024", "1.12.1999"], "date"), "date:%d.%m.%Y");
        assert_eq!(fits(&["02/29/2024", "11/12/1999"], "none"), "date:%m/%d/%Y");
        assert_eq!(fits(&["02/09/2024", "11/12/1999"], "none"), "date:%d/%m/%Y date:%m/%d/%Y");
        assert_eq!(fits(&["20240229"], "date:%Y%m%d"), "");
        assert_eq!(fits(&["2024-02-29 10:00:00", "2024-02-29T10:00:00Z"], "none"), "timestamp");
        assert_eq!(fits(&["+44 20 7946 0018", "(020) 7946-0018"], "lower"), "phone:CC");
        assert_eq!(fits(&["+44 20 7946 0018"], "phone"), "");
        assert_eq!(
            fits(&["tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ="], "none"),
            "hashed:PROFILE"
        );
        assert_eq!(fits(&["a@b.org", "word", "17"], "none"), "");
        assert_eq!(fits(&["4711", "123456"], "none"), "");
    }

    #[test]
    fn guessable_keys_cause_a_warning() {
        let low = |text: &str| {
            let found = checked(text, "k", Normalize::NONE);
            found.findings.warnings.iter().any(|w| w.contains("low entropy"))
        };
        assert!(low("k\n+44 1632 960983\n(020) 7946-0018\n"));
        assert!(low(&format!("k\n{}", "green\nred\n".repeat(1000))));
        assert!(low(&format!("k\n{}", "green\nred\n".repeat(10))));
        assert!(!low("k\nann@example.org\nbob@example.org\n"));
        assert!(!low("k\n4929123456789012345\n"));
    }

    #[test]
    fn empty_tables_are_not_a_fault() {
        let first = |text| checked(text, "k", Normalize::NONE).findings.warnings[0].clone();
        assert!(first("").contains("empty"));
        assert!(first("k\n").contains("no row"));
    }
}
