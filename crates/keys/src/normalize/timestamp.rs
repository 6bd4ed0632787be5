//! Points in time, however a program writes them.

use std::fmt;

use time::{Duration, PrimitiveDateTime, Time};

use super::{
    Normalize,
    characters::{bare, typed},
    date::{calendar_day, digits},
};

/// The offset from UTC of values that name none, in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offset(i16);

/// The most digits of a fraction of a second that count: nanoseconds.
const PLACES: usize = 9;

/// `timestamp` takes values without a zone for UTC, `timestamp:+01:00` for that much ahead of it.
pub(super) fn parse(offset: Option<&str>) -> Result<Normalize, String> {
    let Some(text) = offset else { return Ok(Normalize::Timestamp(Offset::default())) };
    match zone(text) {
        Some((offset, "")) => Ok(Normalize::Timestamp(Offset(offset))),
        _ => Err("the offset of times without a zone is written like +01:00, and Z is UTC: \
                  timestamp:+01:00; zones that change with the season have to be converted first"
            .to_owned()),
    }
}

impl Offset {
    /// Whether it is that of UTC.
    pub fn is_utc(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, minutes) = (if self.0 < 0 { '-' } else { '+' }, self.0.unsigned_abs());
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// The instant in UTC, as in `2024-02-29T10:00:00.5Z`; `None` for anything that is no date with or without a time.
pub(super) fn instant(value: &str, offset: Offset) -> Option<String> {
    let value = typed(bare(value));
    let (year, rest) = digits(value.as_bytes(), 4, 4)?;
    let (month, rest) = digits(rest.strip_prefix(b"-")?, 2, 2)?;
    let (day, rest) = digits(rest.strip_prefix(b"-")?, 2, 2)?;
    let date = calendar_day(year, month as u8, day as u8)?;
    let rest = std::str::from_utf8(rest).ok()?;
    let (clock, minutes) = match rest.strip_prefix(['T', 't', ' ']) {
        None if rest.is_empty() => (Clock::default(), offset.0),
        None => return None,
        Some(rest) => {
            let (clock, rest) = Clock::read(rest.trim_start_matches(' '))?;
            let rest = rest.trim_start_matches(' ');
            match zone(rest) {
                Some((minutes, "")) => (clock, minutes),
                None if rest.is_empty() => (clock, offset.0),
                _ => return None,
            }
        }
    };
    let time = Time::from_hms(clock.hour, clock.minute, clock.second).ok()?;
    let utc = PrimitiveDateTime::new(date, time).checked_sub(Duration::minutes(minutes.into()))?;
    let (year, month, day) = (utc.year(), u8::from(utc.month()), utc.day());
    let (hour, minute, second) = utc.as_hms();
    let fraction = clock.fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    (1..=9999).contains(&year).then(|| {
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{point}{fraction}Z")
    })
}

/// The text before a time that is midnight, with or without a zone that is UTC's; `None` where there is no such time.
pub(super) fn midnight(value: &str) -> Option<&str> {
    let place = value.find(':')?;
    let hour = value[..place].rfind([' ', 'T', 't'])?;
    let date = value[..hour].trim_end_matches(' ');
    let (clock, rest) = Clock::read(&value[hour + 1..])?;
    let rest = rest.trim_start_matches(' ');
    let is_utc = rest.is_empty() || matches!(zone(rest), Some((0, "")));
    let is_noon_before = clock.hour == 12 && rest.eq_ignore_ascii_case("am");
    let is_midnight = clock.minute == 0
        && clock.second == 0
        && clock.fraction.bytes().all(|digit| digit == b'0')
        && (clock.hour == 0 && is_utc || is_noon_before);
    is_midnight.then_some(date)
}

/// A time of day.
#[derive(Default)]
struct Clock<'a> {
    hour: u8,
    minute: u8,
    second: u8,
    /// The digits behind the seconds.
    fraction: &'a str,
}

impl<'a> Clock<'a> {
    /// Reads `10:00`, `10:00:00` or `10:00:00.5`, and returns the text behind it.
    fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let (hour, rest) = digits(text.as_bytes(), 1, 2)?;
        let (minute, rest) = digits(rest.strip_prefix(b":")?, 2, 2)?;
        let (second, rest) = match rest.strip_prefix(b":") {
            Some(rest) => digits(rest, 2, 2)?,
            None => (0, rest),
        };
        let rest = &text[text.len() - rest.len()..];
        let (fraction, rest) = match rest.strip_prefix(['.', ',']) {
            Some(rest) => {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                rest.split_at(end)
            }
            None => ("", rest),
        };
        let is_exact = fraction.trim_end_matches('0').len() <= PLACES;
        let clock = Self { hour: hour as u8, minute: minute as u8, second: second as u8, fraction };
        (is_exact && hour < 24 && minute < 60 && second < 60).then_some((clock, rest))
    }
}

/// Reads `Z`, `UTC`, `GMT`, `+01`, `+0100`, `+01:00` or `+01:00:00`, in minutes ahead of UTC, and returns the text behind it.
fn zone(text: &str) -> Option<(i16, &str)> {
    for name in ["UTC", "GMT", "Z"] {
        if text.get(..name.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(name)) {
            return Some((0, &text[name.len()..]));
        }
    }
    let (sign, rest) = match text.as_bytes() {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, rest) = digits(rest, 2, 2)?;
    let (minutes, rest) = match rest {
        [b':', more @ ..] => digits(more, 2, 2)?,
        [b'0'..=b'9', ..] => digits(rest, 2, 2)?,
        _ => (0, rest),
    };
    let rest = rest.strip_prefix(b":00").unwrap_or(rest);
    let offset = sign * (60 * hours as i16 + minutes as i16);
    (hours < 24 && minutes < 60).then_some((offset, &text[text.len() - rest.len()..]))
}
