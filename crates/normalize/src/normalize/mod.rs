//! How the values of key columns are made comparable.
//!
//! A profile is a rule from a value to its normalised form, or to nothing where the value is not of the kind that
//! the profile is for. Each profile has a file of its own and a line in [`PROFILES`]. Its name may have a
//! parameter after a colon. Most parameters say how this side's column is written, such as the format of its
//! dates; the two sides may give different ones, since the normalised values are alike. A postcode's country
//! changes what is normal, so it must be the same on both sides. What must be equal is the
//! [agreed name](Normalize::agreed), which carries the version of the profile, and that of the data that its rule looks up:
//! a rule that changes gets a new version, and so do tables that change.

pub mod characters;
mod clock;
mod data;
mod date;
mod email;
mod name;
mod number;
mod partner;
mod phone;
mod postcode;
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
pub use timestamp::Offset;
pub use travelling::TravellingName;

/// How a key column's values are made comparable. Both sides must agree on one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Normalize {
    /// Bytes as they are. Two encodings of the same accented letter differ.
    #[default]
    None,
    /// Unicode NFC, and no white space nor any character that is not seen at either end.
    Trim,
    /// And in lower case, by Unicode's rules that depend on no language.
    Lower,
    /// As `Trim`, and white space inside becomes one space, and letters that differ only in case become equal by
    /// Unicode's full case folding: `ß` equals `SS`.
    Text,
    /// As `Lower`, and as mail addresses: a value that is more or less than a name and a domain around one `@` is no key, and
    /// at `gmail.com` dots in the name and anything from a `+` on are dropped.
    Email,
    /// As `Email`, but without the rule for `gmail.com`.
    PlainEmail,
    /// Names of people and places: without case, accents and punctuation.
    Name,
    /// Telephone numbers in the form of E.164. Numbers without a country's code are of this region; without a
    /// region they are no keys.
    Phone(Option<Region>),
    /// Days of the calendar, as ISO 8601 writes them. Without a format they are written like that already.
    Date(Option<Format>),
    /// Points in time, in UTC. Those without a zone are this far ahead of it.
    Timestamp(Offset),
    /// Decimal numbers by their value, written with these marks.
    Number(Marks),
    /// Postcodes of a country.
    Postcode(Country),
    /// Identifiers as a partner normalises them before it hashes them.
    Partner(Partner, Identifier),
    /// The SHA-256 of the value in UTF-8, normalised like that.
    Sha256(Box<Normalize>),
    /// The column holds such digests already.
    Hashed(Box<Normalize>),
}

/// A line of the list of profiles.
pub struct Profile {
    /// What the name begins with.
    pub word: &'static str,
    /// What may or must follow the word, as in a synopsis.
    pub parameter: &'static str,
    /// The version of the rule.
    version: u32,
    parse: fn(Option<&str>) -> Result<Normalize, String>,
}

/// Every profile.
pub const PROFILES: [Profile; 18] = [
    profile("none", "", 1, |given| without(given, Normalize::None)),
    profile("trim", "", 2, |given| without(given, Normalize::Trim)),
    profile("lower", "", 2, |given| without(given, Normalize::Lower)),
    profile("text", "", 2, |given| without(given, Normalize::Text)),
    profile("email", "[:gmail|:plain]", 2, email::parse),
    profile("name", "", 2, |given| without(given, Normalize::Name)),
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
    Profile { word, parameter, version, parse }
}

/// A profile that takes no parameter.
fn without(given: Option<&str>, profile: Normalize) -> Result<Normalize, String> {
    match given {
        None => Ok(profile),
        Some(_) => Err(format!("`{profile}` takes nothing after a colon")),
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
            let all = PROFILES.map(|profile| [profile.word, profile.parameter].concat());
            return Err(format!("possible values: {}", all.join(", ")));
        };
        (profile.parse)(parameter)
    }
}

impl fmt::Display for Normalize {
    /// Writes the name that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlainEmail => f.write_str("email:plain"),
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
            Self::None => "none",
            Self::Trim => "trim",
            Self::Lower => "lower",
            Self::Text => "text",
            Self::Email | Self::PlainEmail => "email",
            Self::Name => "name",
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

    /// What remains of it when the parameters that describe this side's column alone are dropped. It leaves the
    /// values that this one has normalised as they are.
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

    /// The name that the terms of both sides must have in common, with the versions of the rule and of its data.
    pub fn agreed(&self) -> String {
        self.essence().versioned()
    }

    /// The name with the versions of the rule and of its data.
    fn versioned(&self) -> String {
        let rule = self.inner();
        let version = PROFILES.iter().find(|profile| profile.word == rule.word());
        let version = version.map_or(0, |profile| profile.version);
        match data::of(rule) {
            Some(data) => format!("{self}@{version}+{data}"),
            None => format!("{self}@{version}"),
        }
    }

    /// The profile of the value that a digest is made of; any other profile itself.
    fn inner(&self) -> &Self {
        match self {
            Self::Sha256(inner) | Self::Hashed(inner) => inner,
            other => other,
        }
    }

    /// Whether values are compared, or hashed, as the bytes that they are.
    pub fn is_verbatim(&self) -> bool {
        *self.inner() == Self::None
    }

    /// Whether the column holds digests.
    pub fn holds_digests(&self) -> bool {
        matches!(self, Self::Hashed(_))
    }

    /// Whether letters that differ only in case stay different.
    pub fn keeps_case(&self) -> bool {
        matches!(self, Self::None | Self::Trim)
    }

    /// The normalised value; empty where there is none. Of values that are to be hashed, the one that is hashed;
    /// of digests, the hexadecimal digits.
    #[inline]
    pub fn apply<'a>(&self, value: &'a str) -> Cow<'a, str> {
        match self {
            Self::None => Cow::Borrowed(value),
            Self::Trim => text::trim(value),
            Self::Lower => text::lower(value),
            Self::Text => text::text(value),
            Self::Email => email::gmail(email::plain(text::lower(value))),
            Self::PlainEmail => email::plain(text::lower(value)),
            Self::Name => name::name(value),
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

    /// The part of a normalised value that somebody who guesses does not know: of a telephone number all but the country's
    /// code.
    pub fn unknown_part<'a>(&self, value: &'a str) -> &'a str {
        match self.inner() {
            Self::Phone(_) => phone::without_code(value),
            _ => value,
        }
    }

    /// The digest that is compared, where digests are: of a value that [`Normalize::apply`] has returned and that
    /// is not empty.
    pub fn digest(&self, value: &str) -> Option<[u8; 32]> {
        match self {
            Self::Sha256(_) => Some(sha256::of(value)),
            Self::Hashed(_) => sha256::read(value),
            _ => None,
        }
    }
}

/// Whether a value looks like a telephone number, of whatever country.
pub fn looks_like_phone(value: &str) -> bool {
    phone::looks_like_one(value)
}

/// Whether a value is a telephone number if a plus sign stands before it, and begins with the code of the country that the
/// profile names: it was perhaps meant like that.
pub fn lacks_plus(value: &str, profile: &Normalize) -> bool {
    match profile {
        Normalize::Phone(Some(region)) | Normalize::Partner(_, Identifier::Phone(Some(region))) => {
            phone::lacks_plus(value, region)
        }
        Normalize::Sha256(inner) => lacks_plus(value, inner),
        _ => false,
    }
}

/// What is not of the profile's kind is no value.
fn found(value: Option<String>) -> Cow<'static, str> {
    Cow::Owned(value.unwrap_or_default())
}
