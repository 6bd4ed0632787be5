//! Parts of days of the calendar that the profile `date` has normalised: `1990-02-01`.

/// The digits of a day, in ISO 8601.
struct Day<'a> {
    year: &'a str,
    month: &'a str,
    day: &'a str,
}

impl<'a> Day<'a> {
    /// Reads the normal form.
    fn read(value: &'a str) -> Option<Self> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let shape = value.len() == 10 && value.is_ascii();
        let rest = shape.then(|| value.split_at(4))?;
        let (year, (month, day)) = (rest.0, rest.1.strip_prefix('-')?.split_once('-')?);
        (month.len() == 2 && [year, month, day].into_iter().all(digits)).then_some(Self {
            year,
            month,
            day,
        })
    }
}

/// Returns the year.
pub(crate) fn year(value: &str) -> Option<String> {
    Day::read(value).map(|day| day.year.to_owned())
}

/// Returns the date without its day.
pub(crate) fn year_month(value: &str) -> Option<String> {
    Day::read(value).map(|Day { year, month, .. }| format!("{year}-{month}"))
}

/// Returns the date without its month.
pub(crate) fn year_day(value: &str) -> Option<String> {
    Day::read(value).map(|Day { year, day, .. }| format!("{year}-{day}"))
}

/// Returns the date without its year.
pub(crate) fn month_day(value: &str) -> Option<String> {
    Day::read(value).map(|Day { month, day, .. }| format!("{month}-{day}"))
}

/// Returns the date with day and month in ascending order, if both could be a month: it is the same for a date and the
/// date with the two exchanged.
pub(crate) fn swap_day_month(value: &str) -> Option<String> {
    let Day { year, month, day } = Day::read(value)?;
    let (month, day) = if day <= "12" && day < month { (day, month) } else { (month, day) };
    Some(format!("{year}-{month}-{day}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_by_table() {
        let all = [year, year_month, year_day, month_day, swap_day_month];
        for (value, expected) in [
            ("1990-02-28", ["1990", "1990-02", "1990-28", "02-28", "1990-02-28"]),
            ("1990-12-01", ["1990", "1990-12", "1990-01", "12-01", "1990-01-12"]),
            ("1990-01-12", ["1990", "1990-01", "1990-12", "01-12", "1990-01-12"]),
            ("0001-12-13", ["0001", "0001-12", "0001-13", "12-13", "0001-12-13"]),
        ] {
            assert_eq!(all.map(|part| part(value).unwrap()), expected);
        }
    }

    #[test]
    fn other_texts_have_no_parts() {
        let all = [year, year_month, year_day, month_day, swap_day_month];
        for value in
            ["", "1990", "1990-1-001", "19900201", "1990-02-0x", "1990-02-011", "é990-02-1"]
        {
            assert!(all.iter().all(|part| part(value).is_none()), "{value}");
        }
    }

    /// The later derivation is of its own result's kind, and idempotent.
    #[test]
    fn exchanged_days_and_months_are_equal() {
        for month in 1..=12 {
            for day in 1..=31 {
                let date = |month: u32, day: u32| format!("1990-{month:02}-{day:02}");
                let found = swap_day_month(&date(month, day)).unwrap();
                assert_eq!(swap_day_month(&found).unwrap(), found);
                if day <= 12 {
                    assert_eq!(swap_day_month(&date(day, month)).unwrap(), found);
                } else {
                    assert_eq!(date(month, day), found);
                }
            }
        }
    }
}
