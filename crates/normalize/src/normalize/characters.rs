//! Classes of characters that all profiles share: the ends of a value, apostrophes, digits and signs.
//!
//! Programs write one mark in several ways, by their locale and their typography. A class has one definition here,
//! which all profiles share. The lists are part of the rules and do not depend on a version of Unicode.

use std::borrow::Cow;

/// Ranges of invisible characters, in order: Unicode's Default_Ignorable_Code_Point, which includes all marks that
/// order text from right to left.
const IGNORABLE: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// The zeros of the decimal digits in the Basic Multilingual Plane besides ASCII's, in order. Nine digits follow each.
const ZEROS: [char; 36] = [
    '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}',
    '\u{be6}', '\u{c66}', '\u{ce6}', '\u{d66}', '\u{de6}', '\u{e50}', '\u{ed0}', '\u{f20}',
    '\u{1040}', '\u{1090}', '\u{17e0}', '\u{1810}', '\u{1946}', '\u{19d0}', '\u{1a80}', '\u{1a90}',
    '\u{1b50}', '\u{1bb0}', '\u{1c40}', '\u{1c50}', '\u{a620}', '\u{a8d0}', '\u{a900}', '\u{a9d0}',
    '\u{a9f0}', '\u{aa50}', '\u{abf0}', '\u{ff10}',
];

/// Whether a character is invisible.
pub fn is_ignorable(c: char) -> bool {
    let place = IGNORABLE.partition_point(|(first, _)| *first <= c);
    place.checked_sub(1).is_some_and(|before| c <= IGNORABLE[before].1)
}

/// Whether a character at an end of a value does not belong to it: white space or an invisible character.
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_ignorable(c)
}

/// Returns the value without blank ends.
pub(super) fn bare(value: &str) -> &str {
    // The first and last bytes of most values show that they are bare.
    let is_plain = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    if is_plain(value.as_bytes().first()) && is_plain(value.as_bytes().last()) {
        return value;
    }
    value.trim_matches(is_blank)
}

/// Whether a character is used as an apostrophe, or looks like one.
pub(super) fn is_apostrophe(c: char) -> bool {
    matches!(
        c,
        '\'' | '`'
            | '\u{b4}'
            | '\u{2b9}'..='\u{2bf}'
            | '\u{2c8}'
            | '\u{2ca}'
            | '\u{2cb}'
            | '\u{2ee}'
            | '\u{55a}'
            | '\u{5f3}'
            | '\u{2018}'..='\u{201b}'
            | '\u{2032}'
            | '\u{2035}'
            | '\u{a78b}'
            | '\u{a78c}'
            | '\u{ff07}'
            | '\u{ff40}'
    )
}

/// Whether a character is used as a hyphen, a dash or a minus.
pub(super) fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}')
}

/// Replaces digits, dashes, spaces, apostrophes and full-width characters by those in ASCII. Other characters stay.
pub(super) fn typed(value: &str) -> Cow<'_, str> {
    match value.is_ascii() {
        true => Cow::Borrowed(value),
        false => Cow::Owned(value.chars().map(typed_character).collect()),
    }
}

fn typed_character(c: char) -> char {
    match c {
        '\0'..='\x7f' => c,
        _ if is_dash(c) => '-',
        _ if is_apostrophe(c) => '\'',
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            ' '
        }
        '\u{ff01}'..='\u{ff5e}' => char::from((u32::from(c) - 0xff01) as u8 + b'!'),
        '\u{fe62}' => '+',
        _ => digit(c).map_or(c, |digit| char::from(b'0' + digit)),
    }
}

/// Returns the value of a decimal digit of any script in the Basic Multilingual Plane.
fn digit(c: char) -> Option<u8> {
    let before = ZEROS.partition_point(|zero| *zero <= c).checked_sub(1)?;
    let value = u32::from(c) - u32::from(ZEROS[before]);
    (value < 10).then_some(value as u8)
}

/// Whether a value is a whole number with decimal places, such as `17.0`: the form in which programs write integers
/// that they read as floating-point numbers.
pub fn is_float(value: &str) -> bool {
    let number = value.strip_prefix(['+', '-']).unwrap_or(value);
    number.split_once('.').is_some_and(|(whole, places)| {
        let is_all = |text: &str, digits: &[u8]| {
            !text.is_empty() && text.bytes().all(|byte| digits.contains(&byte))
        };
        is_all(whole, b"0123456789") && is_all(places, b"0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_by_table() {
        for blank in [
            " ",
            "\t\r\n",
            "\u{a0}",
            "\u{3000}",
            "\u{85}",
            "\u{ad}",
            "\u{61c}",
            "\u{180e}",
            "\u{200b}",
            "\u{200d}",
            "\u{200e}",
            "\u{202a}",
            "\u{2028}",
            "\u{2060}",
            "\u{2069}",
            "\u{fe0f}",
            "\u{feff}",
            "\u{e0020}",
        ] {
            for value in
                [format!("{blank}a b"), format!("a b{blank}"), format!("{blank} a b {blank}")]
            {
                assert_eq!(bare(&value), "a b", "{value:?}");
            }
            assert_eq!(bare(blank), "");
        }
        for whole in ["a", "é", "\u{1}", "'", "\u{301}", "a\u{200b}b"] {
            assert_eq!(bare(whole), whole);
        }
    }

    #[test]
    fn marks_and_digits_by_table() {
        for (value, expected) in [
            ("12'3-4", "12'3-4"),
            ("\u{ff11}\u{ff12}\u{ff0e}\u{ff15}", "12.5"),
            ("\u{661}\u{6f2}\u{969}", "123"),
            ("\u{2212}5 \u{2013}5 \u{2011}5", "-5 -5 -5"),
            ("1\u{202f}2\u{a0}3\u{2009}4", "1 2 3 4"),
            ("1\u{2019}2\u{b4}3\u{2bc}4", "1'2'3'4"),
            ("\u{ff0b}49", "+49"),
            ("\u{66a}x\u{e9}", "\u{66a}x\u{e9}"),
        ] {
            assert_eq!(typed(value), expected, "{value:?}");
        }
        for c in '\0'..=char::MAX {
            assert!(digit(c).is_none() || c.is_numeric(), "{c:?}");
        }
        assert!(ZEROS.is_sorted() && IGNORABLE.is_sorted());
    }
}
