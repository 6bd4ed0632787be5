//! The American Soundex, as the National Archives describe it: `h` and `w` do not separate equal codes.

use super::latin::latin;

/// The code of each letter from `a` to `z`: 0 for vowels, and 9 for `h` and `w`.
const CODES: &[u8; 26] = b"01230129022455012623019202";

/// Returns the first letter and three digits.
pub(crate) fn soundex(value: &str) -> Option<String> {
    let letters = latin(value);
    let code = |letter: u8| CODES[usize::from(letter - b'a')];
    let (first, rest) = letters.as_bytes().split_first()?;
    let mut found = String::from(char::from(first.to_ascii_uppercase()));
    let mut before = code(*first);
    for digit in rest.iter().map(|letter| code(*letter)).filter(|digit| *digit != b'9') {
        if digit != b'0' && digit != before {
            found.push(char::from(digit));
        }
        before = digit;
        if found.len() == 4 {
            break;
        }
    }
    Some(format!("{found:0<4}"))
}
