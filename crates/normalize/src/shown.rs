//! Text that somebody else wrote: whether it is plain, and how to show it.
//!
//! A terminal obeys control characters. Format characters reorder their neighbours or are invisible, and separators end
//! a line or look like a space. So a name with such a character is refused on arrival, and any other text is shown
//! without it.

use std::borrow::Cow;

/// Ranges of format characters and of separators other than the space (general categories Cf, Zl, Zp and Zs), in order.
const UNSEEN: [(char, char); 24] = [
    ('\u{a0}', '\u{a0}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{2000}', '\u{200f}'),
    ('\u{2028}', '\u{202f}'),
    ('\u{205f}', '\u{2064}'),
    ('\u{2066}', '\u{206f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

/// Whether a character is not a control or format character, nor a separator other than the space.
fn is_plain_character(c: char) -> bool {
    let place = UNSEEN.partition_point(|(first, _)| *first <= c);
    let is_unseen = place.checked_sub(1).is_some_and(|before| c <= UNSEEN[before].1);
    !c.is_control() && !is_unseen
}

/// Whether all characters of a text look like what they are: no control or format character, and no separator but the
/// space.
pub fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) || text.chars().all(is_plain_character)
}

/// Returns a text as it is shown: with U+FFFD in place of each character that is not plain.
pub fn shown(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let seen = |c| if is_plain_character(c) { c } else { char::REPLACEMENT_CHARACTER };
    Cow::Owned(text.chars().map(seen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `regex` has the Unicode tables.
    #[cfg(feature = "phone")]
    #[test]
    fn every_character_is_judged_by_its_category() {
        let unseen = regex::Regex::new(r"^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}--\x20]$").unwrap();
        let mut buffer = [0; 4];
        for c in '\0'..=char::MAX {
            let text = &*c.encode_utf8(&mut buffer);
            assert_eq!(is_plain(text), !unseen.is_match(text), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn plain_text_is_shown_as_it_is() {
        for text in ["", "last, first", "Größe", "e\u{301}mail", "名前", "=1+1", "<b>"] {
            assert!(is_plain(text) && matches!(shown(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn characters_that_act_on_a_screen_are_replaced() {
        for (text, seen) in [
            ("a\u{1b}[2Kb", "a\u{fffd}[2Kb"),
            ("a\nb\tc\rd", "a\u{fffd}b\u{fffd}c\u{fffd}d"),
            ("\u{202e}cba\u{2066}", "\u{fffd}cba\u{fffd}"),
            ("a\u{2028}b\u{2029}c\u{85}d", "a\u{fffd}b\u{fffd}c\u{fffd}d"),
            ("ad\u{200b}min\u{ad}\u{e0041}", "ad\u{fffd}min\u{fffd}\u{fffd}"),
            ("a\u{a0}b\u{3000}c", "a\u{fffd}b\u{fffd}c"),
        ] {
            assert!(!is_plain(text), "{text:?}");
            assert_eq!(shown(text), seen);
        }
    }
}
