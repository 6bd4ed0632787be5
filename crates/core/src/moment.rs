//! Moments, days and hours, all in UTC.

use std::fmt;

use serde::{Deserialize, Serialize};
use time::{Date, Month, OffsetDateTime, format_description::well_known::Rfc3339};

/// A moment, to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64);

impl Moment {
    /// Returns the present moment.
    pub fn now() -> Self {
        Self(OffsetDateTime::now_utc().unix_timestamp())
    }

    /// Returns the seconds since 1970; 0 for earlier moments.
    pub fn seconds(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }

    /// Returns the minutes since 1970; 0 for earlier moments.
    pub fn minutes(self) -> u64 {
        self.seconds() / 60
    }

    /// Returns the moment `seconds` earlier.
    pub fn minus(self, seconds: i64) -> Self {
        Self(self.0 - seconds)
    }

    /// Returns the beginning of its minute.
    fn start_of_minute(self) -> Self {
        Self(self.0 - self.0.rem_euclid(60))
    }

    fn date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(self.0).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    fn day(self) -> Day {
        Day(self.date_time().date())
    }

    /// Returns the minutes since midnight.
    fn minute(self) -> u16 {
        let time = self.date_time().time();
        u16::from(time.hour()) * 60 + u16::from(time.minute())
    }
}

/// Writes a moment as in RFC 3339: `2026-11-23T15:48:17Z`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.date_time().format(&Rfc3339).unwrap_or_default())
    }
}

impl std::str::FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const NONE: &str = "a moment is written like 2026-11-23T15:48:17Z";
        let (day, time) = text.strip_suffix('Z').and_then(|t| t.split_once('T')).ok_or(NONE)?;
        let day: Day = day.parse().map_err(|_| NONE)?;
        let parts: Vec<u8> = time.split(':').map_while(|part| part.parse().ok()).collect();
        let &[hour, minute, second] = &parts[..] else { return Err(NONE) };
        let moment = day.0.with_hms(hour, minute, second).map_err(|_| NONE)?;
        let moment = Self(moment.assume_utc().unix_timestamp());
        if moment.to_string() == text { Ok(moment) } else { Err(NONE) }
    }
}

/// A day: `2026-11-23`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(Date);

impl Day {
    /// Whether the day is over at this moment.
    pub fn is_over(self, now: Moment) -> bool {
        now.day() > self
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0.year(), u8::from(self.0.month()), self.0.day())
    }
}

impl std::str::FromStr for Day {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const NONE: &str = "a day is written like 2026-11-23";
        let parts: Vec<u16> = text.split('-').map_while(|part| part.parse().ok()).collect();
        let &[year, month, day] = &parts[..] else { return Err(NONE) };
        let month = u8::try_from(month).ok().and_then(|month| Month::try_from(month).ok());
        let day = u8::try_from(day).ok().zip(month);
        let date =
            day.and_then(|(day, month)| Date::from_calendar_date(year.into(), month, day).ok());
        let date = Self(date.ok_or(NONE)?);
        if date.to_string() == text { Ok(date) } else { Err(NONE) }
    }
}

/// Hours of every day: `08:00-18:00`; over midnight too, as in `22:00-06:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    from: u16,
    to: u16,
}

impl Hours {
    /// Whether a moment lies within these hours.
    pub fn include(self, now: Moment) -> bool {
        let minute = now.minute();
        match self.from <= self.to {
            true => (self.from..self.to).contains(&minute),
            false => minute >= self.from || minute < self.to,
        }
    }
}

impl Hours {
    /// Returns the first moment within these hours that is not before `now`.
    pub fn next(self, now: Moment) -> Moment {
        const MINUTE: i64 = 60;
        match self.include(now) {
            true => now,
            false => {
                let wait = (i64::from(self.from) - i64::from(now.minute())).rem_euclid(24 * 60);
                now.start_of_minute().minus(-wait * MINUTE)
            }
        }
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.from, self.to].map(|at| format!("{:02}:{:02}", at / 60, at % 60));
        write!(f, "{from}-{to}")
    }
}

impl std::str::FromStr for Hours {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const NONE: &str = "hours are written like 08:00-18:00, in UTC";
        let minute = |text: &str| {
            let (hour, minute) = text.split_once(':')?;
            let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60 || (hour, minute) == (24, 0)).then(|| hour * 60 + minute)
        };
        let (from, to) = text.split_once('-').ok_or(NONE)?;
        let hours = minute(from).zip(minute(to)).map(|(from, to)| Self { from, to });
        let hours = hours.filter(|hours| hours.from != hours.to).ok_or(NONE)?;
        if hours.to_string() == text { Ok(hours) } else { Err(NONE) }
    }
}

/// Makes these types text in JSON.
macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

as_text!(Moment, Day, Hours);

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        text.parse().unwrap()
    }

    #[test]
    fn each_type_has_one_written_form() {
        assert_eq!(moment("2026-11-23T15:48:17Z").to_string(), "2026-11-23T15:48:17Z");
        for text in ["2026-11-23T15:48:17", "2026-11-23 15:48:17Z", "2026-11-23T15:48Z", "", "T"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
        for text in ["2026-2-3", "2026-02-30", "26-02-03", "2026-13-01", "today", "2026-02-03-1"] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
        let hours = ["8-18", "08:00", "08:00-08:00", "08:60-09:00", "25:00-26:00", "8:00-18:00"];
        for text in hours.into_iter().chain(["2026:02-06:00"]) {
            assert!(text.parse::<Hours>().is_err(), "{text}");
        }
    }

    #[test]
    fn days_end_at_midnight_and_hours_may_span_it() {
        let day: Day = "2026-11-23".parse().unwrap();
        assert!(!day.is_over(moment("2026-11-23T23:59:59Z")));
        assert!(day.is_over(moment("2026-11-24T00:00:00Z")));
        for (hours, at, inside) in [
            ("08:00-18:00", "08:00:00", true),
            ("08:00-18:00", "17:59:59", true),
            ("08:00-18:00", "18:00:00", false),
            ("22:00-06:00", "23:00:00", true),
            ("22:00-06:00", "05:59:59", true),
            ("22:00-06:00", "12:00:00", false),
            ("00:00-24:00", "12:00:00", true),
        ] {
            let hours: Hours = hours.parse().unwrap();
            assert_eq!(hours.include(moment(&format!("2026-11-23T{at}Z"))), inside, "{hours} {at}");
        }
    }
}
