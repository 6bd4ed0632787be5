//! Telephone numbers in the form of E.164, by the rules of every country's numbering plan.

#[cfg(feature = "phone")]
mod plan;
#[cfg(all(test, feature = "phone"))]
pub(super) use plan::described;

use std::fmt;

#[cfg(feature = "phone")]
use super::characters::{bare, is_apostrophe, is_float, is_ignorable, typed};

/// A region whose numbers may omit their country's code: ISO 3166-1 alpha-2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region([u8; 2]);

/// The maximum length of a number's text, in characters. E.164 has 15 digits; the rest is punctuation.
#[cfg(feature = "phone")]
const LONGEST: usize = 40;

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

/// Whether a value looks like a number with its punctuation, a trunk zero or a country's code, in any plan.
pub(super) fn looks_like_one(value: &str) -> bool {
    let value = value.trim();
    let marked = value.starts_with(['+', '0', '(']) || value.contains([' ', '-']);
    let punctuation = |c: char| c.is_ascii_digit() || " ()-./+".contains(c);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    marked && (7..=15).contains(&digits) && value.chars().all(punctuation)
}

/// Returns a number in the form of E.164 without its country's code.
pub(super) fn without_code(number: &str) -> &str {
    #[cfg(feature = "phone")]
    let number = plan::without_code(number);
    number
}

/// Refuses profiles of this kind by name, since the library is missing.
#[cfg(not(feature = "phone"))]
pub(super) fn region(_: Option<&str>) -> Result<Option<Region>, String> {
    Err("this build has no telephone numbers; build with the feature `phone`".to_owned())
}

#[cfg(not(feature = "phone"))]
pub(super) fn lacks_plus(_: &str, _: &Region) -> bool {
    false
}

/// Whether digits without a plus sign begin with the code of this region, and form one of its numbers with that.
#[cfg(feature = "phone")]
pub(super) fn lacks_plus(value: &str, region: &Region) -> bool {
    let Some(number) = dialled(value) else { return false };
    let plan = region.id().and_then(|id| phonenumber::metadata::DATABASE.by_id(id.as_ref()));
    plan.is_some_and(|found| {
        let code = found.country_code();
        let rest = number.strip_prefix(&code.to_string());
        rest.is_some_and(|rest| plan::has(code, rest))
    })
}

#[cfg(not(feature = "phone"))]
pub(super) fn e164(_: &str, _: Option<&Region>) -> Option<String> {
    None
}

#[cfg(feature = "phone")]
pub(super) fn region(given: Option<&str>) -> Result<Option<Region>, String> {
    let Some(wanted) = given else { return Ok(None) };
    let known: Option<phonenumber::country::Id> = wanted.parse().ok();
    match (known, wanted.as_bytes()) {
        (Some(_), &[one, two]) => Ok(Some(Region([one, two]))),
        _ => Err(format!(
            "`{}` is not a region; name a country by its two capital letters, as in phone:GB, \
             or use phone if all numbers have a + and their country's code",
            wanted.escape_debug()
        )),
    }
}

#[cfg(feature = "phone")]
impl Region {
    fn id(&self) -> Option<phonenumber::country::Id> {
        std::str::from_utf8(&self.0).ok()?.parse().ok()
    }
}

/// Returns the number, if the plan of its country has it. Letters, extensions and short numbers are refused.
#[cfg(feature = "phone")]
pub(super) fn e164(value: &str, region: Option<&Region>) -> Option<String> {
    let number = dialled(value)?;
    if number.starts_with('+') {
        return abroad(number);
    }
    let id = region?.id()?;
    international(id, &number).and_then(abroad).or_else(|| at_home(id, &number))
}

/// Returns a number that has its country's code, if it is valid.
#[cfg(feature = "phone")]
fn abroad(number: String) -> Option<String> {
    match plan::is_international(&number[1..]) {
        true => Some(number),
        // With a region, the library would read it by that region's rules.
        false => valid(None, &number),
    }
}

/// Returns a number as it is dialled in its own region, with or without the trunk prefix. The library would drop that
/// prefix twice from a number that begins with it again, as in 8 800 555 35 35. A number is refused if it is a
/// different valid one when its beginning is read as the country's code: nothing shows which of the two is meant.
#[cfg(feature = "phone")]
fn at_home(region: phonenumber::country::Id, number: &str) -> Option<String> {
    let rules = phonenumber::metadata::DATABASE.by_id(region.as_ref())?;
    let (code, trunk) = (rules.country_code(), rules.national_prefix().unwrap_or_default());
    let without = number.strip_prefix(trunk);
    let direct = without.into_iter().chain([number]).find(|national| plan::has(code, national));
    let is_doubled = !trunk.is_empty() && without.is_some_and(|rest| rest.starts_with(trunk));
    let is_ambiguous = |national: &str| {
        let rest = national.strip_prefix(&code.to_string());
        without.is_none_or(|_| trunk.is_empty()) && rest.is_some_and(|rest| plan::has(code, rest))
    };
    match direct {
        Some(national) if is_ambiguous(national) => None,
        Some(national) => Some(format!("+{code}{national}")),
        None if is_doubled => None,
        None => valid(Some(region), number),
    }
}

/// Returns the digits that one would dial, after a plus sign if there is one. A trunk zero in brackets after a
/// country's code, as in `+44 (0)20`, is not dialled.
#[cfg(feature = "phone")]
fn dialled(value: &str) -> Option<String> {
    // Spreadsheets put an apostrophe before text that looks like a number.
    let value = bare(value).trim_start_matches(is_apostrophe);
    let link = value.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("tel:"));
    let value = typed(if link { &value[4..] } else { value });
    let value = match value.contains(is_ignorable) {
        true => value.replace(is_ignorable, "").into(),
        false => value,
    };
    if value.chars().count() > LONGEST || is_float(&value) {
        return None;
    }
    let value = if value.contains('+') { value.replacen("(0)", "", 1) } else { value.into_owned() };
    let mut dialled = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '0'..='9' => dialled.push(c),
            '+' if dialled.is_empty() => dialled.push('+'),
            ' ' | '\t' | '-' | '(' | ')' | '[' | ']' | '.' | '/' | '~' => {}
            '\u{2053}' | '\u{223c}' | '\u{30fc}' => {}
            _ => return None,
        }
    }
    Some(dialled)
}

/// Returns a number that is dialled abroad from this region, with a plus sign in place of the international prefix.
#[cfg(feature = "phone")]
fn international(region: phonenumber::country::Id, number: &str) -> Option<String> {
    let rules = phonenumber::metadata::DATABASE.by_id(region.as_ref())?;
    let prefix = rules.international_prefix()?.find(number)?;
    (prefix.start() == 0).then(|| format!("+{}", &number[prefix.end()..]))
}

#[cfg(feature = "phone")]
fn valid(region: Option<phonenumber::country::Id>, number: &str) -> Option<String> {
    let number = phonenumber::parse(region, number).ok()?;
    let (code, national) = (number.code().value(), number.national().to_string());
    let is_valid = number.extension().is_none() && plan::has(code, &national);
    is_valid.then(|| format!("+{code}{national}"))
}
