//! Forms of texts, numbers, amounts, times and words.

use std::{
    ffi::OsStr,
    fmt::{Debug, Display},
    marker::PhantomData,
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use serde_json::{Value, json};
use vesica_core::words::grouped;

use super::{Form, Kind, number_text};
use crate::{amount, whole};

/// The form of a text.
pub struct Text;

impl Form for Text {
    type Value = String;

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn read(value: &Value) -> Result<String, String> {
        value.as_str().map(str::to_owned).ok_or_else(|| "a text".to_owned())
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }
}

/// The form of a path, or of an address in its place.
pub struct File;

impl Form for File {
    type Value = PathBuf;
    const IS_PATH: bool = true;

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn read(value: &Value) -> Result<PathBuf, String> {
        value.as_str().map(PathBuf::from).ok_or_else(|| "a path".to_owned())
    }

    fn texts(texts: &[&OsStr]) -> Result<PathBuf, String> {
        texts.last().map(PathBuf::from).ok_or_else(|| "a path".to_owned())
    }

    fn write(value: &PathBuf) -> Value {
        value.to_string_lossy().into()
    }
}

/// The form of a switch.
pub struct Flag;

impl Form for Flag {
    type Value = bool;
    const KIND: Kind = Kind::Switch;

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }

    fn read(value: &Value) -> Result<bool, String> {
        value.as_bool().ok_or_else(|| "true or false".to_owned())
    }

    fn texts(_: &[&OsStr]) -> Result<bool, String> {
        Ok(true)
    }

    fn write(value: &bool) -> Value {
        (*value).into()
    }
}

/// The form of a whole number in a range.
pub struct Whole<T = u64, const LOW: u64 = 0, const HIGH: u64 = { u64::MAX }>(PhantomData<T>);

/// The form of a number of keys, rows or runs.
pub type Count = Whole;

impl<T, const LOW: u64, const HIGH: u64> Form for Whole<T, LOW, HIGH>
where
    T: TryFrom<u64> + TryInto<u64> + Copy + PartialEq + Debug + Send + Sync + 'static,
{
    type Value = T;

    fn schema() -> Value {
        let mut schema = json!({ "type": ["integer", "string"], "minimum": LOW });
        if HIGH != u64::MAX {
            schema["maximum"] = HIGH.into();
        }
        schema
    }

    fn read(value: &Value) -> Result<T, String> {
        let number = match value {
            Value::String(text) => whole(text),
            value => value.as_u64(),
        };
        let within = number.filter(|number| (LOW..=HIGH).contains(number));
        within.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let span = match (LOW, HIGH) {
                (0, u64::MAX) => String::new(),
                (low, u64::MAX) => format!(" from {low} on"),
                (low, high) => format!(" from {low} to {}", grouped(high)),
            };
            match HIGH {
                0..1000 => format!("a whole number{span}"),
                _ => format!("a whole number{span}, such as 1000, 100,000, 2M or 2^20"),
            }
        })
    }

    fn write(value: &T) -> Value {
        (*value).try_into().unwrap_or_default().into()
    }

    fn text(value: &T) -> String {
        let number = (*value).try_into().unwrap_or_default();
        if number < 10_000 { number.to_string() } else { grouped(number) }
    }
}

/// The form of an amount, in bytes. A bare number that is smaller than `LEAST` lacks its unit.
pub struct AmountFrom<const LEAST: u64>;

/// The form of an amount of memory, in bytes.
pub type Amount = AmountFrom<{ 1 << 20 }>;

impl<const LEAST: u64> Form for AmountFrom<LEAST> {
    type Value = u64;

    fn schema() -> Value {
        json!({ "type": ["string", "integer"], "minimum": LEAST, "maximum": 1_000_000_000_000_000_000_u64 })
    }

    fn read(value: &Value) -> Result<u64, String> {
        let bytes = match value {
            Value::String(text) => amount(text),
            value => value.as_u64().filter(|bytes| (LEAST..=10u64.pow(18)).contains(bytes)),
        };
        bytes.ok_or_else(|| {
            format!("an amount with its unit, such as 2G, 1.5G or 512M, or a number of bytes from {LEAST} on")
        })
    }

    fn write(value: &u64) -> Value {
        let unit = ["T", "G", "M"]
            .iter()
            .zip([40, 30, 20])
            .find(|(_, bits)| value.is_multiple_of(1 << bits));
        match unit {
            Some((unit, bits)) => format!("{}{unit}", value >> bits).into(),
            None if *value >= LEAST.max(1) => (*value).into(),
            None => format!("{}K", *value as f64 / 1024.0).into(),
        }
    }
}

/// The form of a time for which a person might wait, in seconds.
pub struct Seconds;

impl Form for Seconds {
    type Value = Duration;

    fn schema() -> Value {
        json!({ "type": ["number", "string"], "minimum": 0.1, "maximum": 2_592_000 })
    }

    fn read(value: &Value) -> Result<Duration, String> {
        let seconds = number_text(value).and_then(|text| text.parse::<f64>().ok());
        let within = seconds.filter(|seconds| (0.1..=30.0 * 86400.0).contains(seconds));
        let wanted = || "a number of seconds from 0.1 to 2592000".to_owned();
        within.map(Duration::from_secs_f64).ok_or_else(wanted)
    }

    fn write(value: &Duration) -> Value {
        number(value.as_secs_f64())
    }
}

/// The form of a bandwidth in Mbit/s. The value is in bits per second.
pub struct Mbits;

impl Form for Mbits {
    type Value = u64;

    fn schema() -> Value {
        json!({ "type": ["number", "string"], "minimum": 0.001, "maximum": 1_000_000 })
    }

    fn read(value: &Value) -> Result<u64, String> {
        let mbits = number_text(value).and_then(|text| text.parse::<f64>().ok());
        let within = mbits.filter(|mbits| (1e-3..=1e6).contains(mbits));
        let wanted = || "a number of Mbit/s from 0.001 to 1000000".to_owned();
        within.map(|mbits| (mbits * 1e6) as u64).ok_or_else(wanted)
    }

    fn write(value: &u64) -> Value {
        number(*value as f64 / 1e6)
    }
}

/// Returns a number, without a fraction if it has none.
fn number(number: f64) -> Value {
    if number.fract() == 0.0 { (number as u64).into() } else { number.into() }
}

/// The form of a number that need not be whole, and is not negative.
pub struct Decimal;

impl Form for Decimal {
    type Value = f64;

    fn schema() -> Value {
        json!({ "type": ["number", "string"], "minimum": 0, "maximum": 1_000_000 })
    }

    fn read(value: &Value) -> Result<f64, String> {
        let parsed = number_text(value).and_then(|text| text.parse().ok());
        let within = parsed.filter(|number: &f64| (0.0..=1e6).contains(number));
        within.ok_or_else(|| "a number from 0 to 1000000".to_owned())
    }

    fn write(value: &f64) -> Value {
        number(*value)
    }
}

/// The form of an option that may be left out.
pub struct Maybe<F>(PhantomData<F>);

impl<F: Form> Form for Maybe<F> {
    type Value = Option<F::Value>;
    const KIND: Kind = F::KIND;
    const IS_PATH: bool = F::IS_PATH;

    fn words() -> Vec<(&'static str, &'static str)> {
        F::words()
    }

    fn more() -> String {
        F::more()
    }

    fn schema() -> Value {
        F::schema()
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        F::read(value).map(Some)
    }

    fn texts(texts: &[&OsStr]) -> Result<Self::Value, String> {
        F::texts(texts).map(Some)
    }

    fn write(value: &Self::Value) -> Value {
        value.as_ref().map_or(Value::Null, F::write)
    }
}

/// The form of a value that has its own text form.
pub struct Parsed<T>(PhantomData<T>);

impl<T> Form for Parsed<T>
where
    T: FromStr<Err: Display> + Display + Clone + PartialEq + Debug + Send + Sync + 'static,
{
    type Value = T;

    fn schema() -> Value {
        json!({ "type": ["string", "number"] })
    }

    fn read(value: &Value) -> Result<T, String> {
        let text = number_text(value).ok_or("a text")?;
        text.parse().map_err(|error: T::Err| error.to_string())
    }

    fn write(value: &T) -> Value {
        value.to_string().into()
    }
}

/// A value that is one of a few words.
pub trait Words: Copy + PartialEq + Debug + Send + Sync + 'static {
    /// Returns all values, each with its word and its meaning; a self-explanatory word has no meaning.
    fn all() -> Vec<(Self, &'static str, &'static str)>;
}

/// The form of a value that is one of a few words.
pub struct Word<T>(PhantomData<T>);

impl<T: Words> Form for Word<T> {
    type Value = T;

    fn words() -> Vec<(&'static str, &'static str)> {
        T::all().into_iter().map(|(_, word, meaning)| (word, meaning)).collect()
    }

    fn more() -> String {
        let meant = Self::words().into_iter().filter(|(_, meaning)| !meaning.is_empty());
        let meant: Vec<_> = meant.map(|(word, meaning)| format!("{word}: {meaning}")).collect();
        if meant.is_empty() { String::new() } else { format!("\n\n{}.", meant.join("; ")) }
    }

    fn schema() -> Value {
        let words: Vec<_> = T::all().into_iter().map(|(_, word, _)| word).collect();
        json!({ "enum": words })
    }

    fn read(value: &Value) -> Result<T, String> {
        let all = T::all();
        let found = all.iter().find(|(_, word, _)| value.as_str() == Some(word));
        found.map(|(value, ..)| *value).ok_or_else(|| {
            let words: Vec<_> = all.iter().map(|(_, word, _)| *word).collect();
            format!("possible values: {}", words.join(", "))
        })
    }

    fn write(value: &T) -> Value {
        let all = T::all();
        let word = all.iter().find(|(known, ..)| known == value).map(|(_, word, _)| *word);
        word.into()
    }
}

/// The form of a list, one item for each time that the flag is given.
pub struct Items<F>(PhantomData<F>);

impl<F: Form> Form for Items<F> {
    type Value = Vec<F::Value>;
    const KIND: Kind = Kind::Many;

    fn schema() -> Value {
        json!({ "type": "array", "items": F::schema() })
    }

    fn read(value: &Value) -> Result<Self::Value, String> {
        match value {
            Value::Array(items) => items.iter().map(F::read).collect(),
            one => Ok(vec![F::read(one)?]),
        }
    }

    fn texts(texts: &[&OsStr]) -> Result<Self::Value, String> {
        texts.iter().map(|text| F::texts(&[text])).collect()
    }

    fn write(value: &Self::Value) -> Value {
        value.iter().map(F::write).collect()
    }
}

/// The form of several numbers of keys, with commas between them.
pub struct KeyCounts;

impl Form for KeyCounts {
    type Value = Vec<u64>;

    fn schema() -> Value {
        json!({ "type": ["string", "array"], "items": Whole::<u64>::schema() })
    }

    fn read(value: &Value) -> Result<Vec<u64>, String> {
        match value {
            Value::String(text) => {
                text.split(',').map(|one| Whole::<u64>::read(&one.into())).collect()
            }
            Value::Array(numbers) => numbers.iter().map(Whole::<u64>::read).collect(),
            one => Ok(vec![Whole::<u64>::read(one)?]),
        }
    }

    fn write(value: &Vec<u64>) -> Value {
        value.clone().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<F: Form>(value: Value) -> Result<F::Value, String> {
        let read = F::read(&value);
        if let Ok(read) = &read {
            assert_eq!(F::read(&F::write(read)).as_ref(), Ok(read), "{value}");
        }
        read
    }

    #[test]
    fn numbers_have_bounds_in_every_notation() {
        type Scale = Whole<u8, 0, 18>;
        assert_eq!(read::<Scale>(json!(18)), Ok(18));
        assert_eq!(read::<Scale>(json!("18")), Ok(18));
        for wrong in [json!(19), json!("19"), json!(1.5), json!(-1), json!(true), json!([1])] {
            assert_eq!(read::<Scale>(wrong).unwrap_err(), "a whole number from 0 to 18");
        }
        assert_eq!(read::<Count>(json!("2M")), Ok(2_000_000));
        assert_eq!(Count::text(&100_000_000), "100,000,000");
        assert!(read::<Whole<u32>>(json!(1u64 << 32)).is_err());
    }

    #[test]
    fn numbers_are_separated_by_commas() {
        assert_eq!(read::<KeyCounts>(json!("1M,100k,2^3")), Ok(vec![1_000_000, 100_000, 8]));
        assert_eq!(read::<KeyCounts>(json!([1, "2k"])), Ok(vec![1, 2000]));
        for wrong in [json!("1M,,2"), json!("many"), json!([true])] {
            assert!(read::<KeyCounts>(wrong).unwrap_err().starts_with("a whole number"));
        }
    }

    #[test]
    fn amounts_are_texts_or_bytes() {
        for (value, bytes) in [
            (json!("2G"), 2 << 30),
            (json!(2_147_483_648_u64), 2 << 30),
            (json!("1.5K"), 1536),
            (json!(1_048_577), 1_048_577),
            (json!("3T"), 3 << 40),
        ] {
            assert_eq!(read::<Amount>(value), Ok(bytes));
        }
        for wrong in [json!(2), json!("2"), json!(true), json!(1.5e6), json!(u64::MAX)] {
            assert!(read::<Amount>(wrong).unwrap_err().starts_with("an amount with its unit"));
        }
    }

    #[test]
    fn times_and_rates_are_numbers_or_texts() {
        for value in [json!(0.5), json!("0.5")] {
            assert_eq!(read::<Seconds>(value), Ok(Duration::from_millis(500)));
        }
        for value in [json!(50), json!("50"), json!(50.0)] {
            assert_eq!(read::<Mbits>(value), Ok(50_000_000));
        }
        for wrong in [json!(0), json!("NaN"), json!(true), json!(1e9)] {
            assert!(read::<Seconds>(wrong.clone()).is_err());
            assert!(read::<Mbits>(wrong).is_err());
        }
    }
}
