//! The consonants whose sound depends most on their neighbours, in [`double_metaphone`](super::double_metaphone).

use super::double_metaphone::SpelledName;

impl SpelledName<'_> {
    pub(super) fn sound_of_c(&mut self, at: usize) -> usize {
        if self.is_germanic_ach(at) {
            self.say("K"); // as in Bacher
            return 2;
        }
        if at == 0 && self.has(0, &["CAESAR"]) {
            self.say("S");
            return 2;
        }
        if self.has(at, &["CH"]) {
            self.sound_of_ch(at);
            return 2;
        }
        if self.has(at, &["CZ"]) && !self.has_before(at, 2, &["WICZ"]) {
            self.say("S"); // as in Czerny
            return 2;
        }
        if self.has(at + 1, &["CIA"]) {
            self.say("X"); // as in focaccia
            return 3;
        }
        if self.has(at, &["CC"]) && !(at == 1 && self.letter(0) == b'M') {
            return self.sound_of_cc(at);
        }
        if self.has(at, &["CK", "CG", "CQ"]) {
            self.say("K");
            return 2;
        }
        if self.has(at, &["CI", "CE", "CY"]) {
            self.say("S");
            return 2;
        }
        self.say("K");
        let is_double = self.has(at + 1, &["C", "K", "Q"]) && !self.has(at + 1, &["CE", "CI"]);
        if is_double { 2 } else { 1 }
    }

    /// Whether a `C` is in `ACH` after a consonant, as in German names.
    fn is_germanic_ach(&self, at: usize) -> bool {
        let after = self.letter(at + 2);
        at > 1
            && !self.is_vowel(at - 2)
            && self.has(at - 1, &["ACH"])
            && after != b'I'
            && (after != b'E' || self.has(at - 2, &["BACHER", "MACHER"]))
    }

    fn sound_of_ch(&mut self, at: usize) {
        const GREEK: [&str; 6] = ["HARAC", "HARIS", "HOR", "HYM", "HIA", "HEM"];
        const HARD: [&str; 8] = ["L", "R", "N", "M", "B", "H", "F", "V"];
        let is_greek = at == 0 && self.has(1, &GREEK) && !self.has(0, &["CHORE"]);
        let follows = at == 0 || self.has(at - 1, &["A", "O", "U", "E"]);
        let precedes = self.has(at + 2, &HARD) || matches!(self.letter(at + 2), b'W' | b' ');
        let is_germanic = self.has(0, &["SCH"])
            || self.has_before(at, 2, &["ORCHES", "ARCHIT", "ORCHID"])
            || self.has(at + 2, &["T", "S"])
            || follows && precedes;
        let is_italian = self.has(at, &["CHIA"]) || at > 0 && self.has(at, &["CHAE"]);
        let is_hard = is_italian || is_greek || is_germanic || at > 0 && self.has(0, &["MC"]);
        self.say(if is_hard { "K" } else { "X" });
    }

    fn sound_of_cc(&mut self, at: usize) -> usize {
        if !self.has(at + 2, &["I", "E", "H"]) || self.has(at + 2, &["HU"]) {
            self.say("K");
            return 2;
        }
        let is_latin =
            at == 1 && self.letter(0) == b'A' || self.has_before(at, 1, &["UCCEE", "UCCES"]);
        self.say(if is_latin { "KS" } else { "X" }); // as in accident, or in Bacci
        3
    }

    pub(super) fn sound_of_g(&mut self, at: usize) -> usize {
        let next = self.letter(at + 1);
        if next == b'H' {
            self.sound_of_gh(at);
            return 2;
        }
        if next == b'N' {
            let is_hard = at == 1 && self.is_vowel(0) || self.has(at + 2, &["EY"]);
            self.say(if is_hard || self.is_slavo_germanic { "KN" } else { "N" });
            return 2;
        }
        if self.has(at + 1, &["LI"]) && !self.is_slavo_germanic {
            self.say("KL"); // as in Tagliaro
            return 2;
        }
        const BEGINNINGS: [&str; 12] =
            ["Y", "ES", "EP", "EB", "EL", "EY", "IB", "IL", "IN", "IE", "EI", "ER"];
        if at == 0 && self.has(1, &BEGINNINGS) {
            self.say("K");
            return 2;
        }
        let is_hard_er = self.has(at + 1, &["ER", "Y"])
            && !self.has(0, &["DANGER", "RANGER", "MANGER"])
            && !self.has_before(at, 1, &["E", "I"])
            && !self.has_before(at, 1, &["RGY", "OGY"]);
        if is_hard_er {
            self.say("K");
            return 2;
        }
        if self.has(at + 1, &["E", "I", "Y"]) || self.has_before(at, 1, &["AGGI", "OGGI"]) {
            let is_hard = self.has(0, &["SCH"]) || self.has(at + 1, &["ET"]);
            self.say(if is_hard { "K" } else { "J" });
            return 2;
        }
        self.say_double(at, "K", b"G")
    }

    fn sound_of_gh(&mut self, at: usize) {
        if at > 0 && !self.is_vowel(at - 1) {
            return self.say("K");
        }
        if at == 0 {
            return self.say(if self.letter(2) == b'I' { "J" } else { "K" });
        }
        // Parker's rule, as in Hugh, Bough and Broughton.
        let is_silent = self.has_before(at, 2, &["B", "H", "D"])
            || self.has_before(at, 3, &["B", "H", "D"])
            || self.has_before(at, 4, &["B", "H"]);
        if is_silent {
            return;
        }
        let before = self.letter_before(at, 1);
        if before == Some(b'U') && self.has_before(at, 3, &["C", "G", "L", "R", "T"]) {
            self.say("F"); // as in laugh
        } else if before != Some(b'I') {
            self.say("K");
        }
    }

    pub(super) fn sound_of_s(&mut self, at: usize) -> usize {
        if self.has_before(at, 1, &["ISL", "YSL"]) {
            return 1; // silent, as in island
        }
        if at == 0 && self.has(0, &["SUGAR"]) {
            self.say("X");
            return 1;
        }
        if self.has(at, &["SH"]) {
            let is_germanic = self.has(at + 1, &["HEIM", "HOEK", "HOLM", "HOLZ"]);
            self.say(if is_germanic { "S" } else { "X" });
            return 2;
        }
        if self.has(at, &["SIO", "SIA"]) {
            self.say("S");
            return 3;
        }
        if at == 0 && self.has(1, &["M", "N", "L", "W"]) || self.letter(at + 1) == b'Z' {
            return self.say_double(at, "S", b"Z"); // as in Smith, or in Szabo
        }
        if self.has(at, &["SC"]) {
            self.sound_of_sc(at);
            return 3;
        }
        let is_french = self.is_last(at) && self.has_before(at, 2, &["AI", "OI"]);
        self.say_double(at, if is_french { "" } else { "S" }, b"SZ")
    }

    fn sound_of_sc(&mut self, at: usize) {
        let is_dutch = self.has(at + 3, &["OO", "UY", "ED", "EM"]);
        self.say(match self.letter(at + 2) {
            b'H' if is_dutch => "SK", // as in school
            b'H' => "X",
            b'I' | b'E' | b'Y' => "S",
            _ => "SK",
        });
    }

    pub(super) fn sound_of_t(&mut self, at: usize) -> usize {
        if self.has(at, &["TION", "TIA", "TCH"]) {
            self.say("X");
            return 3;
        }
        if self.has(at, &["TH", "TTH"]) {
            let is_hard = self.has(at + 2, &["OM", "AM"]) || self.has(0, &["SCH"]);
            self.say(if is_hard { "T" } else { "0" });
            return 2;
        }
        self.say_double(at, "T", b"TD")
    }

    pub(super) fn sound_of_w(&mut self, at: usize) -> usize {
        if self.has(at, &["WR"]) {
            self.say("R");
            return 2;
        }
        if at == 0 && (self.is_vowel(1) || self.has(0, &["WH"])) {
            self.say("A");
        }
        let is_final = self.is_last(at) && self.follows_vowel(at);
        let is_polish = self.has_before(at, 1, &["EWSKI", "EWSKY", "OWSKI", "OWSKY"]);
        let is_silent = is_final || is_polish || self.has(0, &["SCH"]);
        if !is_silent && self.has(at, &["WICZ", "WITZ"]) {
            self.say("TS");
            return 4;
        }
        1
    }
}
