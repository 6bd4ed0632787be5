//! Fields: columns under names that both sides use.

use std::{fmt, str::FromStr};

use vesica_normalize::normalize::Normalize;

use crate::error::RuleError;

/// The maximum number of fields.
pub const MAX_FIELDS: usize = 32;

/// The maximum length of a field's name, in bytes.
const LONGEST: usize = 32;

/// A column of this side, the name of its contents that both sides use, and the normalisation of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchField {
    name: String,
    column: String,
    normalize: Normalize,
}

/// The functions that suit a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// Names of people and places, normalised by `name`. Spaces in them do not count for a function, except the one
    /// that sorts words.
    Name,
    /// Other text: postcodes, house numbers, numbers of customers.
    Text,
    /// Days of the calendar.
    Date,
    /// Values that are compared as they are: digests and points in time.
    Whole,
}

impl FieldKind {
    /// Returns the kind of values that a profile normalises.
    pub(crate) fn of(normalize: &Normalize) -> Self {
        match normalize {
            name if *name == Normalize::NAME => Self::Name,
            Normalize::Date(_) => Self::Date,
            Normalize::Timestamp(_) | Normalize::Sha256(_) | Normalize::Hashed(_) => Self::Whole,
            _ => Self::Text,
        }
    }

    /// Returns the kind in words, for errors.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Name => "a name",
            Self::Text => "a text",
            Self::Date => "a date",
            Self::Whole => "a digest or a point in time, which can only be compared as it is",
        }
    }
}

impl MatchField {
    /// Makes a field. Letters in its name become small ones.
    ///
    /// # Errors
    /// [`RuleError::MatchField`] if the name is not a word of ASCII letters, digits and underscores that begins with a
    /// letter and has at most 32 characters, or if the column's name is empty.
    pub fn new(name: &str, column: &str, normalize: Normalize) -> Result<Self, RuleError> {
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !begins || !is_word || name.len() > LONGEST {
            let what = format!(
                "name it with at most {LONGEST} letters from a to z, digits and underscores, as in \
                 first=Vorname:name"
            );
            return Err(RuleError::field(name, what));
        }
        if column.is_empty() {
            return Err(RuleError::field(name, "name its column, as in first=Vorname:name"));
        }
        Ok(Self { name: name.to_ascii_lowercase(), column: column.to_owned(), normalize })
    }

    /// Returns the name that both sides use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the column. It stays on this side.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Returns the normalisation of its values.
    pub fn normalize(&self) -> &Normalize {
        &self.normalize
    }

    /// Returns the kind of its values.
    pub fn kind(&self) -> FieldKind {
        FieldKind::of(&self.normalize)
    }
}

impl FromStr for MatchField {
    type Err = RuleError;

    /// Reads a declaration such as `dob=Geburtstag:date:%d.%m.%Y`. The profile begins at the first colon that a profile
    /// follows.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let Some((name, rest)) = text.split_once('=') else {
            return Err(RuleError::field(
                text,
                "write NAME=COLUMN:PROFILE, as in first=Vorname:name",
            ));
        };
        let mut fault = "say how its values are normalised, as in first=Vorname:name".to_owned();
        for (at, _) in rest.match_indices(':').rev() {
            match rest[at + 1..].parse::<Normalize>() {
                Err(error) => fault = error,
                Ok(normalize) => {
                    let longer = rest[..at].match_indices(':').find_map(|(earlier, _)| {
                        let profile = rest[earlier + 1..].parse().ok()?;
                        Some(Self::new(name.trim(), &rest[..earlier], profile))
                    });
                    return longer
                        .unwrap_or_else(|| Self::new(name.trim(), &rest[..at], normalize));
                }
            }
        }
        Err(RuleError::field(text, fault))
    }
}

impl fmt::Display for MatchField {
    /// Writes the declaration that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}:{}", self.name, self.column, self.normalize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read_and_written() {
        for (text, column, kind) in [
            ("first=Vorname:name", "Vorname", FieldKind::Name),
            ("dob=Geburtstag:date:%d.%m.%Y", "Geburtstag", FieldKind::Date),
            ("plz=a:b=c:postcode:DE", "a:b=c", FieldKind::Text),
            ("id=x:none", "x", FieldKind::Text),
            ("mail=m:sha256:email", "m", FieldKind::Whole),
            ("mail=m:hashed:email", "m", FieldKind::Whole),
            ("at=t:timestamp", "t", FieldKind::Whole),
            ("name=name:name", "name", FieldKind::Name),
        ] {
            let field: MatchField = text.parse().unwrap();
            assert_eq!(
                (field.column(), field.kind(), field.to_string()),
                (column, kind, text.into())
            );
        }
        assert_eq!("First=V:name".parse::<MatchField>().unwrap().to_string(), "first=V:name");
    }

    #[test]
    fn other_texts_are_refused_with_a_reason() {
        for (text, reason) in [
            ("first", "NAME=COLUMN:PROFILE"),
            ("first=Vorname", "say how its values are normalised"),
            ("first=Vorname:nam", "possible values: none, trim"),
            ("dob=d:date:%d.%m.%y", "use %Y"),
            ("=Vorname:name", "name it with"),
            ("1st=Vorname:name", "name it with"),
            ("früh=Vorname:name", "name it with"),
            ("first=:name", "name its column"),
        ] {
            let error = text.parse::<MatchField>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(format!("{}=a:name", "x".repeat(33)).parse::<MatchField>().is_err());
    }
}
