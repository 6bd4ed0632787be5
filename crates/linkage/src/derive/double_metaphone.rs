//! The Double Metaphone of Lawrence Philips (C/C++ Users Journal, June 2000): the primary code, of any length.
//!
//! The published program ends a code after four characters, and returns a second one for names of other languages. A
//! rule has one key a row, and longer codes keep more names distinct.

use super::latin::latin;

/// Returns the primary code of a word. A word without a sound, such as `h`, has none.
pub(crate) fn double_metaphone(value: &str) -> Option<String> {
    let letters = latin(value).to_ascii_uppercase();
    let mut word = SpelledName::new(&letters);
    let silent = ["GN", "KN", "PN", "WR", "PS"];
    let mut at = usize::from(word.has(0, &silent));
    if word.letter(0) == b'X' {
        word.say("S"); // as in Xavier
        at = 1;
    }
    while at < letters.len() {
        at += word.sound(at);
    }
    (!word.code.is_empty()).then_some(word.code)
}

/// A word, and the code of its letters so far.
pub(super) struct SpelledName<'a> {
    letters: &'a str,
    code: String,
    /// Whether the word seems to be of a Slavic or Germanic language.
    pub(super) is_slavo_germanic: bool,
}

impl<'a> SpelledName<'a> {
    fn new(letters: &'a str) -> Self {
        let is_slavo_germanic = ["W", "K", "CZ"].iter().any(|part| letters.contains(part));
        Self { letters, code: String::new(), is_slavo_germanic }
    }

    /// Returns the letter at a place; a space after the last.
    pub(super) fn letter(&self, at: usize) -> u8 {
        self.letters.as_bytes().get(at).copied().unwrap_or(b' ')
    }

    /// Returns the letter a number of places before another.
    pub(super) fn letter_before(&self, at: usize, places: usize) -> Option<u8> {
        at.checked_sub(places).map(|at| self.letter(at))
    }

    /// Whether one of these texts stands at a place.
    pub(super) fn has(&self, at: usize, texts: &[&str]) -> bool {
        let rest = self.letters.get(at..).unwrap_or_default();
        texts.iter().any(|text| rest.starts_with(text))
    }

    /// Whether one of these texts begins a number of places before another.
    pub(super) fn has_before(&self, at: usize, places: usize, texts: &[&str]) -> bool {
        at.checked_sub(places).is_some_and(|at| self.has(at, texts))
    }

    /// Whether a vowel stands at a place.
    pub(super) fn is_vowel(&self, at: usize) -> bool {
        matches!(self.letter(at), b'A' | b'E' | b'I' | b'O' | b'U' | b'Y')
    }

    /// Whether a vowel stands right before a place.
    pub(super) fn follows_vowel(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|at| self.is_vowel(at))
    }

    /// Whether this is the place of the last letter.
    pub(super) fn is_last(&self, at: usize) -> bool {
        at + 1 == self.letters.len()
    }

    /// Returns the number of letters.
    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    /// Adds sounds to the code.
    pub(super) fn say(&mut self, sounds: &str) {
        self.code.push_str(sounds);
    }

    /// Adds sounds, and returns the number of letters that they take: two if one of these follows the first.
    pub(super) fn say_double(&mut self, at: usize, sounds: &str, seconds: &[u8]) -> usize {
        self.say(sounds);
        if seconds.contains(&self.letter(at + 1)) { 2 } else { 1 }
    }

    /// Adds the sound of the letter at a place, and returns the number of letters that it takes.
    fn sound(&mut self, at: usize) -> usize {
        match self.letter(at) {
            b'A' | b'E' | b'I' | b'O' | b'U' | b'Y' => {
                if at == 0 {
                    self.say("A");
                }
                1
            }
            b'B' => self.say_double(at, "P", b"B"),
            b'C' => self.sound_of_c(at),
            b'D' => self.sound_of_d(at),
            b'F' => self.say_double(at, "F", b"F"),
            b'G' => self.sound_of_g(at),
            b'H' => self.sound_of_h(at),
            b'J' => self.sound_of_j(at),
            b'K' => self.say_double(at, "K", b"K"),
            b'L' => self.say_double(at, "L", b"L"),
            b'M' => self.sound_of_m(at),
            b'N' => self.say_double(at, "N", b"N"),
            b'P' if self.letter(at + 1) == b'H' => self.say_double(at, "F", b"H"),
            b'P' => self.say_double(at, "P", b"PB"),
            b'Q' => self.say_double(at, "K", b"Q"),
            b'R' => self.sound_of_r(at),
            b'S' => self.sound_of_s(at),
            b'T' => self.sound_of_t(at),
            b'V' => self.say_double(at, "F", b"V"),
            b'W' => self.sound_of_w(at),
            b'X' => self.sound_of_x(at),
            _ if self.letter(at + 1) == b'H' => self.say_double(at, "J", b"H"), // as in Zhao
            _ => self.say_double(at, "S", b"Z"),
        }
    }

    fn sound_of_d(&mut self, at: usize) -> usize {
        if self.has(at, &["DGI", "DGE", "DGY"]) {
            self.say("J"); // as in Edge
            return 3;
        }
        if self.has(at, &["DG"]) {
            return self.say_double(at, "TK", b"G"); // as in Edgar
        }
        self.say_double(at, "T", b"TD")
    }

    fn sound_of_h(&mut self, at: usize) -> usize {
        if (at == 0 || self.follows_vowel(at)) && self.is_vowel(at + 1) {
            self.say("H");
            return 2;
        }
        1
    }

    fn sound_of_j(&mut self, at: usize) -> usize {
        if self.has(at, &["JOSE"]) {
            self.say(if at == 0 && self.len() == 4 { "H" } else { "J" });
            return 1;
        }
        let before_a = matches!(self.letter(at + 1), b'A' | b'O');
        let is_spanish = self.follows_vowel(at) && !self.is_slavo_germanic && before_a;
        let is_silent = self.has(at + 1, &["L", "T", "K", "S", "N", "M", "B", "Z"])
            || self.has_before(at, 1, &["S", "K", "L"]);
        if at == 0 || is_spanish || self.is_last(at) || !is_silent {
            self.say("J");
        }
        if self.letter(at + 1) == b'J' { 2 } else { 1 }
    }

    fn sound_of_m(&mut self, at: usize) -> usize {
        let is_thumb =
            self.has_before(at, 1, &["UMB"]) && (self.is_last(at + 1) || self.has(at + 2, &["ER"]));
        let step = self.say_double(at, "M", b"M");
        if is_thumb { 2 } else { step }
    }

    fn sound_of_r(&mut self, at: usize) -> usize {
        let is_french = self.is_last(at)
            && !self.is_slavo_germanic
            && self.has_before(at, 2, &["IE"])
            && !self.has_before(at, 4, &["ME", "MA"]);
        self.say_double(at, if is_french { "" } else { "R" }, b"R")
    }

    fn sound_of_x(&mut self, at: usize) -> usize {
        let is_french = self.is_last(at)
            && (self.has_before(at, 3, &["IAU", "EAU"]) || self.has_before(at, 2, &["AU", "OU"]));
        self.say_double(at, if is_french { "" } else { "KS" }, b"CX")
    }
}
