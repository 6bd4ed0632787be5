//! Values that stand for a missing one, such as `NULL` or `n/a`.
//!
//! Two companies whose exports write `NULL` for a missing address share that text and nothing else. A key column
//! that is normalised at all treats such values as empty; one that is compared as bytes does not.

use crate::{normalize::Normalize, shown::is_plain};

/// An error in a list of null values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NullValuesError {
    /// A value holds a control or format character, or a separator other than the space.
    #[error(
        "a null value holds a control or format character, or a separator other than the space"
    )]
    Unseen,
    /// The values take more than [`NullValues::MAX_BYTES`].
    #[error("null values have at most {} bytes in total", NullValues::MAX_BYTES)]
    Length,
}

/// The missing values that databases, spreadsheets and statistics programs export, in lower case. Words that are also
/// names or genuine values, such as `nil`, `none given` or `0`, are not here. The exceptions are `null`, `na` and
/// `none`, which are missing values far more often.
const DEFAULT: [&str; 20] = [
    "#n/a",
    "(null)",
    "-",
    "--",
    "---",
    ".",
    "<na>",
    "<null>",
    "?",
    "[null]",
    "\\n",
    "n.a.",
    "n/a",
    "na",
    "nan",
    "none",
    "not available",
    "null",
    "undefined",
    "unknown",
];

/// The values of key columns that count as empty, in any case. They are part of the terms: both sides must name the
/// same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NullValues {
    /// Normalised, in order, each once.
    values: Vec<String>,
    /// The length of the longest, in bytes.
    longest: usize,
}

impl Default for NullValues {
    fn default() -> Self {
        let mut values = DEFAULT.map(str::to_owned).to_vec();
        values.sort();
        Self::of(values)
    }
}

impl NullValues {
    /// The most bytes that all of them may have in total.
    pub const MAX_BYTES: usize = 1024;

    /// Returns a list without values: only the empty value counts as empty.
    pub fn none() -> Self {
        Self::of(Vec::new())
    }

    fn of(values: Vec<String>) -> Self {
        let longest = values.iter().map(String::len).max().unwrap_or(0);
        Self { values, longest }
    }

    /// Makes a list of these values, in any order, without empty ones and surrounding space.
    ///
    /// # Errors
    /// Any [`NullValuesError`].
    pub fn new<T: AsRef<str>>(
        values: impl IntoIterator<Item = T>,
    ) -> Result<Self, NullValuesError> {
        let normalised = |value: T| Normalize::LOWER.apply(value.as_ref()).into_owned();
        let mut values: Vec<_> =
            values.into_iter().map(normalised).filter(|value| !value.is_empty()).collect();
        values.sort();
        values.dedup();
        if !values.iter().all(|value| is_plain(value)) {
            return Err(NullValuesError::Unseen);
        }
        if values.iter().map(|value| value.len() + 1).sum::<usize>() > Self::MAX_BYTES {
            return Err(NullValuesError::Length);
        }
        Ok(Self::of(values))
    }

    /// Returns the values that apply to keys normalised like this: none if all are compared as bytes.
    pub fn applied_to(&self, keys: &[Normalize]) -> Self {
        let applies = keys.iter().any(|normalize| !normalize.is_verbatim());
        if applies { self.clone() } else { Self::none() }
    }

    /// Returns the values, in lower case and in order.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether a normalised value is one of them.
    pub fn contains(&self, value: &str) -> bool {
        // Most values are longer than any of these. Lower case keeps at least a third of the bytes,
        // and all of them in ASCII.
        let longest = self.longest;
        let may_be = value.len() <= longest || value.len() <= 3 * longest && !value.is_ascii();
        if !may_be {
            return false;
        }
        let value = Normalize::LOWER.apply(value);
        self.values.binary_search_by(|null| null.as_str().cmp(&value)).is_ok()
    }

    /// Whether a value stands for a missing one, judged by its normalised form. If that is empty because the value does
    /// not suit the profile, the raw value decides.
    pub fn hold(&self, raw: &str, value: &str, normalize: &Normalize) -> bool {
        !normalize.is_verbatim() && self.contains(if value.is_empty() { raw } else { value })
    }

    /// Describes the values for a person who compares terms.
    pub fn describe(&self) -> String {
        match &self.values[..] {
            [] => "only empty ones".to_owned(),
            _ if *self == Self::default() => "the default ones".to_owned(),
            values => values.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_order_make_no_difference() {
        let null = NullValues::default();
        for value in ["NULL", "null", "Null", "NA", "n/a", "N/A", "none", "unknown", "-", "\\N"] {
            assert!(null.contains(value), "{value}");
        }
        for value in ["nullable", "nadia", "0", "x", "none@example.org", ""] {
            assert!(!null.contains(value), "{value}");
        }
        let mine = NullValues::new(["  K\u{c4}INE ", "x", "X", ""]).unwrap();
        assert_eq!(mine.values(), ["k\u{e4}ine", "x"]);
        assert_eq!(mine, NullValues::new(["x", "k\u{e4}ine"]).unwrap());
        assert!(mine.contains("KA\u{308}ine") && !mine.contains("null"));
        assert!(!NullValues::none().contains("") && !NullValues::none().contains("null"));
    }

    #[test]
    fn values_of_every_profile_but_none_may_be_null_values() {
        let null = NullValues::default();
        let hold = |raw: &str, profile: &str| {
            let normalize: Normalize = profile.parse().unwrap();
            null.hold(raw, &normalize.apply(raw), &normalize)
        };
        for profile in [
            "trim",
            "lower",
            "text",
            "email",
            "email:plain",
            "phone",
            "phone:DE",
            "name",
            "date",
            "date:%d.%m.%Y",
            "number",
            "number:point-comma",
            "postcode:GB",
            "sha256:email",
            "hashed:email",
        ] {
            for raw in ["n/a", " N/A ", "NULL", "-", "unknown"] {
                assert!(hold(raw, profile), "{raw} {profile}");
            }
            assert!(!hold("nowhere", profile) && !hold("", profile), "{profile}");
        }
        for profile in ["none", "sha256:none"] {
            assert!(!hold("n/a", profile), "{profile}");
        }
    }

    #[test]
    fn they_are_bounded() {
        for text in ["a\u{1b}[31m", "a\u{202e}b", "a\u{2028}b", "a\u{a0}b"] {
            assert_eq!(NullValues::new([text]), Err(NullValuesError::Unseen), "{text:?}");
        }
        assert!(NullValues::new([&"x".repeat(NullValues::MAX_BYTES)]).is_err());
        assert!(NullValues::new([&"x".repeat(NullValues::MAX_BYTES - 1)]).is_ok());
        assert!(NullValues::new(NullValues::default().values()).is_ok());
    }
}
