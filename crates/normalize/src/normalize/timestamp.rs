//! Points in time, however a program writes them.

use std::fmt;

use time::{Duration, PrimitiveDateTime, Time};

use super::{
    Normalize,
    characters::{bare, typed},
    clock::{Clock, zone},
    date::{calendar_day, standard},
};

/// The offset from UTC of values that name none, in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offset(i16);

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
