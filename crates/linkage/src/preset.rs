//! Lists of rules for people, with versions: a list that changes gets a new one.

use std::{fmt, str::FromStr};

use crate::{error::RuleError, field::MatchField, near::nearest, rule::MatchRule};

/// A list of rules with a name. Its fields are `first`, `last` and `dob`, the birthday, and in some lists `postcode`,
/// `house`, `street`, `middle` and `city`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Names and birthdays.
    Person,
    /// Names, birthdays and postcodes.
    PersonAndAddress,
    /// Every rule that helps in some table, in the order of the false matches to expect in a large one. Rules
    /// whose fields are not declared are left out. It is meant for small tables, and for those who leave out further
    /// rules by the false matches to expect in their own table.
    Ladder,
}

const NAMES_AND_BIRTHDAY: [&str; 5] = [
    "first, last, dob",
    "sorted_words(first, last), swap_day_month(dob)",
    "nickname(first), last, dob",
    "soundex(first), soundex(last), dob",
    "left(first, 3), left(last, 3), dob",
];

const BIRTHDAY_IN_PART: [&str; 3] =
    ["first, last, year_day(dob)", "first, last, year_month(dob)", "left(first, 1), last, dob"];

const ADDRESS: [&str; 3] = [
    "soundex(first), soundex(last), year(dob), postcode",
    "left(first, 1), dob, postcode",
    "first, last, postcode",
];

const LADDER: [&str; 26] = [
    "first, last, dob",
    "sorted_words(first, last), swap_day_month(dob)",
    "nickname(first), last, dob",
    "soundex(first), soundex(last), year(dob), postcode",
    "soundex(first), soundex(last), dob",
    "left(first, 3), left(last, 3), dob",
    "first, last, year_day(dob)",
    "left(first, 1), dob, house, left(street, 3)",
    "left(first, 1), dob, postcode",
    "first, last, year_month(dob)",
    "left(first, 1), last, dob",
    "first, last, house, left(street, 3)",
    "first, last, postcode",
    "first, last, month_day(dob)",
    "first, house, left(street, 3), postcode",
    "left(first, 2), left(last, 2), dob",
    "soundex(first), soundex(last), postcode",
    "soundex(first), house, left(street, 3), postcode",
    "dob, house, postcode",
    "dob, postcode",
    "last, dob",
    "left(first, 2), left(last, 2), house, left(street, 3)",
    "first, dob",
    "first, left(middle, 1), last",
    "first, last, city",
    "first, last",
];

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 3] = [Self::Person, Self::PersonAndAddress, Self::Ladder];

    /// Returns the name without its version.
    pub fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::PersonAndAddress => "person+address",
            Self::Ladder => "ladder",
        }
    }

    fn version(self) -> u32 {
        1
    }

    /// Returns its rules, in order.
    pub fn rules(self) -> Vec<MatchRule> {
        let texts = match self {
            Self::Person => [&NAMES_AND_BIRTHDAY[..], &BIRTHDAY_IN_PART].concat(),
            Self::PersonAndAddress => [&NAMES_AND_BIRTHDAY[..], &ADDRESS].concat(),
            Self::Ladder => LADDER.to_vec(),
        };
        texts.iter().map(|text| text.parse().expect("presets are rules")).collect()
    }

    /// Returns its rules for these fields: of the ladder, those whose fields are all among them.
    fn rules_for(self, fields: &[MatchField]) -> Vec<MatchRule> {
        let is_declared = |name: &&str| fields.iter().any(|field| field.name() == *name);
        let mut rules = self.rules();
        if self == Self::Ladder {
            rules.retain(|rule| rule.fields().iter().all(is_declared));
        }
        rules
    }
}

impl FromStr for Preset {
    type Err = RuleError;

    /// Reads a name with or without its version.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let name = text.split('@').next().unwrap_or_default();
        let Some(preset) = Self::ALL.into_iter().find(|preset| preset.name() == name) else {
            let names = Self::ALL.map(Self::name);
            let what = match nearest(name, names.into_iter()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", names.join(", ")),
            };
            return Err(RuleError::at(text, 0, format!("`{name}` is not a list of rules: {what}")));
        };
        if text != name && text != preset.to_string() {
            let what = format!("this release has the version {preset}");
            return Err(RuleError::at(text, name.len(), what));
        }
        Ok(preset)
    }
}

impl fmt::Display for Preset {
    /// Writes the name with its version.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name(), self.version())
    }
}

/// Reads rules, or the name of a preset in place of all of them.
///
/// # Errors
/// [`RuleError::Syntax`], and [`RuleError::List`] if a rule is too long.
pub fn rules_of<T: AsRef<str>>(
    texts: &[T],
    fields: &[MatchField],
) -> Result<Vec<MatchRule>, RuleError> {
    if let [text] = texts {
        let text = text.as_ref().trim();
        let is_word =
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+@".contains(&byte));
        let is_field = fields.iter().any(|field| field.name() == text);
        if is_word && !text.is_empty() && !is_field {
            return text.parse::<Preset>().map(|preset| preset.rules_for(fields));
        }
    }
    texts.iter().map(|text| text.as_ref().parse()).collect()
}
