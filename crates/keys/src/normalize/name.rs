//! Names of people and places, which several systems write with and without accents, capitals and hyphens.

use std::borrow::Cow;

use unicode_normalization::{
    UnicodeNormalization,
    char::{canonical_combining_class, is_combining_mark},
};

use super::text::{collapse, fold};

/// Without case, accents and punctuation, and with one space between words. Letters that are letters of their own,
/// such as `ø` and `ł`, stay.
pub(super) fn name(value: &str) -> Cow<'_, str> {
    if value.is_ascii() {
        let kept = value.bytes().filter(|b| b.is_ascii_alphanumeric() || is_space(*b));
        let kept: String = kept.map(|b| char::from(b.to_ascii_lowercase())).collect();
        return Cow::Owned(collapse(&kept));
    }
    let plain: String = value.nfkd().collect();
    let folded: String = fold(&plain).nfkd().filter(|c| is_part(*c)).nfc().collect();
    Cow::Owned(collapse(&folded))
}

fn is_space(byte: u8) -> bool {
    char::from(byte).is_whitespace()
}

/// Whether a character of a decomposed name counts.
fn is_part(c: char) -> bool {
    if is_combining_mark(c) { !is_accent(c) } else { c.is_alphanumeric() || c.is_whitespace() }
}

/// Marks that may be left out: strokes through a letter, the points of Hebrew and Arabic, whatever stands above or
/// below a letter, and selectors of a glyph. The vowels of Indic scripts are marks too, and the voicing of
/// kana; without them names would be other names.
fn is_accent(mark: char) -> bool {
    matches!(canonical_combining_class(mark), 1 | 10..=36 | 200..)
        || matches!(mark, '\u{34f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}
