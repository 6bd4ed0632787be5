//! Names of people and places, which several systems write with and without accents, capitals and hyphens.

use std::{borrow::Cow, iter};

use unicode_normalization::{
    UnicodeNormalization,
    char::{canonical_combining_class, is_combining_mark},
};

use super::{
    Normalize, ProfileRule,
    characters::{is_apostrophe, is_ignorable},
    rule::UNICODE,
    text::{collapse, fold},
};

impl Normalize {
    /// Names of people and places, without case, accents and punctuation.
    pub const NAME: Self = Self::Rule(&NAME);
}

pub(super) static NAME: ProfileRule = ProfileRule {
    name: "name",
    tables: Some(UNICODE),
    is_mail: false,
    keeps_case: false,
    apply: name,
};

/// Removes case, accents and punctuation, and leaves one space between words. Letters in their own right, such as `ø`
/// and `ł`, stay.
fn name(value: &str) -> Cow<'_, str> {
    if value.is_ascii() {
        let kept = value.bytes().filter(|b| b.is_ascii_alphanumeric() || is_space(*b));
        let kept: String = kept.map(|b| char::from(b.to_ascii_lowercase())).collect();
        return Cow::Owned(collapse(&kept));
    }
    let plain: String = value.chars().filter(|c| !is_spacing_mark(*c)).nfkd().collect();
    let folded: String = fold(&plain).nfkd().filter(|c| is_part(*c)).nfc().collect();
    Cow::Owned(collapse(&folded))
}

fn is_space(byte: u8) -> bool {
    char::from(byte).is_whitespace()
}

/// Whether a character is a free-standing accent. Decomposed, it would be a space with a mark on it, and so end a word.
fn is_spacing_mark(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && iter::once(c).nfkd().next() == Some(' ')
}

/// Whether a character of a decomposed name counts.
fn is_part(c: char) -> bool {
    if is_ignorable(c) || is_apostrophe(c) {
        return false;
    }
    if is_combining_mark(c) { !is_accent(c) } else { c.is_alphanumeric() || c.is_whitespace() }
}

/// Whether a mark may be left out: strokes through a letter, the points of Hebrew and Arabic, any accent above or below
/// a letter. The vowels of Indic scripts and the voicing of kana are marks too, but without them names would become
/// different names.
fn is_accent(mark: char) -> bool {
    matches!(canonical_combining_class(mark), 1 | 10..=36 | 200..)
}
