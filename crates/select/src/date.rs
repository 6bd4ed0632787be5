//! Days of the calendar.

use std::{fmt, str::FromStr};

use crate::error::Error;

/// A day, from 0001-01-01 to 9999-12-31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// Days since 1970-01-01.
    number: i32,
}

/// The most days of a period.
pub const MAX_DAYS: u32 = 64;

/// Some days in succession, at most [`MAX_DAYS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The first day.
    pub first: Date,
    /// The last day.
    pub last: Date,
}

impl Period {
    /// Returns the number of days.
    pub fn days(self) -> u32 {
        (self.last.number() - self.first.number() + 1) as u32
    }
}

/// Days of the 400 years after which the calendar repeats.
const DAYS_OF_ERA: i32 = 146_097;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i32 = 719_468;

impl Date {
    /// Returns a day of the Gregorian calendar, if it exists.
    pub fn new(year: u32, month: u32, day: u32) -> Option<Self> {
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 {
            return None;
        }
        // Years that begin in March have their additional day at the end.
        let (year, month, day) = (year as i32, month as i32, day as i32);
        let from_march = year - i32::from(month < 3);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let (era, of_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
        let number = era * DAYS_OF_ERA + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
        let date = Self { number: number - EPOCH };
        // A day beyond the end of its month is one of the next.
        (date.parts() == (year, month, day)).then_some(date)
    }

    /// Returns the day this number of days after 1970-01-01, unless it is too early or too late.
    pub fn of_number(number: i32) -> Option<Self> {
        let [first, last] = [Self::new(1, 1, 1)?, Self::new(9999, 12, 31)?];
        Some(Self { number }).filter(|date| (first..=last).contains(date))
    }

    /// Returns the number of days since 1970-01-01.
    pub const fn number(self) -> i32 {
        self.number
    }

    /// Returns year, month and day.
    fn parts(self) -> (i32, i32, i32) {
        let days = self.number + EPOCH;
        let (era, of_era) = (days.div_euclid(DAYS_OF_ERA), days.rem_euclid(DAYS_OF_ERA));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = (from_march + 2) % 12 + 1;
        (era * 400 + year + i32::from(month < 3), month, day)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.parts();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl FromStr for Date {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let part = |range: std::ops::Range<usize>| {
            let digits = text.get(range).filter(|part| part.bytes().all(|b| b.is_ascii_digit()));
            digits.and_then(|digits| digits.parse().ok())
        };
        let is_dashed = [4, 7].iter().all(|at| text.as_bytes().get(*at) == Some(&b'-'));
        let parts = (part(0..4), part(5..7), part(8..10));
        match parts {
            (Some(year), Some(month), Some(day)) if is_dashed && text.len() == 10 => {
                Self::new(year, month, day)
            }
            _ => None,
        }
        .ok_or_else(|| Error::at(text, 0, "write dates as YYYY-MM-DD"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_numbered_without_a_gap() {
        let mut number = "0001-01-01".parse::<Date>().unwrap().number();
        for year in 1..=9999 {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for (month, days) in (1..).zip([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
                let days = days + u32::from(month == 2 && is_leap);
                for day in 1..=days {
                    let date = Date::new(year, month, day).unwrap();
                    assert_eq!((date.number(), Date::of_number(number)), (number, Some(date)));
                    number += 1;
                }
                assert_eq!(Date::new(year, month, days + 1), None);
            }
        }
        assert_eq!(Date::of_number(number), None);
        assert_eq!("1970-01-01".parse::<Date>().unwrap().number(), 0);
        assert_eq!("2026-11-28".parse::<Date>().unwrap().number(), 20_785);
    }

    #[test]
    fn dates_have_one_form() {
        for text in ["0001-01-01", "2024-02-29", "9999-12-31"] {
            assert_eq!(text.parse::<Date>().unwrap().to_string(), text);
        }
        for text in
            ["", "2026-1-01", "2026-02-29", "2026-13-01", "0000-01-01", "2026/01/01", "+026-01-01"]
        {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
        assert!("2026-01-01T00".parse::<Date>().is_err());
    }
}
