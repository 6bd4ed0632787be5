//! Postcodes, by the patterns of their countries.

use std::fmt;

use super::{
    Normalize,
    characters::{is_ignorable, typed},
};

/// A country whose postcodes are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Country(&'static Pattern);

/// The form of a country's postcodes.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    /// ISO 3166-1 alpha-2.
    country: &'static str,
    /// `9` is a digit, `1` a digit other than 0, `A` a letter, `B` a letter that may end a British postcode, `C` one
    /// that may be inside a Canadian postcode and `K` one that may begin it. Other characters are themselves, as are
    /// small letters in capitals.
    forms: &'static [&'static str],
    /// The number of characters of the form that count; the rest is dropped.
    counted: usize,
    /// Letters that may stand before the code on an envelope, besides the country's two letters. They are dropped if
    /// all forms begin with a digit.
    marks: &'static [&'static str],
}

const fn pattern(country: &'static str, forms: &'static [&'static str]) -> Pattern {
    Pattern { country, forms, counted: usize::MAX, marks: &[] }
}

const fn marked(
    country: &'static str,
    forms: &'static [&'static str],
    marks: &'static [&'static str],
) -> Pattern {
    Pattern { country, forms, counted: usize::MAX, marks }
}

/// Every country, in order.
static COUNTRIES: [Pattern; 20] = [
    marked("AT", &["1999"], &["A"]),
    pattern("AU", &["9999"]),
    marked("BE", &["1999"], &["B"]),
    pattern("CA", &["K9C9C9"]),
    pattern("CH", &["1999"]),
    pattern("CZ", &["19999"]),
    marked("DE", &["99999"], &["D"]),
    pattern("DK", &["9999"]),
    marked("ES", &["99999"], &["E"]),
    marked("FI", &["99999"], &["FIN"]),
    marked("FR", &["99999"], &["F"]),
    pattern("GB", &["A99BB", "A999BB", "AA99BB", "AA999BB", "A9A9BB", "AA9A9BB", "GIR0aa"]),
    marked("IT", &["99999"], &["I"]),
    marked("LU", &["1999"], &["L"]),
    pattern("NL", &["1999AA"]),
    marked("NO", &["9999"], &["N"]),
    pattern("PL", &["99999"]),
    marked("PT", &["1999999"], &["P"]),
    marked("SE", &["19999"], &["S"]),
    // The four digits after a hyphen name a delivery point, and many tables lack them.
    Pattern { country: "US", forms: &["99999", "999999999"], counted: 5, marks: &["USA"] },
];

pub(super) fn parse(country: Option<&str>) -> Result<Normalize, String> {
    let wanted = country.unwrap_or_default();
    let found = COUNTRIES.iter().find(|pattern| pattern.country == wanted);
    found.map(|pattern| Normalize::Postcode(Country(pattern))).ok_or_else(|| {
        let known: Vec<_> = COUNTRIES.iter().map(|pattern| pattern.country).collect();
        let said = match country {
            Some(country) => format!("no postcodes of `{}` are known", country.escape_debug()),
            None => "name the country of the postcodes, as in postcode:GB".to_owned(),
        };
        format!("{said}; countries: {}", known.join(", "))
    })
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.country)
    }
}

/// Returns the postcode in upper case without spaces, hyphens and the country before it; `None` if the country has no
/// such code.
pub(super) fn postcode(value: &str, country: Country) -> Option<String> {
    let Pattern { country, forms, counted, marks } = country.0;
    let counts = |c: &char| !c.is_whitespace() && *c != '-' && !is_ignorable(*c);
    let typed = typed(value);
    let code: String = typed.chars().filter(counts).map(|c| c.to_ascii_uppercase()).collect();
    let begins_with_digit = forms.iter().all(|form| form.starts_with(['1', '9']));
    let place = code.find(|c: char| c.is_ascii_digit()).filter(|_| begins_with_digit);
    let (mark, mut code) = code.split_at(place.unwrap_or(0));
    if !mark.is_empty() && mark != *country && !marks.contains(&mark) {
        return None;
    }
    forms.iter().find(|form| fits(code.as_bytes(), form.as_bytes()))?;
    code = &code[..code.len().min(*counted)];
    Some(code.to_owned())
}

fn fits(code: &[u8], form: &[u8]) -> bool {
    let fits = |(byte, class): (&u8, &u8)| match class {
        b'9' => byte.is_ascii_digit(),
        b'1' => (b'1'..=b'9').contains(byte),
        b'A' => byte.is_ascii_uppercase(),
        b'B' => byte.is_ascii_uppercase() && !b"CIKMOV".contains(byte),
        b'C' => byte.is_ascii_uppercase() && !b"DFIOQU".contains(byte),
        b'K' => byte.is_ascii_uppercase() && !b"DFIOQUWZ".contains(byte),
        other => *byte == other.to_ascii_uppercase(),
    };
    code.len() == form.len() && code.iter().zip(form).all(fits)
}

/// Returns all data that the rule uses, to compare it with an earlier version.
#[cfg(test)]
pub(super) fn described() -> impl Iterator<Item = String> {
    COUNTRIES.iter().map(|pattern| format!("{pattern:?}"))
}
