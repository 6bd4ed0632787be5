//! Shares of a whole that people write in per cent.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Millionths of a whole in one per cent.
const PER_CENT: u64 = 10_000;

/// A share of a whole, up to all of it, in millionths. It is written as `0.5%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentage(u64);

impl Percentage {
    /// Returns the share as a number from 0 to 1.
    pub fn share(self) -> f64 {
        self.0 as f64 / (100 * PER_CENT) as f64
    }
}

impl FromStr for Percentage {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str =
            "a percentage from 0 to 100 with at most four decimal places, such as 0.5%";
        let number = text.strip_suffix('%').ok_or(WANTED)?.trim_end();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let has_dot = number.contains('.');
        if whole.is_empty()
            || whole.len() > 3
            || fraction.len() > 4
            || has_dot && fraction.is_empty()
            || !digits(whole)
            || !digits(fraction)
        {
            return Err(WANTED);
        }
        let parts: u64 = format!("{whole}{fraction:0<4}").parse().map_err(|_| WANTED)?;
        Some(Self(parts)).filter(|_| parts <= 100 * PER_CENT).ok_or(WANTED)
    }
}

impl fmt::Display for Percentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:04}", self.0 / PER_CENT, self.0 % PER_CENT);
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Percentage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Percentage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed: Self = text.parse().map_err(de::Error::custom)?;
        // Documents are signed in one form.
        match parsed.to_string() == text {
            true => Ok(parsed),
            false => Err(de::Error::custom("a percentage is not in its shortest form")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::de::{
        IntoDeserializer as _,
        value::{Error, StrDeserializer},
    };

    use super::*;

    #[test]
    fn percentages_by_table() {
        for (text, share, written) in [
            ("0.5%", 0.005, "0.5%"),
            ("2 %", 0.02, "2%"),
            ("0.0001%", 0.000_001, "0.0001%"),
            ("100%", 1.0, "100%"),
            ("0%", 0.0, "0%"),
            ("010.50%", 0.105, "10.5%"),
        ] {
            let parsed: Percentage = text.parse().unwrap();
            assert_eq!((parsed.share(), parsed.to_string()), (share, written.to_owned()));
            assert_eq!(written.parse(), Ok(parsed));
        }
        for text in
            ["", "%", "0.5", "-1%", "100.0001%", "1.%", ".5%", "1.00001%", "1e1%", "1000%", "½%"]
        {
            assert!(text.parse::<Percentage>().is_err(), "{text}");
        }
    }

    #[test]
    fn signed_documents_have_one_form() {
        let read = |text: &'static str| {
            let text: StrDeserializer<'_, Error> = text.into_deserializer();
            Percentage::deserialize(text)
        };
        assert_eq!(read("0.5%"), Ok("0.5%".parse().unwrap()));
        assert!(read("0.50%").is_err() && read("0.5").is_err());
    }
}
