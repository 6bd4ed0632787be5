//! Mail addresses, by the rules that UID2 publishes for them.

use std::borrow::Cow;

use memchr::{memchr, memrchr};

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
    let bytes = value.as_bytes();
    let is_address = memchr(b'@', bytes)
        .is_some_and(|at| at > 0 && at + 1 < bytes.len() && memrchr(b'@', bytes) == Some(at));
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
