//! Latin letters without accents, which phonetic codes are made of.

use unicode_normalization::UnicodeNormalization;

/// Letters of Latin alphabets that Unicode does not decompose, with the usual spelling in ASCII.
const SPELLED: [(char, &str); 14] = [
    ('ß', "ss"),
    ('æ', "ae"),
    ('œ', "oe"),
    ('ø', "o"),
    ('ł', "l"),
    ('đ', "d"),
    ('ð', "d"),
    ('þ', "th"),
    ('ħ', "h"),
    ('ı', "i"),
    ('ŋ', "n"),
    ('ŧ', "t"),
    ('ĸ', "k"),
    ('ſ', "s"),
];

/// Returns the letters from `a` to `z` of a text, without case and accents. Everything else is left out.
pub(super) fn latin(value: &str) -> String {
    if value.is_ascii() {
        let letters = value.bytes().filter(u8::is_ascii_alphabetic);
        return letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    }
    let mut found = String::with_capacity(value.len());
    for c in value.nfkd().flat_map(char::to_lowercase) {
        if c.is_ascii_alphabetic() {
            found.push(c);
        } else if let Some((_, spelling)) = SPELLED.iter().find(|(letter, _)| *letter == c) {
            found.push_str(spelling);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_other_characters_go() {
        for (value, expected) in [
            ("van der Berg-2", "vanderberg"),
            ("Müller", "muller"),
            ("STRAẞE", "strasse"),
            ("Ørsted", "orsted"),
            ("Łukasz Ðorđe Þór", "lukaszdordethor"),
            ("Æsop ﬁ Ĳ", "aesopfiij"),
            ("İstanbul ılık", "istanbulilik"),
            ("Ｏ’Ｎｅｉｌｌ", "oneill"),
            ("Ёлкин 李", ""),
            ("", ""),
        ] {
            assert_eq!(latin(value), expected, "{value}");
        }
    }
}
