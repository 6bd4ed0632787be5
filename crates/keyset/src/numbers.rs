//! A column of numbers to be added up.
//!
//! Numbers are decimals with an agreed number of places, the scale. Internally they are whole numbers: with a scale of
//! 2, `12.5` is 1250.

use vesica_core::error::{InputFault, Result};
use vesica_table::{row::Row, rows::Scan};

use crate::key::Nulls;

/// The maximum number of decimal places of values: 10^18 is below 2^63.
pub const MAX_SCALE: u8 = 18;

/// A column of numbers, found in a table's header.
#[derive(Clone)]
pub struct Numbers {
    position: usize,
    column: String,
    scale: u8,
    nulls: Nulls,
}

impl Numbers {
    /// Finds the column; `None` in a table without even a header.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub fn new(scan: &Scan, column: &str, scale: u8, nulls: Nulls) -> Result<Option<Self>> {
        if scan.header().is_missing() {
            return Ok(None);
        }
        let position = scan.find(&[column])?[0];
        Ok(Some(Self { position, column: column.to_owned(), scale, nulls }))
    }

    /// Returns a row's number in units of 10^−scale. An empty value is 0, unless the policy refuses it.
    ///
    /// # Errors
    /// [`InputFault::NotANumber`] and [`InputFault::NullValue`].
    pub fn of(&self, row: &Row<'_>) -> Result<i64> {
        // Finding the place takes as long as the text before it.
        let (place, column) = (|| row.place(), || self.column.clone());
        let text = row.field(self.position).trim_ascii();
        if text.is_empty() {
            return match self.nulls {
                Nulls::Skip => Ok(0),
                Nulls::Error => {
                    Err(row.fault(InputFault::NullValue { place: place(), column: column() }))
                }
            };
        }
        let number = std::str::from_utf8(text).ok().and_then(|text| parse(text, self.scale));
        let scale = self.scale;
        let fault = || InputFault::NotANumber { place: place(), column: column(), scale };
        number.ok_or_else(|| row.fault(fault()))
    }
}

/// Reads a decimal with at most `scale` places, without counting trailing zeros, in units of 10^−scale.
pub(crate) fn parse(text: &str, scale: u8) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let point = digits.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &[][..]),
    };
    if whole.is_empty() || point.is_some() && fraction.is_empty() {
        return None;
    }
    let scale = usize::from(scale);
    let kept = &fraction[..fraction.len().min(scale)];
    if fraction[kept.len()..].iter().any(|byte| *byte != b'0') {
        return None;
    }
    let zeros = std::iter::repeat_n(&b'0', scale - kept.len());
    whole.iter().chain(kept).chain(zeros).try_fold(0i64, |number, byte| {
        let digit = i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
        let tens = number.checked_mul(10)?;
        if negative { tens.checked_sub(digit) } else { tens.checked_add(digit) }
    })
}

#[cfg(test)]
mod tests {
    use vesica_core::words::decimal;

    use super::*;

    #[test]
    fn decimals_by_table() {
        for (text, scale, expected) in [
            ("12.5", 2, Some(1250)),
            ("-0.07", 2, Some(-7)),
            ("+3", 2, Some(300)),
            ("1.2300", 2, Some(123)),
            ("1.234", 2, None),
            ("1.5", 0, None),
            ("1.0", 0, Some(1)),
            (".5", 1, None),
            ("5.", 1, None),
            ("1,5", 1, None),
            ("1e3", 0, None),
            ("--1", 0, None),
            ("-", 0, None),
            ("", 0, None),
            ("9223372036854775807", 0, Some(i64::MAX)),
            ("-9223372036854775808", 0, Some(i64::MIN)),
            ("9223372036854775808", 0, None),
            ("92233720368547758.07", 2, Some(i64::MAX)),
            ("92233720368547758.08", 2, None),
            ("9.223372036854775807", 18, Some(i64::MAX)),
        ] {
            assert_eq!(parse(text, scale), expected, "{text} {scale}");
        }
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for (number, scale, text) in [
            (0, 0, "0"),
            (-5, 0, "-5"),
            (1250, 2, "12.50"),
            (-7, 2, "-0.07"),
            (0, 3, "0.000"),
            (i64::MIN, 18, "-9.223372036854775808"),
        ] {
            assert_eq!(decimal(number.into(), scale), text);
            assert_eq!(parse(text, scale), Some(number));
        }
    }
}
