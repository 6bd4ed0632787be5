//! Fields and rules: keys that are derived from named columns.

use std::{fmt, str::FromStr};

use vesica_linkage::{MatchField, MatchRule, Preset};
use vesica_normalize::normalize::Normalize;

/// A column of this side, the name of its contents that both sides use, and their normalisation unless an agreement has
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldColumn {
    /// The name that both sides use.
    pub name: String,
    /// The column. Its name stays on this side.
    pub column: String,
    /// The normalisation of its values.
    pub normalize: Option<Normalize>,
}

impl FieldColumn {
    /// Creates a field.
    ///
    /// # Errors
    /// The reason why a field cannot have these names.
    pub fn new(name: &str, column: &str, normalize: Option<Normalize>) -> Result<Self, String> {
        let checked = MatchField::new(name, column, normalize.clone().unwrap_or(Normalize::NONE));
        let checked = checked.map_err(|error| error.to_string())?;
        Ok(Self { name: checked.name().to_owned(), column: column.to_owned(), normalize })
    }
}

impl FromStr for FieldColumn {
    type Err = String;

    /// Reads `first=Vorname:name`, or `first=Vorname` if an agreement has the normalisation.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, column)) if !column.contains(':') => Self::new(name.trim(), column, None),
            _ => {
                let field: MatchField =
                    text.parse().map_err(|error: vesica_linkage::RuleError| error.to_string())?;
                let normalize = Some(field.normalize().clone());
                Self::new(field.name(), field.column(), normalize)
            }
        }
    }
}

impl fmt::Display for FieldColumn {
    /// Writes the text that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.column)?;
        self.normalize.as_ref().map_or(Ok(()), |normalize| write!(f, ":{normalize}"))
    }
}

/// Refuses a text that is neither a rule nor the name of a list of rules.
pub(crate) fn check_rule(text: &str) -> Result<(), String> {
    let name = text.trim();
    let rule = text.parse::<MatchRule>();
    match (rule, name.parse::<Preset>()) {
        (Ok(_), _) | (_, Ok(_)) => Ok(()),
        (Err(_), Err(error)) if name.contains(['@', '+']) => Err(error.to_string()),
        (Err(error), Err(_)) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_with_and_without_a_profile() {
        for text in ["first=Vorname:name", "dob=Geburtstag:date:%d.%m.%Y", "first=Vorname"] {
            assert_eq!(text.parse::<FieldColumn>().unwrap().to_string(), text);
        }
        for (text, said) in [
            ("first", "NAME=COLUMN:PROFILE"),
            ("first=Vorname:nam", "possible values"),
            ("1=x", "name it with"),
            ("first=", "name its column"),
        ] {
            let error = text.parse::<FieldColumn>().unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn texts_are_rules_or_lists_of_rules() {
        for text in ["first, soundex(last)", "person", "person+address@1", "national_id"] {
            assert_eq!(check_rule(text), Ok(()), "{text}");
        }
        for (text, said) in [
            ("person+adress", "did you mean `person+address`?"),
            ("first last", "a comma is missing"),
            ("sondex(last)", "did you mean `soundex`?"),
        ] {
            let error = check_rule(text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
