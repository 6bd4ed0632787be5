//! Fields and rules: keys that are derived from named columns.

use std::{fmt, str::FromStr};

use vesica_agree::rule_terms::RuleTerms;
use vesica_linkage::{MatchField, MatchRule, Preset, Rules, rules_of};
use vesica_normalize::normalize::Normalize;

use crate::{Error, Fault, Result, Table};

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
    /// The reason why the names are not those of a field.
    pub fn new(
        name: &str,
        column: &str,
        normalize: Option<Normalize>,
    ) -> std::result::Result<Self, String> {
        let checked = MatchField::new(name, column, normalize.clone().unwrap_or(Normalize::NONE));
        let checked = checked.map_err(|error| error.to_string())?;
        Ok(Self { name: checked.name().to_owned(), column: column.to_owned(), normalize })
    }

    /// Returns the declared field.
    fn declared(&self) -> Result<MatchField> {
        let why = "lacks a normalisation: write it after the column, as in first=Vorname:name";
        let normalize = self.normalize.clone().ok_or(Fault::Unfit { option: "field", why })?;
        let field = MatchField::new(&self.name, &self.column, normalize);
        Ok(field.map_err(|error| Fault::Value { option: "field", said: error.to_string() })?)
    }
}

impl FromStr for FieldColumn {
    type Err = String;

    /// Reads `first=Vorname:name`, or `first=Vorname` if an agreement has the normalisation.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
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
pub(crate) fn check_rule(text: &str) -> std::result::Result<(), String> {
    let name = text.trim();
    let rule = text.parse::<MatchRule>();
    match (rule, name.parse::<Preset>()) {
        (Ok(_), _) | (_, Ok(_)) => Ok(()),
        (Err(_), Err(error)) if name.contains(['@', '+']) => Err(error.to_string()),
        (Err(error), Err(_)) => Err(error.to_string()),
    }
}

impl Table {
    /// Returns the rules of these texts on this table's fields.
    ///
    /// # Errors
    /// [`Fault::Value`] for rules that do not fit the fields, and [`Fault::Unfit`] for a field without a normalisation.
    pub fn rules<T: AsRef<str>>(&self, texts: &[T]) -> Result<Rules> {
        rules(texts, &self.field)
    }

    /// Returns the columns of the keys, in the order of an offer with these rules, or with none.
    ///
    /// # Errors
    /// [`Fault::Value`] if a field of the rules is not declared.
    pub fn key_columns(&self, rules: Option<&RuleTerms>) -> Result<Vec<String>> {
        rules.map_or_else(|| Ok(self.key.concat()), |rules| self.columns_of_fields(rules.fields()))
    }

    fn columns_of_fields(&self, names: &[String]) -> Result<Vec<String>> {
        let column = |name: &String| {
            let field = self.field.iter().find(|field| field.name == *name);
            let missing = || {
                let said = format!("the rules name `{name}`: declare it, as in {name}=COLUMN");
                Error::from(Fault::Value { option: "field", said })
            };
            field.map(|field| field.column.clone()).ok_or_else(missing)
        };
        names.iter().map(column).collect()
    }

    /// Returns the normalisation of the fields of agreed rules, which may have other parameters than the given one.
    ///
    /// # Errors
    /// As [`Table::key_columns`].
    pub fn profiles(&self, rules: &RuleTerms, given: &[Normalize]) -> Result<Vec<Normalize>> {
        self.columns_of_fields(rules.fields())?;
        Ok(self.profiles_of_fields(rules.fields(), given))
    }

    /// Returns the normalisation of fields with these names, in their order: this side's own, or else the given one.
    pub(crate) fn profiles_of_fields(
        &self,
        names: &[String],
        keys: &[Normalize],
    ) -> Vec<Normalize> {
        let profile = |(name, given): (&String, &Normalize)| {
            let field = self.field.iter().find(|field| field.name == *name);
            field.and_then(|field| field.normalize.clone()).unwrap_or_else(|| given.clone())
        };
        names.iter().zip(keys).map(profile).collect()
    }
}

/// Returns the rules of these texts on these fields.
///
/// # Errors
/// As [`Table::rules`].
pub(crate) fn rules<T: AsRef<str>>(texts: &[T], fields: &[FieldColumn]) -> Result<Rules> {
    let fields = fields.iter().map(FieldColumn::declared).collect::<Result<Vec<_>>>()?;
    let made = rules_of(texts, &fields).and_then(|rules| Rules::new(rules, fields));
    Ok(made.map_err(|error| Fault::Value { option: "match", said: error.to_string() })?)
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
