//! Noise that hides a single key in a number.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use vesica_core::{
    error::{Error, Misuse, Result},
    words::{decimal, grouped},
};
use vesica_params::Laplace;

/// Decimal places of an ε.
const PLACES: u8 = 6;

const UNIT: u64 = 1_000_000;

/// Noise that both sides draw together and add to a count or a sum, so that the number is differentially private for
/// each key of either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// The maximum privacy loss of a single key: a smaller ε means more noise.
    pub epsilon: Epsilon,
    /// For sums: the maximum magnitude with which the value of a key counts, a whole number. Larger values are clamped
    /// to it.
    pub clamp: Option<u64>,
}

impl Noise {
    /// Returns the noise for a number that a key changes by at most the `power`-th power of a value, for values with
    /// `scale` decimal places.
    ///
    /// # Errors
    /// [`Error::Usage`] if the parameters are invalid.
    pub(crate) fn laplace(self, power: u32, scale: u8) -> Result<Laplace> {
        let message = match (power, self.clamp) {
            (0, Some(_)) => "a count has no values to clamp".to_owned(),
            (1.., None) => {
                "noise in a sum requires a maximum magnitude of the values: add --clamp".to_owned()
            }
            _ => {
                let value = self.bound(scale).unwrap_or(1);
                let sensitivity =
                    value.checked_pow(power).and_then(|most| u64::try_from(most).ok());
                let epsilon = u32::try_from(self.epsilon.0).ok();
                let noise = epsilon.zip(sensitivity).and_then(|(e, most)| Laplace::new(e, most));
                match noise {
                    Some(noise) => return Ok(noise),
                    None if self.epsilon.0 > u64::from(Laplace::LARGEST_EPSILON) => format!(
                        "noise with an ε of more than {} hides nothing",
                        Epsilon(Laplace::LARGEST_EPSILON.into())
                    ),
                    None => "values must be clamped to at least 1, and to so small a magnitude that a key changes the number, in units \
                             of its last decimal place, by at most 2^62"
                        .to_owned(),
                }
            }
        };
        Err(Error::usage(Misuse::Noise, message))
    }

    /// Returns the noise of one of several numbers that share this ε evenly, which a key changes by at most `most`.
    ///
    /// # Errors
    /// The reason why the numbers cannot have it.
    pub(crate) fn share(self, numbers: usize, most: u64) -> std::result::Result<Laplace, String> {
        let epsilon = self.epsilon.0 / numbers.max(1) as u64;
        let noise = u32::try_from(epsilon).ok().and_then(|epsilon| Laplace::new(epsilon, most));
        noise.ok_or_else(|| match epsilon {
            0 => format!("an ε of {} is too small for {numbers} numbers", self.epsilon),
            _ => format!("noise with an ε of {} for each number hides nothing", Epsilon(epsilon)),
        })
    }

    /// Returns the standard deviation of the noise in the number as shown, to two significant digits. The parameters
    /// are the same as in [`Noise::laplace`].
    pub(crate) fn deviation(self, power: u32, scale: u8) -> String {
        let Ok(laplace) = self.laplace(power, scale) else { return String::new() };
        let deviation =
            laplace.deviation() / 10f64.powi(i32::try_from(power).unwrap_or(0) * i32::from(scale));
        let digits = 1 - deviation.abs().log10().floor() as i32;
        format!("{deviation:.*}", usize::try_from(digits).unwrap_or(0))
    }

    /// Returns the maximum magnitude of a value, in units of its last decimal place.
    pub(crate) fn bound(self, scale: u8) -> Option<u128> {
        Some(u128::from(self.clamp?).saturating_mul(10_u128.pow(scale.into())))
    }

    /// Describes the noise for a person.
    pub fn describe(self) -> String {
        let clamp = self.clamp.map(|most| format!(", values clamped to {}", grouped(most)));
        format!("ε = {}{}", self.epsilon, clamp.unwrap_or_default())
    }
}

/// An ε of differential privacy, or a sum of several, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epsilon(u64);

impl Epsilon {
    /// Returns the rest after `spent` is subtracted; `None` for nothing.
    pub fn less(self, spent: Self) -> Option<Self> {
        self.0.checked_sub(spent.0).filter(|left| *left > 0).map(Self)
    }

    /// Returns this ε multiplied by `count`.
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl FromStr for Epsilon {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let number = (is_number(whole) && is_number(fraction) && fraction.len() <= PLACES.into())
            .then(|| format!("{whole}{fraction:0<6}"))
            .and_then(|digits| digits.parse::<u64>().ok())
            .filter(|millionths| (1..=1000 * UNIT * UNIT).contains(millionths));
        let message = "an ε is a decimal number above 0 with at most six decimal places, as in 0.5";
        number.map(Self).ok_or_else(|| message.to_owned())
    }
}

impl fmt::Display for Epsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = decimal(self.0.into(), PLACES);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Serialised as text, because a floating-point number is not exact.
impl Serialize for Epsilon {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Epsilon {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let epsilon: Self = text.parse().map_err(de::Error::custom)?;
        // Each number has exactly one form, because it is signed and hashed.
        match epsilon.to_string() == text {
            true => Ok(epsilon),
            false => Err(de::Error::custom("not the shortest form of an ε")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epsilon_is_a_short_decimal() {
        for (text, shown) in [
            ("0.5", "0.5"),
            ("1", "1"),
            ("1.0", "1"),
            ("10", "10"),
            ("0.000001", "0.000001"),
            ("007.250", "7.25"),
            ("1000000000", "1000000000"),
        ] {
            let epsilon: Epsilon = text.parse().unwrap();
            assert_eq!(epsilon.to_string(), shown);
            let json = serde_json::to_string(&epsilon).unwrap();
            assert_eq!(serde_json::from_str::<Epsilon>(&json).unwrap(), epsilon);
        }
        for text in [
            "",
            "0",
            "0.0",
            "-1",
            "+1",
            "1e3",
            ".5",
            "1.",
            "0.0000001",
            "1,5",
            "ε",
            "10000000000",
            "1.5.1",
        ] {
            assert!(text.parse::<Epsilon>().is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Epsilon>("\"0.50\"").is_err());
        assert!(serde_json::from_str::<Epsilon>("0.5").is_err());
    }

    #[test]
    fn sensitivity_is_what_a_key_changes() {
        let noise = |epsilon: &str, clamp| Noise { epsilon: epsilon.parse().unwrap(), clamp };
        let sensitivity =
            |noise: Noise, power, scale| noise.laplace(power, scale).ok().map(Laplace::sensitivity);
        assert_eq!(sensitivity(noise("0.5", None), 0, 0), Some(1));
        assert_eq!(sensitivity(noise("0.5", Some(7)), 1, 2), Some(700));
        assert_eq!(sensitivity(noise("10", Some(7)), 2, 1), Some(4900));
        for (noise, power, scale) in [
            (noise("10.000001", None), 0, 0),
            (noise("1", None), 1, 0),
            (noise("1", Some(5)), 0, 0),
            (noise("1", Some(0)), 1, 0),
            (noise("1", Some(u64::MAX)), 1, 0),
            (noise("1", Some(1 << 32)), 2, 0),
            (noise("1", Some(10)), 1, 18),
            (noise("1", Some(u64::MAX)), 2, 18),
        ] {
            assert!(matches!(noise.laplace(power, scale), Err(Error::Usage { .. })));
        }
    }
}
