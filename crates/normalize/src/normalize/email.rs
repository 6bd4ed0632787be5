//! Mail addresses.

use std::borrow::Cow;

use super::{
    Normalize, ProfileRule,
    characters::{is_apostrophe, is_blank},
    rule::UNICODE,
    text,
};

impl Normalize {
    /// [`Normalize::LOWER`] for mail addresses. A value must have a name and a domain around one `@` to be a key. At
    /// `gmail.com` dots in the name and anything from a `+` on are dropped.
    pub const EMAIL: Self = Self::Rule(&EMAIL);

    /// [`Normalize::EMAIL`] without the rule for `gmail.com`.
    pub const PLAIN_EMAIL: Self = Self::Rule(&PLAIN_EMAIL);
}

static EMAIL: ProfileRule = ProfileRule {
    name: "email",
    tables: Some(UNICODE),
    is_mail: true,
    keeps_case: false,
    apply: |value| gmail(plain(text::lower(value))),
};

static PLAIN_EMAIL: ProfileRule = ProfileRule {
    name: "email:plain",
    tables: Some(UNICODE),
    is_mail: true,
    keeps_case: false,
    apply: |value| plain(text::lower(value)),
};

/// Reads the parameter of `email`. Without one, the rule for `gmail.com` applies, as with `email:gmail`.
pub(super) fn parse(rule: Option<&str>) -> Result<Normalize, String> {
    match rule {
        None | Some("gmail") => Ok(Normalize::EMAIL),
        Some("plain") => Ok(Normalize::PLAIN_EMAIL),
        Some(_) => Err("possible values: email, email:gmail (the same), email:plain".to_owned()),
    }
}

/// Returns an address unchanged, and an empty value for anything else.
pub(super) fn plain(value: Cow<'_, str>) -> Cow<'_, str> {
    if is_address(&value) { value } else { Cow::Borrowed("") }
}

/// Whether a value has a name and a domain around one `@`, without the brackets, quotes, blanks and lists of addresses
/// that mail programs write.
fn is_address(value: &str) -> bool {
    value.split_once('@').is_some_and(|(name, domain)| {
        let is_label = |label: &str| !label.is_empty() && label.chars().all(is_of_domain);
        !name.is_empty() && name.chars().all(is_of_name) && domain.split('.').all(is_label)
    })
}

fn is_of_name(c: char) -> bool {
    match c {
        '"' | '(' | ')' | ',' | ':' | ';' | '<' | '>' | '@' | '[' | '\\' | ']' => false,
        '!'..='~' => true,
        '\u{ab}' | '\u{bb}' | '\u{201c}'..='\u{201f}' => false,
        _ => !c.is_control() && !is_blank(c),
    }
}

fn is_of_domain(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_alphanumeric() || matches!(c, '-' | '_'),
        false => is_of_name(c) && !is_apostrophe(c),
    }
}

/// At `gmail.com`, drops dots in the name and anything from a `+` on. A mark that stood after a dot may then follow a
/// letter, so the rest is normalised once more.
pub(super) fn gmail(value: Cow<'_, str>) -> Cow<'_, str> {
    without_dots(value, &["gmail.com"])
}

/// Does the same at any of these domains.
pub(super) fn without_dots<'a>(value: Cow<'a, str>, domains: &[&str]) -> Cow<'a, str> {
    let Some((name, domain)) = value.split_once('@') else { return value };
    if !domains.contains(&domain) || !name.contains(['.', '+']) {
        return value;
    }
    let name = name.split('+').next().unwrap_or_default().replace('.', "");
    Cow::Owned(plain(text::trim(&format!("{name}@{domain}"))).into_owned())
}
