//! Text: Unicode's normal form, white space and case.

use std::borrow::Cow;

use unicase::UniCase;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::{Normalize, ProfileRule, characters::bare, rule::UNICODE};

impl Normalize {
    /// Unchanged bytes. Two encodings of the same accented letter differ.
    pub const NONE: Self = Self::Rule(&NONE);

    /// Unicode NFC, without white space and invisible characters at both ends.
    pub const TRIM: Self = Self::Rule(&TRIM);

    /// [`Normalize::TRIM`] in lower case, by Unicode's rules that depend on no language.
    pub const LOWER: Self = Self::Rule(&LOWER);

    /// [`Normalize::TRIM`] with one space for each run of white space, and Unicode's full case folding, which makes
    /// letters that differ only in case equal: `ß` equals `SS`.
    pub const TEXT: Self = Self::Rule(&TEXT);
}

pub(super) static NONE: ProfileRule =
    ProfileRule { name: "none", tables: None, is_mail: false, keeps_case: true, apply: unchanged };

pub(super) static TRIM: ProfileRule = ProfileRule {
    name: "trim",
    tables: Some(UNICODE),
    is_mail: false,
    keeps_case: true,
    apply: trim,
};

pub(super) static LOWER: ProfileRule = ProfileRule {
    name: "lower",
    tables: Some(UNICODE),
    is_mail: false,
    keeps_case: false,
    apply: lower,
};

pub(super) static TEXT: ProfileRule = ProfileRule {
    name: "text",
    tables: Some(UNICODE),
    is_mail: false,
    keeps_case: false,
    apply: text,
};

fn unchanged(value: &str) -> Cow<'_, str> {
    Cow::Borrowed(value)
}

/// Returns the value in NFC without blank ends.
pub(super) fn trim(value: &str) -> Cow<'_, str> {
    composed(bare(value))
}

/// Returns the value in NFC.
fn composed(value: &str) -> Cow<'_, str> {
    // Checking for ASCII first is much faster.
    match value.is_ascii() || is_nfc_quick(value.chars()) == IsNormalized::Yes {
        true => Cow::Borrowed(value),
        false => Cow::Owned(value.nfc().collect()),
    }
}

/// Does the same in lower case.
pub(super) fn lower(value: &str) -> Cow<'_, str> {
    let value = bare(value);
    if value.is_ascii() {
        // All bytes are looked at: without an early exit, the loop handles many at once.
        let has_capitals = value.bytes().fold(false, |any, b| any | b.is_ascii_uppercase());
        return match has_capitals {
            true => Cow::Owned(value.to_ascii_lowercase()),
            false => Cow::Borrowed(value),
        };
    }
    // The lower case of a composed letter may be decomposed.
    Cow::Owned(composed(value).to_lowercase().nfc().collect())
}

/// Folds case, and leaves one space for each run of white space.
fn text(value: &str) -> Cow<'_, str> {
    let value = bare(value);
    if value.is_ascii() {
        let plain = |b: u8| !b.is_ascii_uppercase() && (b == b' ' || !(9..14).contains(&b));
        if value.bytes().all(plain) && !value.contains("  ") {
            return Cow::Borrowed(value);
        }
        return Cow::Owned(collapse(&value.to_ascii_lowercase()));
    }
    // Folding before decomposing would leave some letters with an iota subscript different from themselves.
    let decomposed: String = value.nfd().collect();
    let folded: String = fold(&decomposed).nfc().collect();
    Cow::Owned(collapse(&folded))
}

/// Applies Unicode's full case folding, which depends on no language.
pub(super) fn fold(value: &str) -> String {
    UniCase::unicode(value).to_folded_case()
}

/// Replaces each run of white space by one space, and removes it at the ends.
pub(super) fn collapse(value: &str) -> String {
    let mut collapsed = String::with_capacity(value.len());
    for word in value.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}
