//! The rules by which companies normalise identifiers before they hash them, as published.
//!
//! Two digests match only if both sides apply one rule to the letter. If a company publishes no rule for a kind of
//! identifier, or a rule without SHA-256, it has no profile here. Values that are not addresses or numbers make no
//! keys, although the companies' own programs hash them.

use std::{borrow::Cow, fmt};

use unicode_normalization::char::is_combining_mark;

use super::{
    Normalize, Region,
    characters::{bare, typed},
    email, phone, text,
};

/// A company or an alliance that publishes its rules for identifiers.
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
    /// A telephone number, of this region if it names no country.
    Phone(Option<Region>),
    /// A first or a last name.
    Name,
}

impl Partner {
    /// Returns the first word of its profiles.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Meta => "meta",
            Self::Uid2 => "uid2",
            Self::LiveRamp => "liveramp",
            Self::Pair => "pair",
        }
    }

    /// Returns the names of the identifiers that it has rules for.
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

    /// Returns the normalised value, or an empty one.
    pub(super) fn apply<'a>(self, identifier: &Identifier, value: &'a str) -> Cow<'a, str> {
        match identifier {
            Identifier::Email => self.email(value),
            Identifier::Phone(region) => {
                let number = phone::e164(value, region.as_ref());
                Cow::Owned(match self {
                    // Without a region, the digits must include the country's code.
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
    /// Returns the identifier without its region.
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

/// Puts the ASCII letters of a value in lower case, and no others.
fn lower_ascii(value: &str) -> Cow<'_, str> {
    let value = text::trim(value);
    match value.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(value.to_ascii_lowercase()),
        false => value,
    }
}

/// Returns the address in lower case, without any white space.
fn without_space(value: &str) -> Cow<'_, str> {
    match bare(value).contains(char::is_whitespace) {
        true => {
            let joined: String = value.split_whitespace().collect();
            Cow::Owned(email::plain(text::lower(&joined)).into_owned())
        }
        false => email::plain(text::lower(value)),
    }
}

/// Returns a number with a plus sign in place of its leading zeros.
fn with_plus(number: &str) -> String {
    let number = typed(bare(number));
    format!("+{}", number.trim_start_matches('0'))
}

/// Returns a name in lower case without its punctuation and symbols.
fn without_punctuation(value: &str) -> String {
    let is_kept = |c: &char| c.is_alphanumeric() || c.is_whitespace() || is_combining_mark(*c);
    let kept: String = text::lower(value).chars().filter(is_kept).collect();
    text::lower(&kept).into_owned()
}
