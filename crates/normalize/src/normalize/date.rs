//! Days of the calendar.

use std::fmt;

use super::{
    Normalize,
    characters::{bare, typed},
    clock::{digits, midnight},
};

/// The maximum length of a format, in bytes.
const LONGEST: usize = 32;

/// The format of a column's dates: year, month and day, each once, with other characters between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Four digits.
    Year,
    /// One or two digits; two if another number stands next to it.
    Month,
    /// Likewise.
    Day,
    /// This character itself.
    Literal(u8),
}

pub(super) fn parse(format: Option<&str>) -> Result<Normalize, String> {
    format.map(Format::new).transpose().map(Normalize::Date)
}

impl Format {
    /// Reads a format such as `%d.%m.%Y`.
    ///
    /// # Errors
    /// Returns a message that names the fault.
    pub fn new(text: &str) -> Result<Self, String> {
        let example = "write a date format like %d.%m.%Y";
        if text.len() > LONGEST {
            return Err(format!("{example}, with at most {LONGEST} characters"));
        }
        let mut parts = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            parts.push(match byte {
                b'%' => match bytes.next() {
                    Some(b'Y') => Part::Year,
                    Some(b'm') => Part::Month,
                    Some(b'd') => Part::Day,
                    Some(b'y') => {
                        return Err("%y does not name the century; use %Y".to_owned());
                    }
                    _ => return Err(format!("{example}; the fields are %Y, %m and %d")),
                },
                b' '..=b'~' if !byte.is_ascii_digit() && byte != b',' && byte != b'@' => {
                    Part::Literal(byte)
                }
                _ => {
                    let others = "besides the fields, use only ASCII characters other than digits, commas and @";
                    return Err(format!("{example}; {others}"));
                }
            });
        }
        let once = |field| parts.iter().filter(|part| **part == field).count() == 1;
        if ![Part::Year, Part::Month, Part::Day].into_iter().all(once) {
            return Err(format!("{example}, with each of %Y, %m and %d once"));
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// Returns the year, month and day of a text in exactly this format.
    fn read(&self, text: &str) -> Option<(u16, u8, u8)> {
        let mut rest = text.as_bytes();
        let (mut year, mut month, mut day) = (0, 0, 0);
        let is_literal = |part: Option<&Part>| matches!(part, None | Some(Part::Literal(_)));
        for (at, part) in self.parts.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| self.parts.get(before));
            let alone = is_literal(before) && is_literal(self.parts.get(at + 1));
            let shortest = if alone { 1 } else { 2 };
            match part {
                Part::Year => (year, rest) = digits(rest, 4, 4)?,
                Part::Month => (month, rest) = digits(rest, shortest, 2)?,
                Part::Day => (day, rest) = digits(rest, shortest, 2)?,
                Part::Literal(byte) => rest = rest.strip_prefix(&[*byte])?,
            }
        }
        rest.is_empty().then_some((year, month as u8, day as u8))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the date as ISO 8601 writes it, if any time after it is midnight; `None` for days that do not exist, and for
/// anything else. The calendar is the Gregorian one throughout, with the years 1 to 9999.
pub(super) fn iso(value: &str, format: Option<&Format>) -> Option<String> {
    let value = typed(bare(value));
    let read = |text: &str| match format {
        Some(format) => format.read(text),
        None => standard(text).filter(|(_, rest)| rest.is_empty()).map(|(date, _)| date),
    };
    let (year, month, day) = read(&value).or_else(|| read(midnight(&value)?))?;
    calendar_day(year, month, day)?;
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

/// Returns the day of this date; `None` if it does not exist.
pub(super) fn calendar_day(year: u16, month: u8, day: u8) -> Option<time::Date> {
    let month = time::Month::try_from(month).ok().filter(|_| year > 0)?;
    time::Date::from_calendar_date(i32::from(year), month, day).ok()
}

/// Reads a date such as `2001-02-03` with all digits, and returns the rest of the text too.
pub(super) fn standard(text: &str) -> Option<((u16, u8, u8), &str)> {
    let (year, rest) = digits(text.as_bytes(), 4, 4)?;
    let (month, rest) = digits(rest.strip_prefix(b"-")?, 2, 2)?;
    let (day, rest) = digits(rest.strip_prefix(b"-")?, 2, 2)?;
    Some(((year, month as u8, day as u8), &text[text.len() - rest.len()..]))
}
