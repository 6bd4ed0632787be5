//! Decimal numbers by their value.

use std::fmt;

use super::{
    Normalize,
    characters::{bare, typed},
};

/// How a column writes its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Stands between groups of three digits, if anything does.
    thousands: Option<u8>,
    /// Stands before the decimal places.
    decimal: u8,
}

impl Default for Marks {
    fn default() -> Self {
        Self { thousands: None, decimal: b'.' }
    }
}

/// The names of marks, and what they are.
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
        "the marks of a number are written THOUSANDS-DECIMAL, as in number:point-comma for 1.234,5; \
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

/// The number with a point, without a plus sign, needless zeros and the sign of zero; `None` for what is no number.
/// An exponent makes it none: programs that write one have rounded the number.
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

/// The digits before the decimal mark, without the marks between groups of three. Either all groups have their
/// mark or none does.
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
