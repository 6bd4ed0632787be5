//! Decimal numbers by their value.

use std::fmt;

use super::{
    Normalize,
    characters::{bare, typed},
};

/// The marks with which a column writes its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The mark between groups of three digits, if any.
    thousands: Option<u8>,
    /// The mark before the decimal places.
    decimal: u8,
}

impl Default for Marks {
    fn default() -> Self {
        Self { thousands: None, decimal: b'.' }
    }
}

/// The names of marks, with the marks.
const MARKS: [(&str, u8); 4] =
    [("point", b'.'), ("comma", b','), ("space", b' '), ("apostrophe", b'\'')];

pub(super) fn parse(marks: Option<&str>) -> Result<Normalize, String> {
    let Some(given) = marks else { return Ok(Normalize::Number(Marks::default())) };
    let mark = |word: &str| MARKS.iter().find(|(name, _)| *name == word).map(|(_, mark)| *mark);
    let read = || {
        let (thousands, decimal) = given.split_once('-')?;
        let thousands = match thousands {
            "none" => None,
            word => Some(mark(word)?),
        };
        let decimal = mark(decimal).filter(|mark| matches!(mark, b'.' | b','))?;
        (thousands != Some(decimal)).then_some(Marks { thousands, decimal })
    };
    read().map(Normalize::Number).ok_or_else(|| {
        "write the marks of a number as THOUSANDS-DECIMAL, as in number:point-comma for 1.234,5; \
         THOUSANDS is none, point, comma, space or apostrophe, and DECIMAL is point or comma"
            .to_owned()
    })
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word =
            |mark: u8| MARKS.iter().find(|(_, is)| *is == mark).map_or("none", |(word, _)| *word);
        write!(f, "{}-{}", self.thousands.map_or("none", word), word(self.decimal))
    }
}

/// Returns the number with a point, without a plus sign, needless zeros and the sign of zero; `None` for anything else,
/// and for numbers with an exponent, which programs have rounded.
pub(super) fn canonical(value: &str, marks: Marks) -> Option<String> {
    let value = typed(bare(value));
    let (negative, digits) = match value.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let point = digits.iter().position(|byte| *byte == marks.decimal);
    let (whole, fraction) = match point {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &[][..]),
    };
    let whole = ungrouped(whole, marks.thousands)?;
    let all_digits = fraction.iter().all(u8::is_ascii_digit);
    if whole.is_empty() && fraction.is_empty() || !all_digits {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let places = fraction.iter().rposition(|byte| *byte != b'0').map_or(0, |last| last + 1);
    let fraction = &fraction[..places];
    let mut number = String::with_capacity(value.len() + 1);
    if negative && !(whole.is_empty() && fraction.is_empty()) {
        number.push('-');
    }
    number.push_str(if whole.is_empty() { "0" } else { whole });
    if !fraction.is_empty() {
        number.push('.');
        number.extend(fraction.iter().map(|byte| char::from(*byte)));
    }
    Some(number)
}

/// Returns the digits before the decimal mark, without the marks between groups of three. All groups must have their
/// mark, or none.
fn ungrouped(whole: &[u8], mark: Option<u8>) -> Option<String> {
    let grouped = mark.filter(|mark| whole.contains(mark));
    if let Some(mark) = grouped {
        let mut groups = whole.split(|byte| *byte == mark);
        let first = groups.next()?;
        if !(1..=3).contains(&first.len()) || groups.any(|group| group.len() != 3) {
            return None;
        }
    }
    let digits = whole.iter().filter(|byte| Some(**byte) != grouped);
    digits.map(|byte| byte.is_ascii_digit().then_some(char::from(*byte))).collect()
}
