//! The members of JSON objects, and the selection of the wanted ones.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use vesica_core::error::{InputFault, Place};

use crate::head::without_line_end;

const NESTED: &str = "a key is a single value; extract the part that identifies the row";
const NESTED_VALUE: &str = "only a single text or number can; extract the part that you need";
const FRACTION: &str =
    "a number with a fraction or an exponent has many written forms; write an integer or a string";

pub(super) fn broken(place: Place, error: &serde_json::Error) -> InputFault {
    // The error's text may contain a value; its place does not.
    let problem = match error.classify() {
        serde_json::error::Category::Eof => "the line ends within an object",
        serde_json::error::Category::Data => "the line is not a JSON object",
        _ => "the line is not valid JSON",
    };
    InputFault::BrokenLine { place, problem, character: error.column() }
}

/// A reader of the wanted members of one object after another.
pub(super) struct Members<'a> {
    names: &'a [String],
    /// The columns to read, and whether each is part of the key.
    wanted: Vec<(usize, bool)>,
    /// A value for each column of the header, empty if it is not wanted or missing, and whether it is present.
    pub(super) values: Vec<(Vec<u8>, bool)>,
    /// Whether any object had each of them.
    seen: Vec<bool>,
    /// Other required columns that no object has had so far.
    pub(super) unseen: Vec<usize>,
}

/// The fault of a member that can be read.
enum Wrong {
    Twice,
    /// Half of a surrogate pair.
    Escape,
    /// Its type, and the reason that it makes no key.
    Type(&'static str, &'static str),
}

impl<'a> Members<'a> {
    pub(super) fn new(names: &'a [String], columns: &[usize], keys: &[Vec<u8>]) -> Self {
        let is_key = |column: usize| keys.iter().any(|key| key == names[column].as_bytes());
        let wanted = columns.iter().map(|column| (*column, is_key(*column))).collect();
        Self {
            names,
            wanted,
            values: vec![(Vec::new(), false); names.len()],
            seen: vec![false; names.len()],
            unseen: Vec::new(),
        }
    }

    pub(super) fn read(
        &mut self,
        line: &[u8],
        place: impl Fn() -> Place,
    ) -> Result<(), InputFault> {
        let Self { names, wanted, values, seen, unseen } = self;
        for (value, is_there) in values.iter_mut() {
            value.clear();
            *is_there = false;
        }
        let (mut here, mut wrong) = (0u64, None);
        let read = members(line, |name, value| {
            let Some(place) = wanted.iter().position(|(column, _)| names[*column] == name) else {
                unseen.retain(|column| names[*column] != name);
                return false;
            };
            let (column, is_key) = wanted[place];
            let Some(value) = value else { return true };
            let bit = 1 << place.min(63);
            if here & bit != 0 && place < 63 {
                wrong.get_or_insert((column, Wrong::Twice));
            }
            here |= bit;
            seen[column] = true;
            match put(value.get(), is_key, &mut values[column].0) {
                Ok(is_there) => values[column].1 = is_there,
                Err(found) => {
                    wrong.get_or_insert((column, found));
                }
            }
            true
        });
        read.map_err(|error| broken(place(), &error))?;
        let Some((at, wrong)) = wrong else { return Ok(()) };
        let broken = |problem| InputFault::BrokenLine { place: place(), problem, character: 0 };
        Err(match wrong {
            Wrong::Twice => broken("the object has a key or value twice"),
            Wrong::Escape => broken("a key or value has an escape that is not a character"),
            Wrong::Type(kind, why) => {
                let column = names[at].clone();
                let is_key = wanted.iter().any(|(other, is_key)| *other == at && *is_key);
                let purpose = if is_key { "a key" } else { "sent or added up" };
                InputFault::ValueType { place: place(), column, kind, purpose, why }
            }
        })
    }

    /// Returns a column that no object had.
    pub(super) fn never_seen(&self) -> Option<&str> {
        let wanted = self.wanted.iter().map(|(column, _)| column);
        let missing = wanted.filter(|column| !self.seen[**column]).chain(&self.unseen).next();
        missing.map(|column| self.names[*column].as_str())
    }
}

/// Appends the text of a value, unless it is `null`. Returns whether there is one.
fn put(json: &str, is_key: bool, to: &mut Vec<u8>) -> Result<bool, Wrong> {
    match json.as_bytes().first() {
        Some(b'"') => match json[1..].strip_suffix('"') {
            Some(plain) if !plain.contains('\\') => to.extend_from_slice(plain.as_bytes()),
            _ => match serde_json::from_str::<String>(json) {
                Ok(text) => to.extend_from_slice(text.as_bytes()),
                Err(_) => return Err(Wrong::Escape),
            },
        },
        Some(first @ (b'{' | b'[')) => {
            let kind = if *first == b'{' { "an object" } else { "an array" };
            return Err(Wrong::Type(kind, if is_key { NESTED } else { NESTED_VALUE }));
        }
        Some(b'n') => return Ok(false),
        Some(b't' | b'f') => to.extend_from_slice(json.as_bytes()),
        _ if is_key && json.contains(['.', 'e', 'E']) => {
            return Err(Wrong::Type("such a number", FRACTION));
        }
        // Zero has one form.
        _ if json == "-0" => to.push(b'0'),
        _ => to.extend_from_slice(json.as_bytes()),
    }
    Ok(true)
}

/// Shows each member of an object: first only its name and, if the answer is yes, once more with its value.
pub(super) fn members(
    line: &[u8],
    show: impl FnMut(&str, Option<&RawValue>) -> bool,
) -> serde_json::Result<()> {
    struct ParsedObject<F>(F);

    impl<'de, F: FnMut(&str, Option<&RawValue>) -> bool> Visitor<'de> for ParsedObject<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some(Name(name)) = map.next_key_seed(NameSeed)? {
                if (self.0)(&name, None) {
                    let value: &'de RawValue = map.next_value()?;
                    (self.0)(&name, Some(value));
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }

    let mut reader = serde_json::Deserializer::from_slice(without_line_end(line));
    reader.deserialize_map(ParsedObject(show))?;
    reader.end()
}

/// A member's name, borrowed if it has no escapes.
struct Name<'de>(std::borrow::Cow<'de, str>);

struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Name<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Name<'de>, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Name<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(name.into()))
    }

    fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
        Ok(Name(name.to_owned().into()))
    }
}
