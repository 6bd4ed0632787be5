//! Points in time, in the formats of many programs.

use std::fmt;

use time::{Duration, PrimitiveDateTime, Time};

use super::{
    Normalize,
    characters::{bare, typed},
    clock::{Clock, zone},
    date::{calendar_day, standard},
};

/// The offset from UTC of values without a zone, in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offset(i16);

/// Reads the offset: `timestamp` takes values without a zone as UTC, `timestamp:+01:00` as that far ahead of it.
pub(super) fn parse(offset: Option<&str>) -> Result<Normalize, String> {
    let Some(text) = offset else { return Ok(Normalize::Timestamp(Offset::default())) };
    match zone(text) {
        Some((offset, "")) => Ok(Normalize::Timestamp(Offset(offset))),
        _ => Err("write the offset of times without a zone like +01:00, or Z for UTC, as in \
                  timestamp:+01:00; convert times in zones with daylight saving first"
            .to_owned()),
    }
}

impl Offset {
    /// Whether it is UTC.
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

/// Returns the instant in UTC, as in `2024-02-29T10:00:00.5Z`; `None` for anything but a date with or without a time.
pub(super) fn instant(value: &str, offset: Offset) -> Option<String> {
    let value = typed(bare(value));
    let ((year, month, day), rest) = standard(&value)?;
    let date = calendar_day(year, month, day)?;
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
