//! Mail addresses, by the rules that UID2 publishes for them.

use std::borrow::Cow;

use super::{Normalize, text};

/// `email` has the rule for `gmail.com`, as it says with `email:gmail`.
pub(super) fn parse(rule: Option<&str>) -> Result<Normalize, String> {
    match rule {
        None | Some("gmail") => Ok(Normalize::Email),
        Some("plain") => Ok(Normalize::PlainEmail),
        Some(_) => Err("possible values: email, email:gmail (the same), email:plain".to_owned()),
    }
}

/// An address in lower case as it is; nothing where it has no name and no domain around one `@`.
pub(super) fn plain(value: Cow<'_, str>) -> Cow<'_, str> {
    let is_address = value.bytes().filter(|byte| *byte == b'@').count() == 1
        && !value.starts_with('@')
        && !value.ends_with('@');
    if is_address { value } else { Cow::Borrowed("") }
}

/// At `gmail.com`, drops dots in the name and anything from a `+` on. What is left may begin with white space, or have a mark
/// behind a letter where a dot was between them, so it is normalised once more.
pub(super) fn gmail(value: Cow<'_, str>) -> Cow<'_, str> {
    let Some(name) = value.strip_suffix("@gmail.com") else { return value };
    if !name.contains(['.', '+']) {
        return value;
    }
    let name = name.split('+').next().unwrap_or_default().replace('.', "");
    let left = format!("{name}@gmail.com");
    Cow::Owned(plain(text::lower(&left)).into_owned())
}
