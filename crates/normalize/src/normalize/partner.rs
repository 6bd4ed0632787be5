//! The rules by which companies normalise identifiers before they hash them, as they publish them.
//!
//! A digest fits another only where both were made by one rule to the letter. Where a company publishes no rule for a kind of
//! identifier, or one that makes no SHA-256, there is no profile. Values that are no addresses or numbers make no keys here either,
//! although the companies' own programs hash it.

use std::{borrow::Cow, fmt};

use unicode_normalization::char::is_combining_mark;

use super::{
    Normalize, Region,
    characters::{bare, typed},
    email, phone, text,
};

/// A company or an alliance that publishes how identifiers are normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partner {
    /// Google Customer Match, and the other uses of user data by Google Ads.
    Google,
    /// Meta's Conversions API and Custom Audiences.
    Meta,
    /// Unified ID 2.0.
    Uid2,
    /// LiveRamp.
    LiveRamp,
    /// Publisher Advertiser Identity Reconciliation, by IAB Tech Lab.
    Pair,
}

/// The identifier that a rule is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identifier {
    /// A mail address.
    Email,
    /// A telephone number, of this region where it names no country.
    Phone(Option<Region>),
    /// A first or a last name.
    Name,
}

impl Partner {
    /// The first word of its profiles.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Meta => "meta",
            Self::Uid2 => "uid2",
            Self::LiveRamp => "liveramp",
            Self::Pair => "pair",
        }
    }

    /// The identifiers that it has rules for, as they are named.
    fn identifiers(self) -> &'static [&'static str] {
        match self {
            Self::Google | Self::Meta => &["email", "phone", "name"],
            Self::Uid2 | Self::Pair => &["email", "phone"],
            Self::LiveRamp => &["email"],
        }
    }

    pub(super) fn parse(self, identifier: Option<&str>) -> Result<Normalize, String> {
        let (kind, given) = match identifier.unwrap_or_default().split_once(':') {
            Some((kind, given)) => (kind, Some(given)),
            None => (identifier.unwrap_or_default(), None),
        };
        let known = self.identifiers().contains(&kind);
        let found = match (kind, given) {
            ("email", None) if known => Identifier::Email,
            ("name", None) if known => Identifier::Name,
            ("phone", _) if known => Identifier::Phone(phone::region(given)?),
            _ => {
                let word = self.word();
                let all = self.identifiers().iter().map(|kind| format!("{word}:{kind}"));
                return Err(format!("possible values: {}", all.collect::<Vec<_>>().join(", ")));
            }
        };
        Ok(Normalize::Partner(self, found))
    }

    /// The normalised value; empty where there is none.
    pub(super) fn apply<'a>(self, identifier: &Identifier, value: &'a str) -> Cow<'a, str> {
        match identifier {
            Identifier::Email => self.email(value),
            Identifier::Phone(region) => {
                let number = phone::e164(value, region.as_ref());
                Cow::Owned(match self {
                    // Without a region, all digits are those of a number with its country's code.
                    Self::Meta => {
                        let coded = || phone::e164(&with_plus(value), None);
                        let number = number.or_else(|| coded().filter(|_| region.is_none()));
                        number.unwrap_or_default().trim_start_matches('+').to_owned()
                    }
                    _ => number.unwrap_or_default(),
                })
            }
            Identifier::Name if self == Self::Meta => Cow::Owned(without_punctuation(value)),
            Identifier::Name => text::lower(value),
        }
    }

    fn email(self, value: &str) -> Cow<'_, str> {
        match self {
            Self::Google => {
                email::without_dots(without_space(value), &["gmail.com", "googlemail.com"])
            }
            Self::LiveRamp => without_space(value),
            Self::Meta => email::plain(text::lower(value)),
            Self::Uid2 => email::gmail(email::plain(lower_ascii(value))),
            Self::Pair => email::plain(lower_ascii(value)),
        }
    }
}

impl Identifier {
    /// The identifier without its region.
    pub(super) fn essence(&self) -> Self {
        match self {
            Self::Phone(_) => Self::Phone(None),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Email => f.write_str("email"),
            Self::Phone(None) => f.write_str("phone"),
            Self::Phone(Some(region)) => write!(f, "phone:{region}"),
            Self::Name => f.write_str("name"),
        }
    }
}

/// The value with the letters of ASCII in lower case, and no others.
fn lower_ascii(value: &str) -> Cow<'_, str> {
    let value = text::trim(value);
    match value.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(value.to_ascii_lowercase()),
        false => value,
    }
}

/// The address in lower case, without any white space.
fn without_space(value: &str) -> Cow<'_, str> {
    match bare(value).contains(char::is_whitespace) {
        true => {
            let joined: String = value.split_whitespace().collect();
            Cow::Owned(email::plain(text::lower(&joined)).into_owned())
        }
        false => email::plain(text::lower(value)),
    }
}

/// A number with a plus sign in place of the zeros that it begins with.
fn with_plus(number: &str) -> String {
    let number = typed(bare(number));
    format!("+{}", number.trim_start_matches('0'))
}

/// A name in lower case without its punctuation and symbols.
fn without_punctuation(value: &str) -> String {
    let is_kept = |c: &char| c.is_alphanumeric() || c.is_whitespace() || is_combining_mark(*c);
    let kept: String = text::lower(value).chars().filter(is_kept).collect();
    text::lower(&kept).into_owned()
}
