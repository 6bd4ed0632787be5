//! The versions of the tables that rules use.
//!
//! Two builds with one rule but different tables make different keys of some values: a numbering plan may have new
//! numbers, and Unicode new letters. So the agreed name of a profile has the version of its tables. The tests compare
//! the tables with a fingerprint. If a dependency changes them, the tests fail until the version here changes too. The
//! postcodes and the classes of [characters](super::characters) are part of their rules, whose version changes with
//! them.

use super::{Identifier, Normalize, rule::UNICODE};

/// The version of libphonenumber whose numbering plans this build has.
const PLAN: &str = "plan9.0.33";

/// Returns the tables that a rule depends on, if it does.
pub(super) fn of(rule: &Normalize) -> Option<&'static str> {
    match rule {
        Normalize::Rule(rule) => rule.tables,
        Normalize::Partner(_, Identifier::Email | Identifier::Name) => Some(UNICODE),
        Normalize::Phone(_) | Normalize::Partner(_, Identifier::Phone(_)) => Some(PLAN),
        Normalize::Date(_)
        | Normalize::Timestamp(_)
        | Normalize::Number(_)
        | Normalize::Postcode(_)
        | Normalize::Sha256(_)
        | Normalize::Hashed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    fn fingerprint(parts: impl Iterator<Item = String>) -> String {
        let all: Vec<String> = parts.collect();
        let digest = Digest::of(all.join("\n").as_bytes());
        digest.as_bytes()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Each text profile maps each character to the same text as when its version was recorded.
    #[test]
    fn letters_are_those_of_the_version() {
        let found = ["trim", "lower", "text", "name"].map(|name| {
            let profile: Normalize = name.parse().unwrap();
            let of = |c: char| profile.apply(c.encode_utf8(&mut [0; 4])).into_owned();
            (name, fingerprint(('\0'..=char::MAX).map(of)))
        });
        let expected = [
            ("trim", "273f2e38332087be"),
            ("lower", "eac4df4d956e2524"),
            ("text", "b0037919cf7a2405"),
            ("name", "05100d1d7d9583f4"),
        ];
        let expected = expected.map(|(name, found)| (name, found.to_owned()));
        assert_eq!(found, expected, "raise {UNICODE}");
    }

    #[test]
    fn postcodes_are_those_of_the_rule() {
        let found = fingerprint(super::super::postcode::described());
        assert_eq!(found, "e47d6bf950b81296", "raise the version of `postcode`");
    }

    #[cfg(feature = "phone")]
    #[test]
    fn numbering_plans_are_those_of_the_version() {
        let found = fingerprint(super::super::phone::described());
        assert_eq!(found, "30046a8e080cd268", "raise {PLAN}");
    }
}
