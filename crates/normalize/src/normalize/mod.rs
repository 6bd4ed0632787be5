//! The normalisation of key columns' values, which makes them comparable.
//!
//! A profile is a rule from a value to its normalised form, or to nothing if the value is not of the profile's kind.
//! Each profile has a file of its own and a line in [`PROFILES`]; one without parameters is a [`ProfileRule`]. Its name
//! may have a parameter after a colon. Most parameters describe this side's column, such as the format of its dates;
//! the two sides may give different ones, since the normalised values are alike. A postcode's country changes the
//! normal form, so it must be the same on both sides. The [agreed names](Normalize::agreed) must be equal. They have
//! the version of the profile and of the data that its rule uses: a rule that changes gets a new version, and so do
//! tables that change.

pub mod characters;
mod clock;
mod data;
mod date;
mod email;
#[cfg(test)]
mod example;
mod name;
mod number;
mod partner;
mod phone;
mod postcode;
mod rule;
mod sha256;
#[cfg(test)]
mod tests;
mod text;
mod timestamp;
mod travelling;

use std::{borrow::Cow, fmt, str::FromStr};

pub use date::Format;
pub use number::Marks;
pub use partner::{Identifier, Partner};
pub use phone::Region;
pub use postcode::Country;
pub use rule::ProfileRule;
pub use timestamp::Offset;
pub use travelling::TravellingName;

/// The normalisation of a key column's values. Both sides must agree on one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Normalize {
    /// A rule without parameters, such as [`Normalize::LOWER`].
    Rule(&'static ProfileRule),
    /// Telephone numbers in the form of E.164. Numbers without a country's code are of this region; without a region
    /// they make no keys.
    Phone(Option<Region>),
    /// Days of the calendar, as ISO 8601 writes them. Without a format, the column has them in that form already.
    Date(Option<Format>),
    /// Points in time, in UTC. Values without a zone are this far ahead of it.
    Timestamp(Offset),
    /// Decimal numbers by their value, written with these marks.
    Number(Marks),
    /// Postcodes of a country.
    Postcode(Country),
    /// Identifiers as a partner normalises them before it hashes them.
    Partner(Partner, Identifier),
    /// The SHA-256 of the value in UTF-8 after this normalisation.
    Sha256(Box<Normalize>),
    /// Such digests, which the column holds already.
    Hashed(Box<Normalize>),
}

/// An entry of the list of profiles.
pub struct Profile {
    /// The beginning of the name.
    pub word: &'static str,
    /// The parameter that may or must follow the word, as in a synopsis.
    pub parameter: &'static str,
    /// The version of the rule.
    version: u32,
    parsing: Parsing,
}

/// The way to read what follows the beginning of a name.
enum Parsing {
    /// Nothing may follow.
    Rule(&'static ProfileRule),
    /// The function reads the parameter, if there is one.
    Parameter(fn(Option<&str>) -> Result<Normalize, String>),
}

/// Every profile.
pub static PROFILES: [Profile; 18] = [
    rule(&text::NONE, 1),
    rule(&text::TRIM, 2),
    rule(&text::LOWER, 2),
    rule(&text::TEXT, 2),
    profile("email", "[:gmail|:plain]", 2, email::parse),
    rule(&name::NAME, 2),
    profile("phone", "[:CC]", 2, |given| phone::region(given).map(Normalize::Phone)),
    profile("date", "[:FORMAT]", 2, date::parse),
    profile("timestamp", "[:OFFSET]", 1, timestamp::parse),
    profile("number", "[:MARKS]", 2, number::parse),
    profile("postcode", ":CC", 2, postcode::parse),
    profile("google", ":email|:phone[:CC]|:name", 1, |given| Partner::Google.parse(given)),
    profile("meta", ":email|:phone[:CC]|:name", 1, |given| Partner::Meta.parse(given)),
    profile("uid2", ":email|:phone[:CC]", 1, |given| Partner::Uid2.parse(given)),
    profile("liveramp", ":email", 1, |given| Partner::LiveRamp.parse(given)),
    profile("pair", ":email|:phone[:CC]", 1, |given| Partner::Pair.parse(given)),
    profile("sha256", ":PROFILE", 1, sha256::parse),
    profile("hashed", ":PROFILE", 1, sha256::parse_hashed),
];

const fn profile(
    word: &'static str,
    parameter: &'static str,
    version: u32,
    parse: fn(Option<&str>) -> Result<Normalize, String>,
) -> Profile {
    Profile { word, parameter, version, parsing: Parsing::Parameter(parse) }
}

/// Returns the entry of a rule in this version.
const fn rule(rule: &'static ProfileRule, version: u32) -> Profile {
    Profile { word: rule.name, parameter: "", version, parsing: Parsing::Rule(rule) }
}

impl Profile {
    /// Reads what follows the beginning of a name and a colon.
    fn parse(&self, given: Option<&str>) -> Result<Normalize, String> {
        match (&self.parsing, given) {
            (Parsing::Rule(rule), None) => Ok(Normalize::Rule(rule)),
            (Parsing::Rule(rule), Some(_)) => {
                Err(format!("`{}` takes nothing after a colon", rule.name))
            }
            (Parsing::Parameter(parse), given) => parse(given),
        }
    }
}

impl Default for Normalize {
    fn default() -> Self {
        Self::NONE
    }
}

impl FromStr for Normalize {
    type Err = String;

    /// Reads a name such as `email` or `phone:DE`.
    fn from_str(name: &str) -> Result<Self, String> {
        let (word, parameter) = match name.split_once(':') {
            Some((word, parameter)) => (word, Some(parameter)),
            None => (name, None),
        };
        let Some(profile) = PROFILES.iter().find(|profile| profile.word == word) else {
            let all = PROFILES.each_ref().map(|profile| [profile.word, profile.parameter].concat());
            return Err(format!("possible values: {}", all.join(", ")));
        };
        profile.parse(parameter)
    }
}

impl fmt::Display for Normalize {
    /// Writes the name that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => f.write_str(rule.name),
            Self::Phone(Some(region)) => write!(f, "phone:{region}"),
            Self::Date(Some(format)) => write!(f, "date:{format}"),
            Self::Timestamp(offset) if !offset.is_utc() => write!(f, "timestamp:{offset}"),
            Self::Number(marks) if *marks != Marks::default() => write!(f, "number:{marks}"),
            Self::Postcode(country) => write!(f, "postcode:{country}"),
            Self::Partner(partner, identifier) => write!(f, "{}:{identifier}", partner.word()),
            Self::Sha256(inner) => write!(f, "sha256:{inner}"),
            Self::Hashed(inner) => write!(f, "hashed:{inner}"),
            _ => f.write_str(self.word()),
        }
    }
}

impl Normalize {
    fn word(&self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.word(),
            Self::Phone(_) => "phone",
            Self::Date(_) => "date",
            Self::Timestamp(_) => "timestamp",
            Self::Number(_) => "number",
            Self::Postcode(_) => "postcode",
            Self::Partner(partner, _) => partner.word(),
            Self::Sha256(_) => "sha256",
            Self::Hashed(_) => "hashed",
        }
    }

    /// Returns the profile without the parameters that only describe this side's column. It leaves this profile's
    /// normalised values unchanged.
    pub fn essence(&self) -> Self {
        match self {
            Self::Phone(_) => Self::Phone(None),
            Self::Date(_) => Self::Date(None),
            Self::Timestamp(_) => Self::Timestamp(Offset::default()),
            Self::Partner(partner, identifier) => Self::Partner(*partner, identifier.essence()),
            Self::Number(_) => Self::Number(Marks::default()),
            Self::Sha256(inner) | Self::Hashed(inner) => Self::Sha256(Box::new(inner.essence())),
            other => other.clone(),
        }
    }

    /// Returns the name that the terms of both sides must have in common, with the versions of the rule and of its
    /// data.
    pub fn agreed(&self) -> String {
        self.essence().versioned()
    }

    /// Returns the name with the versions of the rule and of its data.
    fn versioned(&self) -> String {
        let rule = self.inner();
        let version = PROFILES.iter().find(|profile| profile.word == rule.word());
        let version = version.map_or(0, |profile| profile.version);
        match data::of(rule) {
            Some(data) => format!("{self}@{version}+{data}"),
            None => format!("{self}@{version}"),
        }
    }

    /// Returns the profile of the hashed values; any other profile itself.
    fn inner(&self) -> &Self {
        match self {
            Self::Sha256(inner) | Self::Hashed(inner) => inner,
            other => other,
        }
    }

    /// Whether values are compared, or hashed, as unchanged bytes.
    pub fn is_verbatim(&self) -> bool {
        *self.inner() == Self::NONE
    }

    /// Whether the column holds digests.
    pub fn holds_digests(&self) -> bool {
        matches!(self, Self::Hashed(_))
    }

    /// Whether letters that differ only in case stay different.
    pub fn keeps_case(&self) -> bool {
        matches!(self, Self::Rule(rule) if rule.keeps_case)
    }

    /// Whether values are mail addresses, which may be hashed here.
    pub fn is_mail(&self) -> bool {
        match self {
            Self::Rule(rule) => rule.is_mail,
            Self::Partner(_, identifier) => *identifier == Identifier::Email,
            Self::Sha256(inner) => inner.is_mail(),
            _ => false,
        }
    }

    /// Returns the normalised value, or an empty one. For values to be hashed, it is the value before
    /// hashing; for digests, the hexadecimal digits.
    #[inline]
    pub fn apply<'a>(&self, value: &'a str) -> Cow<'a, str> {
        match self {
            Self::Rule(rule) => (rule.apply)(value),
            Self::Phone(region) => found(phone::e164(value, region.as_ref())),
            Self::Date(format) => found(date::iso(value, format.as_ref())),
            Self::Timestamp(offset) => found(timestamp::instant(value, *offset)),
            Self::Number(marks) => found(number::canonical(value, *marks)),
            Self::Postcode(country) => found(postcode::postcode(value, *country)),
            Self::Partner(partner, identifier) => partner.apply(identifier, value),
            Self::Sha256(inner) => inner.apply(value),
            Self::Hashed(_) => found(sha256::read(value).map(|digest| sha256::hex(&digest))),
        }
    }

    /// Returns the part of a normalised value that a guesser does not know: all of a telephone number but the country's
    /// code.
    pub fn unknown_part<'a>(&self, value: &'a str) -> &'a str {
        match self.inner() {
            Self::Phone(_) => phone::without_code(value),
            _ => value,
        }
    }

    /// Returns the digest of a value that [`Normalize::apply`] has returned and that is not empty, if this profile
    /// compares digests.
    pub fn digest(&self, value: &str) -> Option<[u8; 32]> {
        match self {
            Self::Sha256(_) => Some(sha256::of(value)),
            Self::Hashed(_) => sha256::read(value),
            _ => None,
        }
    }
}

/// Whether a value looks like a telephone number of any country.
pub fn looks_like_phone(value: &str) -> bool {
    phone::looks_like_one(value)
}

/// Whether a value becomes a telephone number when a plus sign is put before it, and begins with the code of the
/// profile's country: its writer may have meant that.
pub fn lacks_plus(value: &str, profile: &Normalize) -> bool {
    match profile {
        Normalize::Phone(Some(region)) | Normalize::Partner(_, Identifier::Phone(Some(region))) => {
            phone::lacks_plus(value, region)
        }
        Normalize::Sha256(inner) => lacks_plus(value, inner),
        _ => false,
    }
}

/// Makes a value that does not suit the profile empty.
fn found(value: Option<String>) -> Cow<'static, str> {
    Cow::Owned(value.unwrap_or_default())
}
