//! Values of key columns that are seldom intended: a spreadsheet, a mail program or a column of floating-point numbers
//! has changed them.
//!
//! Some of them make no key, and some make a key that never matches. Each kind is counted, and no value is kept.

use serde::Serialize;
use vesica_normalize::normalize::{
    Identifier, Normalize,
    characters::{is_float, is_ignorable},
    lacks_plus,
};

/// A kind of values, and the number of rows with one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// The name of the kind, in words that follow "rows".
    pub kind: &'static str,
    /// Rows with such a value.
    pub rows: u64,
    /// The remedy.
    pub advice: &'static str,
}

/// A value to classify.
struct Seen<'a> {
    /// The text without white space at its ends.
    text: &'a str,
    raw: &'a str,
    /// The normalised value.
    value: &'a str,
    normalize: &'a Normalize,
}

/// A kind: its name, the remedy, and the test for it.
type Kind = (&'static str, &'static str, fn(&Seen<'_>) -> bool);

/// Every kind. A value belongs to the first that fits.
const KINDS: [Kind; 13] = [
    ("with a spreadsheet formula, such as =\"001\"", "export values instead of formulas", |seen| {
        seen.text.starts_with("=") && seen.text.len() > 1
    }),
    (
        "in quotation marks that belong to the value",
        "export the column without them, or name the right --delimiter",
        |seen| is_quoted(seen.text),
    ),
    (
        "with a number that was rounded, such as 4.4E+17",
        "digits are lost: export the column as text from its source",
        |seen| is_scientific(seen.text),
    ),
    (
        "with a whole number that has decimal places, such as 17.0",
        "export the column as text or whole numbers; --normalize number reads numbers by their value",
        |seen| !is_numeric(seen.normalize) && is_float(seen.text),
    ),
    (
        "with the country's code and no plus sign before it",
        "the number is ambiguous: write a + before those that begin with the code",
        |seen| seen.value.is_empty() && lacks_plus(seen.raw, seen.normalize),
    ),
    (
        "with a telephone number and an extension",
        "store extensions in a column of their own",
        |seen| is_phone(seen.normalize) && seen.value.is_empty() && has_extension(seen.text),
    ),
    (
        "with several mail addresses, or one with a name or a link around it",
        "store one address only",
        |seen| seen.normalize.is_mail() && seen.value.is_empty() && seen.text.contains('@'),
    ),
    (
        "with a time of day other than midnight",
        "use --normalize timestamp, or store days without times",
        |seen| is_date(seen.normalize) && seen.value.is_empty() && is_time(seen.text),
    ),
    (
        "with a digest of another length, such as MD5 or SHA-1",
        "ask for digests by SHA-256",
        |seen| seen.normalize.holds_digests() && is_other_digest(seen.text),
    ),
    (
        "with marks between digits, or a sign after them",
        "name the column's marks, as in --normalize number:point-comma",
        |seen| is_numeric(seen.normalize) && seen.value.is_empty() && has_marks(seen.text),
    ),
    (
        "with white space at an end",
        "use --normalize trim, or a profile for the column's kind of values",
        |seen| *seen.normalize == Normalize::NONE && seen.text.len() != seen.raw.len(),
    ),
    (
        "with invisible characters, such as a zero-width space",
        "use --normalize trim if they stand at an end, and otherwise remove them from the column",
        |seen| seen.value.chars().any(is_ignorable) || hides(seen),
    ),
    (
        "with a replacement character, U+FFFD",
        "the text was read in the wrong encoding: export it again in UTF-8",
        |seen| seen.raw.contains('\u{fffd}'),
    ),
];

/// The number of values of each kind.
#[derive(Default)]
pub(crate) struct Oddities([u64; KINDS.len()]);

impl Oddities {
    /// Counts a value, before and after normalisation.
    pub(crate) fn see(&mut self, raw: &str, value: &str, normalize: &Normalize) {
        let seen = Seen { text: raw.trim(), raw, value, normalize };
        if let Some(kind) = KINDS.iter().position(|(.., is)| is(&seen)) {
            self.0[kind] += 1;
        }
    }

    /// Returns the kinds that occur.
    pub(crate) fn finish(&self) -> Vec<Oddity> {
        let counted = KINDS.iter().zip(self.0).filter(|(_, rows)| *rows > 0);
        counted.map(|((kind, advice, _), rows)| Oddity { kind, rows, advice }).collect()
    }
}

/// Whether invisible characters are the reason that a value is missing.
fn hides(seen: &Seen<'_>) -> bool {
    seen.value.is_empty() && seen.text.chars().any(is_ignorable)
}

fn is_quoted(text: &str) -> bool {
    let pairs = [('"', '"'), ('\'', '\''), ('\u{201c}', '\u{201d}'), ('\u{201e}', '\u{201c}')];
    let pair = |(first, last): &(char, char)| text.starts_with(*first) && text.ends_with(*last);
    text.chars().count() > 1 && pairs.iter().any(pair)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

fn is_scientific(text: &str) -> bool {
    let parts = unsigned(text).split_once(['e', 'E']);
    parts.is_some_and(|(number, exponent)| {
        let (whole, places) = number.split_once(['.', ',']).unwrap_or((number, "0"));
        digits(whole) && whole.len() == 1 && digits(places) && digits(unsigned(exponent))
    })
}

/// Returns the profile of the values themselves, which may be hashed here.
fn of_values(normalize: &Normalize) -> &Normalize {
    match normalize {
        Normalize::Sha256(inner) => inner,
        other => other,
    }
}

fn is_numeric(normalize: &Normalize) -> bool {
    matches!(of_values(normalize), Normalize::Number(_))
}

fn is_date(normalize: &Normalize) -> bool {
    matches!(of_values(normalize), Normalize::Date(_))
}

fn is_phone(normalize: &Normalize) -> bool {
    matches!(
        of_values(normalize),
        Normalize::Phone(_) | Normalize::Partner(_, Identifier::Phone(_))
    )
}

fn has_extension(text: &str) -> bool {
    let text = text.to_lowercase();
    ["x", "ext", "#", ";ext="].iter().any(|mark| {
        let parts = text.rsplit_once(mark);
        parts.is_some_and(|(number, extension)| {
            digits(extension.trim_matches(['.', ':', ' ']))
                && number.bytes().any(|byte| byte.is_ascii_digit())
        })
    })
}

fn is_time(text: &str) -> bool {
    text.split_once(':').is_some_and(|(before, after)| {
        before.ends_with(|c: char| c.is_ascii_digit())
            && after.starts_with(|c: char| c.is_ascii_digit())
    })
}

fn is_other_digest(text: &str) -> bool {
    let text = text.strip_prefix("0x").unwrap_or(text);
    matches!(text.len(), 32 | 40 | 56 | 96 | 128)
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn has_marks(text: &str) -> bool {
    let is_number = |c: char| c.is_numeric() || c.is_whitespace() || "+-.,'\u{2019}".contains(c);
    text.chars().all(is_number) && text.contains(|c: char| c.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_table() {
        for (profile, value, expected) in [
            ("none", "=\"001\"", Some("with a spreadsheet formula")),
            ("none", "\"ann@x.org\"", Some("in quotation marks")),
            ("lower", "\u{201c}Ann\u{201d}", Some("in quotation marks")),
            ("none", "4.4098E+17", Some("with a number that was rounded")),
            ("number", "1e3", Some("with a number that was rounded")),
            ("none", "1.0", Some("with a whole number")),
            ("none", "1.5", None),
            ("number", "1.0", None),
            ("email", "Ann <ann@x.org>", Some("with several mail addresses")),
            ("email", "ann @x.org", Some("with several mail addresses")),
            ("sha256:email", "mailto:ann@x.org", Some("with several mail addresses")),
            ("email", "ann@x.org", None),
            ("email", "nobody", None),
            ("date", "2024-02-29 10:00:00", Some("with a time of day")),
            ("date", "2024-02-29 00:00:00", None),
            (
                "hashed:email",
                "d41d8cd98f00b204e9800998ecf8427e",
                Some("with a digest of another length"),
            ),
            ("number", "1.234,5", Some("with marks between digits")),
            ("number", "5-", Some("with marks between digits")),
            ("none", "ann ", Some("with white space at an end")),
            ("trim", "ann ", None),
            ("none", "ann\u{200b}", Some("with invisible characters")),
            ("trim", "an\u{ad}n", Some("with invisible characters")),
            ("trim", "ann\u{200b}", None),
            ("email", "a\u{200b}", Some("with invisible characters")),
            ("none", "M\u{fffd}ller", Some("with a replacement character")),
            ("none", "d41d8cd98f00b204e9800998ecf8427e", None),
            ("none", "O'Neill", None),
            ("none", "=", None),
        ] {
            let normalize: Normalize = profile.parse().unwrap();
            let mut odd = Oddities::default();
            odd.see(value, &normalize.apply(value), &normalize);
            let found = odd.finish();
            let kind = found.first().map(|oddity| oddity.kind);
            let fits = kind
                .is_some_and(|kind| expected.is_some_and(|expected| kind.starts_with(expected)));
            assert!(fits || kind.is_none() && expected.is_none(), "{profile} {value:?}: {kind:?}");
        }
    }

    #[cfg(feature = "phone")]
    #[test]
    fn kinds_of_telephone_numbers_by_table() {
        for (value, expected) in [
            ("30123456.0", Some("with a whole number")),
            ("4915112345678", Some("with the country's code")),
            ("4930123456", None),
            ("+4915112345678", None),
            ("030 123456 ext. 5", Some("with a telephone number and an extension")),
            ("030 123456", None),
        ] {
            let normalize: Normalize = "phone:DE".parse().unwrap();
            let mut odd = Oddities::default();
            odd.see(value, &normalize.apply(value), &normalize);
            let kind = odd.finish().first().map(|oddity| oddity.kind);
            let fits = kind
                .is_some_and(|kind| expected.is_some_and(|expected| kind.starts_with(expected)));
            assert!(fits || kind.is_none() && expected.is_none(), "{value:?}: {kind:?}");
        }
    }
}
