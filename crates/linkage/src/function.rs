//! Functions of rules, under their names in DuckDB where it has them.

use std::fmt;

use crate::{derive, field::FieldKind};

/// A function that a rule may apply to fields.
pub struct KeyFunction {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, as in a synopsis.
    pub arguments: &'static str,
    /// Its result, in words.
    pub meaning: &'static str,
    /// The version of its rule. A function that changes gets a new one.
    version: u32,
    /// The derivation.
    pub(crate) derivation: Derivation,
    /// The kind of its result.
    pub(crate) gives: FieldKind,
}

/// A derivation of one value, of one value and a number, or of several values.
#[derive(Clone, Copy)]
pub(crate) enum Derivation {
    /// Of a text or a name.
    Text(fn(&str) -> Option<String>),
    /// Of a date.
    Date(fn(&str) -> Option<String>),
    /// Of a text or a name, and a number of characters.
    Counted(fn(&str, usize) -> Option<String>),
    /// Of texts or names.
    Texts(fn(&[&str]) -> Option<String>),
}

use Derivation::{Counted, Date, Text, Texts};

/// Every function.
pub static FUNCTIONS: [KeyFunction; 13] = [
    text("left", "x, n", "the first n characters", Counted(derive::left)),
    text("right", "x, n", "the last n characters", Counted(derive::right)),
    text("letters", "x", "the text without spaces", Text(derive::letters)),
    text("sorted_words", "x, ...", "the words of all fields, sorted", Texts(derive::sorted_words)),
    text("nickname", "x", "the formal name of an English nickname", Text(derive::nickname)),
    text("soundex", "x", "the sound of an English name", Text(derive::soundex)),
    text("double_metaphone", "x", "the sound of a name", Text(derive::double_metaphone)),
    text("cologne", "x", "the sound of a German name", Text(derive::cologne)),
    text("year", "date", "the year", Date(derive::year)),
    text("year_month", "date", "the date without its day", Date(derive::year_month)),
    text("year_day", "date", "the date without its month", Date(derive::year_day)),
    text("month_day", "date", "the date without its year", Date(derive::month_day)),
    KeyFunction {
        gives: FieldKind::Date,
        ..text(
            "swap_day_month",
            "date",
            "the date, equal if day and month are exchanged",
            Date(derive::swap_day_month),
        )
    },
];

const fn text(
    name: &'static str,
    arguments: &'static str,
    meaning: &'static str,
    derivation: Derivation,
) -> KeyFunction {
    KeyFunction { name, arguments, meaning, version: 1, derivation, gives: FieldKind::Text }
}

/// Names of functions elsewhere, each with the advice.
const ELSEWHERE: [(&str, &str); 39] = [
    ("substr", "write left(x, n)"),
    ("substring", "write left(x, n)"),
    ("prefix", "write left(x, n)"),
    ("first_letter", "write left(x, 1)"),
    ("initial", "write left(x, 1)"),
    ("suffix", "write right(x, n)"),
    ("last4", "write right(x, 4)"),
    ("dmetaphone", "write double_metaphone(x)"),
    ("metaphone", "write double_metaphone(x)"),
    ("nysiis", "write soundex(x) or double_metaphone(x)"),
    ("daitch_mokotoff", "write soundex(x) or double_metaphone(x)"),
    ("cologne_phonetics", "write cologne(x)"),
    ("koelner_phonetik", "write cologne(x)"),
    ("kolner_phonetik", "write cologne(x)"),
    ("nick", "write nickname(x)"),
    ("nicknames", "write nickname(x)"),
    ("formal_name", "write nickname(x)"),
    ("list_sort", "write sorted_words(x, ...)"),
    ("concat", "write parts with commas between them, or sorted_words(x, ...)"),
    ("concat_ws", "write parts with commas between them, or sorted_words(x, ...)"),
    ("month", "write month_day(x) or year_month(x)"),
    ("day", "write month_day(x) or year_day(x)"),
    ("dayofmonth", "write month_day(x) or year_day(x)"),
    ("date_part", "write year(x), year_month(x), year_day(x) or month_day(x)"),
    ("date_trunc", "write year(x) or year_month(x)"),
    ("datepart", "write year(x), year_month(x), year_day(x) or month_day(x)"),
    ("extract", "write year(x), year_month(x), year_day(x) or month_day(x)"),
    ("strftime", "write year(x), year_month(x), year_day(x) or month_day(x)"),
    ("strptime", NORMALISED),
    ("lower", NORMALISED),
    ("upper", NORMALISED),
    ("trim", NORMALISED),
    ("unaccent", NORMALISED),
    ("strip_accents", NORMALISED),
    ("replace", "write letters(x) to leave out spaces; other characters are the field's profile's"),
    ("levenshtein", DISTANCE),
    ("jaro_winkler_similarity", DISTANCE),
    ("jaccard", DISTANCE),
    ("damerau_levenshtein", DISTANCE),
];

const NORMALISED: &str = "the profile of the field normalises its values, as in first=Vorname:name";
const DISTANCE: &str = "rows match by equal parts, not by distances: use soundex(x), double_metaphone(x) or left(x, n)";

impl KeyFunction {
    /// Returns the function with this name.
    pub fn of_name(name: &str) -> Option<&'static Self> {
        FUNCTIONS.iter().find(|function| function.name == name)
    }

    /// Returns advice on a name that no function has.
    pub(crate) fn advice(name: &str) -> String {
        if let Some((_, advice)) = ELSEWHERE.iter().find(|(other, _)| *other == name) {
            return format!("`{name}` is not a function here: {advice}");
        }
        let names = FUNCTIONS.iter().map(|function| function.name);
        match crate::near::nearest(name, names.clone()) {
            Some(near) => format!("`{name}` is not a function: did you mean `{near}`?"),
            None => {
                let all: Vec<_> = names.collect();
                format!("`{name}` is not a function: there are {}", all.join(", "))
            }
        }
    }

    /// Whether values of this kind are arguments.
    pub(crate) fn takes(&self, kind: FieldKind) -> bool {
        match self.derivation {
            Date(_) => kind == FieldKind::Date,
            _ => matches!(kind, FieldKind::Name | FieldKind::Text),
        }
    }

    /// Whether it counts characters.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.derivation, Counted(_))
    }

    /// Returns the name with the versions of the rule and of its table.
    pub(crate) fn versioned(&self) -> String {
        let Self { name, version, .. } = self;
        match *name {
            "nickname" => format!("{name}@{version}+sha256:{}", derive::nickname_table_sha256()),
            _ => format!("{name}@{version}"),
        }
    }

    /// Derives a value that is not empty; `None` if there is nothing to derive.
    pub(crate) fn apply(&self, values: &[&str], count: usize) -> Option<String> {
        match (self.derivation, values) {
            (Text(derive) | Date(derive), [value]) => derive(value),
            (Counted(derive), [value]) => derive(value, count),
            (Texts(derive), values) => derive(values),
            _ => None, // the parser counts arguments
        }
    }
}

impl fmt::Debug for KeyFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for KeyFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for KeyFunction {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_elsewhere_are_no_functions() {
        for (name, advice) in ELSEWHERE {
            assert_eq!(KeyFunction::of_name(name), None);
            assert!(KeyFunction::advice(name).ends_with(advice));
        }
        assert!(KeyFunction::advice("soudex").contains("did you mean `soundex`?"));
        assert!(KeyFunction::advice("sin").contains("there are left, right"));
    }

    /// No derivation fails on any text, or returns an empty one; and each is deterministic.
    #[test]
    fn every_text_is_accepted() {
        use rand::{RngExt, SeedableRng, rngs::StdRng};
        let mut rng = StdRng::seed_from_u64(1);
        let alphabets = [
            "abcdefghijklmnopqrstuvwxyz",
            "shcz gnjwx",
            "0123456789-",
            "ßøæłé Ёл李\u{301}\u{0}\u{1f600}",
        ];
        let alphabets = alphabets.map(|letters| letters.chars().collect::<Vec<_>>());
        for round in 0..20_000 {
            let letters = &alphabets[round % 4];
            let length = rng.random_range(0..12);
            let text: String =
                (0..length).map(|_| letters[rng.random_range(0..letters.len())]).collect();
            for function in &FUNCTIONS {
                let found = function.apply(&[&text], 3);
                assert_ne!(found.as_deref(), Some(""), "{function:?} {text:?}");
                let again = found.as_deref().map(|found| function.apply(&[found], 3));
                let repeats =
                    ["left", "right", "letters", "sorted_words", "nickname", "swap_day_month"];
                if repeats.contains(&function.name) && found.is_some() {
                    assert_eq!(again, Some(found), "{function:?} {text:?}");
                }
            }
        }
    }
}
