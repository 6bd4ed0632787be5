//! Forms: how the value of an option is written in JSON and TOML, and as the text of a flag.

pub(crate) mod basic;
pub(crate) mod domain;
pub(crate) mod linked;
pub(crate) mod members;

use std::{ffi::OsStr, fmt::Debug};

use serde_json::Value;

/// The number of values that a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No values: the flag itself is the value.
    Switch,
    /// One.
    One,
    /// One each time that the flag is given.
    Many,
}

/// A notation for the value of an option.
pub trait Form {
    /// The type of the value.
    type Value: Clone + PartialEq + Debug + Send + Sync + 'static;

    /// The number of values that a flag takes.
    const KIND: Kind = Kind::One;

    /// Whether the value is a path.
    const IS_PATH: bool = false;

    /// Returns the words that it takes, with their meanings, if it takes nothing else.
    fn words() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// Returns the end of the documentation of all options of this form.
    fn more() -> String {
        String::new()
    }

    /// Returns the JSON Schema of the value.
    fn schema() -> Value;

    /// Reads the value from JSON or TOML. A text may also have the notation of a flag.
    ///
    /// # Errors
    /// The values that it takes, or why it does not take this one.
    fn read(value: &Value) -> Result<Self::Value, String>;

    /// Reads the value from the texts of flags of one name.
    ///
    /// # Errors
    /// As [`Form::read`].
    fn texts(texts: &[&OsStr]) -> Result<Self::Value, String> {
        // The last one counts, as in most programs.
        let text = texts.last().and_then(|text| text.to_str()).ok_or("text in UTF-8")?;
        Self::read(&Value::String(text.to_owned()))
    }

    /// Returns the value as JSON; null for one that is left out.
    fn write(value: &Self::Value) -> Value;

    /// Returns the value as the text of a flag, for a help text.
    fn text(value: &Self::Value) -> String {
        plain(&Self::write(value))
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(plain).collect::<Vec<_>>().join(","),
        value => value.to_string(),
    }
}

/// Returns a text or a number as text.
fn number_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
