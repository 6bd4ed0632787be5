//! Times of day and zones, as programs write them.

/// The maximum number of digits in a fraction of a second: nanoseconds.
const PLACES: usize = 9;

/// Reads a number of `least` to `most` digits, and returns it with the rest of the text.
pub(super) fn digits(text: &[u8], least: usize, most: usize) -> Option<(u16, &[u8])> {
    let count = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(count);
    let value = number.iter().fold(0, |value, digit| 10 * value + u16::from(digit - b'0'));
    (count >= least).then_some((value, rest))
}

/// Returns the text before a time that is midnight, with or without UTC as its zone; `None` for any other value.
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
pub(super) struct Clock<'a> {
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    /// The digits of the fraction of a second.
    pub(super) fraction: &'a str,
}

impl<'a> Clock<'a> {
    /// Reads `10:00`, `10:00:00` or `10:00:00.5`, and returns the rest of the text too.
    pub(super) fn read(text: &'a str) -> Option<(Self, &'a str)> {
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

/// Reads `Z`, `UTC`, `GMT`, `+01`, `+0100`, `+01:00` or `+01:00:00`, and returns the minutes ahead of UTC and the rest
/// of the text.
pub(super) fn zone(text: &str) -> Option<(i16, &str)> {
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
