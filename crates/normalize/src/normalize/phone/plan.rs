//! The check whether a country's numbering plan has a number.
//!
//! The library compares a plan's patterns with the beginning of a number, and so accepts some numbers that have too
//! many digits. Here the whole number counts.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use phonenumber::{
    Metadata, Type,
    metadata::{DATABASE, Descriptor},
};
use regex::{Regex, RegexBuilder};

/// The kinds of numbers that can be called from anywhere.
const KINDS: [Type; 10] = [
    Type::FixedLine,
    Type::Mobile,
    Type::TollFree,
    Type::PremiumRate,
    Type::SharedCost,
    Type::Voip,
    Type::PersonalNumber,
    Type::Pager,
    Type::Uan,
    Type::Voicemail,
];

/// Patterns that match whole numbers, by the patterns that match their beginnings.
static WHOLE: LazyLock<Mutex<HashMap<String, Option<Arc<Regex>>>>> = LazyLock::new(Mutex::default);

/// Whether a country with this calling code has this number, given without the code.
pub(super) fn has(code: u16, national: &str) -> bool {
    let regions = DATABASE.by_code(&code).unwrap_or_default();
    regions.into_iter().any(|plan| plan_has(plan, national))
}

/// Whether a country's plan has a number in the form of E.164, given without its plus sign. No calling code begins with
/// another.
pub(super) fn is_international(digits: &str) -> bool {
    (1..=3).any(|len| {
        let split = digits.split_at_checked(len);
        split.is_some_and(|(code, national)| code.parse().is_ok_and(|code| has(code, national)))
    })
}

/// Returns a number in the form of E.164 without its calling code.
pub(super) fn without_code(number: &str) -> &str {
    let Some(digits) = number.strip_prefix('+') else { return number };
    let is_code = |code: &str| code.parse().is_ok_and(|code| DATABASE.by_code(&code).is_some());
    let split = (1..=3).filter_map(|len| digits.split_at_checked(len));
    split.into_iter().find(|(code, _)| is_code(code)).map_or(digits, |(_, national)| national)
}

fn plan_has(plan: &Metadata, national: &str) -> bool {
    let begins = |pattern: &str| beginning(pattern).is_some_and(|found| found.is_match(national));
    let all = plan.descriptors();
    plan.leading_digits().is_none_or(|pattern| begins(pattern.as_str()))
        && matches(all.general(), national)
        && KINDS.iter().any(|kind| all.get(*kind).is_some_and(|kind| matches(kind, national)))
}

fn matches(kind: &Descriptor, national: &str) -> bool {
    let lengths = kind.possible_length();
    (lengths.is_empty() || lengths.contains(&(national.len() as u16)))
        && compiled(format!("^(?:{})$", kind.national_number().as_str()))
            .is_some_and(|found| found.is_match(national))
}

fn beginning(pattern: &str) -> Option<Arc<Regex>> {
    compiled(format!("^(?:{pattern})"))
}

fn compiled(pattern: String) -> Option<Arc<Regex>> {
    let mut all = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    // The white space in patterns has no meaning.
    let compile = |pattern: &String| RegexBuilder::new(pattern).ignore_whitespace(true).build();
    all.entry(pattern).or_insert_with_key(|pattern| compile(pattern).ok().map(Arc::new)).clone()
}

/// Returns all data that the rule uses, to compare it with an earlier version.
#[cfg(test)]
pub(in crate::normalize) fn described() -> impl Iterator<Item = String> {
    let described = |plan: &Metadata| {
        let all = plan.descriptors();
        let kind = |kind: &Descriptor| {
            (kind.national_number().as_str().to_owned(), kind.possible_length().to_vec())
        };
        let kinds: Vec<_> = KINDS.iter().map(|found| all.get(*found).map(kind)).collect();
        let prefix = plan.international_prefix().map(|found| found.as_str());
        let own =
            (plan.id(), plan.country_code(), plan.leading_digits().map(|found| found.as_str()));
        format!(
            "{own:?} {prefix:?} {:?} {:?} {kinds:?}",
            plan.national_prefix(),
            kind(all.general())
        )
    };
    let mut plans: Vec<_> = DATABASE.iter().map(described).collect();
    plans.sort();
    plans.into_iter()
}
