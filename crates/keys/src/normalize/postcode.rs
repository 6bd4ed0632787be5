//! Postcodes, by the patterns of their countries.

use std::fmt;

use super::Normalize;

/// A country whose postcodes are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Country(&'static Pattern);

/// What a country's postcodes look like.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    /// ISO 3166-1 alpha-2.
    country: &'static str,
    /// `9` is a digit, `1` a digit other than 0, `A` a letter, `B` a letter that may end a British postcode, `C` one
    /// that a Canadian postcode may have inside and `K` one that it may begin with. Others are themselves, as are small
    /// letters in capitals.
    forms: &'static [&'static str],
    /// How many characters of the form count; what follows is dropped.
    counted: usize,
}

const fn pattern(country: &'static str, forms: &'static [&'static str]) -> Pattern {
    Pattern { country, forms, counted: usize::MAX }
}

/// Every country, in order.
static COUNTRIES: [Pattern; 20] = [
    pattern("AT", &["1999"]),
    pattern("AU", &["9999"]),
    pattern("BE", &["1999"]),
    pattern("CA", &["K9C9C9"]),
    pattern("CH", &["1999"]),
    pattern("CZ", &["19999"]),
    pattern("DE", &["99999"]),
    pattern("DK", &["9999"]),
    pattern("ES", &["99999"]),
    pattern("FI", &["99999"]),
    pattern("FR", &["99999"]),
    pattern("GB", &["A99BB", "A999BB", "AA99BB", "AA999BB", "A9A9BB", "AA9A9BB", "GIR0aa"]),
    pattern("IT", &["99999"]),
    pattern("LU", &["1999"]),
    pattern("NL", &["1999AA"]),
    pattern("NO", &["9999"]),
    pattern("PL", &["99999"]),
    pattern("PT", &["1999999"]),
    pattern("SE", &["19999"]),
    // The four digits behind a hyphen name a delivery point, and many tables lack them.
    Pattern { country: "US", forms: &["99999", "999999999"], counted: 5 },
];

pub(super) fn parse(country: Option<&str>) -> Result<Normalize, String> {
    let wanted = country.unwrap_or_default();
    let found = COUNTRIES.iter().find(|pattern| pattern.country == wanted);
    found.map(|pattern| Normalize::Postcode(Country(pattern))).ok_or_else(|| {
        let known: Vec<_> = COUNTRIES.iter().map(|pattern| pattern.country).collect();
        let said = match country {
            Some(country) => format!("no postcodes of `{}` are known", country.escape_debug()),
            None => "postcodes are of a country, as in postcode:GB".to_owned(),
        };
        format!("{said}; countries: {}", known.join(", "))
    })
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.country)
    }
}

/// The postcode in upper case without spaces and hyphens; `None` for what is none of the country.
pub(super) fn postcode(value: &str, country: Country) -> Option<String> {
    let Pattern { forms, counted, .. } = country.0;
    let counts = |c: &char| !c.is_whitespace() && *c != '-';
    let mut code: String = value.chars().filter(counts).map(|c| c.to_ascii_uppercase()).collect();
    forms.iter().find(|form| fits(code.as_bytes(), form.as_bytes()))?;
    code.truncate(*counted);
    Some(code)
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
